package main

import (
	"context"
	"slices"

	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql/internal/fakepeer/transcript"
	"github.com/tntsql/tntsql/internal/iproto"
	"github.com/tntsql/tntsql/tarantooltest"
)

// The uuids in every transcript.
const (
	instanceUUID   = "11111111-2222-4333-8444-555555555555"
	leaderUUID     = "11111111-2222-4333-8444-666666666666"
	replicaSetUUID = "11111111-2222-4333-8444-777777777777"
)

func record(binary string) (*transcript.Transcript, error) {
	rs, err := tarantooltest.New(context.Background(), tarantooltest.Instances(1))
	if err != nil {
		return nil, err
	}
	defer rs.Close() //nolint:errcheck // it is shut down already
	r := &recorder{transcript: &transcript.Transcript{Server: rs.Version()}}
	if err := r.connect(rs, 0); err != nil {
		return nil, err
	}
	defer r.Close() //nolint:errcheck // nothing is expected any more
	version, err := iproto.ParseGreeting(r.greeting)
	if err != nil {
		return nil, err
	}
	r.transcript.Greeting = string(r.anonymous([]byte(r.greeting)))

	s := &stage{recorder: r, rs: rs, version: version.Version}
	for _, scene := range []func() error{s.withoutGrants, s.readOnly, s.statements, s.readOnlyStatements,
		s.streams, s.synchronous, s.shutdown} {
		if err := scene(); err != nil {
			return nil, err
		}
	}
	if s.version.AtLeast(2, 10, 0) {
		if err := r.elections(); err != nil {
			return nil, err
		}
	}
	return r.transcript, r.loading(binary)
}

// connect connects to an instance of the replica set as its guest.
func (r *recorder) connect(rs *tarantooltest.ReplicaSet, i int) error {
	client, err := dial(rs.Addr(i))
	if err != nil {
		return err
	}
	set, err := rs.Lua(i, "return box.info.cluster.uuid, box.info.replicaset and box.info.replicaset.uuid")
	if err != nil {
		return err
	}
	r.client = client
	r.uuids = map[string]string{rs.UUID(i): instanceUUID}
	for _, uuid := range set {
		if uuid, ok := uuid.(string); ok {
			r.uuids[uuid] = replicaSetUUID
		}
	}
	return nil
}

// stage is a server, and a client's connection to it.
type stage struct {
	*recorder
	rs      *tarantooltest.ReplicaSet
	version iproto.Version
}

// lua changes the server's state.
func (s *stage) lua(code string) error {
	_, err := s.rs.Lua(0, code)
	return err
}

func request(typ protocol.Type, body []byte) transcript.Packet {
	return transcript.Packet{Type: uint32(typ), Body: body}
}

func watch(key string) transcript.Packet {
	return request(protocol.IPROTO_WATCH, iproto.AppendWatch(nil, key))
}

var (
	vote = request(protocol.IPROTO_VOTE, iproto.EmptyBody)
	id   = request(protocol.IPROTO_ID, []byte{0x82, byte(protocol.IPROTO_VERSION), 6,
		byte(protocol.IPROTO_FEATURES), 0x95, 0, 1, 2, 3, 4})
)

// login is of a user and a password that need not be right.
var login = request(protocol.IPROTO_AUTH, slices.Concat(
	[]byte{0x82, byte(protocol.IPROTO_USER_NAME), 0xa3}, []byte("app"),
	[]byte{byte(protocol.IPROTO_TUPLE), 0x92, 0xa9}, []byte("chap-sha1"), []byte{0xb4}, make([]byte, 20)))

func (s *stage) call(function string) transcript.Packet {
	body, err := iproto.AppendCall(nil, function, nil, s.version)
	if err != nil {
		panic(err) // it has no arguments that could not be encoded
	}
	return request(protocol.IPROTO_CALL, body)
}

func (r *recorder) sql(text string) transcript.Packet {
	body, err := iproto.AppendExecute(nil, text, nil, iproto.Version{})
	if err != nil {
		panic(err) // as above
	}
	return request(protocol.IPROTO_EXECUTE, body)
}

// ask is an exchange of a scene.
type ask struct {
	name, about string
	request     transcript.Packet
}

