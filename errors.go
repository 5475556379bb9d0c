package tntsql

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/iproto"
	"github.com/tntsql/tntsql/internal/wire"
	"github.com/tntsql/tntsql/pool"
)

var (
	// ErrNoInstance is every *NoInstanceError.
	ErrNoInstance = errors.New("tntsql: no instance for the mode")
	// ErrOutcomeUnknown is every *OutcomeUnknownError: the statement may have
	// been applied, or may yet be. Look before sending it again.
	ErrOutcomeUnknown = errors.New("tntsql: outcome unknown")
	// ErrTxUnsupported is returned by BeginTx on servers before 2.10, which
	// have no transactions over the network.
	ErrTxUnsupported = errors.New("tntsql: transactions are not supported")
	// ErrBatchUnsupported is returned by ExecBatch where neither EVAL nor a
	// transaction can run it.
	ErrBatchUnsupported = errors.New("tntsql: batches are not supported")
	// ErrSessionStatement refuses a text that would change a session which
	// others share, or end a transaction behind the driver's back.
	ErrSessionStatement = errors.New("tntsql: session statement refused")
	// ErrReadOnlyHandle refuses a statement that may write on a handle with
	// read_only, before any I/O.
	ErrReadOnlyHandle = errors.New("tntsql: this handle is read-only")
	// ErrNotTarantool tells that a handle given to Raw, Call or Eval belongs
	// to another driver.
	ErrNotTarantool = errors.New("tntsql: not a Tarantool handle")
	// ErrClosed tells that the Connector has been closed.
	ErrClosed = errors.New("tntsql: closed")
)

// InstanceRef names the instance that served something. Its zero value is no
// instance.
type InstanceRef struct {
	Address    string
	UUID       string
	Name       string // 3.x
	ReplicaSet string // its uuid; before 2.10 only if the user may call box.info
	Role       string // "rw" or "ro", as known when it was picked
}

// String is the address, and the name if there is one.
func (r InstanceRef) String() string {
	if r.Name == "" {
		return r.Address
	}
	return r.Name + " (" + r.Address + ")"
}

func instanceRef(in *discovery.Instance) InstanceRef {
	if in == nil {
		return InstanceRef{}
	}
	return InstanceRef{
		Address:    in.Address,
		UUID:       in.UUID,
		Name:       in.Name,
		ReplicaSet: in.ReplicaSet,
		Role:       in.Role.String(),
	}
}

// Error is an error that a server answered.
type Error struct {
	// Code is the server's error code, and Name its name: 3 and
	// "ER_TUPLE_FOUND". A code that this driver does not know has no name.
	Code uint32
	Name string
	// Message is the server's text. Error shows its first 4 KiB.
	Message string
	// Type and Fields are of the outermost error of Stack. Tarantool 2.4 and
	// newer send a type, 2.10 and newer fields.
	Type   string
	Fields map[string]any
	// Stack is the error and its causes, outermost first.
	Stack    []ErrorFrame
	Instance InstanceRef

	partly bool // code of the user ran before it, and may have done anything
}

// ErrorFrame is one error of a server's error stack.
type ErrorFrame struct {
	Type    string
	File    string
	Line    int
	Message string
	Errno   uint32
	Code    uint32
	Fields  map[string]any
}

func (e *Error) Error() string { return "tntsql: " + e.text() }

// text is Error without the prefix, for errors that wrap it.
func (e *Error) text() string {
	var b strings.Builder
	b.WriteString(iproto.Shown(e.Message))
	if e.Name != "" {
		fmt.Fprintf(&b, " (%s, code %d)", e.Name, e.Code)
	} else {
		fmt.Fprintf(&b, " (code %d)", e.Code)
	}
	if e.Instance.Address != "" {
		fmt.Fprintf(&b, " from %s", e.Instance)
	}
	if hint := e.hint(); hint != "" {
		b.WriteString("; ")
		b.WriteString(hint)
	}
	return b.String()
}

