package prometheus

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metricsql"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
)

// dashboard is what Grafana needs of dashboard.json.
type dashboard struct {
	UID, Title string
	Templating struct {
		List []struct{ Name, Definition string }
	}
	Panels []struct {
		ID                       int
		Type, Title, Description string
		GridPos                  struct{ X, Y, W, H int }
		Targets                  []struct{ RefID, Expr, LegendFormat string }
	}
}

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	text, err := os.ReadFile("dashboard.json")
	require.NoError(t, err)
	var d dashboard
	require.NoError(t, json.Unmarshal(text, &d))
	require.NotEmpty(t, d.Panels)
	return d
}

// exported are the metrics of a collector, with the labels of each.
func exported(t *testing.T) map[string][]string {
	t.Helper()
	metrics := make(map[string][]string)
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(everything{}))
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		var labels []string
		for _, label := range family.GetMetric()[0].GetLabel() {
			labels = append(labels, label.GetName())
		}
		metrics[family.GetName()] = labels
	}
	require.Len(t, metrics, len(descs), "each has a value here")
	return metrics
}

// everything exports each of the metrics.
type everything struct{}

func (everything) Describe(ch chan<- *prometheus.Desc) { collector{}.Describe(ch) }

func (everything) Collect(ch chan<- prometheus.Metric) {
	collectStats(ch, tntsql.Stats{Picks: map[tntsql.Mode]uint64{tntsql.ModeAny: 1}})
	collectTopology(ch, tntsql.Topology{Instances: []tntsql.TopologyInstance{{Status: "running", Latency: time.Millisecond, Schema: 1}}})
}

func TestTheDashboardUsesMetricsThatExist(t *testing.T) {
	metrics, used := exported(t), make(map[string]bool)
	d := readDashboard(t)
	for _, p := range d.Panels {
		assert.NotEmpty(t, p.Targets, p.Title)
		for _, target := range p.Targets {
			labels := checkExpr(t, metrics, used, strings.ReplaceAll(target.Expr, "$__rate_interval", "5m"))
			for _, legend := range regexp.MustCompile(`{{(\w+)}}`).FindAllStringSubmatch(target.LegendFormat, -1) {
				assert.Contains(t, labels, legend[1], "the legend of %s", p.Title)
			}
		}
	}
	for _, variable := range d.Templating.List {
		if variable.Definition != "" {
			parts := regexp.MustCompile(`^label_values\((\w+), (\w+)\)$`).FindStringSubmatch(variable.Definition)
			require.NotNil(t, parts, variable.Definition)
			assert.Contains(t, metrics, parts[1])
		}
	}
	for name := range metrics {
		assert.True(t, used[name], "no panel shows %s", name)
	}
}

func TestTheAlertsOfTheREADMEUseMetricsThatExist(t *testing.T) {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```promql\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	require.NotEmpty(t, blocks)
	metrics, used := exported(t), make(map[string]bool)
	for _, block := range blocks {
		for line := range strings.Lines(block[1]) {
			checkExpr(t, metrics, used, strings.TrimSpace(line))
		}
	}
	for name := range metrics {
		assert.Contains(t, string(text), "`"+name+"`", "README has all metrics")
	}
}

// checkExpr parses an expression, checks its names and labels, and returns the labels that
// it may use.
func checkExpr(t *testing.T, metrics map[string][]string, used map[string]bool, expr string) []string {
	t.Helper()
	parsed, err := metricsql.Parse(expr)
	require.NoError(t, err, expr)
	known := []string{"job", "instance"} // of the scrape
	var asked []string
	metricsql.VisitAll(parsed, func(e metricsql.Expr) {
		switch e := e.(type) {
		case *metricsql.MetricExpr:
			for _, filters := range e.LabelFilterss {
				name := filters[0].Value
				require.Equal(t, "__name__", filters[0].Label, expr)
				require.Contains(t, slices.Collect(maps.Keys(metrics)), name, expr)
				used[name] = true
				known = append(known, metrics[name]...)
				for _, filter := range filters[1:] {
					assert.Contains(t, append([]string{"job", "instance"}, metrics[name]...), filter.Label, expr)
				}
			}
		case *metricsql.AggrFuncExpr:
			asked = append(asked, e.Modifier.Args...)
		case *metricsql.BinaryOpExpr:
			asked = append(asked, append(e.GroupModifier.Args, e.JoinModifier.Args...)...)
		}
	})
	for _, label := range asked {
		assert.Contains(t, known, label, expr)
	}
	return known
}

func TestPanelsOfTheDashboardDoNotOverlap(t *testing.T) {
	d := readDashboard(t)
	assert.NotEmpty(t, d.UID)
	taken, ids := make(map[string]string), make(map[int]bool)
	for _, p := range d.Panels {
		assert.False(t, ids[p.ID], "id %d", p.ID)
		ids[p.ID] = true
		assert.NotEmpty(t, p.Description, p.Title)
		assert.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24, p.Title)
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				at := fmt.Sprint(p.GridPos.X+x, ",", p.GridPos.Y+y)
				assert.Empty(t, taken[at], "%s is over another at %s", p.Title, at)
				taken[at] = p.Title
			}
		}
	}
}
