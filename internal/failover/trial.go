package failover

import (
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/tarantooltest"
)

// Trial is one run of a scenario: what its Disturb has to work with.
type Trial struct {
	Set       *tarantooltest.ReplicaSet
	DB        *sql.DB // the writers', and the readers' unless they have their own
	Connector *tntsql.Connector
	Proxies   []*Proxy // one an instance, for a Scenario that is Proxied
	Server    Server
	Options   Options

	scenario *Scenario
	reads    *sql.DB
	pool     *naivePool
	load     *load
	beside   *load // of the pool
	statuses statuses

	before   span // the load undisturbed
	events   []Event
	writable []time.Time // when instances became it
	notes    []string

	heavy      int           // the parameter of heavySQL
	waitingCPU time.Duration // a second, while no instance was up
}

// Event is a disturbance.
type Event struct {
	What string
	span
}

// During runs f, and marks its time as a disturbance in the results.
func (t *Trial) During(what string, f func() error) error {
	t.progress("%s", what)
	e := Event{what, span{from: t.load.now()}}
	err := f()
	e.to = t.load.now()
	t.events = append(t.events, e)
	return errors.Join(err, t.observe())
}

// observe notes when instances became writable.
func (t *Trial) observe() error {
	for _, i := range running(t.Set) {
		values, err := t.Set.Lua(i, "local times = observer.writable; observer.writable = {}; return times")
		if err != nil {
			return err
		}
		times, _ := values[0].([]any)
		for _, at := range times {
			t.writable = append(t.writable, time.Unix(0, int64(float(at)*1e9)))
		}
	}
	return nil
}

// Deaf is the longest time in which instance i has run nothing since the
// disturbances began, by its own clock.
func (t *Trial) Deaf(i int) (time.Duration, error) {
	values, err := t.Set.Lua(i, "require('fiber').sleep(0.05) return observer.deaf")
	if err != nil {
		return 0, err
	}
	return time.Duration(float(values[0]) * float64(time.Second)), nil
}

// float is a number from Lua, which sends whole ones as integers.
func float(v any) float64 {
	if n, ok := v.(int64); ok {
		return float64(n)
	}
	f, _ := v.(float64)
	return f
}

// Scaled is a duration of the report, shortened for a test.
func (t *Trial) Scaled(d time.Duration) time.Duration { return t.Options.scaled(d) }

// Rest lets the load run for a while, which is scaled.
func (t *Trial) Rest(d time.Duration) { time.Sleep(t.Scaled(d)) }

// Times is how often to do what the report does n times.
func (t *Trial) Times(n int) int {
	return min(n, max(2, int(math.Round(float64(n)*t.Options.Scale))))
}

// Note adds a line to the results.
func (t *Trial) Note(format string, args ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

func (t *Trial) progress(format string, args ...any) {
	if t.Options.Progress != nil {
		t.Options.Progress(fmt.Sprintf(format, args...))
	}
}
