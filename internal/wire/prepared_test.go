package wire_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	protocol "github.com/tarantool/go-iproto"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/tntsql/tntsql/internal/fakepeer"
	"github.com/tntsql/tntsql/internal/iproto"
	"github.com/tntsql/tntsql/internal/wire"
)

const (
	older = "3.6.9" // takes two texts of one hash for the same
	newer = "3.8.0"
)

// preparer is a peer that prepares: each text has an id of its own unless ids says
// so.
type preparer struct {
	*fakepeer.Peer
	from int // of what has arrived
	mu   sync.Mutex
	ids  map[string]uint32
}

func startPreparer(t *testing.T, version string) *preparer {
	p := &preparer{Peer: fakepeer.Start(t, nil, fakepeer.Instance(version, fakepeer.UUID)), ids: make(map[string]uint32)}
	p.On(protocol.IPROTO_PREPARE, p.prepare)
	return p
}

// prepare answers with a column of a SELECT, and with a parameter for each "?".
func (p *preparer) prepare(s *fakepeer.Session, r fakepeer.Request) bool {
	text, isText := textOf(r)
	if !isText {
		return false
	}
	answer := map[protocol.Key]any{
		protocol.IPROTO_STMT_ID:    p.id(text),
		protocol.IPROTO_BIND_COUNT: strings.Count(text, "?"),
	}
	if strings.HasPrefix(text, "SELECT") {
		answer[protocol.IPROTO_METADATA] = []map[protocol.MetadataKey]string{
			{protocol.IPROTO_FIELD_NAME: "a", protocol.IPROTO_FIELD_TYPE: "integer"},
		}
	}
	body, _ := msgpack.Marshal(answer) // integers and texts alone
	s.Reply(r.Sync, 0, body)
	return true
}

func (p *preparer) id(text string) uint32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.ids[text]; !ok {
		p.ids[text] = uint32(1000 + len(p.ids))
	}
	return p.ids[text]
}

// fields are what a request's body has.
func fields(r fakepeer.Request) map[protocol.Key]any {
	var body map[protocol.Key]any
	_ = msgpack.Unmarshal(r.Body, &body)
	return body
}

func textOf(r fakepeer.Request) (string, bool) {
	text, ok := fields(r)[protocol.IPROTO_SQL_TEXT].(string)
	return text, ok
}

func (p *preparer) arrived() []fakepeer.Request {
	return p.Requests(protocol.IPROTO_EXECUTE, protocol.IPROTO_PREPARE)
}

// sent are the statements that have arrived: "EXECUTE" or "PREPARE", and the text or
// the id: "PREPARE 1000" is an UNPREPARE.
func (p *preparer) sent() (all []string) {
	for _, r := range p.arrived()[p.from:] {
		what, ok := textOf(r)
		if !ok {
			what = fmt.Sprint(fields(r)[protocol.IPROTO_STMT_ID])
		}
		all = append(all, strings.TrimPrefix(r.Type.String(), "IPROTO_")+" "+what)
	}
	return all
}

// forget drops what has arrived so far from what sent tells.
func (p *preparer) forget() { p.from = len(p.arrived()) }

// client is a connection that keeps statements prepared.
type client struct {
	*wire.Conn
	schema *atomic.Uint64
	budget *wire.Budget
}

