package wire

import (
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql/internal/iproto"
)

// Text is a statement that a connection may have prepared.
type Text struct {
	SQL      string
	Params   int  // how many arguments it takes
	Literals bool // it has a string, a number or a blob
	Read     bool // its id may be kept and executed
}

const (
	// spareIDs is how many ids beyond those in use, and as many that make room for
	// them, may wait for the answer to their UNPREPARE. A server that gives none is not
	// asked for further ids.
	spareIDs = 64
	maxText  = 16 << 10 // bytes of a text that is kept
	// fullPause is how long nothing is prepared once the server's cache is full.
	fullPause = time.Minute
	// firstWait is how long a text that cannot be prepared, or whose id did not work,
	// goes without, and lastWait what that grows to.
	firstWait = 100 * time.Millisecond
	lastWait  = time.Minute
	never     = math.MaxInt64
)

// prepared is a text, and the id that the server's session has for it.
type prepared struct {
	text string
	id   uint32

	uses    atomic.Int32 // unanswered EXECUTEs of the id
	leaving atomic.Bool  // no more begin
	worked  atomic.Bool  // one has since it was prepared

	// Guarded by statements.mu.
	schema      uint64 // the version that it was prepared under
	stale       bool   // the server no longer knows it as it is
	failed      bool   // that has been so before
	asked       bool   // a PREPARE is unanswered
	wait        time.Duration
	next        int64 // no PREPARE before
	unpreparing bool  // an UNPREPARE is unanswered
	again       bool  // and another one is needed
}

// statements are what a connection's session has prepared. Servers free a
// statement that is running when it is unprepared and their cache is full, and
// crash. So an id is unprepared only when no EXECUTE of it is unanswered, and
// none begins until a later PREPARE has brought it anew.
type statements struct {
	conn   *Conn
	most   int            // ids that are tracked
	schema *atomic.Uint64 // the server's version, as far as it has told
	// compares tells that the server compares texts whose hash, the id, is the
	// same. Others take one for the other (tarantool#12537).
	compares bool

	mu   sync.Mutex
	held *simplelru.LRU[string, *prepared] // those in use, by text
	seen *simplelru.LRU[string, *prepared] // texts without an id
	ids  map[uint32]*prepared              // all that the session has, or may have
	gone []*prepared                       // to be unprepared by unlock
	full int64                             // no PREPARE before: the server's cache was full
}

func newStatements(c *Conn, size int, schema *atomic.Uint64) *statements {
	if size <= 0 {
		return nil
	}
	s := &statements{
		conn:     c,
		most:     2*size + spareIDs,
		schema:   schema,
		compares: c.greeting.Version.AtLeast(3, 7, 1),
		ids:      make(map[uint32]*prepared),
	}
	// The only error is a size below one.
	s.held, _ = simplelru.NewLRU(size, func(_ string, p *prepared) { s.retire(p) })
	s.seen, _ = simplelru.NewLRU[string, *prepared](size, nil)
	return s
}

// keeps tells whether the text's id may be used, once the server has given one.
func (s *statements) keeps(t Text) bool {
	return t.Read && len(t.SQL) <= maxText && (s.compares || !t.Literals)
}

// Use is the use of a prepared statement by one request. The zero Use is none:
// the request goes by text.
type Use struct{ of *prepared }

// ID is the statement's id, if there is one.
func (u Use) ID() (id uint32, ok bool) {
	if u.of == nil {
		return 0, false
	}
	return u.of.id, true
}

