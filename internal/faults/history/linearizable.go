package history

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// register is the model: what it holds, 0 at first.
var register = porcupine.Model{
	Init: func() any { return int64(0) },
	Step: func(state, input, _ any) (bool, any) {
		op := input.(Op)
		if op.Kind == Write {
			return true, op.Value
		}
		return state == op.Value, state
	},
}

// Linearizable checks the operations on registers: whether those on each key, which
// holds 0 at first, can be put in one order in which every operation takes effect
// between its beginning and its end, and every read sees the write before it. A write
// of unknown outcome may take effect at any time after its beginning, or never.
//
// The timeout is for each key; the Breach of a key for which it was not enough is
// Undecidable.
func Linearizable(ops []Op, timeout time.Duration) (breaches []Breach) {
	byKey := make(map[int64][]porcupine.Operation)
	for _, op := range ops {
		if op.Kind != Read && op.Kind != Write || op.Outcome == Failed || op.Kind == Read && op.Outcome != Done {
			continue
		}
		ended := int64(op.Ended)
		if op.Outcome == Unknown {
			ended = math.MaxInt64
		}
		byKey[op.Key] = append(byKey[op.Key], porcupine.Operation{
			ClientId: op.Session,
			Input:    op,
			Call:     int64(op.Begun),
			Return:   ended,
		})
	}
	for key, operations := range byKey {
		slices.SortFunc(operations, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
		about := Op{Kind: Read, Key: key}
		what := fmt.Sprintf("register %d, on which there were %d operations", key, len(operations))
		switch porcupine.CheckOperationsTimeout(register, operations, timeout) {
		case porcupine.Illegal:
			breaches = append(breaches, Breach{NotInOrder, about, what})
		case porcupine.Unknown:
			breaches = append(breaches, Breach{Undecidable, about, what})
		case porcupine.Ok:
		}
	}
	return breaches
}
