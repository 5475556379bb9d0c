package history

import (
	"fmt"
	"slices"
	"time"
)

// Span is a time of a history.
type Span struct{ From, To time.Duration }

// Sessions checks that each session's reads of a register see its own last write to
// it. The writes of a session to a register have rising values, and nobody else writes
// there. One of unknown outcome may be applied at any time, over later ones too.
//
// Lossy are times in which acknowledged writes may be lost, or former ones come back over
// them: a write binds only reads that are not separated from it by one, nor overlap with it.
func Sessions(ops []Op, lossy ...Span) (breaches []Breach) {
	type register struct {
		session int
		key     int64
	}
	last := make(map[register]Op)
	unknown := make(map[Op]bool) // by its session, key and value
	for _, op := range inOrder(ops) {
		r, value := register{op.Session, op.Key}, Op{Session: op.Session, Key: op.Key, Value: op.Value}
		switch {
		case op.Kind == Write && op.Outcome == Unknown:
			unknown[value] = true
		case op.Outcome != Done:
		case op.Kind == Write:
			last[r] = op
		case op.Kind == Read:
			w, wrote := last[r]
			safe := func(s Span) bool { return s.To < w.Begun || s.From > op.Ended }
			if wrote && op.Value < w.Value && !unknown[value] && !slices.ContainsFunc(lossy, func(s Span) bool { return !safe(s) }) {
				breaches = append(breaches, Breach{StaleRead, op, fmt.Sprintf("%v, after %v", op, w)})
			}
		}
	}
	return breaches
}

// inOrder is the operations by the times of their ends, in which those of one session
// do not overlap.
func inOrder(ops []Op) []Op {
	return slices.SortedStableFunc(slices.Values(ops), func(a, b Op) int { return int(a.Ended - b.Ended) })
}
