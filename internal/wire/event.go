package wire

import (
	"bytes"
	"errors"
	"fmt"

	protocol "github.com/tarantool/go-iproto"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/tntsql/tntsql/internal/iproto"
)

// watchedKeys are the keys whose events reach go-tarantool, which itself
// watches box.shutdown. Nothing else is ever watched: a user's key may hold a
// value that its decoder cannot take.
var watchedKeys = map[string]bool{"box.shutdown": true}

var errNotWatched = errors.New("not a watched key")

// checkEvent tells whether go-tarantool's reader can decode the event: it is
// decoded here first, by the same decoder, where a panic can be recovered.
func checkEvent(body []byte) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("undecodable event: %v", r)
		}
	}()
	// The decoder trusts lengths; Skip does not.
	if _, err := iproto.Skip(body, maxDepth); err != nil {
		return err
	}
	d := msgpack.NewDecoder(bytes.NewReader(body))
	d.SetMapDecoder(func(d *msgpack.Decoder) (any, error) { return d.DecodeUntypedMap() })
	event, err := d.DecodeUntypedMap()
	if err != nil {
		return err
	}
	for k, v := range event {
		if n, ok := asInt(k); ok && n == int64(protocol.IPROTO_EVENT_KEY) {
			if key, ok := v.(string); ok && watchedKeys[key] {
				return nil
			}
		}
	}
	return errNotWatched
}

func asInt(v any) (int64, bool) {
	switch n := v.(type) {
	case int8:
		return int64(n), true
	case uint8:
		return int64(n), true
	case int64:
		return n, true
	}
	return 0, false
}
