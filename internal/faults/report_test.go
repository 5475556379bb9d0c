package faults

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql/internal/failover"
)

// results are some for a report: of a scenario that kept its promises, one that did not,
// and one that was not run.
func results() []*Result {
	kept := &Result{Scenario: alone, Server: failover.Server{Version: "2.6.0"}, Operations: 1000, Faults: 21, Unknown: 3, Pause: 2 * time.Second, Notes: []string{"noted"},
		Pauses: map[string]time.Duration{kill.Name: 2 * time.Second, stop.Name: time.Second}}
	broken := &Result{Scenario: manyCallers, Server: failover.Server{Version: "2.6.0"}, Operations: 50, Course: []Sample{
		{At: time.Second, Goroutines: 5, Files: 6, Heap: 7 << 20}, {At: 2 * time.Second, Goroutines: 5, Files: 6, Heap: 8 << 20},
	}}
	for range mostViolations + 5 {
		broken.violation(StaysFlat, "it grows")
	}
	skipped := &Result{Scenario: randomElections, Server: failover.Server{Version: "2.6.0"}, Skipped: "too old"}
	return []*Result{kept, broken, skipped}
}

func TestAPageHasEachPromiseThatWasTested(t *testing.T) {
	var b strings.Builder
	require.NoError(t, Page(&b, results()))
	page := b.String()
	for _, p := range promises {
		tested := p == NeverTwice || p == KnownOutcome || p == NothingLost || p == OwnWrites || p == GoesOn || p == StaysFlat || p == LeavesNone
		assert.Equal(t, tested, strings.Contains(page, string(p)), p)
	}
	assert.Contains(t, page, "- 2.6.0: ok; noted; longest pause, 2.0 s: "+kill.Name)
	assert.Contains(t, page, "- 2.6.0: not run: too old")
	assert.Contains(t, page, "- 2.6.0: **broken**; it grows")
	assert.Regexp(t, string(StaysFlat)+` *\| many-callers .* 25 \|`, page, "all violations count, of which some are told")
	assert.Regexp(t, `After Close no .* 0 \|`, page, "each counts for its promise alone")
	for _, f := range Faults {
		assert.Contains(t, page, "| "+f.Name)
	}
	assert.Regexp(t, regexp.QuoteMeta(stop.Name)+` +\| +1.0 s \|\n`, page)
}

func TestAPageKeepsWhatWasNotRunAgain(t *testing.T) {
	directory := t.TempDir()
	older, alike, newer := results()[0], results()[1], results()[0]
	older.Commit, older.Date, older.Options = "abc1234", "2026-01-02", Options{Scale: 10, Seed: 4711, Heard: NewHeard(), Progress: func(string) {}}
	require.NoError(t, WritePage(directory, []*Result{older, alike}))
	newer.Server.Version, newer.Date, newer.Options = "2.11.9", "2026-03-04", Options{Scale: 0.5, Seed: 4712}
	alike.Notes = []string{"run again"}
	require.NoError(t, WritePage(directory, []*Result{newer, alike}))

	text, err := os.ReadFile(filepath.Join(directory, pageFile))
	require.NoError(t, err)
	page := string(text)
	assert.Regexp(t, `alone +\| 2.6.0 .*2026-01-02 \| abc1234 \| +10 \| +4711 \|\n\| many-callers \| 2.6.0 .*\n\| alone +\| 2.11.9 .*2026-03-04 \| +\| +0.5 \| +4712 \|\n`, page)
	assert.Equal(t, 1, strings.Count(page, "run again"))
	assert.Contains(t, page, "- 2.6.0: ok; noted; longest pause, 2.0 s: "+kill.Name+"\n- 2.11.9: ok; noted")
	for _, file := range []string{pageFile, plotFile, recordFile} {
		before, err := os.ReadFile(filepath.Join(directory, file))
		require.NoError(t, err)
		require.NoError(t, WritePage(directory, nil))
		after, err := os.ReadFile(filepath.Join(directory, file))
		require.NoError(t, err)
		assert.Equal(t, string(before), string(after), file)
	}
}

func TestARecordNamesTheResultAtFaultAndLeavesOutScenariosThatAreNoMore(t *testing.T) {
	file := filepath.Join(t.TempDir(), recordFile)
	require.NoError(t, os.WriteFile(file, []byte("{\"Scenario\":\"forgotten\"}\n{\"Scenario\":\"alone\"}\n"), 0o600))
	all, err := readRecord(file)
	require.NoError(t, err)
	require.Len(t, all, 1)
	assert.Equal(t, alone.What, all[0].Scenario.What)

	require.NoError(t, os.WriteFile(file, []byte("{\"Scenario\":\"alone\"}\n{\"Took\":\"long\"}\n"), 0o600))
	_, err = readRecord(file)
	assert.ErrorContains(t, err, recordFile+", result 2: ")
}

func TestTextTellsTheSeedOfWhatIsBroken(t *testing.T) {
	all := results()
	all[1].Options.Seed = 4711
	var b strings.Builder
	require.NoError(t, Text(&b, all))
	assert.Contains(t, b.String(), "FAIL  many-callers on 2.6.0, seed 4711: it grows")
	assert.Contains(t, b.String(), "random-elections on 2.6.0: not run, too old")
	assert.Equal(t, mostViolations, strings.Count(b.String(), "FAIL"))
}

func TestAPlotHasALineForEachFigure(t *testing.T) {
	var b strings.Builder
	require.NoError(t, Plot(&b, results()))
	assert.Equal(t, len(figures), strings.Count(b.String(), "<polyline"))
	assert.Contains(t, b.String(), "Tarantool 2.6.0")
	b.Reset()
	require.NoError(t, Plot(&b, results()[:1]), "without a load there is nothing to draw")
	assert.NotContains(t, b.String(), "<polyline")
}

func TestFlatTellsOfWhatGrows(t *testing.T) {
	course := func(late Sample) (samples []Sample) {
		for n := range 40 {
			s := Sample{Goroutines: 2000, Files: 25, Heap: 20 << 20}
			if n >= 30 {
				s = late
			}
			if n%3 == 1 { // what comes and goes
				s.Goroutines, s.Files, s.Heap = 2*s.Goroutines, 2*s.Files, 2*s.Heap
			}
			samples = append(samples, s)
		}
		return samples
	}
	for name, tt := range map[string]struct {
		late Sample
		want int
	}{
		"nothing":          {Sample{Goroutines: 2010, Files: 27, Heap: 21 << 20}, 0},
		"goroutines":       {Sample{Goroutines: 2011, Files: 25, Heap: 20 << 20}, 1},
		"file descriptors": {Sample{Goroutines: 2000, Files: 28, Heap: 20 << 20}, 1},
		"heap":             {Sample{Goroutines: 2000, Files: 25, Heap: 21<<20 + 1<<10}, 1},
		"all":              {Sample{Goroutines: 4000, Files: 50, Heap: 40 << 20}, 3},
	} {
		trial := &Trial{result: &Result{}}
		flat(trial, course(tt.late))
		assert.Equal(t, tt.want, trial.result.Broken[StaysFlat], name)
		assert.Len(t, trial.result.Notes, 3)
	}
}
