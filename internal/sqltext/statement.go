// Package sqltext tells from the text of an SQL statement what a driver has to
// know before it sends it: whether it writes, which arguments it takes, and
// whether it calls functions that are not the server's own. It reads tokens, as
// Tarantool's tokenizer cuts them; it is no parser, and it judges no text: what
// it does not recognise is for the server to refuse.
package sqltext

import (
	"slices"
	"strconv"
	"strings"
)

// Kind is what a statement does.
type Kind uint8

const (
	Unknown   Kind = iota // not recognised: to be treated as a write
	Read                  // SELECT, VALUES, WITH of those, EXPLAIN, PRAGMA, SHOW
	Write                 // INSERT, REPLACE, UPDATE, DELETE, TRUNCATE, WITH of those
	DDL                   // CREATE, DROP, ALTER
	Session               // transaction control and session settings, by SET or DML
	Savepoint             // SAVEPOINT, RELEASE, ROLLBACK TO
)

var kindNames = [...]string{"unknown", "read", "write", "ddl", "session", "savepoint"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "Kind(" + strconv.Itoa(int(k)) + ")"
}

// Style is the way in which a statement writes its placeholders.
type Style uint8

const (
	NoParams Style = iota
	Question       // ?
	Dollar         // $1
	Named          // :name, @name, #name
	Mixed          // several of them
)

// Statement describes one text. Its strings do not keep the text alive.
type Statement struct {
	Kind Kind

	// Verb is the keyword that decided the kind, in upper case; "" for Unknown.
	Verb string

	// Style is NoParams exactly if Params is 0.
	Style Style

	// Params is how many arguments the text takes, as the server counts them:
	// every ?, the highest $n, every distinct name.
	Params int

	// Names are the distinct names with their sigil, such as ":id", in order of
	// first appearance. Only for Named.
	Names []string

	// UserCall is the first function called that is not the server's own, ""
	// if there is none. SQL calls Lua, so a read with such a call may write, and
	// any statement may end its transaction. Only for queries and DML; EXPLAIN
	// calls nothing.
	UserCall string

	// Mode is the value of a hint comment in front of the text, such as
	// /*+ mode=rw */, in lower case and not validated; "" if there is none.
	Mode string

	// Literals tells that the text contains a string, a number or a blob.
	Literals bool

	// Cut tells of a NUL byte in the text: the server reads up to it.
	Cut bool
}

const (
	// maxParam is the highest n of $n (SQL_BIND_PARAMETER_MAX of the server).
	maxParam = 65000

	// settingsSpace is the space whose rows are the settings of a session.
	settingsSpace = "_session_settings"

	// fewNames is how many names are compared one by one.
	fewNames = 8
)

// Parse describes text. Its time is linear in the length of text, and every
// text has a description.
func Parse(text string) Statement {
	// The server reads up to the first NUL.
	text, _, cut := strings.Cut(text, "\x00")
	p := parser{scanner: scanner{text: text}, cut: cut}
	p.statement()
	for p.next().kind != endToken {
	}
	return p.finish()
}

// parser follows the tokens of one statement. Every token passes through next,
// which notes what matters wherever it stands.
type parser struct {
	scanner
	st    Statement
	known map[string]struct{} // the names, once they are many

	depth   int  // of open brackets
	started bool // the first token of the statement was seen
	ended   bool // a semicolon was seen after it
	extra   bool // and something behind that
	trigger bool // CREATE TRIGGER, whose body has semicolons
	cut     bool // the text goes on behind a NUL
}

func (p *parser) next() token {
	last, before := p.last, p.before
	t := p.scanner.next()
	if p.ended && t.kind != endToken {
		p.extra = true
	}
	switch t.kind {
	case wordToken:
		// These two operators call functions of that name, and the server has
		// none of its own.
		if p.st.UserCall == "" && (strings.EqualFold(t.text, "MATCH") || strings.EqualFold(t.text, "REGEXP")) {
			p.st.UserCall = strings.ToUpper(t.text)
		}
	case openToken:
		if p.st.UserCall == "" && t.text == "(" {
			p.call(last, before)
		}
		p.depth++
	case closeToken:
		p.depth--
	case semicolonToken:
		p.ended = p.started
	case literalToken:
		p.st.Literals = true
	case paramToken:
		p.param(t.text)
	}
	return t
}

// nextIs reads a token and reports whether it is the given keyword.
func (p *parser) nextIs(keyword string) bool {
	t := p.next()
	return t.kind == wordToken && strings.EqualFold(t.text, keyword)
}

