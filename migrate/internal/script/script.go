// Package script reads migration files. It is for the modules below migrate,
// older releases of which must build with it.
package script

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/internal/sqltext"
)

// Statement is one statement of a file.
type Statement struct {
	Text string
	Line int // where it begins, from 1
}

// Parse cuts a file into its statements. A file with a statement that the driver
// refuses is an error, which wraps tntsql.ErrSessionStatement and says what to
// do: none of the file shall run then.
func Parse(file string) ([]Statement, error) {
	if strings.Contains(file, "\x00") {
		return nil, errors.New("the file has a NUL byte, at which the server would end it: save it as UTF-8")
	}
	var statements []Statement
	line, counted := 1, 0
	for offset, text := range sqltext.Split(file) {
		line += strings.Count(file[counted:offset], "\n")
		counted = offset
		if advice := advise(sqltext.Parse(text)); advice != "" {
			return nil, fmt.Errorf("line %d: %s: %s: %w", line, firstLine(text), advice, tntsql.ErrSessionStatement)
		}
		statements = append(statements, Statement{Text: text, Line: line})
	}
	return statements, nil
}

// advise says what to do about a statement that the driver refuses, and nothing
// about others.
func advise(s sqltext.Statement) string {
	switch {
	case s.Kind == sqltext.Savepoint,
		s.Verb == "START", s.Verb == "BEGIN", s.Verb == "COMMIT", s.Verb == "ROLLBACK":
		return "Tarantool has no DDL in transactions, so each statement of a migration is a transaction of its own: " +
			"remove this, and all other transaction control, from the file"
	case s.Kind == sqltext.Session:
		return "connections are shared, so a migration cannot change their settings: " +
			"remove this from the file, and put session.NAME=value in the DSN"
	}
	return ""
}

// firstLine is the beginning of a statement, for an error.
func firstLine(text string) string {
	const most = 60
	text, _, _ = strings.Cut(text, "\n")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