// hint says what to do about an error whose text does not.
func (e *Error) hint() string {
	switch protocol.Error(e.Code) {
	case protocol.ER_SQL_SEQ_SCAN:
		return "write FROM SEQSCAN, or put seq_scan=true in the DSN"
	case protocol.ER_TRANSACTION_YIELD:
		return "transactions on memtx spaces need box.cfg.memtx_use_mvcc_engine = true, and DDL works outside transactions only"
	case protocol.ER_TRANSACTION_CONFLICT:
		return "it may succeed when all of it runs again: RunTx, Retry"
	case protocol.ER_TRANSACTION_TIMEOUT:
		return "it took longer than tx_timeout, or than the deadline of BeginTx's context"
	case protocol.ER_ACCESS_DENIED:
		if strings.Contains(e.Message, "for user 'guest'") {
			return "the DSN names no user"
		}
		if e.Fields["object_type"] == "sql" || strings.Contains(e.Message, "access to sql") {
			return "an administrator grants it: box.schema.user.grant(user, 'execute', 'sql')"
		}
		if strings.Contains(e.Message, "space 'ephemeral'") {
			return "UPDATE, DELETE and INSERT of several rows need box.schema.user.grant(user, 'read', 'universe')"
		}
	case protocol.ER_NO_SUCH_SPACE, protocol.ER_SQL_CANT_RESOLVE_FIELD:
		if e.Fields["name"] == nil { // which 3.x sends
			return caseHint(e.Message)
		}
	case protocol.ER_SQL_KEYWORD_IS_RESERVED:
		return verbHint(e.Message)
	case protocol.ER_SQL_TYPE_MISMATCH, protocol.ER_INCONSISTENT_TYPES:
		return typeHint(e.Message)
	}
	return ""
}

// caseHint is about a message such as "Space 'USERS' does not exist".
func caseHint(message string) string {
	_, name, _ := strings.Cut(message, "'")
	name, _, _ = strings.Cut(name, "'")
	if name != strings.ToLower(name) && name == strings.ToUpper(name) {
		return "Tarantool 2.x takes names without double quotes in upper case"
	}
	return ""
}

// verbHint is about a message such as "keyword 'SELECT' is reserved", which is all that the
// server says of a second statement.
func verbHint(message string) string {
	_, word, _ := strings.Cut(message, "keyword '")
	word, _, _ = strings.Cut(word, "'")
	switch strings.ToUpper(word) {
	case "SELECT", "VALUES", "WITH", "INSERT", "REPLACE", "UPDATE", "DELETE", "CREATE", "ALTER", "DROP", "TRUNCATE":
		return "a text has one statement, ExecBatch takes several"
	}
	return ""
}

// bytesHint also serves comparisons, where 2.6 does not say which side is which.
const bytesHint = "pass a string for a STRING, and []byte for a VARBINARY"

// typeHints say what to pass for a type of SQL that other databases take as text.
var typeHints = map[string]string{
	"varbinary": bytesHint,
	"decimal":   "pass a tntsql.Decimal",
	"uuid":      "pass a tntsql.UUID, or that of another package",
	"datetime":  "pass a time.Time",
	"interval":  "pass a tntsql.Interval",
	"array":     "pass a slice or a tntsql.Doc",
	"map":       "pass a map or a tntsql.Doc, by name: sql.Named and :name",
}

// typeHint is about a message such as "can not convert string('1') to decimal", or
// "expected string got varbinary(x'00')".
func typeHint(message string) string {
	if at := strings.LastIndex(message, " to "); at >= 0 {
		if hint, ok := typeHints[message[at+len(" to "):]]; ok {
			return hint
		}
	}
	if strings.Contains(message, "can not convert varbinary") || strings.Contains(message, " got varbinary") {
		return bytesHint
	}
	return ""
}

// BatchError tells which statement a batch has come to nothing by.
type BatchError struct {
	Index int // of Query among the batch's
	Query Query
	Err   error
}

func (e *BatchError) Error() string {
	return fmt.Sprintf("tntsql: query %d of the batch: %s", e.Index, bare(e.Err))
}

func (e *BatchError) Unwrap() error { return e.Err }

// known makes the error of an instance one that callers may see.
func known(err error) error {
	var (
		login  *wire.LoginError
		server *iproto.ServerError
	)
	if errors.As(err, &login) {
		return serverError(login.ServerError, InstanceRef{})
	}
	if errors.As(err, &server) && errors.Is(server, err) {
		return serverError(server, InstanceRef{})
	}
	return err
}

func serverError(e *iproto.ServerError, from InstanceRef) *Error {
	out := &Error{Code: e.Code, Message: e.Message, Instance: from}
	if name := protocol.Error(e.Code).String(); strings.HasPrefix(name, "ER_") {
		out.Name = name
	}
	for _, f := range e.Stack {
		out.Stack = append(out.Stack, ErrorFrame(f))
	}
	if len(e.Stack) > 0 {
		out.Type, out.Fields = e.Stack[0].Type, e.Stack[0].Fields
	}
	return out
}

// OutcomeUnknownError tells that a statement which may write was sent, and that
// what became of it is not known: the connection was lost or the context ended
// before the answer, or the answer itself says so. It is ErrOutcomeUnknown.
type OutcomeUnknownError struct {
	Instance InstanceRef
	Err      error // why
}

func (e *OutcomeUnknownError) Error() string {
	return fmt.Sprintf("tntsql: outcome unknown on %s: %s; it may have been applied: look before sending it again", e.Instance, bare(e.Err))
}

