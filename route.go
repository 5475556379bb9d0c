package tntsql

import (
	"context"
	"fmt"

	"github.com/tntsql/tntsql/internal/sqltext"
	"github.com/tntsql/tntsql/internal/verdict"
)

// Kind is what the driver takes a request for.
type Kind uint8

const (
	KindUnknown Kind = iota // a text that it does not recognise: treated as a write
	KindRead                // SELECT, VALUES, WITH … SELECT, EXPLAIN, PRAGMA
	KindWrite               // INSERT, REPLACE, UPDATE, DELETE, TRUNCATE, WITH … of those
	KindDDL                 // CREATE, DROP, ALTER
	KindCall
	KindEval
	KindPing
	KindTx    // BEGIN, COMMIT, ROLLBACK, SAVEPOINT, RELEASE
	KindBatch // ExecBatch
)

var kindNames = [...]string{"unknown", "read", "write", "ddl", "call", "eval", "ping", "tx", "batch"}

// String is the kind in lower case: "read", "write", "ddl", …
func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return kindNames[k]
}

func kindOf(s *sqltext.Statement) Kind {
	switch s.Kind {
	case sqltext.Read:
		return KindRead
	case sqltext.Write:
		return KindWrite
	case sqltext.DDL:
		return KindDDL
	case sqltext.Savepoint:
		return KindTx
	}
	return KindUnknown
}

// effectOf is what the statement may do on the server. SQL calls Lua, so a
// SELECT of a user's function may write, and is treated like a call.
func effectOf(s *sqltext.Statement) verdict.Kind {
	switch {
	case s.Kind != sqltext.Read:
		return verdict.Write
	case s.UserCall != "":
		return verdict.Call
	}
	return verdict.Read
}

// route decides which instances may serve the statement. effects tells that it
// was sent by Exec: a read whose rows are thrown away was sent for its effects.
func (c *Conn) route(ctx context.Context, s *sqltext.Statement, effects bool) (Mode, error) {
	if c.tx != nil {
		return c.tx.mode, c.tx.admit(s)
	}
	switch s.Kind {
	case sqltext.Session:
		return 0, fmt.Errorf("%w: %s: %s", ErrSessionStatement, s.Verb, sessionAdvice(s.Verb))
	case sqltext.Savepoint:
		return 0, fmt.Errorf("%w: %s outside a transaction, which BeginTx begins", ErrSessionStatement, s.Verb)
	case sqltext.Read:
		if !effects {
			return c.readMode(ctx, s.Mode)
		}
	}
	if c.connector.config.ReadOnly {
		if s.Kind == sqltext.Read {
			return c.readMode(ctx, s.Mode)
		}
		return 0, readOnlyHandle(describe(s))
	}
	mode, asked, err := askedMode(ctx, s.Mode)
	switch {
	case err != nil:
		return 0, err
	case asked && s.Kind == sqltext.Read:
		return mode, nil
	}
	return writing(mode), nil
}

func describe(s *sqltext.Statement) string {
	if s.Verb == "" {
		return "a text that is not known to read only"
	}
	return s.Verb
}

// isSetting tells of the verbs by which a text changes a session's settings.
func isSetting(verb string) bool {
	switch verb {
	case "SET", "UPDATE", "INSERT", "REPLACE", "DELETE", "TRUNCATE":
		return true
	}
	return false
}

func sessionAdvice(verb string) string {
	if isSetting(verb) {
		return "connections are shared; put session.NAME=value in the DSN"
	}
	return "use BeginTx, Commit and Rollback; in a migration tool, its way to run outside a transaction"
}

// readMode is the mode of a read: the context's, the hint's, or read_mode.
func (c *Conn) readMode(ctx context.Context, hint string) (Mode, error) {
	mode, ok, err := askedMode(ctx, hint)
	if err == nil && !ok {
		if mode = c.connector.config.ReadMode; !mode.valid() { // With takes any
			return 0, invalidMode(mode)
		}
	}
	return mode, err
}

// writing is the mode of what may write, by the one that is asked for: ModeRO is
// obeyed, for replica-local and temporary spaces.
func writing(asked Mode) Mode {
	if asked == ModeRO {
		return ModeRO
	}
	return ModeRW
}

// askedMode is the mode that the context asks for, or else the text's hint.
func askedMode(ctx context.Context, hint string) (Mode, bool, error) {
	if mode, ok := ModeFromContext(ctx); ok {
		if !mode.valid() {
			return 0, false, invalidMode(mode)
		}
		return mode, true, nil
	}
	if hint == "" {
		return 0, false, nil
	}
	mode, err := parseMode(hint)
	if err != nil {
		return 0, false, fmt.Errorf("tntsql: hint mode=%s: %w", hint, err)
	}
	return mode, true, nil
}

func invalidMode(m Mode) error {
	return fmt.Errorf("tntsql: %s is not a mode", m)
}
