package iproto

import (
	"database/sql/driver"
	"fmt"
	"math"
	"time"

	"github.com/tarantool/go-iproto"
)

// maxBody is the largest request that a server takes, a little less than 2 GiB
// to leave room for its header.
const maxBody = math.MaxInt32 - 1024

// EmptyBody is the body of a request without fields, PING or VOTE.
var EmptyBody = []byte{0x80}

// ParamError is about one parameter of a statement or one argument of a call.
type ParamError struct {
	Index int    // from 1
	Name  string // with its sigil, empty for a positional parameter
	Err   error
}

func (e *ParamError) Error() string {
	if e.Name != "" {
		return fmt.Sprintf("parameter %s: %v", e.Name, e.Err)
	}
	return fmt.Sprintf("parameter %d: %v", e.Index, e.Err)
}

func (e *ParamError) Unwrap() error { return e.Err }

// The functions below append a request's body to b. When they fail they return
// b as it was. The version is that of the server the body is for.

// AppendExecute appends the body of an EXECUTE of a text. A name of an argument
// may begin with its sigil; without one it is ":name".
func AppendExecute(b []byte, text string, args []driver.NamedValue, v Version) ([]byte, error) {
	body := append(b, 0x82, byte(iproto.IPROTO_SQL_TEXT))
	body = appendString(body, text)
	return appendBound(b, body, args, v)
}

// AppendExecuteID appends the body of an EXECUTE of a prepared statement.
func AppendExecuteID(b []byte, id uint32, args []driver.NamedValue, v Version) ([]byte, error) {
	body := append(b, 0x82, byte(iproto.IPROTO_STMT_ID))
	body = appendUint(body, uint64(id))
	return appendBound(b, body, args, v)
}

func appendBound(b, body []byte, args []driver.NamedValue, v Version) ([]byte, error) {
	body, err := appendBindings(append(body, byte(iproto.IPROTO_SQL_BIND)), args, v)
	if err == nil {
		err = checkSize(len(body) - len(b))
	}
	if err != nil {
		return b, err
	}
	return body, nil
}

// appendBindings appends the array of a statement's parameters.
func appendBindings(b []byte, args []driver.NamedValue, v Version) ([]byte, error) {
	body := appendArrayLen(b, len(args))
	e := encoder{server: v}
	for i, arg := range args {
		name := sigiled(arg.Name)
		if name != "" {
			body = appendString(appendMapLen(body, 1), name)
		}
		start := len(body)
		var err error
		if body, err = e.safely(body, arg.Value); err != nil {
			return b, &ParamError{i + 1, name, err}
		}
		if name == "" && isMap(body[start]) {
			// The server takes a map on its own for a named parameter.
			err := fmt.Errorf("a map (%s) can only be bound by name: use sql.Named and :name", TypeName(arg.Value))
			return b, &ParamError{i + 1, name, err}
		}
	}
	return body, nil
}

// sigiled is a parameter's name as the server knows it.
func sigiled(name string) string {
	if name == "" {
		return ""
	}
	switch name[0] {
	case ':', '@', '#', '$':
		return name
	}
	return ":" + name
}

func isMap(code byte) bool { return code&0xf0 == 0x80 || code == 0xde || code == 0xdf }

// AppendPrepare appends the body of a PREPARE.
func AppendPrepare(b []byte, text string) []byte {
	return appendString(append(b, 0x81, byte(iproto.IPROTO_SQL_TEXT)), text)
}

// AppendUnprepare appends the body that makes a PREPARE forget the statement.
func AppendUnprepare(b []byte, id uint32) []byte {
	return appendUint(append(b, 0x81, byte(iproto.IPROTO_STMT_ID)), uint64(id))
}

// AppendCall appends the body of a CALL. A float stays one in Lua, and a struct is the map
// of its fields, with the tags "msgpack", else "json".
func AppendCall(b []byte, function string, args []any, v Version) ([]byte, error) {
	body := append(b, 0x82, byte(iproto.IPROTO_FUNCTION_NAME))
	body = appendString(body, function)
	return appendArguments(b, body, args, v)
}

// AppendEval appends the body of an EVAL of a Lua chunk; arguments are as for
// AppendCall.
func AppendEval(b []byte, expr string, args []any, v Version) ([]byte, error) {
	body := append(b, 0x82, byte(iproto.IPROTO_EXPR))
	body = appendString(body, expr)
	return appendArguments(b, body, args, v)
}

func appendArguments(b, body []byte, args []any, v Version) ([]byte, error) {
	body = append(body, byte(iproto.IPROTO_TUPLE))
	body = appendArrayLen(body, len(args))
	e := encoder{server: v, lua: true}
	for i, arg := range args {
		var err error
		if body, err = e.safely(body, arg); err != nil {
			return b, &ParamError{Index: i + 1, Err: err}
		}
	}
	if err := checkSize(len(body) - len(b)); err != nil {
		return b, err
	}
	return body, nil
}

// checkSize refuses a body that the server would not take. Beyond twice the
// limit the length of a string would not be encoded right.
func checkSize(n int) error {
	if n > maxBody {
		return fmt.Errorf("request of %d bytes, the server takes at most %d", n, maxBody)
	}
	return nil
}

// AppendValue appends v as AppendExecute does a parameter.
func AppendValue(b []byte, v any, server Version) ([]byte, error) {
	e := encoder{server: server}
	out, err := e.safely(b, v)
	if err != nil {
		return b, err
	}
	return out, nil
}

// Isolation is what a transaction sees of others that are not finished.
type Isolation uint8

// The isolation levels of the server, as on the wire.
const (
	DefaultIsolation Isolation = iota // as box.cfg says
	ReadCommitted                     // changes that are committed, though not confirmed yet
	ReadConfirmed                     // changes that are confirmed
	BestEffort                        // read-confirmed for those who only read; else read-committed
	Linearizable                      // what a quorum has; synchronous spaces only
)

// AppendBegin appends the body of a BEGIN. The server rolls the transaction back
// after the timeout.
func AppendBegin(b []byte, timeout time.Duration, level Isolation) []byte {
	b = append(b, 0x82, byte(iproto.IPROTO_TIMEOUT))
	b = appendFloat(b, timeout.Seconds())
	return append(b, byte(iproto.IPROTO_TXN_ISOLATION), byte(level))
}

// AppendWatch appends the body of a WATCH.
func AppendWatch(b []byte, key string) []byte {
	return appendString(append(b, 0x81, byte(iproto.IPROTO_EVENT_KEY)), key)
}