func dialPreparer(t *testing.T, p *preparer, size int) *client {
	c := &client{schema: new(atomic.Uint64), budget: wire.NewBudget(100)}
	o := options()
	o.Statements, o.Schema, o.Budget = size, c.schema, c.budget
	o.Ordered = func(iproto.Version) bool { return true } // as the tests look at the order
	var err error
	c.Conn, err = wire.Dial(patience(t), p.Addr, o)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func read(sql string) wire.Text {
	return wire.Text{SQL: sql, Params: strings.Count(sql, "?"), Read: true}
}

// begin sends a statement as the pool does.
func (c *client) begin(t *testing.T, text wire.Text) wire.Pending {
	t.Helper()
	return c.execute(t, text, c.Use(text))
}

func (c *client) execute(t *testing.T, text wire.Text, use wire.Use) wire.Pending {
	t.Helper()
	body, err := iproto.AppendExecute(nil, text.SQL, nil, c.Greeting().Version)
	if id, ok := use.ID(); ok {
		body, err = iproto.AppendExecuteID(nil, id, nil, c.Greeting().Version)
	}
	require.NoError(t, err)
	pending, err := c.Execute(use, body, false)
	require.NoError(t, err)
	return pending
}

func (c *client) run(t *testing.T, texts ...wire.Text) (last wire.Reply) {
	t.Helper()
	for _, text := range texts {
		use := c.Use(text)
		_, byID := use.ID()
		pending := c.execute(t, text, use)
		<-pending.Done()
		var err error
		last, err = pending.Reply()
		require.NoError(t, err)
		if !byID && last.Code == 0 {
			c.UsedByText(text)
		}
	}
	return last
}

// settle waits until the answers to all that was sent are taken in, and what was
// sent upon them has arrived.
func (c *client) settle(t *testing.T) {
	t.Helper()
	ping(t, c.Conn)
	ping(t, c.Conn)
}

// prepare uses each text twice.
func (c *client) prepare(t *testing.T, texts ...wire.Text) {
	t.Helper()
	for _, text := range texts {
		c.run(t, text, text)
		c.settle(t)
	}
}

func (c *client) hasID(text wire.Text) bool {
	use := c.Use(text)
	defer c.Drop(use)
	_, ok := use.ID()
	return ok
}

// refuse is a script that answers with the error.
func refuse(code protocol.Error, message string) fakepeer.Script {
	return func(s *fakepeer.Session, r fakepeer.Request) bool {
		s.Error(r.Sync, code, message)
		return true
	}
}

const expired = "Failed to execute SQL statement: statement has expired"

func TestATextIsPreparedBesideItsSecondUse(t *testing.T) {
	p := startPreparer(t, older)
	c := dialPreparer(t, p, 10)
	c.run(t, read("SELECT a"))
	c.settle(t)
	assert.Equal(t, []string{"EXECUTE SELECT a"}, p.sent())
	assert.Zero(t, c.Prepared())
	c.run(t, read("SELECT a"))
	c.settle(t)
	assert.Equal(t, []string{"EXECUTE SELECT a", "EXECUTE SELECT a", "PREPARE SELECT a"}, p.sent())
	assert.Equal(t, 1, c.Prepared())
	p.forget()
	c.run(t, read("SELECT a"), read("SELECT a"))
	assert.Equal(t, []string{"EXECUTE 1000", "EXECUTE 1000"}, p.sent())
}

func TestOnePrepareIsInFlightHoweverManyAsk(t *testing.T) {
	p := startPreparer(t, older)
	answer := make(chan struct{})
	p.On(protocol.IPROTO_PREPARE, func(s *fakepeer.Session, r fakepeer.Request) bool {
		go func() {
			<-answer
			p.prepare(s, r)
		}()
		return true
	})
	c := dialPreparer(t, p, 10)
	var callers sync.WaitGroup
	for range 20 {
		callers.Go(func() {
			for range 5 {
				c.run(t, read("SELECT a"))
			}
		})
	}
	callers.Wait()
	prepares := func() int { return len(p.Requests(protocol.IPROTO_PREPARE)) }
	assert.Equal(t, 1, prepares())
	assert.Equal(t, 1, c.budget.Used(), "it has room")
	assert.Zero(t, c.Waiting(), "and holds up nobody")
	close(answer)
	require.Eventually(t, func() bool { return c.hasID(read("SELECT a")) }, patienceFor, tick)
	c.run(t, read("SELECT a"))
	assert.Equal(t, 1, prepares())
	assert.Zero(t, c.budget.Used())
}

func TestNothingIsPreparedWithoutRoom(t *testing.T) {
	p := startPreparer(t, older)
	c := dialPreparer(t, p, 10)
	c.budget.SetLimit(0)
	c.prepare(t, read("SELECT a"))
	assert.Empty(t, p.Requests(protocol.IPROTO_PREPARE))
	c.budget.SetLimit(1)
	c.run(t, read("SELECT a"))
	c.settle(t)
	assert.Equal(t, 1, c.Prepared())
}

func TestAnIDIsUnpreparedWhenNothingExecutesIt(t *testing.T) {
	p := startPreparer(t, older)
	c := dialPreparer(t, p, 1)
	a, b := read("SELECT a"), read("SELECT b")
	c.prepare(t, a)
	held := hold(p.Peer, protocol.IPROTO_EXECUTE)
	c.begin(t, a) // its caller leaves
	c.begin(t, a)
	answers := []func(){<-held, <-held}
	p.On(protocol.IPROTO_EXECUTE, nil)

	p.forget()
	c.prepare(t, b) // takes its place
	assert.Equal(t, []string{"EXECUTE SELECT b", "EXECUTE SELECT b", "PREPARE SELECT b"}, p.sent())
	p.forget()
	c.run(t, a)
	answers[0]()
	c.settle(t)
	assert.Equal(t, []string{"EXECUTE SELECT a"}, p.sent(), "no use of it begins, and one is unanswered")
	answers[1]()
	c.settle(t)
	assert.Equal(t, []string{"EXECUTE SELECT a", "PREPARE 1000"}, p.sent())

	p.forget()
	c.run(t, a)
	c.settle(t)
	assert.Equal(t, []string{"EXECUTE SELECT a", "PREPARE SELECT a", "PREPARE 1001"}, p.sent(), "it takes its place back")
	assert.True(t, c.hasID(a))
	assert.Equal(t, 1, c.Prepared())
}

func TestAnIDThatWasNotSentIsNotInUse(t *testing.T) {
	p := startPreparer(t, older)
	c := dialPreparer(t, p, 1)
	c.prepare(t, read("SELECT a"))
	use := c.Use(read("SELECT a"))
	c.prepare(t, read("SELECT b"))
	p.forget()
	assert.Empty(t, p.sent())
	c.Drop(use)
	c.settle(t)
	assert.Equal(t, []string{"PREPARE 1000"}, p.sent())
}

func TestAPrepareThatCrossesAnUnprepareIsUndone(t *testing.T) {
	p := startPreparer(t, older)
	c := dialPreparer(t, p, 1)
	a := read("SELECT a")
	c.prepare(t, a)
	unprepares := make(chan func(), 2)
	p.On(protocol.IPROTO_PREPARE, func(s *fakepeer.Session, r fakepeer.Request) bool {
		if _, ok := textOf(r); ok {
			return p.prepare(s, r)
		}
		unprepares <- func() { s.Answer(r) }
		return true
	})
	c.prepare(t, read("SELECT b"))
	first := <-unprepares
	p.forget()
	c.prepare(t, a) // the server's session has it again, or not
	assert.Contains(t, p.sent(), "PREPARE SELECT a")
	assert.False(t, c.hasID(a))
	first()
	second := <-unprepares
	second()
	c.settle(t)
	assert.Equal(t, "PREPARE 1000", p.sent()[len(p.sent())-1])
}

func TestTwoTextsOfOneIDGoByText(t *testing.T) {
	p := startPreparer(t, older)
	a, b := read("SELECT a"), read("SELECT b")
	p.ids[a.SQL], p.ids[b.SQL] = 7, 7
	c := dialPreparer(t, p, 10)
	c.prepare(t, a)
	require.True(t, c.hasID(a))
	p.forget()
	c.prepare(t, b)
	assert.Equal(t, []string{"EXECUTE SELECT b", "EXECUTE SELECT b", "PREPARE SELECT b", "PREPARE 7"}, p.sent(),
		"one UNPREPARE is for both")
	p.forget()
	c.run(t, a, b, a, b)
	c.settle(t)
	assert.Equal(t, []string{"EXECUTE SELECT a", "EXECUTE SELECT b", "EXECUTE SELECT a", "EXECUTE SELECT b"}, p.sent())
}

func TestNothingIsPreparedOnceTheServersCacheIsFull(t *testing.T) {
	p := startPreparer(t, older)
	p.On(protocol.IPROTO_PREPARE, refuse(protocol.ER_SQL_PREPARE, "Failed to prepare SQL statement: Memory limit for SQL prepared statements has been reached."))
	c := dialPreparer(t, p, 10)
	c.prepare(t, read("SELECT a"), read("SELECT b"))
	c.prepare(t, read("SELECT a"), read("SELECT b"))
	assert.Len(t, p.Requests(protocol.IPROTO_PREPARE), 1)
}

func TestATextThatIsRefusedIsNotPreparedAgainAtOnce(t *testing.T) {
	p := startPreparer(t, older)
	p.On(protocol.IPROTO_PREPARE, refuse(protocol.ER_NO_SUCH_SPACE, "Space 'A' does not exist"))
	c := dialPreparer(t, p, 10)
	c.prepare(t, read("SELECT a"))
	c.prepare(t, read("SELECT a"))
	assert.Len(t, p.Requests(protocol.IPROTO_PREPARE), 1)
	p.On(protocol.IPROTO_PREPARE, p.prepare)
	assert.Eventually(t, func() bool {
		c.prepare(t, read("SELECT a"))
		return c.hasID(read("SELECT a"))
	}, patienceFor, tick)
}

func TestWhichIDsAreUsed(t *testing.T) {
	for name, tt := range map[string]struct {
		version  string
		text     wire.Text
		prepared bool // at all
		used     bool
	}{
		"a read":                       {older, wire.Text{SQL: "SELECT a", Read: true}, true, true},
		"with parameters":              {older, wire.Text{SQL: "SELECT ?", Params: 1, Read: true}, true, true},
		"no columns":                   {older, wire.Text{SQL: "VALUES (a)", Read: true}, true, false},
		"another number of parameters": {older, wire.Text{SQL: "SELECT ?", Params: 2, Read: true}, true, false},
		"literals, 2.6":                {"2.6.0", wire.Text{SQL: "SELECT 1", Literals: true, Read: true}, false, false},
		"literals, 3.7.0":              {"3.7.0", wire.Text{SQL: "SELECT 1", Literals: true, Read: true}, false, false},
		"literals, 3.7.1":              {"3.7.1", wire.Text{SQL: "SELECT 1", Literals: true, Read: true}, true, true},
		"literals, 3.8.0":              {newer, wire.Text{SQL: "SELECT 1", Literals: true, Read: true}, true, true},
		"a long text":                  {newer, wire.Text{SQL: "SELECT " + strings.Repeat("a", 1<<16), Read: true}, false, false},
		"not to be executed by its id": {newer, wire.Text{SQL: "SELECT a"}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := startPreparer(t, tt.version)
			c := dialPreparer(t, p, 10)
			c.prepare(t, tt.text)
			assert.Equal(t, tt.used, c.hasID(tt.text))
			p.forget()
			c.prepare(t, tt.text)
			assert.NotContains(t, p.sent(), "PREPARE "+tt.text.SQL, "not a second time")
			want := []string{}
			if tt.prepared {
				want = append(want, "PREPARE "+tt.text.SQL)
				if !tt.used {
					want = append(want, "PREPARE 1000")
				}
			}
			p.from = 0
			got := slices.DeleteFunc(p.sent(), func(s string) bool { return strings.HasPrefix(s, "EXECUTE") })
			assert.Equal(t, want, got)
		})
	}
}

