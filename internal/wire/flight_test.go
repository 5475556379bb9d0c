package wire_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql/internal/fakepeer"
	"github.com/tntsql/tntsql/internal/iproto"
	"github.com/tntsql/tntsql/internal/wire"
)

// hold keeps the answers to requests of the type back, in the order of arrival.
func hold(p *fakepeer.Peer, typ protocol.Type) <-chan func() {
	held := make(chan func(), 16)
	p.On(typ, func(s *fakepeer.Session, r fakepeer.Request) bool {
		held <- func() { s.Answer(r) }
		return true
	})
	return held
}

func send(t *testing.T, c *wire.Conn, typ protocol.Type) wire.Pending {
	t.Helper()
	p, err := c.Send(typ, iproto.EmptyBody, false)
	require.NoError(t, err)
	return p
}

func TestOldestOfAConnectionIsTheOneThatHoldsItUp(t *testing.T) {
	p := fakepeer.Start(t, nil)
	held, calls := hold(p, protocol.IPROTO_EXECUTE), hold(p, protocol.IPROTO_CALL)
	c := dial(t, p)
	call := send(t, c, protocol.IPROTO_CALL)
	assert.Zero(t, c.Waiting(), "a call holds up nobody")
	first := send(t, c, protocol.IPROTO_EXECUTE)
	(<-calls)()
	answer := <-held
	second := send(t, c, protocol.IPROTO_EXECUTE)
	last := <-held
	assert.False(t, call.Oldest())
	assert.True(t, first.Oldest())
	assert.False(t, second.Oldest())
	waiting := c.Waiting()
	assert.Positive(t, waiting)

	answer()
	<-first.Done()
	assert.True(t, second.Oldest())
	last()
	<-second.Done()
	assert.Zero(t, c.Waiting())
}

func TestStalledWakesThoseWhoWait(t *testing.T) {
	c := dial(t, fakepeer.Start(t, nil))
	stalled := func() bool {
		select {
		case <-c.Stalled():
			return true
		default:
			return false
		}
	}
	assert.False(t, stalled())
	waits := c.Stalled()
	for range 2 { // once more changes nothing
		c.SetStalled(true)
		<-waits
		assert.True(t, stalled())
	}
	for range 2 {
		c.SetStalled(false)
		assert.False(t, stalled())
	}
	c.SetStalled(true)
	assert.True(t, stalled())
}

func TestPingsUnansweredByTheServer(t *testing.T) {
	p := fakepeer.Start(t, nil)
	held := hold(p, protocol.IPROTO_PING)
	c := dial(t, p)
	assert.Zero(t, c.Unanswered())
	ping := send(t, c, protocol.IPROTO_PING)
	answer := <-held
	assert.Eventually(t, func() bool { return c.Unanswered() > 0 }, patienceFor, tick)
	answer()
	<-ping.Done()
	assert.Eventually(t, func() bool { return c.Unanswered() == 0 }, patienceFor, tick)
}

func TestDoubledReplyDoesNoHarm(t *testing.T) {
	p := fakepeer.Start(t, fakepeer.Double)
	c := dial(t, p)
	for range 100 {
		reply, err := c.Do(patience(t), protocol.IPROTO_VOTE, iproto.EmptyBody)
		require.NoError(t, err)
		require.Equal(t, fakepeer.Ballot(false), reply.Body)
	}
}

func TestGarbledBodyFailsItsRequestAlone(t *testing.T) {
	p := fakepeer.Start(t, nil)
	p.On(protocol.IPROTO_VOTE, fakepeer.Garble)
	c := dial(t, p)
	reply, err := c.Do(patience(t), protocol.IPROTO_VOTE, iproto.EmptyBody)
	require.NoError(t, err, "bodies pass unread")
	_, err = iproto.ParseBallot(reply.Body)
	require.Error(t, err)
	ping(t, c)
}

func TestReplyCutShortIsLost(t *testing.T) {
	p := fakepeer.Start(t, nil)
	p.On(protocol.IPROTO_VOTE, fakepeer.CutShort)
	c := dial(t, p)
	_, err := c.Do(patience(t), protocol.IPROTO_VOTE, iproto.EmptyBody)
	var failure *wire.Error
	require.ErrorAs(t, err, &failure)
	assert.True(t, failure.Sent)
	assert.Eventually(t, c.Ended, patienceFor, tick)
}
