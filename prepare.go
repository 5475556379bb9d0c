package tntsql

import (
	"context"
	"errors"
	"strings"
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
	mu    sync.Mutex
	texts *bytecache.Cache[struct{}]
}

func newPrepared(limit int) *prepared {
	return &prepared{texts: bytecache.New[struct{}](limit)}
}

// claim tells whether the caller is to ask about the text.
func (p *prepared) claim(query string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.texts.Get(query); ok {
		return false
	}
	p.texts.Add(query, struct{}{}, 0)
	return true
}

// forget leaves the text to the next who prepares it.
func (p *prepared) forget(query string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.texts.Remove(query)
}

// prepare has an instance prepare the text, the first time. The error is the
// server's about the text.
func (c *Conn) prepare(ctx context.Context, query string, text *sqltext.Statement) error {
	if !c.prepares(query, text) || !c.connector.prepared.claim(query) {
		return nil
	}
	err := c.askToPrepare(ctx, query, text)
	if err != nil {
		c.connector.prepared.forget(query)
	}
	if ctx.Err() == nil && !isAboutTheText(err) {
		return nil // its use may succeed
	}
	return err
}

// prepares tells whether servers are asked about the text. A text with a NUL
// crashes those before 3.7.1 and 3.8.0. A transaction's instance is not asked, as
// its stream may be busy.
func (c *Conn) prepares(query string, text *sqltext.Statement) bool {
	if c.connector.config.statements() == 0 || c.tx != nil || len(query) > longestAsked || strings.Contains(query, "\x00") {
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
	req.After = c.after(ctx, ModeAny)
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
