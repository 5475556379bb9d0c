package pool_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	protocol "github.com/tarantool/go-iproto"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/fakepeer"
	"github.com/tntsql/tntsql/internal/iproto"
	"github.com/tntsql/tntsql/internal/verdict"
	"github.com/tntsql/tntsql/internal/wire"
	"github.com/tntsql/tntsql/pool"
)

const (
	statementID = 7
	query       = "SELECT a"
	expired     = "Failed to execute SQL statement: statement has expired"
)

// statement is the body of query.
type statement struct{ err error }

func (s statement) Append(b []byte, v iproto.Version) ([]byte, error) {
	if s.err != nil {
		return nil, s.err
	}
	return iproto.AppendExecute(b, query, nil, v)
}

func (s statement) AppendID(b []byte, id uint32, v iproto.Version) ([]byte, error) {
	if s.err != nil {
		return nil, s.err
	}
	return iproto.AppendExecuteID(b, id, []driver.NamedValue{}, v)
}

// readStatement is a request that connections may keep prepared.
func readStatement() *pool.Request {
	req := request(discovery.ModeRW, verdict.Read)
	req.Body, req.Text = statement{}, wire.Text{SQL: query, Read: true}
	return req
}

// startPreparing starts servers that prepare, and a pool whose connections each
// keep a statement.
func startPreparing(t *testing.T, replicas int) ([]*server, *pool.Pool) {
	set := startSet(t, watched, replicas)
	for _, s := range set {
		s.On(protocol.IPROTO_PREPARE, prepares(t))
	}
	o := options(set...)
	o.Wire.Statements = 1
	return set, openTold(t, o)
}

func prepares(t *testing.T) fakepeer.Script {
	body, err := msgpack.Marshal(map[protocol.Key]any{
		protocol.IPROTO_STMT_ID:    statementID,
		protocol.IPROTO_BIND_COUNT: 0,
		protocol.IPROTO_METADATA: []map[protocol.MetadataKey]string{
			{protocol.IPROTO_FIELD_NAME: "a", protocol.IPROTO_FIELD_TYPE: "integer"},
		},
	})
	require.NoError(t, err)
	return func(s *fakepeer.Session, r fakepeer.Request) bool {
		s.Reply(r.Sync, 0, body)
		return true
	}
}

// isByID tells whether an EXECUTE goes by the id.
func isByID(r fakepeer.Request) bool {
	var body map[protocol.Key]any
	_ = msgpack.Unmarshal(r.Body, &body)
	_, ok := body[protocol.IPROTO_STMT_ID]
	return ok
}

// byID tells of each EXECUTE there whether it went by the id.
func (s *server) byID() (all []bool) {
	for _, r := range s.Requests(protocol.IPROTO_EXECUTE) {
		all = append(all, isByID(r))
	}
	return all
}

func do(t *testing.T, p *pool.Pool, req *pool.Request) pool.Reply {
	t.Helper()
	reply, err := p.Do(t.Context(), req)
	require.NoError(t, err)
	return reply
}

// keep has a read prepared.
func keep(t *testing.T, p *pool.Pool) {
	t.Helper()
	do(t, p, readStatement())
	do(t, p, readStatement())
	require.Eventually(t, func() bool { return p.Counts().Prepared == 1 }, patience, tick)
}

func TestReadsGoByTheIDOfTheirConnection(t *testing.T) {
	set, p := startPreparing(t, 0)
	keep(t, p)
	do(t, p, readStatement())
	assert.Equal(t, []bool{false, false, true}, set[0].byID())
	assert.EqualValues(t, 1, p.Counts().ByID)
}

func TestAReadWhoseIDHasExpiredGoesByTextAtOnce(t *testing.T) {
	for name, refuse := range map[string]func(*fakepeer.Session, fakepeer.Request){
		"expired": func(s *fakepeer.Session, r fakepeer.Request) { s.Error(r.Sync, protocol.ER_SQL_EXECUTE, expired) },
		"unknown": func(s *fakepeer.Session, r fakepeer.Request) { s.Error(r.Sync, protocol.ER_WRONG_QUERY_ID, "no") },
	} {
		t.Run(name, func(t *testing.T) {
			set, p := startPreparing(t, 1)
			keep(t, p)
			set[0].onExecute(func(s *fakepeer.Session, r fakepeer.Request) bool {
				if isByID(r) {
					refuse(s, r)
					return true
				}
				return false
			})
			reply := do(t, p, readStatement())
			assert.Equal(t, 1, reply.Attempts, "it is not a second time: the first did nothing")
			assert.Equal(t, set[0].uuid, reply.Served.UUID)
			assert.Equal(t, []bool{false, false, true, false}, set[0].byID())
			assert.Zero(t, set[1].executed())
			require.Eventually(t, func() bool { return len(set[0].Requests(protocol.IPROTO_PREPARE)) == 2 }, patience, tick)
		})
	}
}

func TestAReadGoesElsewhereIfItCannotGoByText(t *testing.T) {
	set, p := startPreparing(t, 1)
	keep(t, p)
	set[0].onExecute(func(s *fakepeer.Session, r fakepeer.Request) bool {
		if !isByID(r) {
			s.Close()
			return true
		}
		s.Error(r.Sync, protocol.ER_SQL_EXECUTE, expired)
		return true
	})
	req := readStatement()
	req.Mode = discovery.ModePreferRW
	reply := do(t, p, req)
	assert.Equal(t, 2, reply.Attempts)
	assert.Equal(t, set[1].uuid, reply.Served.UUID)
}

