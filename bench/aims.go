package bench

import "fmt"

// aim is what the driver is to reach in a case, beside a peer.
type aim struct {
	name       string
	goroutines int
	ours       string
	peer       string
	what       string // of the metric
	metric     metric
	least      bool // the bound is the least ratio, not the greatest
	bound      float64
}

var aims = []aim{
	{pointSelect, 64, tntsqlName, v2Name, "throughput", (*Sample).throughput, true, 2},
	{pointSelect, 64, withDeadline(tntsqlName), v2Name, "throughput", (*Sample).throughput, true, 1.7},
	{pointSelect, 64, tntsqlName, v3Name, "throughput", (*Sample).throughput, true, 1.6},
	{pointSelect, 64, tntsqlName, preparedName, "throughput", (*Sample).throughput, true, 1.4},
	{pointSelect, 64, tntsqlName, floorName, "throughput", (*Sample).throughput, true, 0.75},
	{pointSelect, 64, withDeadline(tntsqlName), floorName, "throughput", (*Sample).throughput, true, 0.6},
	{pointSelect, 1, tntsqlName, v2Name, "p50", (*Sample).p50, false, 1},
	{besideScan, 64, tntsqlName, v2Name, "p99", (*Sample).p99, false, 0.5},
	{scan, 1, tntsqlName, v2Name, "time", (*Sample).took, false, 0.75},
	{scan, 1, tntsqlName, v2Name, "allocations", (*Sample).mallocs, false, 0.5},
	{insert, 64, tntsqlName, v2Name, "throughput", (*Sample).throughput, true, 1.1},
}

// What a selection in a large cluster may take.
const (
	aimedInstances   = 100
	aimedNanoseconds = 50
	noAllocation     = 0.001 // of each selection: those of the process besides
)

var aimHeads = []string{"case", "goroutines", "who", "against", "ratio of", "aim", "reached", ""}

// aimWords is how many columns of the table are words.
const aimWords = 5

// aimRows are the lines of the table of aims, as far as they were measured.
func (r *Report) aimRows() (rows [][]string) {
	for _, a := range aims {
		m := r.measurement(a.name, a.goroutines)
		if m == nil {
			continue
		}
		ours, peer := m.contender(a.ours), m.contender(a.peer)
		if ours == nil || peer == nil {
			continue
		}
		reached := ours.ratio(peer, a.metric)
		rows = append(rows, []string{a.name, fmt.Sprint(a.goroutines), a.ours, a.peer, a.what,
			a.boundText(), fmt.Sprintf("%.2f ×", reached), yes(a.holds(reached))})
	}
	for _, s := range r.Selections {
		if s.Instances == aimedInstances {
			rows = append(rows, []string{fmt.Sprintf("selection of %d instances", s.Instances), "all cores", tntsqlName, "–", "time, allocations",
				fmt.Sprintf("≤ %d ns, 0", aimedNanoseconds), fmt.Sprintf("%.1f ns, %.0f", s.Nanoseconds, s.Mallocs),
				yes(s.Nanoseconds <= aimedNanoseconds && s.Mallocs < noAllocation)})
		}
	}
	return rows
}

func (a *aim) holds(ratio float64) bool {
	if a.least {
		return ratio >= a.bound
	}
	return ratio <= a.bound
}

func (a *aim) boundText() string {
	if a.least {
		return fmt.Sprintf("≥ %.2f ×", a.bound)
	}
	return fmt.Sprintf("≤ %.2f ×", a.bound)
}

func yes(reached bool) string {
	if reached {
		return "yes"
	}
	return "no"
}