func TestAnIDThatTheServerDoesNotKnowIsPreparedAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		refusal    fakepeer.Script
		unprepared bool
	}{
		"unknown":       {refuse(protocol.ER_WRONG_QUERY_ID, "Prepared statement with id 1000 does not exist"), true},
		"expired":       {refuse(protocol.ER_SQL_EXECUTE, expired), true},
		"another error": {refuse(protocol.ER_SQL_EXECUTE, "Failed to execute SQL statement: integer is overflowed"), false},
	} {
		t.Run(name, func(t *testing.T) {
			p := startPreparer(t, older)
			c := dialPreparer(t, p, 10)
			a := read("SELECT a")
			c.prepare(t, a)
			assert.False(t, c.run(t, a).Unprepared)
			p.On(protocol.IPROTO_EXECUTE, tt.refusal)
			reply := c.run(t, a)
			assert.NotZero(t, reply.Code)
			assert.Equal(t, tt.unprepared, reply.Unprepared)
			p.On(protocol.IPROTO_EXECUTE, nil)
			assert.Equal(t, !tt.unprepared, c.hasID(a))

			p.forget()
			c.run(t, a)
			c.settle(t)
			c.run(t, a)
			want := []string{"EXECUTE 1000", "EXECUTE 1000"}
			if tt.unprepared {
				want = []string{"EXECUTE SELECT a", "PREPARE SELECT a", "EXECUTE 1000"}
			}
			assert.Equal(t, want, p.sent())
		})
	}
}

