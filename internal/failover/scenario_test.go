package failover

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// upgradeVariable names the binary that a rolling upgrade ends with.
const upgradeVariable = "TARANTOOL_UPGRADE"

// short are the options of a test: a fifth of the report's durations, and
// patience with a machine that runs the race detector.
func short() Options {
	return Options{Scale: 0.2, Slack: 10, Pace: 5 * time.Millisecond, UpgradeTo: os.Getenv(upgradeVariable)}
}

// Each scenario, for a few seconds. Run itself looks for goroutines that are
// left after Close.
func TestScenarios(t *testing.T) {
	for _, s := range Scenarios {
		t.Run(s.Name, func(t *testing.T) {
			o := short()
			o.Progress = func(what string) { t.Log(what) }
			r, err := Run(s, o)
			require.NoError(t, err)
			if r.Skipped != "" {
				t.Skip("not on " + r.Server.Version + ": " + r.Skipped)
			}
			assert.Empty(t, slices.DeleteFunc(r.Broken, func(promise string) bool {
				// With the race detector and three servers on its two cores, an
				// instance may be suspect for want of a processor.
				return strings.Contains(promise, "were suspect")
			}))
			assert.Positive(t, r.Driver.Writes)
			assert.Positive(t, r.Driver.Reads)
			t.Log(table(columns, []*Result{r}).Plain(), r.Notes)
		})
	}
}

func TestScenariosHaveNamesOfTheirOwn(t *testing.T) {
	seen := make(map[string]bool)
	for _, s := range Scenarios {
		assert.False(t, seen[s.Name], s.Name)
		assert.NotEmpty(t, s.Name)
		assert.NotEmpty(t, s.What)
		assert.NotNil(t, s.Disturb)
		assert.NotEmpty(t, s.Promises)
		seen[s.Name] = true
	}
}

func TestServerOfAMissingBinary(t *testing.T) {
	_, err := ServerOf("/no/such/tarantool")
	assert.ErrorContains(t, err, "/no/such/tarantool")
	_, err = ServerOf("true")
	assert.ErrorContains(t, err, "no version")
}
