package pool_test

import (
	"errors"
	"fmt"
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

// fate is what becomes of a request that is answered with an error.
type fate uint8

const (
	fails     fate = iota // the error is the answer
	elsewhere             // another instance serves it
	unknown               // it may have been applied
)

// withoutReason is what a user's code raises, or a server whose role has changed
// within the transaction.
func withoutReason(s *fakepeer.Session, r fakepeer.Request) bool {
	s.Error(r.Sync, protocol.ER_READONLY, "Can't modify data on a read-only instance")
	return true
}

func answerWith(code protocol.Error) fakepeer.Script {
	return func(s *fakepeer.Session, r fakepeer.Request) bool {
		s.Error(r.Sync, code, "as the test wants it")
		return true
	}
}

// The instance that answers has lost its role: only then may a refused write go
// elsewhere.
func TestServersErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		version           string
		answer            fakepeer.Script
		code              protocol.Error
		read, write, call fate
	}{
		"7 with a reason, 2.11":       {"2.11.9", fakepeer.Replay("insert, read-only"), 7, elsewhere, elsewhere, fails},
		"7 with a reason, 3.8":        {"3.8.0", fakepeer.Replay("insert, read-only"), 7, elsewhere, elsewhere, fails},
		"7 that names the leader":     {"3.8.0", fakepeer.NameLeader("00000001-0000-4000-8000-000000000000"), 7, elsewhere, elsewhere, fails},
		"7 from an older server":      {unwatched, refuse, 7, elsewhere, elsewhere, fails},
		"7 without a reason, 2.11":    {"2.11.9", withoutReason, 7, fails, fails, fails},
		"7 without a reason, 3.8":     {"3.8.0", withoutReason, 7, fails, fails, fails},
		"116":                         {"3.8.0", fakepeer.Replay("auth, loading"), 116, elsewhere, elsewhere, fails},
		"116 from an older server":    {unwatched, fakepeer.Replay("auth, loading"), 116, elsewhere, elsewhere, fails},
		"216":                         {"2.11.9", fakepeer.Replay("insert, quorum timeout"), 216, fails, unknown, unknown},
		"216 from an older server":    {unwatched, fakepeer.Replay("insert, quorum timeout"), 216, fails, unknown, unknown},
		"217":                         {"3.8.0", answerWith(protocol.ER_SYNC_ROLLBACK), 217, fails, unknown, unknown},
		"295":                         {"3.8.0", fakepeer.Replay("insert, quorum timeout, detached"), 295, fails, unknown, unknown},
		"32 of type FiberIsCancelled": {"2.11.9", fakepeer.Replay("insert, cancelled"), 32, fails, unknown, unknown},
		"32 of that type, 3.8":        {"3.8.0", fakepeer.Replay("insert, cancelled"), 32, fails, unknown, unknown},
		"32 of another type":          {"3.8.0", answerWith(protocol.ER_PROC_LUA), 32, fails, fails, fails},
		"3":                           {"3.8.0", fakepeer.Replay("insert, duplicate"), 3, fails, fails, fails},
		"42":                          {"3.8.0", fakepeer.Replay("box.info denied"), 42, fails, fails, fails},
		"184":                         {"2.11.9", fakepeer.Replay("syntax error"), 184, fails, fails, fails},
		"97":                          {"3.8.0", answerWith(protocol.ER_TRANSACTION_CONFLICT), 97, fails, fails, fails},
		"154":                         {"3.8.0", answerWith(protocol.ER_TRANSACTION_YIELD), 154, fails, fails, fails},
		"159":                         {"3.8.0", answerWith(protocol.ER_SQL_EXECUTE), 159, fails, fails, fails},
	} {
		for kind, want := range map[verdict.Kind]fate{verdict.Read: tt.read, verdict.Write: tt.write, verdict.Call: tt.call} {
			t.Run(fmt.Sprintf("%s, kind %d", name, kind), func(t *testing.T) {
				t.Parallel()
				set := startSet(t, tt.version, 1)
				p := openReady(t, options(set...))
				set[0].onExecute(func(s *fakepeer.Session, r fakepeer.Request) bool {
					switchOver(set[0], set[1])
					return tt.answer(s, r)
				})
				reply, err := p.Do(t.Context(), request(discovery.ModeRW, kind))
				assert.Equal(t, 1, set[0].executed())
				if want == elsewhere {
					require.NoError(t, err)
					assert.Equal(t, set[1].uuid, reply.Served.UUID)
					assert.Equal(t, 2, reply.Attempts)
					assert.Equal(t, 1, set[1].executed())
					return
				}
				assert.Equal(t, set[0].uuid, reply.Served.UUID)
				assert.Equal(t, 1, reply.Attempts)
				assert.Zero(t, set[1].executed())
				var server *iproto.ServerError
				require.ErrorAs(t, err, &server)
				assert.EqualValues(t, tt.code, server.Code)
				assert.Equal(t, want == unknown, errors.As(err, new(*pool.UnknownError)))
			})
		}
	}
}

// A refusal says something of the instance even to those whom it does not send
// elsewhere: its role is asked for.
func TestRefusalHasTheRoleAskedFor(t *testing.T) {
	for name, tt := range map[string]struct {
		version string
		answer  fakepeer.Script
	}{
		"7, unwatched":   {unwatched, refuse},
		"7, watched":     {watched, fakepeer.Replay("insert, read-only")},
		"116, unwatched": {unwatched, fakepeer.Replay("auth, loading")},
		"116, watched":   {watched, fakepeer.Replay("auth, loading")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startServer(t, 0, tt.version)
			p := openReady(t, options(s))
			s.On(protocol.IPROTO_VOTE, func(session *fakepeer.Session, r fakepeer.Request) bool {
				session.Reply(r.Sync, 0, fakepeer.Ballot(true)) // which is not pushed
				return true
			})
			s.onExecute(tt.answer)
			_, err := p.Do(t.Context(), request(discovery.ModeRW, verdict.Call))
			require.Error(t, err)
			waitFor(t, p, roleOf(0, discovery.RoleRO))
		})
	}
}
