package wire_test

import (
	"slices"
	"testing"
	"time"

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

func TestPinnedConnectionIsHeldUp(t *testing.T) {
	c := dial(t, fakepeer.Start(t, nil))
	for _, pinned := range []bool{false, true, false} {
		c.SetPinned(pinned)
		assert.Equal(t, pinned, c.HeldUp())
	}
}

func TestTwoOldestPinAConnection(t *testing.T) {
	p := fakepeer.Start(t, nil)
	held := hold(p, protocol.IPROTO_EXECUTE)
	hold(p, protocol.IPROTO_CALL)
	c := dial(t, p)
	send(t, c, protocol.IPROTO_CALL)
	var statements []wire.Pending
	var answers []func()
	var begun [4]time.Time
	for n := range begun {
		assert.Equal(t, n >= 2, c.WaitingPair() > 0, "%d are unfinished", n)
		begun[n] = time.Now()
		statements = append(statements, send(t, c, protocol.IPROTO_EXECUTE))
		answers = append(answers, <-held)
	}
	behind := func() (all []bool) {
		for _, s := range statements {
			all = append(all, s.Behind())
		}
		return all
	}
	assert.Equal(t, []bool{false, false, true, true}, behind())
	assert.LessOrEqual(t, c.WaitingPair(), time.Since(begun[1]), "the pair is as old as its younger one")

	for range 2 { // the third moves up, then the last
		answers[1]()
		<-statements[1].Done()
		answers, statements = slices.Delete(answers, 1, 2), slices.Delete(statements, 1, 2)
		assert.Equal(t, []bool{false, false, true}[:len(statements)], behind())
		assert.Positive(t, c.WaitingPair())
	}
	answers[0]()
	<-statements[0].Done()
	assert.Zero(t, c.WaitingPair(), "one is no pair")
	assert.Positive(t, c.Waiting())
	send(t, c, protocol.IPROTO_EXECUTE)
	assert.Positive(t, c.WaitingPair())
	c.Close()
	assert.Eventually(t, func() bool { return c.WaitingPair() == 0 }, patienceFor, tick)
}

func TestYieldedRoomIsTheCallers(t *testing.T) {
	for name, end := range map[string]func(*wire.Conn, <-chan func()){
		"when the answers come":    func(_ *wire.Conn, held <-chan func()) { (<-held)(); (<-held)() },
		"when the connection ends": func(c *wire.Conn, _ <-chan func()) { c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			p := fakepeer.Start(t, nil)
			held := hold(p, protocol.IPROTO_EXECUTE)
			b := wire.NewBudget(10)
			c := dialCounted(t, p, b)
			sent := counted(t, c, b, 2)
			require.True(t, sent[0].Yield())
			assert.Equal(t, 2, b.Used(), "one is the caller's now")
			assert.False(t, sent[0].Yield(), "it is handed over once")

			end(c, held)
			for _, s := range sent {
				<-s.Done()
			}
			require.Eventually(t, func() bool { return b.Used() == 1 }, patienceFor, tick)
			for _, s := range sent {
				assert.False(t, s.Yield(), "nothing is left")
			}
			require.Zero(t, c.InFlight())
			assert.Equal(t, 1, b.Used())
			b.Give(1)
			assert.Zero(t, b.Used())
		})
	}
}

func TestRequestWithoutRoomYieldsNone(t *testing.T) {
	p := fakepeer.Start(t, nil)
	hold(p, protocol.IPROTO_EXECUTE)
	assert.False(t, send(t, dial(t, p), protocol.IPROTO_EXECUTE).Yield())
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
