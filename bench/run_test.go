package bench

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql/tarantooltest"
)

// TestEveryCaseRuns has all contenders run all cases, and so check their answers.
func TestEveryCaseRuns(t *testing.T) {
	var said []string
	report, err := Run(t.Context(), Options{
		Rounds: 1, Slice: time.Millisecond,
		Progress: func(what string) { said = append(said, what) },
	})
	if errors.Is(err, tarantooltest.ErrNoBinary) && os.Getenv("CI") == "" && os.Getenv("TARANTOOL") == "" {
		t.Skip(err)
	}
	require.NoError(t, err)
	assert.Len(t, said, len(report.Measurements)+1)
	for _, c := range Cases {
		if c.streams && report.measurement(c.Name, 1) == nil {
			continue
		}
		for _, n := range c.Goroutines {
			m := report.measurement(c.Name, n)
			require.NotNil(t, m, "%s, %d", c.Name, n)
			assert.NotNil(t, m.contender(tntsqlName), c.Name)
			assert.NotNil(t, m.contender(v2Name), c.Name)
			for _, contender := range m.Contenders {
				assert.Len(t, contender.Samples, 1)
				assert.Positive(t, contender.median((*Sample).p50), "%s in %s", contender.Name, c.Name)
			}
		}
	}
	assert.Len(t, report.aimRows(), len(aims)+1, "all aims are measured")
}

func TestARunCanBeStopped(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	l := &load{contenders: []contender{{name: "c", do: func(context.Context, int) error { stop(); return nil }}}, Goroutines: 1}
	_, err := l.measure(ctx, Options{Rounds: 1, Slice: time.Millisecond})
	assert.ErrorIs(t, err, context.Canceled)
}

func TestContendersTakeTurnsInRotatingOrder(t *testing.T) {
	var order []string
	l := &load{Goroutines: 1}
	for _, name := range []string{"a", "b", "c"} {
		l.contenders = append(l.contenders, contender{name: name, do: func(context.Context, int) error {
			order = append(order, name)
			return nil
		}})
	}
	m, err := l.measure(t.Context(), Options{Rounds: 3, Slice: time.Microsecond})
	require.NoError(t, err)
	assert.Len(t, m.Contenders[2].Samples, 3)
	assert.Equal(t, []string{"a", "b", "c", "a", "b", "c", "b", "c", "a", "c", "a", "b"}, slices.Compact(order)[:12])
}

func TestSelectionsAreMeasured(t *testing.T) {
	all, err := measureSelections(time.Millisecond)
	require.NoError(t, err)
	require.Len(t, all, len(instanceCounts))
	for _, s := range all {
		assert.Positive(t, s.Nanoseconds)
		assert.Less(t, s.Mallocs, noAllocation)
	}
}
