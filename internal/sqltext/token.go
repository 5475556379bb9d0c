package sqltext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind tells apart only what the classification needs.
type tokenKind uint8

const (
	endToken       tokenKind = iota
	wordToken                // unquoted identifier or keyword
	quotedToken              // "identifier"
	literalToken             // string, number or blob
	paramToken               // ?, $1, :name, @name, #name
	openToken                // ( [ {
	closeToken               // ) ] }
	commaToken               // ,
	semicolonToken           // ;
	otherToken               // operators, and what the server refuses
)

type token struct {
	kind tokenKind
	text string
}

// scanner cuts a text into tokens as the server's tokenizer does. Where server
// versions differ it follows the newest. What a server refuses still gives
// some token: the refusal is the server's to make.
type scanner struct {
	text string // without NUL bytes
	pos  int

	// last and before are the two tokens returned most recently.
	last, before token
	// braces is the number of open map literals.
	braces int
	// mode is the value of the first mode hint among the comments so far.
	mode string
}

// next returns the next token. At the end of the text, and from then on, its
// kind is endToken.
func (s *scanner) next() token {
	s.skipSpace()
	start := s.pos
	kind := s.scan()
	s.before, s.last = s.last, token{kind, s.text[start:s.pos]}
	return s.last
}

// peek returns the byte at offset n from the current position, 0 beyond the
// end.
func (s *scanner) peek(n int) byte {
	if s.pos+n < len(s.text) {
		return s.text[s.pos+n]
	}
	return 0
}

// skipSpace moves to the first byte that is neither space nor comment.
func (s *scanner) skipSpace() {
	for s.pos < len(s.text) {
		switch rest := s.text[s.pos:]; {
		case strings.HasPrefix(rest, "--"):
			s.skipThrough(2, "\n")
		case strings.HasPrefix(rest, "/*"):
			s.skipComment()
		default:
			n := spaceLen(rest)
			if n == 0 {
				return
			}
			s.pos += n
		}
	}
}

// skipThrough moves behind the first end that follows the n bytes ahead, or to
// the end of the text. It reports whether end was found.
func (s *scanner) skipThrough(n int, end string) bool {
	i := strings.Index(s.text[s.pos+n:], end)
	if i < 0 {
		s.pos = len(s.text)
		return false
	}
	s.pos += n + i + len(end)
	return true
}

func (s *scanner) skipComment() {
	start := s.pos
	closed := s.skipThrough(len("/*"), "*/")
	if closed && s.mode == "" {
		s.mode = hintMode(s.text[start+len("/*") : s.pos-len("*/")])
	}
}

// hintMode returns the value of a hint such as "+ mode=rw", the inside of a
// comment, and "" for any other comment.
func hintMode(comment string) string {
	hint, ok := strings.CutPrefix(comment, "+")
	if !ok {
		return ""
	}
	name, value, _ := strings.Cut(hint, "=")
	if !strings.EqualFold(strings.TrimSpace(name), "mode") {
		return ""
	}
	return strings.TrimSpace(value)
}

// scan moves behind the token that begins at the current position.
func (s *scanner) scan() tokenKind {
	c := s.peek(0)
	switch {
	case c == 0:
		return endToken
	case (c == 'x' || c == 'X') && s.peek(1) == '\'':
		s.skipThrough(2, "'")
		return literalToken
	case isWordStart(c):
		s.skipWord()
		return wordToken
	case isDigit(c), c == '.' && isDigit(s.peek(1)):
		s.skipNumber()
		return literalToken
	}
	switch c {
	case '\'':
		s.skipQuoted()
		return literalToken
	case '"':
		if !s.skipQuoted() {
			return otherToken // no name: the server refuses it
		}
		return quotedToken
	case '$', ':', '@', '#':
		return s.scanSigil()
	}
	s.pos++
	switch c {
	case '?':
		return paramToken
	case '(', '[':
		return openToken
	case '{':
		s.braces++
		return openToken
	case ')', ']':
		return closeToken
	case '}':
		s.braces = max(0, s.braces-1)
		return closeToken
	case ',':
		return commaToken
	case ';':
		return semicolonToken
	}
	return otherToken
}

