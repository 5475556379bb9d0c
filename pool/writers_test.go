package pool_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/fakepeer"
	"github.com/tntsql/tntsql/internal/iproto"
	"github.com/tntsql/tntsql/internal/verdict"
)

const disputed = "more than one writable instance"

func TestWritesStayWithOneOfTwoWritableInstances(t *testing.T) {
	t.Parallel()
	for name, granted := range map[string]bool{"with box.info": true, "without": false} {
		for _, version := range []string{unwatched, watched} {
			t.Run(fmt.Sprintf("%s, %s", version, name), func(t *testing.T) {
				t.Parallel()
				const writers, each = 10, 100
				var grants []fakepeer.Option
				if granted {
					grants = append(grants, fakepeer.Granted())
				}
				set := []*server{startServer(t, 1, version, grants...), // not the lowest uuid
					startServer(t, 0, version, append(grants, fakepeer.ReadOnly())...)}
				o := options(set...)
				o.RefreshInterval = 5 * time.Millisecond
				var logged log
				o.Logger = logged.logger()
				open := openReady
				if version == watched {
					open = openTold
				}
				p := open(t, o)
				var running sync.WaitGroup
				for range writers {
					running.Go(func() {
						for i := range each {
							if i == each/4 {
								set[1].SetReadOnly(false)
							}
							_, err := p.Do(t.Context(), request(discovery.ModeRW, verdict.Write))
							assert.NoError(t, err)
						}
					})
				}
				running.Wait()
				waitFor(t, p, roleOf(1, discovery.RoleRW))
				for range 10 {
					_, err := p.Do(t.Context(), request(discovery.ModeRW, verdict.Write))
					require.NoError(t, err)
				}
				assert.Equal(t, []int{writers*each + 10, 0}, served(set))
				assert.Equal(t, 1, logged.count(disputed))

				set[0].SetReadOnly(true)
				waitFor(t, p, roleOf(0, discovery.RoleRO))
				reply, err := p.Do(t.Context(), request(discovery.ModeRW, verdict.Write))
				require.NoError(t, err)
				assert.Equal(t, set[1].uuid, reply.Served.UUID, "until it is no longer writable")
				set[0].SetReadOnly(false)
				waitFor(t, p, roleOf(0, discovery.RoleRW))
				reply, err = p.Do(t.Context(), request(discovery.ModeRW, verdict.Write))
				require.NoError(t, err)
				assert.Equal(t, set[1].uuid, reply.Served.UUID)
				assert.Equal(t, 2, logged.count(disputed), "it began once more")
			})
		}
	}
}

func TestWritesGoToTheHighestTerm(t *testing.T) {
	set := startSet(t, watched, 1)
	p := openTold(t, options(set...))
	set[1].SetReadOnly(false)
	waitFor(t, p, roleOf(1, discovery.RoleRW))
	writer := func() string {
		reply, err := p.Do(t.Context(), request(discovery.ModeRW, verdict.Write))
		require.NoError(t, err)
		return reply.Served.UUID
	}
	assert.Equal(t, set[0].uuid, writer())
	for i, term := range []byte{5, 6, 7} {
		s := set[(i+1)%2]
		s.Push(iproto.ElectionKey, election(term))
		require.Eventually(t, func() bool { return writer() == s.uuid }, patience, tick)
	}
}
