package faults

// Promise is what the driver's users may rely on.
type Promise string

// Promises, in the order of the page.
const (
	NeverTwice   Promise = "A write is never applied twice, whatever happens to instances and networks."
	KnownOutcome Promise = "An error that is not `ErrOutcomeUnknown` means that the write was not applied; unknown means not at all or once."
	NothingLost  Promise = "An acknowledged write is never lost: on synchronous spaces at no failover, on asynchronous ones once all instances are back."
	OneOrder     Promise = "In `LINEARIZABLE` transactions on synchronous spaces, reads and writes are linearizable."
	OwnWrites    Promise = "A session reads its own writes, on replicas too."
	GoesOn       Promise = "When a fault is over, the same `sql.DB` goes on by itself."
	Cancels      Promise = "Cancelled queries cost no connection, and the pool goes on at full speed."
	LeavesNone   Promise = "After Close no goroutine and no file descriptor is left."
	StaysFlat    Promise = "Under load goroutines, file descriptors and heap stay flat."
	Withstands   Promise = "A server that sends garbage, lies or keeps silent causes a clear error within the timeouts, in bounded memory, and harms no other instance."
	Secure       Promise = "TLS connects to whom it should and to nobody else, and passwords go over it."
	Secret       Promise = "No error, log, topology or text of a Config shows a password." //nolint:gosec // it is none
	NoInjection  Promise = "A parameter is data: it changes neither the statement nor where it goes."
)

var promises = []Promise{
	NeverTwice, KnownOutcome, NothingLost, OneOrder, OwnWrites, GoesOn,
	Cancels, LeavesNone, StaysFlat, Withstands, Secure, Secret, NoInjection,
}
