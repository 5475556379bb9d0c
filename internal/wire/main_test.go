package wire_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	protocol "github.com/tarantool/go-iproto"
	"go.uber.org/goleak"

	"github.com/tntsql/tntsql/internal/fakepeer"
	"github.com/tntsql/tntsql/internal/iproto"
	"github.com/tntsql/tntsql/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const limit = 64 << 10 // bytes of a reply

func options() wire.Options {
	return wire.Options{MaxResponse: limit, Logger: slog.New(slog.DiscardHandler)}
}

// patience is far more than anything here takes.
func patience(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func dial(t *testing.T, p *fakepeer.Peer) *wire.Conn {
	t.Helper()
	c, err := wire.Dial(patience(t), p.Addr, options())
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func ping(t *testing.T, c *wire.Conn) {
	t.Helper()
	reply, err := c.Do(patience(t), protocol.IPROTO_PING, iproto.EmptyBody)
	require.NoError(t, err)
	require.Zero(t, reply.Code)
}

// nested is depth arrays in one another.
func nested(depth int) []byte {
	b := make([]byte, depth, depth+1)
	for i := range b {
		b[i] = 0x91
	}
	return append(b, 0xc0)
}