func (r *recorder) all(asks ...ask) error {
	for _, a := range asks {
		if err := r.ask(a.name, a.about, a.request); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) withoutGrants() error {
	if err := s.all(
		ask{"id", "the protocol's version and the server's features", id},
		ask{"ping", "OK", request(protocol.IPROTO_PING, iproto.EmptyBody)},
		ask{"vote", "the ballot of a writable instance", vote},
		ask{"box.info denied", "to a user without a grant", s.call("box.info")},
		ask{"watch box.status", "the first event, at once: writable", watch(iproto.StatusKey)},
	); err != nil || !s.version.AtLeast(2, 10, 0) {
		return err
	}
	return s.all(
		ask{"watch box.id", "the first event", watch(iproto.IDKey)},
		ask{"watch box.election", "the first event", watch(iproto.ElectionKey)},
		ask{"watch box.schema", "the first event", watch(iproto.SchemaKey)},
		ask{"watch box.shutdown", "the first event: the key has no value", watch(iproto.ShutdownKey)},
	)
}

func (s *stage) readOnly() error {
	if s.version.AtLeast(2, 10, 0) {
		if err := s.send(watch(iproto.StatusKey)); err != nil {
			return err
		}
	}
	if err := s.lua("box.cfg{read_only = true}"); err != nil {
		return err
	}
	if s.version.AtLeast(2, 10, 0) {
		err := s.expect("watch box.status, changed", "the next event, once it has been asked for: read-only", watch(iproto.StatusKey))
		if err != nil {
			return err
		}
	}
	if err := s.ask("vote, read-only", "the ballot of a read-only instance", vote); err != nil {
		return err
	}
	return s.lua("box.cfg{read_only = false} box.schema.user.grant('guest', 'super')")
}

func (s *stage) statements() error {
	return s.all(
		ask{"box.info", "of a writable instance, to a user who may call it", s.call("box.info")},
		ask{"create table", "OK, a count of 1", s.sql("CREATE TABLE users (id INTEGER PRIMARY KEY AUTOINCREMENT, name STRING)")},
		ask{"insert", "one row", s.sql("INSERT INTO users (id, name) VALUES (1, 'Ann')")},
		ask{"insert, generated ids", "two rows", s.sql("INSERT INTO users (name) VALUES ('Bob'), ('Cid')")},
		ask{"insert, duplicate", "refused: the row is there", s.sql("INSERT INTO users (id, name) VALUES (1, 'Dan')")},
		ask{"select", "one row", s.sql("SELECT id, name FROM users WHERE id = 1")},
		ask{"select, no rows", "the metadata alone", s.sql("SELECT id, name FROM users WHERE id = 42")},
		ask{"update", "one row", s.sql("UPDATE users SET name = 'Eva' WHERE id = 1")},
		ask{"update, no rows", "OK, a count of 0", s.sql("UPDATE users SET name = 'Eva' WHERE id = 42")},
		ask{"delete, no rows", "OK, a count of 0", s.sql("DELETE FROM users WHERE id = 42")},
		ask{"syntax error", "refused", s.sql("SELECT FROM")},
	)
}

func (s *stage) readOnlyStatements() error {
	if err := s.lua("box.cfg{read_only = true}"); err != nil {
		return err
	}
	if err := s.all(
		ask{"box.info, read-only", "of an instance that is read-only by its configuration", s.call("box.info")},
		ask{"insert, read-only", "accepted before 2.7.1", s.sql("INSERT INTO users (id, name) VALUES (4, 'Fay')")},
		ask{"update, read-only", "refused", s.sql("UPDATE users SET name = 'Gus' WHERE id = 1")},
		ask{"update, no rows, read-only", "OK: no row was to be written", s.sql("UPDATE users SET name = 'Gus' WHERE id = 42")},
	); err != nil {
		return err
	}
	return s.lua("box.cfg{read_only = false}")
}

func (s *stage) streams() error {
	if !s.version.AtLeast(2, 10, 0) {
		return nil
	}
	in := func(p transcript.Packet) transcript.Packet {
		p.Stream = 1
		return p
	}
	begin := request(protocol.IPROTO_BEGIN, iproto.EmptyBody)
	insert := s.sql("INSERT INTO users (id, name) VALUES (9, 'Hal')")
	return s.all(
		ask{"begin", "OK", in(begin)},
		ask{"insert in a transaction", "OK", in(insert)},
		ask{"commit", "OK", in(request(protocol.IPROTO_COMMIT, iproto.EmptyBody))},
		ask{"rollback without a transaction", "OK", in(request(protocol.IPROTO_ROLLBACK, iproto.EmptyBody))},
	)
}

// synchronous are writes of a space whose quorum is not there.
func (s *stage) synchronous() error {
	err := s.lua(`
		if box.ctl.promote then box.ctl.promote() end
		box.schema.space.create('SYNC', {is_sync = true, format = {{'ID', 'integer'}}}):create_index('pk')
		box.cfg{replication_synchro_quorum = 2, replication_synchro_timeout = 0.05}
`)
	if err != nil {
		return err
	}
	write := s.sql(`INSERT INTO "SYNC" VALUES (1)`)
	if err := s.ask("insert, quorum timeout", "of a synchronous space whose quorum is not there in time", write); err != nil {
		return err
	}
	if !s.version.AtLeast(2, 10, 0) {
		return s.lua("box.cfg{replication_synchro_quorum = 1}")
	}
	if s.version.AtLeast(3, 0, 0) {
		err := s.lua("require('compat').replication_synchro_timeout = 'new'")
		if err != nil {
			return err
		}
		about := "the same, where the compat option says that it goes on waiting"
		if err := s.ask("insert, quorum timeout, detached", about, write); err != nil {
			return err
		}
	}
	// The fiber of a statement that waits for its quorum is cancelled.
	if err := s.lua("box.cfg{replication_synchro_timeout = 1000}"); err != nil {
		return err
	}
	write = s.sql(`INSERT INTO "SYNC" VALUES (2)`)
	if err := s.send(write); err != nil {
		return err
	}
	if err := s.lua(cancelWaiting); err != nil {
		return err
	}
	return s.expect("insert, cancelled", "the fiber is cancelled while it waits for the quorum", write)
}

// cancelWaiting cancels the fibers of requests more than once: one that still
// writes its WAL does not notice.
const cancelWaiting = `
	local fiber = require('fiber')
	for _ = 1, 200 do
		if box.info.synchro.queue.len > 0 then
			for id, info in pairs(fiber.info()) do
				if info.name == 'main' or info.name == 'pool' then
					pcall(fiber.cancel, id)
				end
			end
		end
		fiber.sleep(0.001)
	end`

func (s *stage) shutdown() error {
	if !s.version.AtLeast(2, 10, 0) {
		return s.rs.Shutdown(0)
	}
	if err := s.send(watch(iproto.ShutdownKey)); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- s.rs.Shutdown(0) }()
	if err := s.expect("watch box.shutdown, changed", "the next event: the server is about to end", watch(iproto.ShutdownKey)); err != nil {
		return err
	}
	if err := s.Close(); err != nil { // which the server waits for
		return err
	}
	return <-ended
}
