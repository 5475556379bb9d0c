package wire_test

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql/internal/fakepeer"
	"github.com/tntsql/tntsql/internal/iproto"
	"github.com/tntsql/tntsql/internal/wire"
)

// unhashable is a map with an array as its key, which Go maps cannot have.
var unhashable = []byte{0x81, 0x91, 0x01, 0x02}

func TestUnaskedFramesDoNoHarm(t *testing.T) {
	const evt, chunk = uint32(protocol.IPROTO_EVENT), uint32(protocol.IPROTO_CHUNK)
	var many []byte
	for range 1000 {
		many = append(many, fakepeer.Frame(2, chunk, []byte{0x81, 0x30, 0x91, 0x01})...)
	}
	for name, frames := range map[string][]byte{
		"event of the user's key":             fakepeer.Frame(0, evt, fakepeer.Event("mine", unhashable)),
		"event with an unhashable key":        fakepeer.Frame(0, evt, fakepeer.Event("box.shutdown", unhashable)),
		"event with an odd event key":         fakepeer.Frame(0, evt, unhashable),
		"event nested beyond any stack":       fakepeer.Frame(0, evt, fakepeer.Event("box.shutdown", nested(5_000_000))),
		"event nested beyond the limit":       fakepeer.Frame(0, evt, fakepeer.Event("box.shutdown", nested(1000))),
		"event whose array lies":              fakepeer.Frame(0, evt, fakepeer.Event("box.shutdown", []byte{0xdd, 0xff, 0xff, 0xff, 0xff})),
		"event whose string lies":             fakepeer.Frame(0, evt, []byte{0x81, 0x57, 0xdb, 0xff, 0xff, 0xff, 0xff}),
		"event without a body":                fakepeer.Frame(0, evt, nil),
		"event that is asked for":             fakepeer.Frame(0, evt, fakepeer.Event("box.shutdown", []byte{0xc3})),
		"pushes":                              many,
		"reply to no request":                 fakepeer.Frame(4242, 0, nested(5_000_000)[:60<<10]),
		"reply of an unknown type":            fakepeer.Frame(4242, 77, []byte{0x80}),
		"error to no request":                 fakepeer.Frame(math.MaxUint64, 0x8003, []byte{0x80}),
		"reply to no request, over the limit": fakepeer.Frame(4242, 0, make([]byte, 1<<20)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := dial(t, fakepeer.Start(t, func(s *fakepeer.Session, r fakepeer.Request) bool {
				if r.Type == protocol.IPROTO_VOTE {
					s.Write(frames)
				}
				return false
			}))
			for range 2 {
				reply, err := c.Do(patience(t), protocol.IPROTO_VOTE, iproto.EmptyBody)
				require.NoError(t, err)
				assert.Equal(t, fakepeer.Ballot(false), reply.Body)
			}
		})
	}
}

func TestBrokenFramesEndTheConnection(t *testing.T) {
	deepHeader := append([]byte{0xce, 0, 0, 0x40, 0, 0x82, 0x00, 0x00, 0x7f}, nested(0x4000)...)
	for name, frame := range map[string][]byte{
		"garbage":             []byte("HTTP/1.1 400 Bad Request\r\n\r\n"),
		"length of 0":         {0xce, 0, 0, 0, 0, 0},
		"length not a uint32": {0x05, 0x82, 0x00, 0x00, 0x01, 0x02},
		"header not a map":    {0xce, 0, 0, 0, 1, 0xc0},
		"header cut":          {0xce, 0, 0, 0, 2, 0x82, 0x00},
		"nested header":       deepHeader,
		"header of 4 billion": {0xce, 0, 0, 0, 5, 0xdf, 0xff, 0xff, 0xff, 0xff},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := dial(t, fakepeer.Start(t, func(s *fakepeer.Session, r fakepeer.Request) bool {
				if r.Type != protocol.IPROTO_VOTE {
					return false
				}
				s.Write(frame)
				return true
			}))
			_, err := c.Do(patience(t), protocol.IPROTO_VOTE, iproto.EmptyBody)
			var failure *wire.Error
			require.ErrorAs(t, err, &failure)
			assert.True(t, failure.Sent)
			assert.ErrorContains(t, err, "does not speak IPROTO")
			assert.Eventually(t, c.Ended, patienceFor, tick)
		})
	}
}

