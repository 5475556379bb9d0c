package tntsql

import (
	"errors"
	"slices"

	protocol "github.com/tarantool/go-iproto"
)

// IsUniqueViolation tells whether a row with the key exists: ER_TUPLE_FOUND.
func IsUniqueViolation(err error) bool { return hasCode(err, protocol.ER_TUPLE_FOUND) }

// IsReadOnly tells whether an instance refused to write, or a read-only handle or
// transaction did: ER_READONLY, ErrReadOnlyHandle.
func IsReadOnly(err error) bool {
	return hasCode(err, protocol.ER_READONLY) || errors.Is(err, ErrReadOnlyHandle)
}

// IsTxConflict tells whether the server has aborted a transaction, or a statement
// that is one by itself, since it was in conflict with another.
func IsTxConflict(err error) bool { return hasCode(err, protocol.ER_TRANSACTION_CONFLICT) }

// IsRetryable tells whether nothing was applied, and the whole again, the
// transaction or the statement outside one, may succeed as it is: after a
// conflict, on an instance that is not writable any more or not yet, when a
// transaction has lost its instance or timed out on the server. It is false for an
// ErrOutcomeUnknown, for an ErrNoInstance, for which the driver has waited already,
// and for calls outside a transaction.
func IsRetryable(err error) bool {
	if errors.Is(err, ErrOutcomeUnknown) || errors.Is(err, ErrNoInstance) {
		return false
	}
	var tx *txError
	if errors.As(err, &tx) && tx.again {
		return true
	}
	return hasCode(err, protocol.ER_TRANSACTION_CONFLICT, protocol.ER_TRANSACTION_TIMEOUT,
		protocol.ER_READONLY, protocol.ER_LOADING,
		protocol.ER_SYNC_QUEUE_UNCLAIMED, protocol.ER_SYNC_QUEUE_FOREIGN) && !isPartly(err)
}

// hasCode goes by the code that the server answered, never by the text.
func hasCode(err error, codes ...protocol.Error) bool {
	var e *Error
	return errors.As(err, &e) && slices.Contains(codes, protocol.Error(e.Code))
}

func isPartly(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.partly
}