// What goes by text since an id has expired does so wherever it moves.
func TestAReadThatMovesGoesByNoOtherIDThatHasExpired(t *testing.T) {
	set := startSet(t, watched, 1)
	for _, s := range set {
		s.On(protocol.IPROTO_PREPARE, prepares(t))
	}
	o := options(set...)
	o.Wire.Statements, o.ProbeTimeout = 1, 50*time.Millisecond
	p := openTold(t, o)
	for _, mode := range []discovery.Mode{discovery.ModePreferRW, discovery.ModeRO} {
		for range 2 {
			req := readStatement()
			req.Mode = mode
			do(t, p, req)
		}
	}
	require.Eventually(t, func() bool { return p.Counts().Prepared == 2 }, patience, tick)
	for i, s := range set {
		s.onExecute(func(session *fakepeer.Session, r fakepeer.Request) bool {
			if isByID(r) {
				session.Error(r.Sync, protocol.ER_SQL_EXECUTE, expired)
				return true
			}
			return i == 0 // it hangs
		})
	}
	set[0].On(protocol.IPROTO_VOTE, func(*fakepeer.Session, fakepeer.Request) bool { return true })
	req := readStatement()
	req.Mode = discovery.ModePreferRW
	reply := do(t, p, req)
	assert.Equal(t, set[1].uuid, reply.Served.UUID)
	assert.Equal(t, []bool{false, false, true, false}, set[0].byID())
	assert.Equal(t, []bool{false, false, false}, set[1].byID())
}

func TestATextThatFailsIsNotPrepared(t *testing.T) {
	set, p := startPreparing(t, 0)
	set[0].onExecute(func(session *fakepeer.Session, r fakepeer.Request) bool {
		session.Error(r.Sync, protocol.ER_SQL_EXECUTE, "Scanning is not allowed")
		return true
	})
	for range 5 {
		_, err := p.Do(t.Context(), readStatement())
		require.Error(t, err)
	}
	set[0].onExecute(nil)
	do(t, p, readStatement())
	assert.Empty(t, set[0].Requests(protocol.IPROTO_PREPARE))
}

func TestASchemaThatChangesExpiresIDsBeforeTheyFail(t *testing.T) {
	set, p := startPreparing(t, 0)
	keep(t, p)
	set[0].Push(iproto.SchemaKey, []byte("\x81\xa7version\xcd\x7f\xff"))
	waitFor(t, p, func(s *discovery.Snapshot) bool { return s.Instances[0].Schema == 0x7fff })
	do(t, p, readStatement())
	assert.Equal(t, []bool{false, false, false}, set[0].byID())
	require.Eventually(t, func() bool {
		do(t, p, readStatement())
		byID := set[0].byID()
		return byID[len(byID)-1]
	}, patience, tick, "it is prepared again")
}

func TestAnIDIsNotInUseByWhatCannotBeEncoded(t *testing.T) {
	set, p := startPreparing(t, 0)
	keep(t, p)
	broken := errors.New("no such value")
	req := readStatement()
	req.Body = statement{broken}
	_, err := p.Do(t.Context(), req)
	require.ErrorIs(t, err, broken)
	ended, end := context.WithCancel(t.Context())
	end()
	_, err = p.Do(ended, readStatement())
	require.Error(t, err)

	other := readStatement()
	other.Text.SQL = "SELECT b" // of another id
	set[0].On(protocol.IPROTO_PREPARE, func(s *fakepeer.Session, r fakepeer.Request) bool {
		s.Reply(r.Sync, 0, []byte{0x83, byte(protocol.IPROTO_STMT_ID), 8, byte(protocol.IPROTO_BIND_COUNT), 0, byte(protocol.IPROTO_METADATA), 0x90})
		return true
	})
	do(t, p, other)
	do(t, p, other)
	require.Eventually(t, func() bool { return len(set[0].Requests(protocol.IPROTO_PREPARE)) == 3 }, patience, tick,
		"PREPARE, PREPARE, UNPREPARE")
}

func TestPrepareIsARequest(t *testing.T) {
	set, p := startPreparing(t, 1)
	req := readStatement()
	req.Mode, req.Type, req.Body = discovery.ModeRO, protocol.IPROTO_PREPARE, nil
	assert.Equal(t, set[1].uuid, do(t, p, req).Served.UUID)
	set[1].On(protocol.IPROTO_PREPARE, fakepeer.Cut)
	req.Mode = discovery.ModePreferRO
	assert.Equal(t, set[0].uuid, do(t, p, req).Served.UUID)
	set[0].On(protocol.IPROTO_PREPARE, func(s *fakepeer.Session, r fakepeer.Request) bool {
		s.Error(r.Sync, protocol.ER_NO_SUCH_SPACE, "Space 'A' does not exist")
		return true
	})
	req.Mode = discovery.ModeRW
	_, err := p.Do(t.Context(), req)
	var server *iproto.ServerError
	require.ErrorAs(t, err, &server)
	assert.EqualValues(t, protocol.ER_NO_SUCH_SPACE, server.Code)
}
