package pool_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/verdict"
)

// A server does not read a connection on which two EXECUTEs are unfinished. Reads
// that were sent there before that could be known go elsewhere, the two do not.
func TestReadsBehindTwoSlowStatementsMoveAtOnce(t *testing.T) {
	const behind = 20
	s := startServer(t, 0, watched)
	p := openReady(t, options(s))
	warm(t, p, discovery.ModeRW)
	var f freezing
	slow := f.begin(t, p, s, verdict.Read, verdict.Write)
	var reads []<-chan timed
	for range behind {
		reads = append(reads, beginTimed(t.Context(), p, request(discovery.ModeRW, verdict.Read)))
	}
	write := begin(t.Context(), p, request(discovery.ModeRW, verdict.Write))
	for _, read := range reads {
		o := <-read
		require.NoError(t, o.err)
		assert.LessOrEqual(t, o.Attempts, 2)
		assert.Less(t, o.took, 200*time.Millisecond, "far less than probe_timeout")
	}
	for _, w := range append(slow, write) {
		require.Empty(t, w, "neither the two nor a write is sent again")
	}
	f.thaw()
	for _, w := range append(slow, write) {
		o := <-w
		require.NoError(t, o.err)
		assert.Equal(t, 1, o.Attempts)
	}
}

// A server that answers nobody is busy: what waits for it would wait on any other
// connection too.
func TestReadsBehindTwoOfABusyServerStayUntilItIsSuspect(t *testing.T) {
	s := startServer(t, 0, watched)
	p := openReady(t, options(s))
	warm(t, p, discovery.ModeRW)
	s.Mute(true)
	for range 3 {
		begin(t.Context(), p, request(discovery.ModeRW, verdict.Read))
	}
	arrived(t, s, 1+3)
	assert.Never(t, func() bool { return s.executed() > 1+3 }, 300*time.Millisecond, tick)
}
