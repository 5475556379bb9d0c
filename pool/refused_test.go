package pool_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/fakepeer"
	"github.com/tntsql/tntsql/internal/iproto"
	"github.com/tntsql/tntsql/internal/verdict"
	"github.com/tntsql/tntsql/pool"
)

var loading = fakepeer.Replay("auth, loading")

// lapse is a while for which an instance refuses what it has been sent.
type lapse struct {
	mode       discovery.Mode
	answer     fakepeer.Script
	begin, end func(*server)
}

func TestRefuserServesWhatItHasRefusedWhenItCan(t *testing.T) {
	t.Parallel()
	readOnly := lapse{
		discovery.ModeRW, refuse,
		func(s *server) { s.SetReadOnly(true) }, func(s *server) { s.SetReadOnly(false) },
	}
	push := func(status string) func(*server) {
		value := pairs(t, map[string]any{"is_ro": true, "is_ro_cfg": true, "status": status})
		return func(s *server) { s.Push(iproto.StatusKey, value) }
	}
	starting := lapse{discovery.ModeRO, loading, push("loading"), push(discovery.StatusRunning)}
	for name, tt := range map[string]struct {
		version string
		kind    verdict.Kind
		lapse
	}{
		"read-only, write":            {watched, verdict.Write, readOnly},
		"read-only, write, unwatched": {unwatched, verdict.Write, readOnly},
		"loading, write":              {watched, verdict.Write, starting},
		"loading, read":               {watched, verdict.Read, starting},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startServer(t, 0, tt.version)
			s.SetReadOnly(tt.mode == discovery.ModeRO)
			p := openReady(t, options(s))
			warm(t, p, tt.mode)
			if tt.version == watched {
				armed(t, s)
			}
			s.onExecute(func(session *fakepeer.Session, r fakepeer.Request) bool {
				s.onExecute(nil)
				tt.begin(s)
				return tt.answer(session, r)
			})
			done := begin(t.Context(), p, request(tt.mode, tt.kind))
			require.Eventually(t, func() bool { return p.Counts().Refused == 1 }, patience, tick, "it has been asked what it is")
			tt.end(s)
			o := <-done
			require.NoError(t, o.err)
			assert.Equal(t, 2, o.Attempts)
		})
	}
}

// The instance that refused is asked what it is, and does not answer in time.
func TestContextThatEndsAfterARefusal(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		kind    verdict.Kind
		refusal fakepeer.Script
		code    protocol.Error
	}{
		"read-only, write": {verdict.Write, refuse, protocol.ER_READONLY},
		"read-only, read":  {verdict.Read, refuse, protocol.ER_READONLY},
		"loading, write":   {verdict.Write, loading, protocol.ER_LOADING},
		"loading, read":    {verdict.Read, loading, protocol.ER_LOADING},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := startSet(t, watched, 1)
			o := options(set...)
			o.ProbeTimeout = patience
			p := openReady(t, o)
			warm(t, p, discovery.ModeRW)
			set[0].On(protocol.IPROTO_VOTE, fakepeer.Lose)
			set[0].onExecute(tt.refusal)
			ctx, cancel := context.WithCancel(t.Context())
			done := begin(ctx, p, request(discovery.ModeRW, tt.kind))
			require.Eventually(t, func() bool { return p.Counts().Rechecks == 1 }, patience, tick)
			cancel()
			ended := <-done
			require.ErrorIs(t, ended.err, context.Canceled)
			require.NotErrorAs(t, ended.err, new(*pool.UnknownError), "it was refused")
			var none *pool.NoInstanceError
			require.ErrorAs(t, ended.err, &none)
			var refusal *iproto.ServerError
			require.ErrorAs(t, none.Instances[0].Err, &refusal)
			assert.EqualValues(t, tt.code, refusal.Code)
			assert.NoError(t, none.Instances[1].Err)
			assert.Equal(t, 1, ended.Attempts)
		})
	}
}

// A server that is starting knows no users yet: that is no wrong password, which
// there is no use in waiting for.
func TestServerThatLoadsWhileAuthenticatingIsWaitedFor(t *testing.T) {
	t.Parallel()
	for _, version := range []string{unguarded, unwatched, watched} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := startServer(t, 0, version)
			s.On(protocol.IPROTO_AUTH, loading)
			o := options(s)
			o.Wire.Credentials = func(context.Context, string) (string, string, error) { return "app", "secret", nil }
			p := open(t, o)
			waitFor(t, p, statusOf(0, discovery.StatusDown))
			assert.ErrorContains(t, p.Snapshot().Instances[0].Err, "bootstrap")
			done := begin(t.Context(), p, request(discovery.ModeRW, verdict.Write))
			logins := func() int { return len(s.Requests(protocol.IPROTO_AUTH)) }
			before := logins()
			require.Eventually(t, func() bool { return logins() >= before+2 }, patience, tick)
			require.Empty(t, done)
			s.On(protocol.IPROTO_AUTH, nil)
			written := <-done
			require.NoError(t, written.err)
			assert.Equal(t, 1, written.Attempts)
		})
	}
}
