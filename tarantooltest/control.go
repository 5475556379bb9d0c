package tarantooltest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/vmihailenco/msgpack/v5"
)

// luaTimeout bounds a call of Lua that has no context of its own.
const luaTimeout = 30 * time.Second

// controlSocket is where instance.lua takes calls, in the instance's directory.
const controlSocket = "control"

// maxSocketPath is how long the path of a Unix socket may be: 103 bytes on BSD
// and macOS, 107 on Linux.
const maxSocketPath = 103

// lua runs code in the instance through its control socket, as the user admin,
// whatever the state of box.
func (in *instance) lua(ctx context.Context, code string, args []any) ([]any, error) {
	p, err := in.answering()
	if err != nil {
		return nil, err
	}
	request, err := msgpack.Marshal(map[string]any{"code": code, "args": append([]any{}, args...)})
	if err != nil {
		return nil, fmt.Errorf("arguments of Lua: %w", err)
	}
	conn, err := in.dial(ctx, p)
	if err != nil {
		return nil, err
	}
	defer conn.Close() //nolint:errcheck // what was asked has been answered, or has failed
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()

	var values []any
	if _, err = fmt.Fprintf(conn, "%d\n%s", len(request), request); err == nil {
		values, err = readReply(conn)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, fmt.Errorf("Lua: %w", ctx.Err())
	}
	return values, err
}

// dial connects to the control socket, which a new process opens after a while.
func (in *instance) dial(ctx context.Context, p *process) (net.Conn, error) {
	var dialer net.Dialer
	for {
		conn, err := dialer.DialContext(ctx, "unix", filepath.Join(in.dir, controlSocket))
		if err == nil {
			return conn, nil
		}
		select {
		case <-p.exited:
			return nil, errNotRunning
		case <-ctx.Done():
			return nil, fmt.Errorf("Lua: %w: %w", ctx.Err(), err)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

func readReply(r io.Reader) ([]any, error) {
	dec := msgpack.NewDecoder(r)
	dec.UseLooseInterfaceDecoding(true)
	dec.SetMapDecoder(func(d *msgpack.Decoder) (any, error) { return d.DecodeUntypedMap() })
	var reply struct {
		Values []any   `msgpack:"values"`
		Error  *string `msgpack:"error"`
	}
	if err := dec.Decode(&reply); err != nil {
		return nil, fmt.Errorf("the instance ended while it ran Lua: %w", err)
	}
	if reply.Error != nil {
		return nil, errors.New("Lua: " + *reply.Error)
	}
	for i, v := range reply.Values {
		reply.Values[i] = fromLua(v)
	}
	return reply.Values, nil
}

// fromLua gives numbers and tables the types that Lua documents.
func fromLua(v any) any {
	switch v := v.(type) {
	case uint64:
		if v <= math.MaxInt64 {
			return int64(v)
		}
	case []any:
		for i := range v {
			v[i] = fromLua(v[i])
		}
	case map[any]any:
		m := make(map[string]any, len(v))
		for key, value := range v {
			m[fmt.Sprint(key)] = fromLua(value)
		}
		return m
	}
	return v
}
