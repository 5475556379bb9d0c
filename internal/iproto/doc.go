// Package iproto encodes the bodies of IPROTO requests and decodes the bodies
// of responses. It does no I/O and starts no goroutine.
//
// Rows stay in the bytes of the response and are decoded one at a time,
// straight into the caller's slice. Strings are views of those bytes, so a
// body must not be changed or reused after it was parsed.
//
// Nothing in a response is trusted: every length is compared with the bytes
// that are there before it is used, and nesting is at most [MaxDepth].
package iproto

import "errors"

// MaxDepth is how deep arrays and maps may be nested in a value, in both
// directions.
const MaxDepth = 256

// ErrMalformed is wrapped by every error about bytes that are not what the
// protocol says.
var ErrMalformed = errors.New("malformed MessagePack")

// MessagePack extension types of Tarantool.
const (
	extDecimal  = 1
	extUUID     = 2
	extError    = 3
	extDatetime = 4
	extInterval = 6
)

var extensionNames = [...]string{
	extDecimal: "DECIMAL", extUUID: "UUID", extError: "ERROR", extDatetime: "DATETIME", extInterval: "INTERVAL",
}
