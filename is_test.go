package tntsql_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
)

// coded is a server's error whose text says nothing of its code.
func coded(code uint32) error { return &tntsql.Error{Code: code, Message: "something"} }

// kinds is what the functions Is… say of an error.
type kinds struct{ unique, readOnly, conflict, retryable bool }

func kindsOf(err error) kinds {
	return kinds{
		unique:    tntsql.IsUniqueViolation(err),
		readOnly:  tntsql.IsReadOnly(err),
		conflict:  tntsql.IsTxConflict(err),
		retryable: tntsql.IsRetryable(err),
	}
}

var errorKinds = []struct {
	name string
	err  error
	want kinds
}{
	{"none", nil, kinds{}},
	{"3, duplicate key", coded(3), kinds{unique: true}},
	{"7, read-only", coded(7), kinds{readOnly: true, retryable: true}},
	{"97, conflict", coded(97), kinds{conflict: true, retryable: true}},
	{"116, loading", coded(116), kinds{retryable: true}},
	{"231, transaction timeout", coded(231), kinds{retryable: true}},
	{"32, error of Lua", coded(32), kinds{}},
	{"40, cannot write to disk", coded(40), kinds{}},
	{"42, access denied", coded(42), kinds{}},
	{"114, no transaction", coded(114), kinds{}},
	{"134, quota of vinyl", coded(134), kinds{}},
	{"135, transaction of vinyl", coded(135), kinds{}},
	{"154, aborted by a yield", coded(154), kinds{}},
	{"159, SQL", coded(159), kinds{}},
	{"171, type mismatch", coded(171), kinds{}},
	{"216, quorum timeout", coded(216), kinds{}},
	{"217, synchronous rollback", coded(217), kinds{}},
	{"225, transaction aborted", coded(225), kinds{}},
	{"227, synchronous queue has no owner", coded(227), kinds{retryable: true}},
	{"228, synchronous queue has another owner", coded(228), kinds{retryable: true}},
	{"289, synchronous queue is full", coded(289), kinds{}},
	{"295, synchronous timeout", coded(295), kinds{}},
	{"read-only handle", fmt.Errorf("%w: INSERT", tntsql.ErrReadOnlyHandle), kinds{readOnly: true}},
	{"no instance", &tntsql.NoInstanceError{Mode: tntsql.ModeRW}, kinds{}},
	{"unsupported", tntsql.ErrTxUnsupported, kinds{}},
	{"closed", tntsql.ErrClosed, kinds{}},
	{"bad connection", driver.ErrBadConn, kinds{}},
	{"transaction done", sql.ErrTxDone, kinds{}},
	{"deadline", context.DeadlineExceeded, kinds{}},
	{"only the text of a duplicate key", errors.New("tntsql: Duplicate key exists (ER_TUPLE_FOUND, code 3)"), kinds{}},
	{"only the text of a conflict", &tntsql.Error{Code: 32, Message: "Transaction has been aborted by conflict"}, kinds{}},
}

func TestKindsOfErrors(t *testing.T) {
	for _, tt := range errorKinds {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, kindsOf(tt.err))
			if tt.err == nil {
				return
			}
			for by, wrapped := range map[string]error{
				"%w":          fmt.Errorf("move money: %w", tt.err),
				"%w twice":    fmt.Errorf("again: %w", fmt.Errorf("move money: %w", tt.err)),
				"errors.Join": errors.Join(errors.New("close the rows"), tt.err),
				"BatchError":  &tntsql.BatchError{Index: 1, Query: tntsql.Query{SQL: "SELECT 1"}, Err: tt.err},
			} {
				assert.Equal(t, tt.want, kindsOf(wrapped), by)
			}
		})
	}
}

// What may have been applied is not to be sent again, whatever else the error says.
func TestNothingOfUnknownOutcomeIsRetryable(t *testing.T) {
	for _, tt := range errorKinds {
		if tt.err == nil {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			want := tt.want
			want.retryable = false
			unknown := &tntsql.OutcomeUnknownError{Err: tt.err}
			assert.Equal(t, want, kindsOf(unknown))
			assert.Equal(t, want, kindsOf(fmt.Errorf("move money: %w", unknown)))
			assert.Equal(t, want, kindsOf(&tntsql.BatchError{Err: unknown}))
			assert.Equal(t, want, kindsOf(&tntsql.OutcomeUnknownError{Err: fmt.Errorf("commit: %w", tt.err)}))
		})
	}
}

func TestNoInstanceIsNotRetryableWhateverTheInstancesSaid(t *testing.T) {
	err := &tntsql.NoInstanceError{
		Mode:      tntsql.ModeRW,
		Instances: []tntsql.TopologyInstance{{Address: "h:3301", Status: "down", Err: coded(116)}},
		Err:       context.DeadlineExceeded,
	}
	assert.Equal(t, kinds{}, kindsOf(err))
	assert.False(t, tntsql.IsRetryable(errors.Join(coded(116), err)))
}

func TestKindsOfAServersOwnErrors(t *testing.T) {
	db := open(t)
	name := table(t, sharedSet(t), "ID INTEGER PRIMARY KEY")
	mustExec(t, db, "INSERT INTO "+name+" VALUES (1)")

	_, err := db.ExecContext(t.Context(), "INSERT INTO "+name+" VALUES (1)")
	require.Error(t, err)
	assert.Equal(t, kinds{unique: true}, kindsOf(err))

	_, err = tntsql.ExecBatch(t.Context(), db,
		tntsql.Query{SQL: "INSERT INTO " + name + " VALUES (2)"}, tntsql.Query{SQL: "INSERT INTO " + name + " VALUES (1)"})
	require.ErrorAs(t, err, new(*tntsql.BatchError))
	assert.Equal(t, kinds{unique: true}, kindsOf(err))

	_, connector := openDSN(t, sharedSet(t).DSN())
	readOnly := sql.OpenDB(connector.With(tntsql.Defaults{ReadOnly: true}))
	defer readOnly.Close()
	_, err = readOnly.ExecContext(t.Context(), "DELETE FROM "+name)
	require.Error(t, err)
	assert.Equal(t, kinds{readOnly: true}, kindsOf(err))
}

// The code of a procedure may have done anything before it was refused, but not in
// a transaction, which is rolled back as a whole.
func TestARefusedCallIsRetryableInATransactionOnly(t *testing.T) {
	db := open(t)
	name := table(t, sharedSet(t), "ID INTEGER PRIMARY KEY")
	const insert = "box.space[...]:insert{1}"

	ctx := within(t, 10*time.Second)
	_, err := tntsql.Eval(ctx, db, tntsql.ModeRO, insert, name)
	require.Error(t, err)
	assert.Equal(t, kinds{readOnly: true}, kindsOf(err))

	needStreams(t, sharedSet(t))
	tx, err := db.BeginTx(withMode(t, tntsql.ModeRO), nil)
	require.NoError(t, err)
	defer tx.Rollback() //nolint:errcheck // the test has ended
	_, err = tntsql.Eval(ctx, tx, tntsql.ModeRO, insert, name)
	require.Error(t, err)
	assert.Equal(t, kinds{readOnly: true, retryable: true}, kindsOf(err))
}