func (e *OutcomeUnknownError) Unwrap() []error { return []error{ErrOutcomeUnknown, e.Err} }

// readOnlyHandle refuses what may write.
func readOnlyHandle(what string) error {
	return fmt.Errorf("%w: %s; read_only in its DSN, or Defaults.ReadOnly, lets it read only", ErrReadOnlyHandle, what)
}

// NoInstanceError tells that no instance of a mode was found in time. It is
// ErrNoInstance, and the context's error if the context ended the waiting.
type NoInstanceError struct {
	Mode      Mode
	Waited    time.Duration
	Instances []TopologyInstance // as they were known when the waiting ended
	Err       error              // the context's error, or nil
}

func (e *NoInstanceError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "tntsql: no instance for mode %s", e.Mode)
	if e.Waited > 0 {
		fmt.Fprintf(&b, " after %v", e.Waited.Round(time.Millisecond))
	}
	if e.Err != nil {
		fmt.Fprintf(&b, " (%s)", e.Err)
	}
	for i, in := range e.Instances {
		sep := "; "
		if i == 0 {
			sep = ": "
		}
		fmt.Fprintf(&b, "%s%s: %s", sep, in.Address, in.Status)
		if in.Role != discovery.RoleUnknown.String() {
			fmt.Fprintf(&b, ", %s", in.Role)
		}
		if in.Err != nil {
			fmt.Fprintf(&b, " (%s)", in.reason())
		}
	}
	return b.String()
}

func (e *NoInstanceError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrNoInstance}
	}
	return []error{ErrNoInstance, e.Err}
}

// txError tells that a transaction is over, with nothing of it stored, unless it
// had been committed before.
type txError struct {
	from  InstanceRef
	again bool // all of it may be tried again as it is
	err   error
}

func (e *txError) Error() string {
	return fmt.Sprintf("tntsql: the transaction on %s is over: %s", e.from, bare(e.err))
}

func (e *txError) Unwrap() error { return e.err }

// endedError is an error of code that has ended its transaction before.
type endedError struct{ err *Error }

func (e *endedError) Error() string { return pool.ErrEndedByCode.Error() + ": " + e.err.text() }

func (e *endedError) Unwrap() []error { return []error{pool.ErrEndedByCode, e.err} }

// partly marks a server's error that came while the user's code ran outside a
// transaction: what that did before stays done.
func partly(err error) error {
	var e *Error
	if errors.As(err, &e) {
		e.partly = true
	}
	return err
}

// bare is an error's text without this package's prefix.
func bare(err error) string {
	return strings.TrimPrefix(err.Error(), "tntsql: ")
}

// outward makes an error of the inside one that callers may see: typed, and
// prefixed once. served is the instance that it came from, if it did.
func outward(ctx context.Context, err error, served *discovery.Instance) error {
	if err == nil {
		return nil
	}
	from := instanceRef(served)
	var (
		unknown *pool.UnknownError
		server  *iproto.ServerError
		none    *pool.NoInstanceError
		tx      *pool.TxError
		old     *pool.UnsupportedError
	)
	switch {
	case errors.As(err, &unknown):
		cause := withContext(ctx, unknown.Err)
		if errors.As(cause, &server) {
			cause = serverError(server, from)
		}
		return &OutcomeUnknownError{Instance: from, Err: cause}
	case errors.As(err, &tx):
		cause := withContext(ctx, tx.Err)
		switch {
		case errors.Is(cause, pool.ErrEndedByCode) && errors.As(cause, &server):
			cause = partly(&endedError{serverError(server, InstanceRef{})})
		case errors.As(cause, &server):
			cause = serverError(server, InstanceRef{})
		}
		return &txError{from, tx.Again, cause}
	case errors.As(err, &old):
		return fmt.Errorf("%w by Tarantool %s at %s: they need 2.10 or newer; ExecBatch works on every version",
			ErrTxUnsupported, old.Version, old.Address)
	case errors.As(err, &server):
		return serverError(server, from)
	case errors.As(err, &none):
		return &NoInstanceError{
			Mode:      Mode(none.Mode),
			Waited:    none.Waited,
			Instances: topology(none.Instances),
			Err:       none.Err,
		}
	case errors.Is(err, pool.ErrClosed):
		return ErrClosed
	}
	if err = withContext(ctx, err); served != nil {
		return fmt.Errorf("tntsql: %s: %w", from, err)
	}
	return fmt.Errorf("tntsql: %w", err)
}

// withContext adds the context's error to err if that has ended, whatever its cause.
func withContext(ctx context.Context, err error) error {
	if over := ctx.Err(); over != nil && !errors.Is(err, over) {
		return fmt.Errorf("%w: %w", over, err)
	}
	return err
}
