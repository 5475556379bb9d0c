package pool_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql/discovery"
)

func TestIdlePoolOnlyPolls(t *testing.T) {
	t.Parallel()
	const refresh = 10 * time.Millisecond
	for version, tt := range map[string]struct {
		least, most int // polls in 50 refresh intervals
	}{
		unwatched: {5, 70},
		watched:   {1, 10},
	} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := startServer(t, 0, version)
			o := options(s)
			o.RefreshInterval = refresh
			p := openReady(t, o.Unhurried())
			warm(t, p, discovery.ModeRW)
			if version == watched {
				armed(t, s)
			}
			before, polls := len(s.Requests()), s.votes()
			pings := len(s.Requests(protocol.IPROTO_PING))
			<-time.After(50 * refresh)
			n := s.votes() - polls
			assert.GreaterOrEqual(t, n, tt.least)
			assert.LessOrEqual(t, n, tt.most)
			assert.Equal(t, n, len(s.Requests())-before-(len(s.Requests(protocol.IPROTO_PING))-pings), "nothing but polls")
		})
	}
}
