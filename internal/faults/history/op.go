// Package history checks what the callers of a database were told against what
// the database has in the end.
//
// A history is a list of operations, each with its times, its outcome and the
// instance that served it. The checks are pure: Once looks for writes that were
// applied twice, lost, or applied though an error said otherwise; Counters does the
// same for sums; Sessions looks for reads that do not see their session's own writes;
// Linearizable asks porcupine whether the operations on each register can be put in
// one order that agrees with their times.
package history

import (
	"fmt"
	"time"
)

// Kind is what an operation does.
type Kind uint8

const (
	Insert Kind = iota // stores Key, which nobody else stores
	Add                // adds 1 to the counter Key
	Write              // stores Value, which nobody else stores, in the register Key
	Read               // reads Value from the register Key
)

// Outcome is what a caller knows of its operation when that has returned.
type Outcome uint8

const (
	Done    Outcome = iota
	Unknown         // it may have been applied, or may yet be
	Failed          // it was not applied
)

var (
	kinds    = [...]string{"insert", "add", "write", "read"}
	outcomes = [...]string{"done", "unknown", "failed"}
)

func (k Kind) String() string    { return kinds[k] }
func (o Outcome) String() string { return outcomes[o] }

// Op is one operation as its caller saw it, in times since the history began.
type Op struct {
	Kind         Kind
	Outcome      Outcome
	Session      int // the caller, who has one operation at a time
	Key, Value   int64
	Begun, Ended time.Duration
	Instance     string // that it was last sent to, "" if it was sent nowhere
}

func (o Op) String() string {
	return fmt.Sprintf("%v %d=%d by %d on %s: %v, %v to %v",
		o.Kind, o.Key, o.Value, o.Session, o.Instance, o.Outcome, o.Begun, o.Ended)
}

// Breach is a promise that a history does not keep.
type Breach struct {
	Promise string
	Op      Op
	// What tells of several operations, of which Op is no one; else it is empty.
	What string
}

func (b Breach) String() string {
	if b.What != "" {
		return b.Promise + ": " + b.What
	}
	return b.Promise + ": " + b.Op.String()
}

// The promises that a Breach may name.
const (
	Twice       = "applied twice"
	Lost        = "acknowledged and lost"
	False       = "applied though its error says that it was not"
	Invented    = "stored by nobody"
	StaleRead   = "its session's own write not seen"
	NotInOrder  = "not linearizable"
	Undecidable = "linearizable or not, it was not found out in time"
)
