package main

import (
	"bytes"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/tntsql/tntsql/internal/iproto"
)

// unsteady are the values of box.info that differ between two servers of one
// version, or two machines, and what a transcript has instead.
var unsteady = map[string]any{
	"pid": 1, "uptime": 1, "listen": "127.0.0.1:3301", "hostname": "localhost", "leader_idle": 1.5,
}

// steady replaces them in the answer to box.info; any other answer is as it was.
func steady(body []byte) []byte {
	keys := bytes.Index(body, []byte("\xa7version"))
	if keys < 3 || body[keys-3] != 0xde { // a map of 16 keys or more
		return body
	}
	return append(bytes.Clone(body[:keys]), steadyPairs(body[keys:])...)
}

func steadyPairs(pairs []byte) (out []byte) {
	for len(pairs) > 0 {
		key, value, rest := cut(pairs)
		var name string
		_ = msgpack.Unmarshal(key, &name) // a number is no name
		switch {
		case unsteady[name] != nil:
			value, _ = msgpack.Marshal(unsteady[name]) // a constant above
		case name == "election":
			value = append(value[:1:1], steadyPairs(value[1:])...)
		}
		out, pairs = append(append(out, key...), value...), rest
	}
	return out
}

// cut takes a key and its value off the pairs of a map.
func cut(pairs []byte) (key, value, rest []byte) {
	n := skip(pairs)
	m := n + skip(pairs[n:])
	return pairs[:n], pairs[n:m], pairs[m:]
}

func skip(b []byte) int {
	n, err := iproto.Skip(b, iproto.MaxDepth)
	if err != nil {
		panic(err) // the server's own encoding
	}
	return n
}
