package pool_test

import (
	"context"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/verdict"
	"github.com/tntsql/tntsql/pool"
)

// hanging are options by which a dial to an instance that hangs lasts for longer
// than tests wait.
func hanging(servers ...*server) pool.Options {
	o := probing(servers...)
	o.ConnectTimeout = 2 * patience
	return o
}

// soon is far more than it takes to suspect an instance, and far less than
// connect_timeout.
const soon = patience / 2

// dialled waits until there is a data connection to the server on its way.
func dialled(t *testing.T, s *server) {
	t.Helper()
	require.Eventually(t, func() bool { return s.Sessions() == 1+1 }, patience, tick)
}

// An instance hangs that no data connection has been opened to. What waits for
// one was not sent, and goes elsewhere once the instance is suspect.
func TestNobodyWaitsForAConnectionToAnInstanceThatHangs(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]verdict.Kind{"reads": verdict.Read, "writes": verdict.Write, "calls": verdict.Call} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := startSet(t, watched, 2)
			p := openReady(t, hanging(set...))
			set[1].Stall()
			var all []<-chan timed
			for range 4 { // by turns: half of them there
				all = append(all, beginTimed(t.Context(), p, request(discovery.ModeRO, kind)))
			}
			for _, one := range all {
				o := <-one
				require.NoError(t, o.err)
				assert.Equal(t, set[2].uuid, o.Served.UUID)
				assert.Equal(t, 1, o.Attempts)
				assert.Less(t, o.took, soon)
			}
			assert.Equal(t, discovery.StatusSuspect, p.Snapshot().Instances[1].Status)
			assert.Positive(t, p.Counts().Unsent)
		})
	}
}

func TestUnsentWriteGoesToTheNewMasterWhenTheOldOneHangs(t *testing.T) {
	t.Parallel()
	set := startSet(t, watched, 1)
	p := openReady(t, hanging(set...))
	set[0].Stall()
	write := beginTimed(t.Context(), p, request(discovery.ModeRW, verdict.Write))
	dialled(t, set[0])
	set[1].SetReadOnly(false)
	o := <-write
	require.NoError(t, o.err)
	assert.Equal(t, set[1].uuid, o.Served.UUID)
	assert.Equal(t, 1, o.Attempts)
	assert.Less(t, o.took, soon)
}

func TestMovingReadsDoNotWaitForAConnectionToAnInstanceThatHangs(t *testing.T) {
	t.Parallel()
	const reads = 8
	set := startSet(t, watched, 2)
	p := openReady(t, hanging(set...))
	warm(t, p, discovery.ModeRW)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	set[0].Mute(true)
	set[1].Stall()
	begin(ctx, p, request(discovery.ModeRW, verdict.Write)) // the oldest
	arrived(t, set[0], 2)
	var moving []<-chan timed
	for range reads {
		moving = append(moving, beginTimed(t.Context(), p, request(discovery.ModePreferRW, verdict.Read)))
	}
	for _, read := range moving {
		o := <-read
		require.NoError(t, o.err)
		assert.Equal(t, set[2].uuid, o.Served.UUID)
		assert.Less(t, o.took, soon)
	}
	assert.Equal(t, reads, set[2].executed())
}

// dials keeps the connections to an address, in the order of their dials.
type dials struct {
	mu      sync.Mutex
	address string
	conns   []net.Conn
}

func (d *dials) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err == nil && address == d.address {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.conns = append(d.conns, conn)
	}
	return conn, err
}

// The control connection is lost, and the attempt to have another hangs. Data
// connections are looked after all the same.
func TestReadsMoveWhileTheControlConnectionIsMadeAnew(t *testing.T) {
	t.Parallel()
	set := startSet(t, watched, 1)
	o := hanging(set...)
	d := dials{address: set[0].Addr}
	o.Wire.Dial = d.dial
	p := openReady(t, o)
	warm(t, p, discovery.ModeRW, discovery.ModeRO)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	set[0].Mute(true)
	write := begin(ctx, p, request(discovery.ModeRW, verdict.Write)) // the oldest
	arrived(t, set[0], 2)
	var reads []<-chan timed
	for range 4 {
		reads = append(reads, beginTimed(t.Context(), p, request(discovery.ModePreferRW, verdict.Read)))
	}
	arrived(t, set[0], 2+4)
	d.mu.Lock()
	require.NoError(t, d.conns[0].Close())
	d.mu.Unlock()
	for _, read := range reads {
		o := <-read
		require.NoError(t, o.err)
		assert.Equal(t, set[1].uuid, o.Served.UUID)
		assert.Less(t, o.took, soon)
	}
	assert.Equal(t, discovery.StatusDown, p.Snapshot().Instances[0].Status)
	assert.Empty(t, write, "its connection is still there")
}