// The pings of go-tarantool's own pinger are decoded by it, so what answers a
// ping never reaches it.
func TestAnswersToPingsAreNotDecoded(t *testing.T) {
	for name, body := range map[string][]byte{
		"nested":     append([]byte{0x81, byte(protocol.IPROTO_DATA)}, nested(60_000)...),
		"lying":      {0x81, byte(protocol.IPROTO_DATA), 0xdd, 0xff, 0xff, 0xff, 0xff},
		"unhashable": append([]byte{0x81, byte(protocol.IPROTO_DATA), 0x91}, unhashable...),
		"large":      append([]byte{0x81, byte(protocol.IPROTO_DATA), 0xc6, 0, 0x10, 0, 0}, make([]byte, 1<<20)...),
		"garbage":    {0xc1, 0xc1, 0xc1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := dial(t, fakepeer.Start(t, func(s *fakepeer.Session, r fakepeer.Request) bool {
				if r.Type != protocol.IPROTO_PING {
					return false
				}
				s.Reply(r.Sync, 0, body)
				return true
			}))
			ping(t, c)
			ping(t, c)
		})
	}
}

func TestRefusedPingIsAnError(t *testing.T) {
	c := dial(t, fakepeer.Start(t, func(s *fakepeer.Session, r fakepeer.Request) bool {
		if r.Type != protocol.IPROTO_PING {
			return false
		}
		s.Error(r.Sync, protocol.ER_LOADING, "Instance bootstrap hasn't finished yet")
		return true
	}))
	reply, err := c.Do(patience(t), protocol.IPROTO_PING, iproto.EmptyBody)
	require.NoError(t, err)
	assert.EqualValues(t, protocol.ER_LOADING, reply.Code)
}

func TestTooLargeReplyFailsItsRequestAlone(t *testing.T) {
	c := dial(t, fakepeer.Start(t, func(s *fakepeer.Session, r fakepeer.Request) bool {
		switch r.Type {
		case protocol.IPROTO_EXECUTE:
			s.Reply(r.Sync, 0, bytes.Repeat([]byte{0xc0}, 8*limit))
		case protocol.IPROTO_CALL:
			s.Reply(r.Sync, 0, bytes.Repeat([]byte{0xc0}, limit/2))
		default:
			return false
		}
		return true
	}))
	for range 3 {
		_, err := c.Do(patience(t), protocol.IPROTO_EXECUTE, iproto.EmptyBody)
		require.ErrorIs(t, err, wire.ErrTooLarge)
		reply, err := c.Do(patience(t), protocol.IPROTO_CALL, iproto.EmptyBody)
		require.NoError(t, err)
		assert.Len(t, reply.Body, limit/2)
	}
}

func TestFramesInManyPieces(t *testing.T) {
	c := dial(t, fakepeer.Start(t, func(s *fakepeer.Session, r fakepeer.Request) bool {
		if r.Type != protocol.IPROTO_VOTE {
			return false
		}
		for _, b := range fakepeer.Frame(r.Sync, 0, fakepeer.Ballot(true)) {
			s.Write([]byte{b})
		}
		return true
	}))
	for range 10 {
		reply, err := c.Do(patience(t), protocol.IPROTO_VOTE, iproto.EmptyBody)
		require.NoError(t, err)
		assert.Equal(t, fakepeer.Ballot(true), reply.Body)
	}
}

func TestManyCallersGetTheirOwnReplies(t *testing.T) {
	c := dial(t, fakepeer.Start(t, func(s *fakepeer.Session, r fakepeer.Request) bool {
		if r.Type == protocol.IPROTO_EXECUTE {
			s.Reply(r.Sync, 0, r.Body)
			return true
		}
		return false
	}))
	errs := make(chan error)
	for i := range 64 {
		go func() {
			var err error
			for j := 0; j < 50 && err == nil; j++ {
				body := fmt.Appendf(nil, "%d/%d", i, j)
				var reply wire.Reply
				if reply, err = c.Do(patience(t), protocol.IPROTO_EXECUTE, body); err == nil && !bytes.Equal(reply.Body, body) {
					err = fmt.Errorf("%s answered with %s", body, reply.Body)
				}
			}
			errs <- err
		}()
	}
	for range 64 {
		assert.NoError(t, <-errs)
	}
}