// Use begins the use of the text's id, if the connection has one. It must be
// given to Execute, or dropped.
func (c *Conn) Use(t Text) Use {
	s := c.statements
	if s == nil || !s.keeps(t) {
		return Use{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.held.Get(t.SQL)
	if !ok || !s.current(p) {
		return Use{}
	}
	p.uses.Add(1)
	return Use{p}
}

// Drop ends a use of which nothing was sent.
func (c *Conn) Drop(u Use) {
	if u.of != nil {
		c.statements.release(u.of)
	}
}

// Execute sends an EXECUTE, by the id of the Use if it has one, as Send does.
func (c *Conn) Execute(u Use, body []byte, counted bool) (Pending, error) {
	r := newRequest(protocol.IPROTO_EXECUTE, body, counted)
	r.prepared = u.of
	return c.post(nil, r)
}

// UsedByText notes that the server has run the text. The second time has it prepared.
func (c *Conn) UsedByText(t Text) {
	if s := c.statements; s != nil && s.keeps(t) && s.begins(t) {
		_, _ = c.Prepare(t, true) // unsent, the connection has ended
	}
}

// Prepare sends a PREPARE of the text. What becomes of the id on the server is
// taken care of, whoever waits for the answer.
func (c *Conn) Prepare(t Text, counted bool) (Pending, error) {
	r := newRequest(protocol.IPROTO_PREPARE, iproto.AppendPrepare(nil, t.SQL), counted)
	if s := c.statements; s != nil {
		schema := s.schema.Load()
		r.answered = func(reply Reply) { s.answered(t, schema, reply) }
	}
	return c.post(nil, r)
}

// Prepared is the number of statements whose ids are in use.
func (c *Conn) Prepared() int {
	s := c.statements
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held.Len()
}

// current tells whether the id is the server's, as far as is known: any change
// of the schema expires all.
func (s *statements) current(p *prepared) bool { return !p.stale && p.schema == s.schema.Load() }

// begins tells whether the text is to be prepared now, for which it takes room.
func (s *statements) begins(t Text) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.known(t.SQL)
	if p == nil {
		s.see(strings.Clone(t.SQL))
		return false
	}
	now := clock()
	if p.asked || len(s.ids) >= s.most || now < p.next || now < s.full || p.id != 0 && s.current(p) || !s.conn.flight.budget.Try() {
		return false
	}
	p.asked = true
	return true
}

// known is what is known of a text; nil if nothing is.
func (s *statements) known(text string) *prepared {
	if p, ok := s.held.Peek(text); ok {
		return p
	}
	p, _ := s.seen.Get(text)
	return p
}

func (s *statements) see(text string) *prepared {
	p := &prepared{text: text}
	s.seen.Add(text, p)
	return p
}

// answered takes the answer to a PREPARE in, in the connection's reader. schema
// is the version that was known when it was sent.
func (s *statements) answered(t Text, schema uint64, reply Reply) {
	s.mu.Lock()
	defer s.unlock()
	known := s.known(t.SQL)
	if known != nil {
		known.asked = false
	}
	if protocol.Error(reply.Code) == protocol.ER_SQL_PREPARE {
		s.full = clock() + int64(fullPause)
		return
	}
	answer, err := iproto.ParsePrepare(reply.Body, nil)
	if reply.Code != 0 || err != nil {
		if known != nil {
			s.refused(known)
		}
		return
	}
	usable := s.keeps(t) && answer.Columns != nil && answer.Params == t.Params
	s.got(t, answer.ID, schema, usable)
}

// got takes an id in that the session has now.
func (s *statements) got(t Text, id uint32, schema uint64, usable bool) {
	p := s.ids[id]
	switch {
	case p == nil && len(s.ids) >= s.most:
		return
	case p == nil:
		p = &prepared{text: strings.Clone(t.SQL), id: id}
		s.ids[id] = p
	case p.text != t.SQL:
		// Two texts of one id: which of them the server runs cannot be told.
		p.again = p.unpreparing
		s.bar(p.text)
		s.bar(t.SQL)
		return
	case p.leaving.Load():
		if known := s.known(t.SQL); known != nil {
			known.putOff()
		}
		p.again = p.unpreparing
		return
	}
	if known, ok := s.held.Peek(t.SQL); ok && known != p {
		s.held.Remove(t.SQL) // it had another id
	}
	switch {
	case usable:
		p.schema, p.stale = schema, false
		p.worked.Store(false)
		s.seen.Remove(t.SQL)
		s.held.Add(p.text, p)
	case t.Read:
		s.bar(t.SQL)
		s.retire(p)
	default:
		s.retire(p)
	}
}

// refused puts off the next PREPARE of a text that the server does not prepare.
func (s *statements) refused(p *prepared) {
	if p.id != 0 {
		s.held.Remove(p.text)
		p = s.see(p.text)
	}
	p.putOff()
}

// bar keeps a text from being prepared, as long as it is remembered.
func (s *statements) bar(text string) {
	s.held.Remove(text)
	s.see(strings.Clone(text)).next = never
}

// putOff makes the text wait for its next PREPARE, each time longer.
func (p *prepared) putOff() {
	if p.next == never {
		return
	}
	p.wait = min(max(2*p.wait, firstWait), lastWait)
	p.next = clock() + int64(p.wait)
}

// retire has the id unprepared once no EXECUTE of it is unanswered. By then it may
// have been unprepared already, and be another's.
func (s *statements) retire(p *prepared) {
	p.leaving.Store(true)
	if p.uses.Load() == 0 && !p.unpreparing && s.ids[p.id] == p {
		p.unpreparing = true
		s.gone = append(s.gone, p)
	}
}

// release ends a use of the id.
func (s *statements) release(p *prepared) {
	if p.uses.Add(-1) == 0 && p.leaving.Load() {
		s.mu.Lock()
		defer s.unlock()
		s.retire(p)
	}
}

// executed takes the answer to an EXECUTE of the id in, and tells whether the
// statement did not run for want of the id.
func (s *statements) executed(p *prepared, reply Reply) (unprepared bool) {
	defer s.release(p)
	switch {
	case reply.Code == 0:
		if !p.worked.Load() {
			p.worked.Store(true)
		}
		return false
	case !reply.unprepared():
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case p.stale:
		return true
	case p.worked.Load():
		p.wait = 0
	case p.failed:
		// A statement that has expired while it is running somewhere stays so,
		// and PREPARE answers OK all the same.
		p.putOff()
	}
	p.stale, p.failed = true, true
	return true
}

// expired is the server's word for a statement that was prepared before a change
// of the schema.
const expired = "Failed to execute SQL statement: statement has expired"

// unprepared tells of an answer that the id is unknown or has expired.
func (r Reply) unprepared() bool {
	switch protocol.Error(r.Code) {
	case protocol.ER_WRONG_QUERY_ID:
		return true
	case protocol.ER_SQL_EXECUTE:
		return iproto.ParseError(r.Code, r.Body).Message == expired
	}
	return false
}

// unlock unprepares what has gone.
func (s *statements) unlock() {
	gone := s.gone
	s.gone = nil
	s.mu.Unlock()
	for _, p := range gone {
		s.unprepare(p)
	}
}

func (s *statements) unprepare(p *prepared) {
	r := newRequest(protocol.IPROTO_PREPARE, iproto.AppendUnprepare(nil, p.id), false)
	r.answered = func(Reply) {
		s.mu.Lock()
		defer s.unlock()
		if p.again {
			p.again = false
			s.gone = append(s.gone, p)
			return
		}
		p.unpreparing = false
		delete(s.ids, p.id)
	}
	_, _ = s.conn.post(nil, r) // unsent, the connection has ended
}
