package sqltext

import (
	"iter"
	"strings"
)

// Split cuts a script into its statements, at each semicolon that ends one: not
// at those in literals, names and comments, nor at those in the body of a
// trigger. It yields the statements, without what stands before their first
// token and without the semicolon, and the offset in script at which each
// begins. Behind a NUL byte, up to which the server reads, nothing is cut.
func Split(script string) iter.Seq2[int, string] {
	return func(yield func(offset int, statement string) bool) {
		for s := (scanner{text: script}); s.pos < len(script); {
			start, end := s.statement()
			if start < end && !yield(start, script[start:end]) {
				return
			}
		}
	}
}

// statement moves behind the next statement and its semicolon, and returns where
// the statement begins and ends: at the same offset if it is empty.
func (s *scanner) statement() (start, end int) {
	s.skipSpace()
	start = s.pos
	trigger := false
	open := 0 // BEGIN and CASE in a trigger that wait for their END
	for n := 0; ; n++ {
		switch t := s.next(); t.kind {
		case endToken:
			s.pos = len(s.text)
			return start, s.pos
		case semicolonToken:
			if open <= 0 {
				return start, s.pos - len(t.text)
			}
		case wordToken:
			switch word := strings.ToUpper(t.text); {
			case n == 1 && word == "TRIGGER":
				trigger = strings.EqualFold(s.before.text, "CREATE")
			case trigger && (word == "BEGIN" || word == "CASE"):
				open++
			case trigger && word == "END":
				open--
			}
		}
	}
}
