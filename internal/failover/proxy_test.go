package failover

import (
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// echo is a connection through a proxy to a server that sends everything back.
func echo(t *testing.T) (*Proxy, net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			}()
		}
	}()
	p, err := NewProxy(listener.Addr().String())
	require.NoError(t, err)
	conn, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	t.Cleanup(func() {
		conn.Close()
		assert.NoError(t, p.Close())
		listener.Close()
	})
	return p, conn
}

func answer(conn net.Conn, within time.Duration) (string, error) {
	b := make([]byte, 1)
	if err := conn.SetReadDeadline(time.Now().Add(within)); err != nil {
		return "", err
	}
	_, err := io.ReadFull(conn, b)
	return string(b), err
}

func send(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	_, err := io.WriteString(conn, text)
	require.NoError(t, err)
}

// requireNewConnection has one that is made anew answer.
func requireNewConnection(t *testing.T, addr string) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer conn.Close()
	send(t, conn, "b")
	text, err := answer(conn, 10*time.Second)
	require.NoError(t, err)
	assert.Equal(t, "b", text)
}

func TestAStalledProxyLosesNothing(t *testing.T) {
	p, conn := echo(t)
	require.NoError(t, p.Stall())
	send(t, conn, "a")
	_, err := answer(conn, 200*ms)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, p.Heal())
	text, err := answer(conn, 10*time.Second)
	require.NoError(t, err)
	assert.Equal(t, "a", text)
}

func TestAProxyResets(t *testing.T) {
	p, conn := echo(t)
	require.NoError(t, p.Reset())
	send(t, conn, "a")
	_, err := answer(conn, 10*time.Second)
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, p.Heal())
	requireNewConnection(t, p.Addr())
}

func TestAProxyDelays(t *testing.T) {
	p, conn := echo(t)
	require.NoError(t, p.Delay(100))
	begun := time.Now()
	send(t, conn, "a")
	_, err := answer(conn, 10*time.Second)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, time.Since(begun), 100*ms)
}

func TestWhatIsDoneToAProxyTakesThePlaceOfTheOneBefore(t *testing.T) {
	p, conn := echo(t)
	require.NoError(t, p.Stall())
	require.NoError(t, p.Reset())
	require.NoError(t, p.Slice(3, 10))
	require.NoError(t, p.Delay(100))
	require.NoError(t, p.Delay(1))
	send(t, conn, "a")
	text, err := answer(conn, 10*time.Second)
	require.NoError(t, err)
	assert.Equal(t, "a", text)
}

func TestAProxyThatIsStuckIsReplaced(t *testing.T) {
	p, conn := echo(t)
	p.stuck = 50 * ms
	old, addr, never := p.proxy.Toxics, p.Addr(), make(chan struct{})
	defer close(never)
	changed := make(chan *toxiproxy.ToxicCollection, 2)
	require.NoError(t, p.control(func(toxics *toxiproxy.ToxicCollection) error {
		changed <- toxics
		if toxics == old {
			<-never
		}
		return nil
	}))
	assert.True(t, <-changed == old)
	assert.False(t, <-changed == old)
	_, err := answer(conn, 10*time.Second)
	require.ErrorIs(t, err, io.EOF)

	requireNewConnection(t, addr)
}
