package wire_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql/internal/fakepeer"
	"github.com/tntsql/tntsql/internal/iproto"
	"github.com/tntsql/tntsql/internal/wire"
)

func sendIn(t *testing.T, s *wire.Stream, typ protocol.Type, body []byte) wire.Pending {
	t.Helper()
	p, err := s.Send(typ, body, false)
	require.NoError(t, err)
	return p
}

// The server has a part of a connection's input for what is queued in a stream
// until it is done, whatever it is.
func TestCallHoldsUpItsConnectionInAStreamAlone(t *testing.T) {
	for _, typ := range []protocol.Type{protocol.IPROTO_CALL, protocol.IPROTO_EVAL} {
		for name, streamed := range map[string]bool{"in a stream": true, "outside": false} {
			t.Run(typ.String()+" "+name, func(t *testing.T) {
				p := fakepeer.Start(t, nil, fakepeer.Version("3.8"))
				held := hold(p, typ)
				c := dial(t, p)
				outside := c.Send
				first, second := outside, outside
				if streamed {
					first, second = c.NewStream().Send, c.NewStream().Send
				}
				oldest, err := first(typ, iproto.EmptyBody, false)
				require.NoError(t, err)
				answer := <-held
				newest, err := second(typ, iproto.EmptyBody, false)
				require.NoError(t, err)
				last := <-held

				assert.Equal(t, 2, c.InFlight())
				assert.Equal(t, streamed, oldest.Oldest())
				assert.False(t, newest.Oldest())
				assert.Equal(t, streamed, c.Waiting() > 0)
				assert.Equal(t, streamed, c.WaitingPair() > 0)
				statement := send(t, c, protocol.IPROTO_EXECUTE)
				assert.Equal(t, streamed, statement.Behind())
				if streamed {
					assert.Eventually(t, c.HeldUp, patienceFor, tick)
				} else {
					<-statement.Done()
					assert.Zero(t, c.Waiting())
					assert.False(t, c.HeldUp())
				}
				answer()
				last()
				for _, pending := range []wire.Pending{oldest, newest, statement} {
					<-pending.Done()
				}
				assert.Zero(t, c.Waiting())
				assert.Zero(t, c.InFlight())
				assert.False(t, c.HeldUp())
			})
		}
	}
}

func TestStreamsHaveNumbersOfTheirOwn(t *testing.T) {
	const streams = 100
	p := fakepeer.Start(t, nil, fakepeer.Version("3.8"))
	c := dial(t, p)
	ping(t, c)
	for range streams {
		s := c.NewStream()
		for _, typ := range []protocol.Type{protocol.IPROTO_BEGIN, protocol.IPROTO_COMMIT} {
			pending := sendIn(t, s, typ, iproto.EmptyBody)
			<-pending.Done()
			reply, err := pending.Reply()
			require.NoError(t, err)
			require.Zero(t, reply.Code)
		}
	}
	numbers := make(map[uint64]int)
	for _, r := range p.Requests(protocol.IPROTO_BEGIN, protocol.IPROTO_COMMIT) {
		numbers[r.Stream]++
	}
	assert.NotContains(t, numbers, uint64(0))
	assert.Len(t, numbers, streams)
	for _, pings := range p.Requests(protocol.IPROTO_PING) {
		assert.Zero(t, pings.Stream)
	}
}

func TestOrderedConnectionKeepsTheOrderOfItsStreams(t *testing.T) {
	const requests = 2000
	p := fakepeer.Start(t, nil, fakepeer.Version("3.8"))
	o := options()
	o.Ordered = func(iproto.Version) bool { return true }
	c, err := wire.Dial(patience(t), p.Addr, o)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	streams := []*wire.Stream{c.NewStream(), c.NewStream()}
	var pending []wire.Pending
	var sent []string
	for i := range requests {
		body, err := iproto.AppendExecute(nil, fmt.Sprintf("SELECT %d", i), nil, c.Greeting().Version)
		require.NoError(t, err)
		pending = append(pending, sendIn(t, streams[i%2], protocol.IPROTO_EXECUTE, body))
		sent = append(sent, string(body))
	}
	for _, p := range pending {
		<-p.Done()
	}
	var came []string
	for _, r := range p.Requests(protocol.IPROTO_EXECUTE) {
		came = append(came, string(r.Body))
	}
	assert.Equal(t, sent, came)
}

func TestRequestInAStreamOfAnEndedConnectionIsNotSent(t *testing.T) {
	p := fakepeer.Start(t, nil, fakepeer.Version("3.8"))
	o := options()
	o.Budget = wire.NewBudget(1)
	c, err := wire.Dial(patience(t), p.Addr, o)
	require.NoError(t, err)
	s := c.NewStream()
	c.Close()
	require.True(t, o.Budget.Try())
	_, err = s.Send(protocol.IPROTO_EXECUTE, iproto.EmptyBody, true)
	var failure *wire.Error
	require.ErrorAs(t, err, &failure)
	assert.False(t, failure.Sent)
	assert.ErrorIs(t, err, wire.ErrClosed)
	assert.Zero(t, o.Budget.Used(), "its room was given back")
	assert.Empty(t, p.Requests(protocol.IPROTO_EXECUTE))
}
