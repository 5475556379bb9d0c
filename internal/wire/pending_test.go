package wire_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql/internal/fakepeer"
	"github.com/tntsql/tntsql/internal/iproto"
	"github.com/tntsql/tntsql/internal/wire"
)

func TestAlarmsEndTheWaitsThatAskForThem(t *testing.T) {
	p := fakepeer.Start(t, nil)
	held := hold(p, protocol.IPROTO_EXECUTE)
	c := dial(t, p)
	first, second := send(t, c, protocol.IPROTO_EXECUTE), send(t, c, protocol.IPROTO_EXECUTE)
	for event, set := range map[wire.Event]func(bool){wire.Stalled: c.SetStalled, wire.Pinned: c.SetPinned} {
		begun := make(chan wire.Event)
		go func() { begun <- first.Wait(t.Context(), wire.Alarms{Stalled: true, Pinned: true}) }()
		for range 2 { // once more changes nothing
			set(true)
		}
		assert.Equal(t, event, <-begun, "a wait that had begun")
		assert.Equal(t, event, second.Wait(t.Context(), wire.Alarms{Stalled: true, Pinned: true}), "a wait that begins")
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		assert.Equal(t, wire.Left, second.Wait(ended, wire.Alarms{}), "a wait that does not ask")
		set(false)
		assert.Equal(t, wire.Left, second.Wait(ended, wire.Alarms{Stalled: true, Pinned: true}), "after the alarm")
	}
	c.SetStalled(true)
	for _, pending := range []wire.Pending{first, second} {
		(<-held)()
		require.Equal(t, wire.Answered, pending.Wait(t.Context(), wire.Alarms{}))
		_, err := pending.Reply()
		require.NoError(t, err)
	}
}

func TestWaitEndsWithTheConnection(t *testing.T) {
	for _, typ := range []protocol.Type{protocol.IPROTO_EXECUTE, protocol.IPROTO_CALL} {
		p := fakepeer.Start(t, nil)
		hold(p, typ)
		c := dial(t, p)
		pending := send(t, c, typ)
		over := make(chan wire.Event)
		go func() { over <- pending.Wait(context.Background(), wire.Alarms{Stalled: true, Pinned: true}) }()
		c.CloseWith(errors.New("as users do"))
		assert.Equal(t, wire.Answered, <-over)
		_, err := pending.Reply()
		assert.ErrorContains(t, err, "as users do")
	}
}

func TestTimeoutsEndTheWaitsThatHaveOne(t *testing.T) {
	for _, typ := range []protocol.Type{protocol.IPROTO_EXECUTE, protocol.IPROTO_CALL} {
		p := fakepeer.Start(t, nil)
		held := hold(p, typ)
		c := dial(t, p)
		begun := time.Now()
		over := make(chan time.Duration, 3)
		for _, timeout := range []time.Duration{time.Hour, 40 * time.Millisecond, 80 * time.Millisecond, 20 * time.Millisecond} {
			pending := send(t, c, typ)
			go func() {
				if pending.Wait(t.Context(), wire.Alarms{Timeout: timeout}) == wire.Expired {
					over <- timeout
				}
			}()
		}
		for _, timeout := range []time.Duration{20, 40, 80} {
			assert.Equal(t, timeout*time.Millisecond, <-over)
			assert.GreaterOrEqual(t, time.Since(begun), timeout*time.Millisecond)
		}
		(<-held)()
		pending := send(t, c, typ)
		for range 4 {
			(<-held)()
		}
		assert.Equal(t, wire.Answered, pending.Wait(t.Context(), wire.Alarms{Timeout: time.Hour}))
	}
}

// Requests are used again: none may get what is for another.
func TestRepliesGoToTheirRequests(t *testing.T) {
	p := fakepeer.Start(t, nil)
	c := dial(t, p)
	var group sync.WaitGroup
	for g := range 16 {
		group.Go(func() {
			for i := range 500 {
				typ := []protocol.Type{protocol.IPROTO_EXECUTE, protocol.IPROTO_PING}[(g+i)%2]
				pending, err := c.Send(typ, iproto.EmptyBody, false)
				if !assert.NoError(t, err) {
					return
				}
				switch i % 4 {
				case 0: // nobody waits
				case 1:
					<-pending.Done()
				default:
					if i%7 == 0 {
						c.SetStalled(true)
						c.SetStalled(false)
					}
					assert.Equal(t, wire.Answered, pending.Wait(t.Context(), wire.Alarms{}))
				}
				reply, err := pending.Reply()
				assert.NoError(t, err)
				_, notRows := iproto.ParseExecute(reply.Body, nil)
				assert.Equal(t, typ == protocol.IPROTO_PING, notRows != nil)
			}
		})
	}
	group.Wait()
}
