package faults

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql/internal/fakepeer"
)

// raced are the scenarios that the race detector looks at: those with faults, shortly.
func raced(t *testing.T, s Scenario, scale float64) {
	r, err := Run(s, Options{Scale: scale, Seed: 1, Progress: func(what string) { t.Log(what) }})
	require.NoError(t, err)
	if r.Skipped != "" {
		t.Skip("not on " + r.Server.Version + ": " + r.Skipped)
	}
	assert.Empty(t, r.Violations)
	assert.Positive(t, r.Operations)
	t.Log(r.Notes)
}

func TestRandomFaults(t *testing.T)          { raced(t, random, 0.25) }
func TestRandomElections(t *testing.T)       { raced(t, randomElections, 0.25) }
func TestCancellation(t *testing.T)          { raced(t, cancellation, 1) }
func TestHeldConns(t *testing.T)             { raced(t, heldConns, 1) }
func TestHostileServers(t *testing.T)        { raced(t, hostileServer, 1) }
func TestTLS(t *testing.T)                   { raced(t, encrypted, 1) }
func TestParametersAreData(t *testing.T)     { raced(t, parameters, 1) }
func TestNothingShowsAPassword(t *testing.T) { raced(t, canaryScenario, 1) }

// Reads that the master answers tell nothing of replicas.
func TestSessionsReadOnReplicas(t *testing.T) {
	quiet := Scenario{Name: "quiet", Run: func(t *Trial) error {
		c, err := newCluster(t, false, false)
		if err != nil {
			return err
		}
		return c.round(func() error { c.Rest(time.Second); return nil })
	}}
	r, err := Run(quiet, Options{Scale: 1, Seed: 1})
	require.NoError(t, err)
	assert.Empty(t, r.Violations)
	assert.Greater(t, r.OwnReadsOnOthers, r.OwnReads/20)
}

// What is done to the tables behind the load's back is found, each of it once.
func TestARoundFindsWhatIsBroken(t *testing.T) {
	forged := Scenario{Name: "forged", Run: func(t *Trial) error {
		c, err := newCluster(t, false, false)
		if err != nil {
			return err
		}
		return c.round(func() error {
			return c.OnMaster(`
				local rows = box.space.LOG:select({}, {limit = 2})
				box.space.LOG:insert{-1, rows[1][2]}
				box.space.LOG:delete(rows[2][1])
				box.space.LOG:insert{-2, -5}
				box.space.K:update(0, {{'+', 2, 1000000}})
				box.space.K:update(1, {{'-', 2, 1000000}})`)
		})
	}}
	r, err := Run(forged, Options{Scale: 1, Seed: 1})
	require.NoError(t, err)
	texts := map[string]int{}
	for _, v := range r.Violations {
		for _, promise := range []string{"applied twice: insert", "acknowledged and lost: insert", "stored by nobody", "applied twice: add", "acknowledged and lost: add"} {
			if len(v) > len(promise) && v[:len(promise)] == promise {
				texts[promise]++
			}
		}
	}
	assert.Equal(t, map[string]int{
		"applied twice: insert": 1, "acknowledged and lost: insert": 1, "stored by nobody": 1,
		"applied twice: add": 3, "acknowledged and lost: add": 3, // on each instance
	}, texts)
}

func TestScenariosHaveNamesOfTheirOwn(t *testing.T) {
	seen := make(map[string]bool)
	for _, s := range Scenarios {
		assert.False(t, seen[s.Name], s.Name)
		seen[s.Name] = true
		assert.NotEmpty(t, s.What, s.Name)
		assert.NotEmpty(t, s.Promises, s.Name)
	}
	for _, f := range Faults {
		assert.False(t, seen[f.Name], f.Name)
		seen[f.Name] = true
	}
	for _, h := range hostiles {
		assert.False(t, seen[h.name], h.name)
		seen[h.name] = true
	}
}

func TestFaultsAreChosenByTheirNames(t *testing.T) {
	for text, want := range map[string]int{"": len(Faults), "TCP": 2, "elsewhere": 0} {
		c := &Cluster{trial: &Trial{Options: Options{Fault: text}}, elects: true}
		can, cannot := faultsFor(c)
		assert.Len(t, can, want, text)
		assert.Empty(t, cannot)
		for _, f := range can {
			assert.Contains(t, f.Name, text)
		}
	}
}

// A hostile server that is none must be told from one.
func TestAnHonestServerIsNotHostile(t *testing.T) {
	honest := scripted("honest", true, protocol.IPROTO_EXECUTE, fakepeer.Replay("insert"))
	before := hostiles
	defer func() { hostiles = before }()
	hostiles = []hostile{honest}
	r, err := Run(hostileServer, Options{Scale: 1})
	require.NoError(t, err)
	assert.Contains(t, r.Violations, "honest: a query succeeded")
}
