package failover

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/tntsql/tntsql"
)

// heavySQL counts to its parameter, in which time the server does nothing else.
const heavySQL = `WITH RECURSIVE C(X) AS (SELECT 1 UNION ALL SELECT X + 1 FROM C WHERE X < ?) SELECT COUNT(*) FROM C`

const busyFor = 20 * time.Second

var busy = Scenario{
	Name:     "busy",
	What:     "a SELECT under ModeRO keeps its server busy for 20 s; its caller has a deadline of 2 s",
	Params:   []string{"seq_scan=true"},
	Prepare:  calibrate,
	Disturb:  func(t *Trial) error { return t.keepBusy(2 * t.Options.probe()) },
	Promises: append([]Promise{suspectsAtMost(1)}, othersUnaffected...),
}

var busyPatient = Scenario{
	Name:     "busy-patient",
	What:     "the same, and its caller waits for the answer: after 5 × probe_timeout it is sent once more",
	Params:   []string{"seq_scan=true"},
	Prepare:  calibrate,
	Disturb:  func(t *Trial) error { return t.keepBusy(10 * time.Minute) },
	Promises: append([]Promise{suspectsAtMost(2)}, othersUnaffected...),
}

var othersUnaffected = []Promise{readsWithoutError, writesWithoutError, nothingLost, readsWithinProbe, halfTheWrites}

// keepBusy sends the heavy SELECT, with a deadline, and waits until no server
// runs it any longer.
func (t *Trial) keepBusy(deadline time.Duration) error {
	return t.During("a heavy SELECT", func() error {
		begun := time.Now()
		ctx, cancel := context.WithTimeout(tntsql.WithMode(context.Background(), tntsql.ModeRO), deadline)
		defer cancel()
		ctx, info := tntsql.Capture(ctx)
		var counted int64
		err := t.DB.QueryRowContext(ctx, heavySQL, t.heavy).Scan(&counted)
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		t.Note("the SELECT was sent %d times, and its caller left after %s", info.Attempts, Duration(time.Since(begun)))
		return t.noteDeaf()
	})
}

func (t *Trial) noteDeaf() error {
	for i := range t.Set.Len() {
		deaf, err := t.Deaf(i)
		if err != nil {
			return err
		}
		t.Note("instance %d was deaf for %s", i, Duration(deaf))
	}
	return nil
}

// calibrate finds out how far a server counts in the time that it shall be busy.
func calibrate(t *Trial) error {
	t.heavy = 10_000
	for {
		took, err := t.counting(t.heavy)
		if err != nil {
			return err
		}
		if took > 100*time.Millisecond {
			break
		}
		t.heavy *= 4
	}
	// Others may have had the processor: the quickest of some runs counts.
	quickest := time.Duration(math.MaxInt64)
	for range 3 {
		took, err := t.counting(t.heavy)
		if err != nil {
			return err
		}
		quickest = min(quickest, took)
	}
	t.heavy = int(float64(t.heavy) * float64(t.Scaled(busyFor)) / float64(quickest))
	return nil
}

// counting is how long a server takes to count to n.
func (t *Trial) counting(n int) (time.Duration, error) {
	values, err := t.Set.Lua(1, `
		pcall(box.execute, 'SET SESSION "sql_seq_scan" = true')
		local clock = require('clock')
		local begun = clock.monotonic()
		local sql, n = ...
		local _, err = box.execute(sql, {n})
		if err ~= nil then error(err) end
		return clock.monotonic() - begun`, heavySQL, n)
	if err != nil {
		return 0, err
	}
	return time.Duration(float(values[0]) * float64(time.Second)), nil
}