// statement reads as far as it takes to decide the kind.
func (p *parser) statement() {
	t := p.next()
	p.st.Mode = strings.ToLower(strings.Clone(p.mode))
	for t.kind == semicolonToken || t.text == "(" {
		t = p.next()
	}
	p.started = true
	if t.kind != wordToken {
		return
	}
	v := verbOf(t.text)
	if strings.EqualFold(t.text, "WITH") {
		v = p.afterWith()
	}
	p.st.Verb, p.st.Kind = v.name, v.kind
	switch v.name {
	case "INSERT", "REPLACE", "UPDATE", "DELETE", "TRUNCATE":
		if strings.EqualFold(p.target(), settingsSpace) {
			p.st.Kind = Session
		}
	case "ROLLBACK":
		if p.nextIs("TO") {
			p.st.Kind = Savepoint
		}
	case "CREATE":
		p.trigger = p.nextIs("TRIGGER")
	}
}

// afterWith returns the verb behind the common table expressions.
func (p *parser) afterWith() verb {
	depth := p.depth
	for {
		t := p.next()
		switch {
		case t.kind == endToken, t.kind == semicolonToken:
			return verb{}
		case t.kind == wordToken && p.depth == depth:
			switch v := verbOf(t.text); v.name {
			case "SELECT", "VALUES", "INSERT", "REPLACE", "UPDATE", "DELETE":
				return v
			}
		}
	}
}

// target returns the name of the table that the statement changes, whose verb
// was read last.
func (p *parser) target() string {
	for {
		t := p.next()
		switch {
		case t.kind == quotedToken:
			return t.unquote()
		case t.kind != wordToken:
			return ""
		case strings.EqualFold(t.text, "OR"): // OR REPLACE, OR IGNORE, ...
			p.next()
		case strings.EqualFold(t.text, "INTO"),
			strings.EqualFold(t.text, "FROM"),
			strings.EqualFold(t.text, "TABLE"):
		default:
			return t.text
		}
	}
}

// call notes a call of name, which stands before a parenthesis and behind the
// token before, unless it is a keyword, a built-in or a table's column list.
func (p *parser) call(name, before token) {
	if before.kind == wordToken && strings.EqualFold(before.text, "INTO") {
		return // a table and its columns
	}
	switch name.kind {
	case wordToken:
		if leadsOperand(name.text, before) {
			return
		}
	case quotedToken:
	default:
		return
	}
	if !isBuiltin(name) && !p.atColumnList() {
		p.st.UserCall = strings.Clone(name.unquote())
	}
}

// atColumnList reports whether the parenthesis read last opens the column list
// of a common table expression: WITH t(a, b) AS (...). Nothing else in SQL has
// names, then AS, then a parenthesis.
func (p *parser) atColumnList() bool {
	ahead := p.scanner
	t := ahead.next()
	for t.kind == wordToken || t.kind == quotedToken || t.kind == commaToken {
		t = ahead.next()
	}
	return t.kind == closeToken &&
		strings.EqualFold(ahead.next().text, "AS") &&
		ahead.next().text == "("
}

// param counts a placeholder.
func (p *parser) param(text string) {
	style := Named
	switch text[0] {
	case '?':
		style = Question
		p.st.Params++
	case '$':
		n, err := strconv.Atoi(text[1:])
		if err != nil || n < 1 || n > maxParam {
			return // the server refuses it
		}
		style = Dollar
		p.st.Params = max(p.st.Params, n)
	default:
		if p.addName(text) {
			p.st.Params++
		}
	}
	switch p.st.Style {
	case NoParams:
		p.st.Style = style
	case style:
	default:
		p.st.Style = Mixed
	}
}

// addName adds name to the names, unless it is there.
func (p *parser) addName(name string) bool {
	if p.known == nil {
		if slices.Contains(p.st.Names, name) {
			return false
		}
		if len(p.st.Names) == fewNames {
			p.known = set(p.st.Names...)
		}
	} else if _, ok := p.known[name]; ok {
		return false
	}
	name = strings.Clone(name)
	if p.known != nil {
		p.known[name] = struct{}{}
	}
	p.st.Names = append(p.st.Names, name)
	return true
}

// finish returns the description, when all tokens have been read.
func (p *parser) finish() Statement {
	st := p.st
	st.Cut = p.cut
	switch {
	case p.extra && !p.trigger:
		// The server takes one statement at a time and refuses this text.
		st.Kind, st.Verb = Unknown, ""
	case p.cut && st.Kind == Read:
		// Not a text that may be prepared: before 3.7.1 and 3.8.0 the server
		// looks the new statement up by the part in front of the NUL, does not
		// find it, and crashes.
		st.Kind, st.Verb = Unknown, ""
	}
	switch st.Verb {
	case "SELECT", "VALUES", "INSERT", "REPLACE", "UPDATE", "DELETE":
	default:
		st.UserCall = ""
	}
	if st.Style != Named {
		st.Names = nil
	}
	return st
}
