package pool_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/fakepeer"
	"github.com/tntsql/tntsql/internal/iproto"
	"github.com/tntsql/tntsql/internal/verdict"
)

func TestOneInstanceAtTwoAddressesHasOneSetOfConnections(t *testing.T) {
	for _, version := range []string{unwatched, watched} {
		t.Run(version, func(t *testing.T) {
			var n network
			s := startServer(t, 0, version)
			n.route("a:1", s)
			n.route("b:1", s)
			p := open(t, n.options("a:1", "b:1"))
			running(t, p, s)
			for range 10 {
				_, err := p.Do(t.Context(), request(discovery.ModeRW, verdict.Write))
				require.NoError(t, err)
			}
			require.Eventually(t, func() bool { return s.Sessions() == 2 }, patience, tick,
				"a control and a data connection")

			used := p.Snapshot().Instances[0].Address
			other := map[string]string{"a:1": "b:1", "b:1": "a:1"}[used]
			for range 3 {
				n.route(used, nil)
				s.Cut()
				waitFor(t, p, func(v *discovery.Snapshot) bool {
					return len(v.Instances) == 1 && v.Instances[0].Address == other && v.Instances[0].Connected()
				})
				reply, err := p.Do(t.Context(), request(discovery.ModeRW, verdict.Write))
				require.NoError(t, err)
				assert.Equal(t, other, reply.Served.Address)
				n.route(used, s)
				used, other = other, used
			}
		})
	}
}

func TestAnotherInstanceAtAnAddressIsAnother(t *testing.T) {
	var n network
	set := startSet(t, unwatched, 1)
	n.route("a:1", set[0])
	o := n.options("a:1")
	p := open(t, o)
	running(t, p, set[0])
	n.route("a:1", set[1])
	set[0].Close()
	running(t, p, set[1])
	in := p.Snapshot().Instances[0]
	assert.Equal(t, discovery.RoleRO, in.Role)
	_, err := p.Do(t.Context(), request(discovery.ModeRO, verdict.Read))
	require.NoError(t, err)
	assert.Equal(t, 1, set[1].executed())
}

func TestMovedInstanceIsTheSame(t *testing.T) {
	set := startSet(t, watched, 1)
	moved := &server{startServer(t, 1, watched, fakepeer.ReadOnly()).Peer, set[1].uuid}
	set[0].tells(t, set[1])
	o := options(set[0])
	o.Peers = true
	p := open(t, o)
	running(t, p, set...)
	set[0].tells(t, moved)
	set[0].Push(iproto.ElectionKey, election(2))
	waitFor(t, p, func(s *discovery.Snapshot) bool {
		return len(s.Instances) == 2 && s.Instances[1].Address == moved.Addr && s.Instances[1].Connected()
	})
	running(t, p, set...)
}
