package sqltext

// builtins are the functions of the server's own that SQL can call, as of
// Tarantool 3.8 and as far back as 2.6. No other function of such a name can be
// called there. DATE_PART, NOW and UUID are not among them: 2.6 has none, and
// calls a user's function of that name.
var builtins = set(
	"ABS", "AVG", "CHAR", "CHARACTER_LENGTH", "CHAR_LENGTH", "COALESCE", "COUNT",
	"GREATEST", "GROUP_CONCAT", "HEX", "IFNULL", "LEAST", "LENGTH",
	"LIKE", "LIKELIHOOD", "LIKELY", "LOWER", "MAX", "MIN", "NULLIF",
	"POSITION", "PRINTF", "QUOTE", "RANDOM", "RANDOMBLOB", "REPLACE", "ROUND",
	"ROW_COUNT", "SOUNDEX", "SUBSTR", "SUM", "TOTAL", "TRIM", "TYPEOF", "UNICODE",
	"UNLIKELY", "UPPER", "VERSION", "ZEROBLOB",
)

// operandLeads are the keywords that a query has before an operand or before a
// parenthesis, and that are no identifiers there. The other keywords are none
// (a function may be called IF) or never stand before a parenthesis.
var operandLeads = set(
	"ALL", "AND", "AS", "BETWEEN", "BOTH", "BY", "CASE", "CAST", "DISTINCT", "ELSE",
	"ESCAPE", "EXCEPT", "EXISTS", "FROM", "HAVING", "IN", "INTERSECT", "JOIN",
	"LEADING", "LIKE", "LIMIT", "MATCH", "NOT", "OFFSET", "ON", "OR", "REGEXP",
	"SELECT", "THEN", "TRAILING", "UNION", "USING", "VALUES", "VARCHAR", "WHEN",
	"WHERE",
)

// verbs are the keywords that decide what a statement does.
var verbs = map[string]verb{
	"SELECT":    {"SELECT", Read},
	"VALUES":    {"VALUES", Read},
	"EXPLAIN":   {"EXPLAIN", Read}, // does not run what it explains
	"PRAGMA":    {"PRAGMA", Read},
	"SHOW":      {"SHOW", Read}, // SHOW CREATE TABLE, since 3.0
	"INSERT":    {"INSERT", Write},
	"REPLACE":   {"REPLACE", Write},
	"UPDATE":    {"UPDATE", Write},
	"DELETE":    {"DELETE", Write},
	"TRUNCATE":  {"TRUNCATE", Write},
	"CREATE":    {"CREATE", DDL},
	"DROP":      {"DROP", DDL},
	"ALTER":     {"ALTER", DDL},
	"START":     {"START", Session},
	"BEGIN":     {"BEGIN", Session}, // no statement of the server, but what people try
	"COMMIT":    {"COMMIT", Session},
	"ROLLBACK":  {"ROLLBACK", Session},
	"SET":       {"SET", Session},
	"SAVEPOINT": {"SAVEPOINT", Savepoint},
	"RELEASE":   {"RELEASE", Savepoint},
}

type verb struct {
	name string
	kind Kind
}

// maxFold is at least the length of the longest name in the tables above.
const maxFold = 16

// fold returns word in upper case, in buf. What is longer than every name in
// the tables becomes empty.
func fold(buf *[maxFold]byte, word string) []byte {
	if len(word) > len(buf) {
		return nil
	}
	for i := range len(word) {
		c := word[i]
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		buf[i] = c
	}
	return buf[:len(word)]
}

func verbOf(word string) verb {
	var buf [maxFold]byte
	return verbs[string(fold(&buf, word))]
}

// leadsOperand reports whether word is a keyword that is followed by an operand
// or a parenthesis; before is the token before it.
func leadsOperand(word string, before token) bool {
	var buf [maxFold]byte
	folded := fold(&buf, word)
	if string(folded) == "OFFSET" {
		// The only one that may also be an identifier: it is one where an
		// operand is expected.
		return before.endsOperand(token{})
	}
	_, ok := operandLeads[string(folded)]
	return ok
}

// isBuiltin reports whether the server resolves the name of a call, a word or
// quoted token, to a function of its own. It folds unquoted names only.
func isBuiltin(name token) bool {
	if name.kind == quotedToken {
		_, ok := builtins[name.unquote()]
		return ok
	}
	var buf [maxFold]byte
	_, ok := builtins[string(fold(&buf, name.text))]
	return ok
}

func set(names ...string) map[string]struct{} {
	m := make(map[string]struct{}, len(names))
	for _, name := range names {
		m[name] = struct{}{}
	}
	return m
}
