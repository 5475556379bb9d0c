package iproto

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tarantool/go-iproto"
)

// Keys of MP_ERROR and of the errors in its stack.
const (
	errorStack = 0

	errorType    = 0
	errorFile    = 1
	errorLine    = 2
	errorMessage = 3
	errorErrno   = 4
	errorCode    = 5
	errorFields  = 6
)

// ErrorFrame is one error of a stack: the first is what happened, each further
// one is the reason of the one before.
type ErrorFrame struct {
	Type    string // class of the error, for example "ClientError"
	File    string // of the server's source, with Line
	Line    int
	Message string
	Errno   uint32         // of the operating system, 0 if none
	Code    uint32         // ER_* of the server
	Fields  map[string]any // what the type has besides, for example "reason" of ER_READONLY since 2.10
}

// ServerError is an error that a server answered.
type ServerError struct {
	Code    uint32 // ER_* of the server, for example 3 for ER_TUPLE_FOUND
	Message string
	Stack   []ErrorFrame // servers since 2.4.1; empty before
}

func (e *ServerError) Error() string { return fmt.Sprintf("%s (code %d)", Shown(e.Message), e.Code) }

// shownBytes is the most of a server's text that an error shows.
const shownBytes = 4 << 10

// Shown is what an error shows of a server's text, which may be as long as a reply: errors
// are wrapped and logged, a copy each time.
func Shown(text string) string { return Shortened(text, shownBytes) }

// Shortened is a text, or the beginning of one that has more than so many bytes.
func Shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most
	for end > most-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Sprintf("%s… (%d bytes in all)", text[:end], len(text))
}

// ParseError reads the body of an error reply. code is from the reply's header,
// with or without the flag that makes it an error. What cannot be read of the
// body is left out: an error reply is an error whatever its body is.
func ParseError(code uint32, body []byte) *ServerError {
	e := &ServerError{Code: code &^ uint32(iproto.IPROTO_TYPE_ERROR)}
	s := scanner{b: body, room: errorRoom}
	err := s.fields(func(key int) (_ bool, err error) {
		switch iproto.Key(key) {
		case iproto.IPROTO_ERROR_24:
			e.Message, err = s.kept()
		case iproto.IPROTO_ERROR:
			e.Stack, err = s.errorStack(true)
		default:
			return false, nil
		}
		return true, err
	})
	if len(e.Stack) > 0 {
		if e.Message == "" {
			e.Message = e.Stack[0].Message
		}
		if e.Code == 0 {
			e.Code = e.Stack[0].Code
		}
	}
	if e.Message == "" {
		e.Message = iproto.Error(e.Code).String()
		if err != nil {
			e.Message += ", without a readable message"
		}
	}
	return e
}

// HasError reports whether a body holds an error, which makes the reply one
// even if its header says OK.
func HasError(body []byte) bool {
	s := scanner{b: body}
	n, err := s.mapLen()
	if err != nil {
		return false
	}
	for ; n > 0; n-- {
		key, err := s.key()
		if err != nil {
			return false
		}
		switch iproto.Key(key) {
		case iproto.IPROTO_ERROR_24, iproto.IPROTO_ERROR:
			return true
		}
		if n > 1 && s.skip(1, MaxDepth) != nil {
			return false
		}
	}
	return false
}

// errorText returns the message of an MP_ERROR, as a copy. Its fields may hold further
// errors, so they are not looked at.
func errorText(data []byte) (string, error) {
	s := scanner{b: data}
	stack, err := s.errorStack(false)
	switch {
	case err != nil:
		return "", err
	case len(stack) == 0:
		return "", fmt.Errorf("%w: error without a stack", ErrMalformed)
	}
	return strings.Clone(stack[0].Message), nil
}

// maxFrames is how many errors of a stack are kept. An empty one takes a byte of a
// body, and over a hundred in Go.
const maxFrames = 64

// errorRoom is what the fields of all errors of a stack may take: errors come unasked, and
// are kept longer than replies.
const errorRoom = 16 << 20

// errorStack reads a stack, with the fields of its errors or without.
func (s *scanner) errorStack(whole bool) (stack []ErrorFrame, err error) {
	err = s.fields(func(key int) (bool, error) {
		if key != errorStack {
			return false, nil
		}
		n, err := s.array()
		if err != nil {
			return false, err
		}
		for ; n > 0; n-- {
			if len(stack) == maxFrames {
				return true, s.skip(n, MaxDepth)
			}
			frame, err := s.errorFrame(whole)
			if err != nil {
				return false, err
			}
			stack = append(stack, frame)
		}
		return true, nil
	})
	return stack, err
}

func (s *scanner) errorFrame(whole bool) (f ErrorFrame, err error) {
	err = s.fields(func(key int) (_ bool, err error) {
		if key == errorFields && !whole {
			return false, nil
		}
		switch key {
		case errorType:
			f.Type, err = s.kept()
		case errorFile:
			f.File, err = s.kept()
		case errorLine:
			var line uint32
			line, err = s.uint32()
			f.Line = int(line)
		case errorMessage:
			f.Message, err = s.kept()
		case errorErrno:
			f.Errno, err = s.uint32()
		case errorCode:
			f.Code, err = s.uint32()
		case errorFields:
			var fields any
			fields, err = s.value()
			f.Fields, _ = fields.(map[string]any)
		default:
			return false, nil
		}
		return true, err
	})
	return f, err
}
