package iproto

import (
	"database/sql/driver"
	_ "embed"
	"errors"
	"fmt"
	"math"

	"github.com/tarantool/go-iproto"
)

// batchScript runs statements in one transaction. An EVAL of it is one request
// and needs no stream, and without a yield in between, no MVCC.
//
//go:embed batch.lua
var batchScript string

// BatchStatement is one statement of a batch.
type BatchStatement struct {
	Text  string
	Args  []driver.NamedValue
	Calls bool // code of the user's, which may end the transaction
}

// LuaError tells that a parameter would not pass through Lua as it is.
type LuaError struct {
	Statement int // from 0
	Param     *ParamError
	Server    Version
}

func (e *LuaError) Error() string { return e.Param.Error() }
func (e *LuaError) Unwrap() error { return e.Param }

// AppendBatch appends the body of the EVAL that runs a batch. A parameter that
// Lua would change on its way is a *LuaError.
func AppendBatch(b []byte, batch []BatchStatement, v Version) ([]byte, error) {
	body := append(b, 0x82, byte(iproto.IPROTO_EXPR))
	body = appendString(body, batchScript)
	body = append(body, byte(iproto.IPROTO_TUPLE), 0x91)
	body = appendArrayLen(body, len(batch))
	for i, s := range batch {
		body = appendString(append(body, 0x94), s.Text)
		start := len(body)
		var err error
		if body, err = appendBindings(body, s.Args, v); err != nil {
			return b, &BatchParamError{i, err}
		}
		kept, err := keptOf(body[start:], s.Args, v)
		var changed *ParamError
		switch {
		case errors.As(err, &changed):
			return b, &LuaError{i, changed, v}
		case err != nil:
			return b, err
		}
		body = appendArrayLen(body, len(kept))
		for _, n := range kept {
			body = appendUint(body, uint64(n))
		}
		body = appendBool(body, s.Calls)
	}
	if err := checkSize(len(body) - len(b)); err != nil {
		return b, err
	}
	return body, nil
}

// BatchParamError is a parameter of a batch that cannot be sent at all.
type BatchParamError struct {
	Statement int // from 0
	Err       error
}

func (e *BatchParamError) Error() string { return e.Err.Error() }
func (e *BatchParamError) Unwrap() error { return e.Err }

var (
	errLuaBytes    = errors.New("bytes would become a string in Lua before Tarantool 3.0")
	errLuaDocument = errors.New("numbers within an array or a map would change in Lua")
)

// keptOf returns the numbers, from 1, of the bindings that the script has to keep
// what they are: Lua would bind the double 3.0 as an integer, and may bind bytes as
// a string.
func keptOf(bindings []byte, args []driver.NamedValue, v Version) ([]int, error) {
	var kept []int
	s := scanner{b: bindings}
	if _, err := s.array(); err != nil {
		return nil, err
	}
	for i, arg := range args {
		if arg.Name != "" {
			if _, err := s.mapLen(); err != nil {
				return nil, err
			}
			if _, err := s.text(); err != nil {
				return nil, err
			}
		}
		start := s.pos
		k, _, err := s.head()
		if err != nil {
			return nil, err
		}
		switch {
		case k == kindBin && !v.AtLeast(3, 0, 0):
			return nil, &ParamError{i + 1, sigiled(arg.Name), errLuaBytes}
		case k == kindFloat, k == kindBin:
			kept = append(kept, i+1)
		case k == kindArray, k == kindMap:
			return nil, &ParamError{i + 1, sigiled(arg.Name), errLuaDocument}
		}
		s.pos = start
		if err := s.skip(1, MaxDepth); err != nil {
			return nil, err
		}
	}
	return kept, nil
}

// BatchResult is what one statement of a batch did.
type BatchResult struct {
	Affected     int64
	GeneratedIDs []int64
	Rows         [][]any // nil if the statement has no result set
}

// BatchFailure is the statement that a batch has come to nothing by.
type BatchFailure struct {
	Statement int          // from 0
	Err       *ServerError // nil if it ended the transaction without an error
}

// ParseBatch reads the body of the reply to a batch.
func ParseBatch(body []byte) ([]BatchResult, *BatchFailure, error) {
	values, err := ParseData(body)
	if err != nil {
		return nil, nil, err
	}
	if len(values) == 2 {
		failed, ok := values[0].(int64)
		if e, is := values[1].(map[string]any); ok && is && failed > 0 && failed <= math.MaxInt32 {
			return nil, &BatchFailure{int(failed - 1), batchError(e)}, nil
		}
		if list, is := values[1].([]any); ok && is && failed == 0 {
			results, err := batchResults(list)
			return results, nil, err
		}
	}
	return nil, nil, errBatch
}

var errBatch = fmt.Errorf("%w: not the reply to a batch", ErrMalformed)

func batchResults(list []any) ([]BatchResult, error) {
	results := make([]BatchResult, len(list))
	for i, item := range list {
		fields, ok := item.([]any)
		if !ok || len(fields) != 3 {
			return nil, errBatch
		}
		r := &results[i]
		if r.Affected, ok = fields[0].(int64); !ok {
			return nil, errBatch
		}
		ids, ok := fields[1].([]any)
		if !ok {
			return nil, errBatch
		}
		for _, id := range ids {
			n, ok := id.(int64)
			if !ok {
				return nil, errBatch
			}
			r.GeneratedIDs = append(r.GeneratedIDs, n)
		}
		if fields[2] == nil {
			continue
		}
		rows, ok := fields[2].([]any)
		if !ok {
			return nil, errBatch
		}
		r.Rows = make([][]any, len(rows))
		for n, row := range rows {
			if r.Rows[n], ok = row.([]any); !ok {
				return nil, errBatch
			}
		}
	}
	return results, nil
}

// batchError is a server's error as the script passes it on.
func batchError(fields map[string]any) *ServerError {
	if ended, _ := fields["ended"].(bool); ended {
		return nil
	}
	var e ServerError
	f := ErrorFrame{Fields: make(map[string]any)}
	for name, value := range fields {
		switch name {
		case "code":
			code, _ := value.(int64)
			e.Code = uint32(code)
		case "message":
			e.Message, _ = value.(string)
		case "type":
			f.Type, _ = value.(string)
		default:
			f.Fields[name] = value
		}
	}
	if e.Message == "" {
		e.Message = iproto.Error(e.Code).String()
	}
	f.Code, f.Message = e.Code, e.Message
	e.Stack = []ErrorFrame{f}
	return &e
}
