// Package verdict decides, from what became of a request, whether it may be
// sent again and what its caller is told. It is pure.
package verdict

import protocol "github.com/tarantool/go-iproto"

// Kind is what a request may do on the server.
type Kind uint8

const (
	// Read changes nothing.
	Read Kind = iota
	// Write is an autocommit statement that may write.
	Write
	// Call runs the user's code, which may have done half of anything before
	// an error: a CALL, an EVAL, a SELECT of a user's function.
	Call
	// Begin opens a transaction: sent twice, it opens two, of which one is left
	// to be rolled back.
	Begin
	// Commit ends a transaction. What is in one is never sent again, whatever
	// becomes of it.
	Commit
)

// Verdict is what follows.
type Verdict uint8

const (
	// Fail: the error is the answer, and nothing was stored.
	Fail Verdict = iota
	// Again: send it to another instance, once.
	Again
	// Refused: the instance says that it cannot serve this now. It is asked
	// for its role; if that is no longer what the request needs, another
	// instance may serve.
	Refused
	// Unknown: it may have been applied, now or later.
	Unknown
)

// Unsent is the verdict on a request that never left this process.
func Unsent(k Kind) Verdict {
	if k == Commit {
		return Fail
	}
	return Again
}

// harmless tells of a request that changes nothing by itself.
func (k Kind) harmless() bool { return k == Read || k == Begin }

// Lost is the verdict on a request whose connection ended without an answer.
func Lost(k Kind) Verdict {
	if k.harmless() {
		return Again
	}
	return Unknown
}

// Left is the verdict on a request whose caller's context ended before the
// answer came.
func Left(k Kind) Verdict { return unlessHarmless(k) }

// Answer is an error that a server answered.
type Answer struct {
	Code uint32
	// Type is the class of the error, as box.error knows it.
	Type string
	// Reason is why the instance is read-only: a field of ER_READONLY.
	Reason string
	// GivesReason is true for servers that say it, 2.10 and newer.
	GivesReason bool
}

const (
	// syncTimeout is ER_SYNC_TIMEOUT of 3.x: the quorum was not there in time,
	// and the transaction goes on waiting for it.
	syncTimeout = 295
	// fiberCancelled is the type, behind the code of any Lua error, of a fiber
	// that was cancelled while it waited for the quorum.
	fiberCancelled = "FiberIsCancelled"
)

// Refusal tells whether the error says something of the instance's role or
// status, so that both are to be asked for again whoever was refused.
func (a Answer) Refusal() bool {
	switch protocol.Error(a.Code) {
	case protocol.ER_READONLY, protocol.ER_LOADING, protocol.ER_SYNC_QUEUE_UNCLAIMED, protocol.ER_SYNC_QUEUE_FOREIGN:
		return true
	}
	return false
}

// Answered is the verdict on a server's error.
func Answered(k Kind, a Answer) Verdict {
	switch protocol.Error(a.Code) {
	case protocol.ER_LOADING:
		return refused(k)
	case protocol.ER_READONLY:
		if a.GivesReason && a.Reason == "" {
			// The role changed within the transaction, or a user's
			// code raised this error.
			return Fail
		}
		return refused(k)
	case protocol.ER_SYNC_QUORUM_TIMEOUT, protocol.ER_SYNC_ROLLBACK, syncTimeout:
		return unlessHarmless(k)
	case protocol.ER_PROC_LUA:
		if a.Type == fiberCancelled {
			return unlessHarmless(k)
		}
	}
	return Fail
}

func refused(k Kind) Verdict {
	if k == Call || k == Commit {
		return Fail
	}
	return Refused
}

func unlessHarmless(k Kind) Verdict {
	if k.harmless() {
		return Fail
	}
	return Unknown
}