// scanSigil reads a placeholder that begins with a sigil. The name stands right
// behind it; a doubled sigil begins none.
func (s *scanner) scanSigil() tokenKind {
	sigil := s.peek(0)
	// Between a key and a value of a map literal the colon is a separator,
	// whatever follows it: {'a':b}.
	separator := sigil == ':' && s.braces > 0 && s.last.endsOperand(s.before)
	s.pos++
	c := s.peek(0)
	switch {
	case separator:
		return otherToken
	case c == sigil && sigil != '$':
		s.pos++
		s.skipNameBytes()
		return otherToken
	case isDigit(c), sigil == '$' && isNameByte(c):
		s.skipNameBytes()
	case isWordStart(c) && spaceLen(s.text[s.pos:]) == 0:
		s.skipWord()
	case c == '"' && sigil != '$':
		s.skipQuoted()
	default:
		return otherToken
	}
	return paramToken
}

// skipWord moves behind an unquoted identifier. A Unicode space ends one that
// is all letters, but belongs to any other: so the server does it.
func (s *scanner) skipWord() {
	for isKeywordByte(s.peek(0)) {
		s.pos++
	}
	if spaceLen(s.text[s.pos:]) == 0 {
		s.skipNameBytes()
	}
}

func (s *scanner) skipNameBytes() {
	for isNameByte(s.peek(0)) {
		s.pos++
	}
}

func (s *scanner) skipDigits() {
	for isDigit(s.peek(0)) {
		s.pos++
	}
}

// skipNumber moves behind a number: 12, 1.5, .5, 1e-3, 0x1F. Letters that
// stick to it are a part of the token.
func (s *scanner) skipNumber() {
	s.skipDigits()
	if s.peek(0) == '.' {
		s.pos++
		s.skipDigits()
	}
	if c := s.peek(0); c == 'e' || c == 'E' {
		if sign := s.peek(1); (sign == '+' || sign == '-') && isDigit(s.peek(2)) {
			s.pos += 2
		}
	}
	s.skipNameBytes()
}

// skipQuoted moves behind a string or identifier, in which the quote is written
// twice, and tells whether it ends.
func (s *scanner) skipQuoted() bool {
	quote := s.text[s.pos : s.pos+1]
	for s.skipThrough(1, quote) {
		if s.peek(0) != quote[0] {
			return true
		}
	}
	return false
}

// endsOperand reports whether t, which follows before, ends an operand of an
// expression.
func (t token) endsOperand(before token) bool {
	switch t.kind {
	case quotedToken, literalToken, paramToken, closeToken:
		return true
	case wordToken:
		return !leadsOperand(t.text, before)
	}
	return false
}

// unquote returns the name that a word or quoted token stands for.
func (t token) unquote() string {
	if t.kind != quotedToken {
		return t.text
	}
	name := strings.TrimPrefix(t.text, `"`)
	return strings.ReplaceAll(strings.TrimSuffix(name, `"`), `""`, `"`)
}

// spaceLen returns the length of the space character that text begins with.
func spaceLen(text string) int {
	if text == "" {
		return 0
	}
	if c := text[0]; c < utf8.RuneSelf {
		if c == ' ' || '\t' <= c && c <= '\r' {
			return 1
		}
		return 0
	}
	if r, n := utf8.DecodeRuneInString(text); unicode.IsSpace(r) {
		return n
	}
	return 0
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isKeywordByte reports whether a keyword may contain c.
func isKeywordByte(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_'
}

func isWordStart(c byte) bool { return isKeywordByte(c) || c >= utf8.RuneSelf }

func isNameByte(c byte) bool { return isWordStart(c) || isDigit(c) || c == '$' }
