package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tntsql/tntsql"
)

const (
	writerCount     = 4
	timelineColumns = 80
)

// showNewMaster moves the master while writers write, shows how long they
// waited, and checks that what was acknowledged is there.
func (d *demo) showNewMaster(ctx context.Context) error {
	from := d.rs.Master()
	to := (from + 1) % d.rs.Len()
	d.out.title(fmt.Sprintf("2. The master moves from %s to %s while %d writers write", letter(from), letter(to), writerCount))
	if err := d.createCounters(ctx); err != nil {
		return err
	}
	d.out.printf("  Each runs, without a pause: %s\n\n", addOne)

	w := startWriters(ctx, d.db, writerCount)
	began, took, err := d.promoteAmidst(ctx, to, w.start)
	w.stop()
	if err != nil {
		return err
	}
	all := w.acknowledged()
	pause, ok := handover(all)
	if !ok {
		return errors.Join(fmt.Errorf("demo: %d writes were acknowledged, none of them by the new master", len(all)), w.err())
	}
	d.showTimeline(all, began, pause)
	d.showWrites(w, all)
	d.out.printf("\n  The application waited %s: for so long no write was acknowledged.\n", d.out.paint(bold, milliseconds(pause)))
	d.out.printf("  The servers took %s to make %s read-only and then %s writable, with all that %[2]s had.\n\n",
		milliseconds(took), letter(from), letter(to))
	return d.checkCounters(ctx, w)
}

func (d *demo) createCounters(ctx context.Context) error {
	if _, err := d.db.ExecContext(ctx, "CREATE TABLE counter (id INTEGER PRIMARY KEY, n INTEGER)"); err != nil {
		return err
	}
	for id := range writerCount {
		if _, err := d.db.ExecContext(ctx, "INSERT INTO counter VALUES (?, 0)", id); err != nil {
			return err
		}
	}
	return d.replicated(ctx)
}

// promoteAmidst makes an instance the master, with time to write before and after.
// It tells when that began, since the start, and how long it took.
func (d *demo) promoteAmidst(ctx context.Context, instance int, start time.Time) (began, took time.Duration, err error) {
	if err := wait(ctx, d.phase); err != nil {
		return 0, 0, err
	}
	began = time.Since(start)
	if err := d.rs.Promote(instance); err != nil {
		return 0, 0, err
	}
	took = time.Since(start) - began
	return began, took, wait(ctx, d.phase)
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// showTimeline draws the writes before and after the change of master, with the
// letter of a master below the column in which it served its first.
func (d *demo) showTimeline(all []write, began, pause time.Duration) {
	column := max(5*time.Millisecond, (pause / 10).Round(time.Millisecond))
	from := max(0, began-column*timelineColumns/2)
	letters := []rune(strings.Repeat(" ", timelineColumns))
	for _, writes := range byMaster(all) {
		i := max(0, int((writes[0].at-from)/column))
		if i < len(letters) {
			letters[i] = []rune(d.name(writes[0].address))[0]
		}
	}
	d.out.printf("  %s\n  %s\n", timeline(all, from, column, timelineColumns), d.out.paint(bold, strings.TrimRight(string(letters), " ")))
	d.out.printf("  %s\n\n", d.out.paint(faint, fmt.Sprintf("writes acknowledged, a column for each %v around the change of master", column)))
}

// showWrites counts the writes by the instance that served them.
func (d *demo) showWrites(w *writers, all []write) {
	var rows [][]cell
	for _, writes := range byMaster(all) {
		rows = append(rows, d.summary(writes))
	}
	d.out.table([]string{"MASTER", "WRITES", "SENT TWICE", "MEDIAN", "SLOWEST"}, rows)

	unknown, failed := 0, 0
	for _, c := range w.counters {
		unknown += c.unknown
		failed += c.failed
	}
	d.out.printf("\n  Writes that failed: %s. Writes of unknown outcome: %s.\n", thousands(failed), thousands(unknown))
	if err := w.err(); err != nil {
		d.out.printf("  The last error: %s\n", d.out.paint(alarm, err.Error()))
	}
}

// summary is the row of the writes that one instance served.
func (d *demo) summary(writes []write) []cell {
	twice := 0
	var times []time.Duration
	for _, x := range writes {
		if x.attempts > 1 {
			twice++
		}
		times = append(times, x.took)
	}
	slices.Sort(times)
	return []cell{
		{text: d.name(writes[0].address)},
		number(len(writes)),
		number(twice),
		duration(times[len(times)/2]),
		duration(times[len(times)-1]),
	}
}

// checkCounters compares what the new master has with what was acknowledged.
func (d *demo) checkCounters(ctx context.Context, w *writers) error {
	var wrong []string
	total := 0
	for _, c := range w.counters {
		var n int
		err := d.db.QueryRowContext(tntsql.WithMode(ctx, tntsql.ModeRW), "SELECT n FROM counter WHERE id = ?", c.id).Scan(&n)
		if err != nil {
			return err
		}
		total += n
		if acknowledged := len(c.writes); n < acknowledged || n > acknowledged+c.unknown {
			wrong = append(wrong, fmt.Sprintf("writer %d: %d writes acknowledged, %d of unknown outcome, %d found",
				c.id, acknowledged, c.unknown, n))
		}
	}
	if wrong != nil {
		d.out.printf("  %s\n", d.out.paint(alarm, "The new master does not have what was acknowledged."))
		return errors.New("demo: " + strings.Join(wrong, "; "))
	}
	d.out.printf("  The counters on the new master add up to %s: %s\n", d.out.paint(bold, thousands(total)),
		d.out.paint(readWrite, "nothing acknowledged was lost, and nothing was applied twice."))
	return nil
}