func TestAnIDThatNeverWorksIsTriedEverLess(t *testing.T) {
	p := startPreparer(t, older)
	p.On(protocol.IPROTO_EXECUTE, func(s *fakepeer.Session, r fakepeer.Request) bool {
		if _, ok := textOf(r); ok {
			return false
		}
		s.Error(r.Sync, protocol.ER_SQL_EXECUTE, expired)
		return true
	})
	c := dialPreparer(t, p, 10)
	a := read("SELECT a")
	c.prepare(t, a)
	require.True(t, c.run(t, a).Unprepared)
	c.run(t, a) // once more at once
	c.settle(t)
	require.True(t, c.run(t, a).Unprepared)
	p.forget()
	for range 10 {
		assert.False(t, c.run(t, a).Unprepared)
	}
	c.settle(t)
	assert.Equal(t, slices.Repeat([]string{"EXECUTE SELECT a"}, 10), p.sent())
	assert.Eventually(t, func() bool {
		c.run(t, a)
		c.settle(t)
		return c.hasID(a)
	}, patienceFor, tick)
}

func TestAChangeOfTheSchemaHasAllPreparedAgain(t *testing.T) {
	p := startPreparer(t, older)
	c := dialPreparer(t, p, 10)
	a, b, never := read("SELECT a"), read("SELECT b"), read("SELECT never")
	c.prepare(t, a, b, never)
	c.schema.Store(2)
	p.forget()
	c.run(t, a)
	c.settle(t)
	c.run(t, a)
	assert.Equal(t, []string{"EXECUTE SELECT a", "PREPARE SELECT a", "EXECUTE 1000"}, p.sent())
	assert.Equal(t, 3, c.Prepared())

	p.forget()
	p.On(protocol.IPROTO_PREPARE, func(s *fakepeer.Session, r fakepeer.Request) bool {
		_, ok := textOf(r)
		return ok && refuse(protocol.ER_NO_SUCH_SPACE, "Space 'B' does not exist")(s, r)
	})
	c.run(t, b)
	c.settle(t)
	assert.Equal(t, []string{"EXECUTE SELECT b", "PREPARE SELECT b", "PREPARE 1001"}, p.sent(), "what is refused is unprepared")
	assert.Equal(t, 2, c.Prepared())
}

