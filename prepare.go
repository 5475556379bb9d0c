package tntsql

import (
	"context"
	"errors"
	"sync"

	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql/discovery"
	"github.com/tntsql/tntsql/internal/bytecache"
	"github.com/tntsql/tntsql/internal/sqltext"
	"github.com/tntsql/tntsql/internal/verdict"
	"github.com/tntsql/tntsql/internal/wire"
	"github.com/tntsql/tntsql/pool"
)

// longestAsked is the length of the longest text that a server is asked about: one
// that would not be remembered would be asked about each time.
const longestAsked = preparedSize / 16

// statements is how many statements a connection keeps prepared. It keeps none
// where session settings matter: a server gives a statement to all sessions as
// the first of them has prepared it.
func (c *Config) statements() int {
	if c.StmtCache == NoStmtCache || c.FullMetadata || len(c.Session) > 0 || c.SeqScan != nil && !*c.SeqScan {
		return 0
	}
	return c.StmtCache
}

// keepsPrepared tells whether connections may keep the statement prepared. One
// that calls a user's function they do not: its error may look like that of an
// id which is unknown, though it has run.
func (c *cluster) keepsPrepared(s *sqltext.Statement) bool {
	return c.config.statements() > 0 && s.Kind == sqltext.Read && s.UserCall == "" &&
		(s.Verb == "SELECT" || s.Verb == "VALUES")
}

// prepared are the texts that a server has been asked to prepare.
type prepared struct {
	mu     sync.Mutex
	texts  *bytecache.Cache[struct{}]
	asking map[string]*question
}

// question is one about a text that is on its way.
type question struct {
	answered chan struct{}
	err      error // of the text
}

func newPrepared(limit int) *prepared {
	return &prepared{texts: bytecache.New[struct{}](limit), asking: make(map[string]*question)}
}

// once has the text asked about if it has not been, and gives the answer to all who
// want it meanwhile. Others than those about the text are the caller's alone.
func (p *prepared) once(ctx context.Context, query string, ask func() error) error {
	p.mu.Lock()
	if _, known := p.texts.Get(query); known {
		p.mu.Unlock()
		return nil
	}
	if q := p.asking[query]; q != nil {
		p.mu.Unlock()
		select {
		case <-q.answered:
			return q.err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	q := &question{answered: make(chan struct{})}
	p.asking[query] = q
	p.mu.Unlock()

	err := ask()
	if isAboutTheText(err) {
		q.err = err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.asking, query)
	if err == nil {
		p.texts.Add(query, struct{}{}, 0)
	}
	close(q.answered)
	return err
}

// prepare has an instance prepare the text, the first time. The error is the
// server's about the text.
func (c *Conn) prepare(ctx context.Context, query string, text *sqltext.Statement) error {
	if !c.prepares(query, text) {
		return nil
	}
	err := c.connector.prepared.once(ctx, query, func() error { return c.askToPrepare(ctx, query, text) })
	if ctx.Err() == nil && !isAboutTheText(err) {
		return nil // its use may succeed
	}
	return err
}

// prepares tells whether servers are asked about the text. A text with a NUL
// crashes those before 3.7.1 and 3.8.0. A transaction's instance is not asked, as
// its stream may be busy.
func (c *Conn) prepares(query string, text *sqltext.Statement) bool {
	if c.connector.config.statements() == 0 || c.tx != nil || len(query) > longestAsked || text.Cut {
		return false
	}
	switch text.Kind {
	case sqltext.Read:
		return true
	case sqltext.Write, sqltext.Unknown:
		return !c.connector.config.ReadOnly
	}
	return false
}

// askToPrepare asks an instance of any role. What a read-only one does not know
// may not have reached it yet: then the read-write one is asked, if there is one.
func (c *Conn) askToPrepare(ctx context.Context, query string, text *sqltext.Statement) error {
	req := &pool.Request{
		Mode: discovery.Mode(ModeAny),
		Kind: verdict.Read,
		Type: protocol.IPROTO_PREPARE,
		Text: wire.Text{SQL: query, Params: text.Params, Literals: text.Literals, Read: c.connector.keepsPrepared(text)},
	}
	c.bound(req)
	req.Timeout = c.connector.config.ConnectTimeout
	c.marked(ctx, req)
	reply, err := c.pool.Do(ctx, req)
	if err = outward(ctx, err, reply.Served); !isAboutSchema(err) || reply.Served.Role == discovery.RoleRW {
		return err
	}
	req.Mode, req.Selection = discovery.Mode(ModeRW), NoWait
	reply, atMaster := c.pool.Do(ctx, req)
	if atMaster = outward(ctx, atMaster, reply.Served); errors.Is(atMaster, ErrNoInstance) {
		return err
	}
	return atMaster
}

// isAboutTheText tells of a server's error that every use of the text would meet,
// as long as the schema is what it is.
func isAboutTheText(err error) bool {
	return isAboutSchema(err) || hasCode(err,
		protocol.ER_SQL_SYNTAX_WITH_POS,
		protocol.ER_SQL_SYNTAX_NEAR_TOKEN,
		protocol.ER_SQL_KEYWORD_IS_RESERVED,
		protocol.ER_SQL_STATEMENT_EMPTY,
		protocol.ER_SQL_UNKNOWN_TOKEN,
	)
}

// isAboutSchema tells of those of them that depend on the schema.
func isAboutSchema(err error) bool {
	return hasCode(err,
		protocol.ER_NO_SUCH_SPACE,
		protocol.ER_NO_SUCH_FUNCTION,
		protocol.ER_NO_SUCH_INDEX_NAME,
		protocol.ER_NO_SUCH_COLLATION,
		protocol.ER_NO_SUCH_FIELD_NAME,
		protocol.ER_NO_SUCH_FIELD_NAME_IN_SPACE,
		protocol.ER_SQL_CANT_RESOLVE_FIELD,
		protocol.ER_SQL_COLUMN_COUNT,
		protocol.ER_SQL_SELECT_WILDCARD,
		protocol.ER_SQL_PARSER_GENERIC,
		protocol.ER_SQL_PARSER_GENERIC_WITH_POS,
	)
}