func TestPrepareTellsOfTheTextAndKeepsReads(t *testing.T) {
	p := startPreparer(t, older)
	c := dialPreparer(t, p, 10)
	ask := func(text wire.Text) wire.Reply {
		pending, err := c.Conn.Prepare(text, false)
		require.NoError(t, err)
		<-pending.Done()
		reply, err := pending.Reply()
		require.NoError(t, err)
		c.settle(t)
		return reply
	}
	assert.Zero(t, ask(read("SELECT a")).Code)
	assert.True(t, c.hasID(read("SELECT a")))
	assert.Zero(t, ask(wire.Text{SQL: "INSERT INTO a"}).Code)
	assert.Zero(t, ask(wire.Text{SQL: "SELECT 1", Literals: true, Read: true}).Code)
	p.On(protocol.IPROTO_PREPARE, refuse(protocol.ER_SQL_SYNTAX_NEAR_TOKEN, "Syntax error"))
	assert.EqualValues(t, protocol.ER_SQL_SYNTAX_NEAR_TOKEN, ask(read("SELECT b")).Code)
	assert.Equal(t, []string{"PREPARE SELECT a", "PREPARE INSERT INTO a", "PREPARE 1001", "PREPARE SELECT 1", "PREPARE 1002", "PREPARE SELECT b"}, p.sent())
	assert.Equal(t, 1, c.Prepared())
}

func TestThousandsOfTextsKeepAsManyAsThereIsRoomFor(t *testing.T) {
	p := startPreparer(t, older)
	c := dialPreparer(t, p, 10)
	for round := range 3 {
		for i := range 200 {
			text := read(fmt.Sprintf("SELECT a%d_%d", round, i))
			c.run(t, text, text, text)
		}
	}
	c.settle(t)
	assert.Equal(t, 10, c.Prepared())
	has := 0
	for _, r := range p.Requests(protocol.IPROTO_PREPARE) {
		if _, ok := textOf(r); ok {
			has++
		} else {
			has--
		}
	}
	assert.Equal(t, 10, has)
}

// A server that gives an id each time, and never says that it has let one go.
func TestIDsThatAreNotUnpreparedAreFew(t *testing.T) {
	p := startPreparer(t, newer)
	p.On(protocol.IPROTO_PREPARE, func(s *fakepeer.Session, r fakepeer.Request) bool {
		_, isText := textOf(r)
		return !isText || p.prepare(s, r)
	})
	c := dialPreparer(t, p, 2)
	for i := range 500 {
		c.run(t, read(fmt.Sprintf("SELECT %d", i)), read(fmt.Sprintf("SELECT %d", i)))
	}
	assert.LessOrEqual(t, c.InFlight(), 100)
}

func TestNothingIsPreparedWithoutACache(t *testing.T) {
	p := startPreparer(t, newer)
	c := dialPreparer(t, p, 0)
	c.prepare(t, read("SELECT a"), read("SELECT a"))
	assert.Empty(t, p.Requests(protocol.IPROTO_PREPARE))
	assert.Zero(t, c.Prepared())
}

func TestUseOfAnIDAllocatesNothing(t *testing.T) {
	p := startPreparer(t, newer)
	c := dialPreparer(t, p, 10)
	c.prepare(t, read("SELECT a"))
	require.True(t, c.hasID(read("SELECT a")))
	assert.Zero(t, testing.AllocsPerRun(100, func() { c.Drop(c.Use(read("SELECT a"))) }))
}
