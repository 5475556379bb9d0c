package sqltext

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// texts are the cases of TestParse and seeds of FuzzParse.
var texts = []struct {
	name string
	text string
	want Statement
}{
	// Verbs.
	{"select", "SELECT 1", Statement{Kind: Read, Verb: "SELECT", Literals: true}},
	{"lower case", "select a from t", Statement{Kind: Read, Verb: "SELECT"}},
	{"mixed case", "SeLeCt a From t", Statement{Kind: Read, Verb: "SELECT"}},
	{"values", "VALUES (1), (2)", Statement{Kind: Read, Verb: "VALUES", Literals: true}},
	{"explain a write", "EXPLAIN QUERY PLAN DELETE FROM t", Statement{Kind: Read, Verb: "EXPLAIN"}},
	{"explain a commit", "EXPLAIN COMMIT", Statement{Kind: Read, Verb: "EXPLAIN"}},
	{"explain with a parameter", "explain select ?", Statement{Kind: Read, Verb: "EXPLAIN", Style: Question, Params: 1}},
	{"pragma", "PRAGMA table_info(t)", Statement{Kind: Read, Verb: "PRAGMA"}},
	{"show create table", "SHOW CREATE TABLE t", Statement{Kind: Read, Verb: "SHOW"}},
	{"insert", "INSERT INTO t VALUES (1)", Statement{Kind: Write, Verb: "INSERT", Literals: true}},
	{"insert with columns", "insert into t(a, b) values (?, ?)", Statement{Kind: Write, Verb: "INSERT", Style: Question, Params: 2}},
	{"insert or ignore", "INSERT OR IGNORE INTO t SELECT * FROM u", Statement{Kind: Write, Verb: "INSERT"}},
	{"insert default values", "INSERT INTO t DEFAULT VALUES", Statement{Kind: Write, Verb: "INSERT"}},
	{"replace", "REPLACE INTO t VALUES (?)", Statement{Kind: Write, Verb: "REPLACE", Style: Question, Params: 1}},
	{"update", "UPDATE t SET a = 1", Statement{Kind: Write, Verb: "UPDATE", Literals: true}},
	{"update or", "UPDATE OR REPLACE t SET a = b", Statement{Kind: Write, Verb: "UPDATE"}},
	{"delete", "DELETE FROM t", Statement{Kind: Write, Verb: "DELETE"}},
	{"truncate", "TRUNCATE TABLE t", Statement{Kind: Write, Verb: "TRUNCATE"}},
	{"create table", "CREATE TABLE t (id INT PRIMARY KEY)", Statement{Kind: DDL, Verb: "CREATE"}},
	{"create view", "CREATE VIEW v (a) AS SELECT f(1)", Statement{Kind: DDL, Verb: "CREATE", Literals: true}},
	{"create index", "create unique index i on t (a)", Statement{Kind: DDL, Verb: "CREATE"}},
	{"create trigger", "CREATE TRIGGER r AFTER INSERT ON t FOR EACH ROW BEGIN DELETE FROM u; SELECT 1; END", Statement{Kind: DDL, Verb: "CREATE", Literals: true}},
	{"drop", "DROP TABLE IF EXISTS t;", Statement{Kind: DDL, Verb: "DROP"}},
	{"alter", "ALTER TABLE t RENAME TO u", Statement{Kind: DDL, Verb: "ALTER"}},

	// Transactions and session settings.
	{"start transaction", "START TRANSACTION", Statement{Kind: Session, Verb: "START"}},
	{"commit", "commit;", Statement{Kind: Session, Verb: "COMMIT"}},
	{"rollback", "/**/ ROLLBACK", Statement{Kind: Session, Verb: "ROLLBACK"}},
	{"rollback transaction", "ROLLBACK TRANSACTION", Statement{Kind: Session, Verb: "ROLLBACK"}},
	{"rollback to", "ROLLBACK TO s", Statement{Kind: Savepoint, Verb: "ROLLBACK"}},
	{"rollback to savepoint", "rollback /* */ to savepoint s", Statement{Kind: Savepoint, Verb: "ROLLBACK"}},
	{"rollback semicolon", "ROLLBACK; ", Statement{Kind: Session, Verb: "ROLLBACK"}},
	{"savepoint", "SAVEPOINT s", Statement{Kind: Savepoint, Verb: "SAVEPOINT"}},
	{"release", "RELEASE SAVEPOINT s", Statement{Kind: Savepoint, Verb: "RELEASE"}},
	{"set session", `SET SESSION "sql_seq_scan" = true`, Statement{Kind: Session, Verb: "SET"}},
	{"set anything", "SET x = 1", Statement{Kind: Session, Verb: "SET", Literals: true}},
	{"update of settings", `UPDATE "_session_settings" SET "value" = true WHERE "name" = 'sql_seq_scan'`, Statement{Kind: Session, Verb: "UPDATE", Literals: true}},
	{"update or of settings", `update or replace "_session_settings" set "value" = ?`, Statement{Kind: Session, Verb: "UPDATE", Style: Question, Params: 1}},
	{"unquoted settings", "UPDATE _Session_Settings SET value = :v", Statement{Kind: Session, Verb: "UPDATE", Style: Named, Params: 1, Names: []string{":v"}}},
	{"insert into settings", `INSERT OR REPLACE INTO "_session_settings" VALUES (?, ?)`, Statement{Kind: Session, Verb: "INSERT", Style: Question, Params: 2}},
	{"replace into settings", `replace /**/ into "_SESSION_SETTINGS"("name") values ($1)`, Statement{Kind: Session, Verb: "REPLACE", Style: Dollar, Params: 1}},
	{"delete from settings", `DELETE FROM "_session_settings"`, Statement{Kind: Session, Verb: "DELETE"}},
	{"settings behind with", `WITH c AS (SELECT 1) UPDATE "_session_settings" SET "value" = 1`, Statement{Kind: Session, Verb: "UPDATE", Literals: true}},
	{"unclosed name of settings", `INSERT INTO "_session_settings`, Statement{Kind: Write, Verb: "INSERT"}},
	{"read of settings", `SELECT * FROM "_session_settings"`, Statement{Kind: Read, Verb: "SELECT"}},
	{"settings in a string", `UPDATE t SET a = '_session_settings'`, Statement{Kind: Write, Verb: "UPDATE", Literals: true}},
	{"other quoted table", `UPDATE "a""b" SET a = b`, Statement{Kind: Write, Verb: "UPDATE"}},

	// What no server accepts.
	{"empty", "", Statement{}},
	{"spaces", " \t\r\n\v\f", Statement{}},
	{"comment only", "-- SELECT 1", Statement{}},
	{"semicolon only", ";", Statement{}},
	{"parentheses only", "((", Statement{}},
	{"begin", "BEGIN", Statement{Kind: Session, Verb: "BEGIN"}},
	{"end", "END", Statement{}},
	{"analyze", "ANALYZE", Statement{}},
	{"call", "CALL f(1)", Statement{Literals: true}},
	{"grant", "GRANT ALL ON t TO u", Statement{}},
	{"word that begins like a verb", "SELECT1", Statement{}},
	{"long word", "SELECTSELECTSELECTSELECT", Statement{}},
	{"quoted verb", `"SELECT" 1`, Statement{Literals: true}},
	{"backtick", "`SELECT` 1", Statement{Literals: true}},
	{"byte order mark", "\ufeffSELECT 1", Statement{Literals: true}},
	{"two statements", "SELECT 1; SELECT 2", Statement{Literals: true}},
	{"a write behind a read", "SELECT a;DELETE FROM t", Statement{}},
	{"two semicolons", "SELECT a;;", Statement{}},
	{"with and no verb", "WITH c AS (SELECT 1)", Statement{Literals: true}},
	{"with and a semicolon", "WITH c; SELECT a", Statement{}},
	{"with inside out", "WITH c) SELECT a", Statement{}},

	// What stands around a statement.
	{"line comment", "-- DELETE FROM t\nSELECT a", Statement{Kind: Read, Verb: "SELECT"}},
	{"block comment", "/* DELETE ; ' */ SELECT a", Statement{Kind: Read, Verb: "SELECT"}},
	{"comment between", "SELECT/**/a--c", Statement{Kind: Read, Verb: "SELECT"}},
	{"block comment with a slash", "/*/ INSERT */ SELECT a", Statement{Kind: Read, Verb: "SELECT"}},
	{"unterminated comment", "SELECT a /* ; DELETE", Statement{Kind: Read, Verb: "SELECT"}},
	{"comment behind the semicolon", "SELECT a; -- c\n /* d */ ", Statement{Kind: Read, Verb: "SELECT"}},
	{"leading semicolons", "; ;SELECT a", Statement{Kind: Read, Verb: "SELECT"}},
	{"leading parentheses", "( (select a) )", Statement{Kind: Read, Verb: "SELECT"}},
	{"write in parentheses", "(DELETE FROM t)", Statement{Kind: Write, Verb: "DELETE"}},
	{"no-break space", "SELECT\u00a0a", Statement{Kind: Read, Verb: "SELECT"}},
	{"unicode space first", "\u2003DELETE FROM t", Statement{Kind: Write, Verb: "DELETE"}},
	{"minus is no comment", "SELECT a - -b", Statement{Kind: Read, Verb: "SELECT"}},
	{"NUL behind a read", "SELECT a\x00", Statement{Cut: true}},
	{"NUL behind a write", "DELETE FROM t\x00; ?", Statement{Kind: Write, Verb: "DELETE", Cut: true}},
	{"NUL behind a commit", "COMMIT\x00", Statement{Kind: Session, Verb: "COMMIT", Cut: true}},
	{"NUL first", "\x00SELECT a", Statement{Cut: true}},
	{"invalid UTF-8", "SELECT '\xff\xfe' FROM \xc3", Statement{Kind: Read, Verb: "SELECT", Literals: true}},
	{"invalid UTF-8 in the verb", "SELECT\xff a", Statement{}},

	// WITH.
	{"with select", "WITH c AS (SELECT 1) SELECT * FROM c", Statement{Kind: Read, Verb: "SELECT", Literals: true}},
	{"with values", "WITH c AS (SELECT a) VALUES (?)", Statement{Kind: Read, Verb: "VALUES", Style: Question, Params: 1}},
	{"function in an insert", "INSERT INTO t VALUES (f(a))", Statement{Kind: Write, Verb: "INSERT", UserCall: "f"}},
	{"columns of an insert are no call", "INSERT OR IGNORE INTO t (a) VALUES (lower(b))", Statement{Kind: Write, Verb: "INSERT"}},
	{"columns of a quoted table are no call", `REPLACE INTO "t u"(a) SELECT g(b) FROM u`, Statement{Kind: Write, Verb: "REPLACE", UserCall: "g"}},
	{"function in an update", "UPDATE t SET a = f(b)", Statement{Kind: Write, Verb: "UPDATE", UserCall: "f"}},
	{"function in a delete", "DELETE FROM t WHERE f(a)", Statement{Kind: Write, Verb: "DELETE", UserCall: "f"}},
	{"function in DDL is not called", "CREATE TABLE t (a INT CHECK (f(a)))", Statement{Kind: DDL, Verb: "CREATE"}},
	{"with insert", "WITH c AS (SELECT a FROM t) INSERT INTO u SELECT * FROM c", Statement{Kind: Write, Verb: "INSERT"}},
	{"with replace", "with c as (select a) replace into u select * from c", Statement{Kind: Write, Verb: "REPLACE"}},
	{"with update", "WITH c AS (SELECT a) UPDATE t SET a = (SELECT a FROM c)", Statement{Kind: Write, Verb: "UPDATE"}},
	{"with delete", "WITH c AS (SELECT a) DELETE FROM t WHERE a IN c", Statement{Kind: Write, Verb: "DELETE"}},
	{"with recursive", "WITH RECURSIVE c(n) AS (VALUES (?) UNION ALL SELECT n + ? FROM c) SELECT n FROM c", Statement{Kind: Read, Verb: "SELECT", Style: Question, Params: 2}},
	{"with several", "WITH a(x, y) AS (SELECT p, q), b /**/ (\"z\") AS (SELECT r) DELETE FROM t", Statement{Kind: Write, Verb: "DELETE"}},
	{"with several, read", "WITH a(x, y) AS (SELECT p, q), b /**/ (\"z\") AS (SELECT r) SELECT * FROM a, b", Statement{Kind: Read, Verb: "SELECT"}},
	{"with named like a verb", "WITH release AS (SELECT a) SELECT * FROM release", Statement{Kind: Read, Verb: "SELECT"}},
	{"with in a subquery", "SELECT * FROM (WITH c(a) AS (SELECT b) SELECT a FROM c)", Statement{Kind: Read, Verb: "SELECT"}},
	{"with in parentheses", "(WITH c AS (SELECT a) SELECT * FROM c)", Statement{Kind: Read, Verb: "SELECT"}},
	{"with a write inside the parentheses only", "WITH c AS (DELETE FROM t) SELECT a", Statement{Kind: Read, Verb: "SELECT"}},
	{"with a bracket in a string", "WITH c AS (SELECT ')') INSERT INTO t SELECT ''", Statement{Kind: Write, Verb: "INSERT", Literals: true}},

	// Literals and identifiers that look like something else.
	{"string with a placeholder", "SELECT '? :a $1 @b #c'", Statement{Kind: Read, Verb: "SELECT", Literals: true}},
	{"doubled quote", "SELECT 'it''s ?', ?", Statement{Kind: Read, Verb: "SELECT", Style: Question, Params: 1, Literals: true}},
	{"string with a comment", "SELECT '-- ', '/*', ?", Statement{Kind: Read, Verb: "SELECT", Style: Question, Params: 1, Literals: true}},
	{"backslash is no escape", `SELECT '\', ?`, Statement{Kind: Read, Verb: "SELECT", Style: Question, Params: 1, Literals: true}},
	{"identifier with a placeholder", `SELECT "a?:b""$1" FROM t`, Statement{Kind: Read, Verb: "SELECT"}},
	{"identifier with a dollar", "SELECT a$1, b2$ FROM t", Statement{Kind: Read, Verb: "SELECT"}},
	{"comment with a placeholder", "SELECT a /* ? */ -- :b\n", Statement{Kind: Read, Verb: "SELECT"}},
	{"column named like a verb", `SELECT "update", "delete" FROM "insert"`, Statement{Kind: Read, Verb: "SELECT"}},
	{"blob", "SELECT x'3f', X'2A'", Statement{Kind: Read, Verb: "SELECT", Literals: true}},
	{"broken blob", "SELECT x'3?', ?", Statement{Kind: Read, Verb: "SELECT", Style: Question, Params: 1, Literals: true}},
	{"word before a string", "SELECT ax'?'", Statement{Kind: Read, Verb: "SELECT", Literals: true}},
	{"numbers", "SELECT 1, 1.5e3, .5, 1e-3, 0x1F, 1.e5-2", Statement{Kind: Read, Verb: "SELECT", Literals: true}},
	{"no number in a name", "SELECT a1, t2.b3 FROM t2", Statement{Kind: Read, Verb: "SELECT"}},
	{"unterminated string", "SELECT 'a ?", Statement{Kind: Read, Verb: "SELECT", Literals: true}},
	{"unterminated identifier", `SELECT "a ?`, Statement{Kind: Read, Verb: "SELECT"}},
	{"unterminated blob", "SELECT x'41 ?", Statement{Kind: Read, Verb: "SELECT", Literals: true}},

	// Placeholders.
	{"question marks", "SELECT ?,? WHERE a=?", Statement{Kind: Read, Verb: "SELECT", Style: Question, Params: 3}},
	{"dollars", "SELECT $2, $1, $2", Statement{Kind: Read, Verb: "SELECT", Style: Dollar, Params: 2}},
	{"dollar with a gap", "SELECT $3", Statement{Kind: Read, Verb: "SELECT", Style: Dollar, Params: 3}},
	{"dollar with zeros", "SELECT $007", Statement{Kind: Read, Verb: "SELECT", Style: Dollar, Params: 7}},
	{"dollar zero", "SELECT $0", Statement{Kind: Read, Verb: "SELECT"}},
	{"dollar beyond the limit", "SELECT $65001, $99999999999999999999", Statement{Kind: Read, Verb: "SELECT"}},
	{"dollar name", "SELECT $name", Statement{Kind: Read, Verb: "SELECT"}},
	{"dollar alone", "SELECT $", Statement{Kind: Read, Verb: "SELECT"}},
	{"colon names", "SELECT :id, :name, :id", Statement{Kind: Read, Verb: "SELECT", Style: Named, Params: 2, Names: []string{":id", ":name"}}},
	{"every sigil", "SELECT :a, @a, #a, :A", Statement{Kind: Read, Verb: "SELECT", Style: Named, Params: 4, Names: []string{":a", "@a", "#a", ":A"}}},
	{"name with digits", "SELECT :a1$b_2, :1", Statement{Kind: Read, Verb: "SELECT", Style: Named, Params: 2, Names: []string{":a1$b_2", ":1"}}},
	{"keyword as a name", "SELECT :select, @key", Statement{Kind: Read, Verb: "SELECT", Style: Named, Params: 2, Names: []string{":select", "@key"}}},
	{"name of other letters", "SELECT :имя", Statement{Kind: Read, Verb: "SELECT", Style: Named, Params: 1, Names: []string{":имя"}}},
	{"quoted name", `SELECT :"a b"`, Statement{Kind: Read, Verb: "SELECT", Style: Named, Params: 1, Names: []string{`:"a b"`}}},
	{"name ended by a space", "SELECT :a\u00a0, : b", Statement{Kind: Read, Verb: "SELECT", Style: Named, Params: 1, Names: []string{":a"}}},
	{"space behind the sigil", "SELECT :\u00a0a", Statement{Kind: Read, Verb: "SELECT"}},
	{"doubled colon", "SELECT a::text, b :: int", Statement{Kind: Read, Verb: "SELECT"}},
	{"doubled at", "SELECT @@version", Statement{Kind: Read, Verb: "SELECT"}},
	{"no spaces around", "SELECT a FROM t WHERE a>:x AND b<@y OR c=?", Statement{Kind: Read, Verb: "SELECT", Style: Mixed, Params: 3}},
	{"question and dollar", "SELECT ?, $3, ?", Statement{Kind: Read, Verb: "SELECT", Style: Mixed, Params: 4}},
	{"dollar and name", "SELECT $1, :a, :a", Statement{Kind: Read, Verb: "SELECT", Style: Mixed, Params: 2}},
	{"question mark with a digit", "SELECT ?1", Statement{Kind: Read, Verb: "SELECT", Style: Question, Params: 1, Literals: true}},
	{"limit and offset", "SELECT a FROM t LIMIT ? OFFSET ?", Statement{Kind: Read, Verb: "SELECT", Style: Question, Params: 2}},

	// Arrays and maps.
	{"array", "SELECT [?, :a, b]", Statement{Kind: Read, Verb: "SELECT", Style: Mixed, Params: 2}},
	{"element", "SELECT a[:k], b['c']", Statement{Kind: Read, Verb: "SELECT", Style: Named, Params: 1, Names: []string{":k"}, Literals: true}},
	{"map", "SELECT {'a': 1, 'b': 2}", Statement{Kind: Read, Verb: "SELECT", Literals: true}},
	{"map without spaces", `SELECT {'a':b, "c":d, e:f, 1:g, ?:h}`, Statement{Kind: Read, Verb: "SELECT", Style: Question, Params: 1, Literals: true}},
	{"map of parameters", "SELECT {:k::v, :k : :w}", Statement{Kind: Read, Verb: "SELECT", Style: Named, Params: 3, Names: []string{":k", ":v", ":w"}}},
	{"map in a map", "SELECT {'a':{b:c}, (d):[e]}, :f", Statement{Kind: Read, Verb: "SELECT", Style: Named, Params: 1, Names: []string{":f"}, Literals: true}},
	{"query in a map", "SELECT {a: (SELECT :b FROM t WHERE c = :d LIMIT :e OFFSET :f)}", Statement{Kind: Read, Verb: "SELECT", Style: Named, Params: 4, Names: []string{":b", ":d", ":e", ":f"}}},
	{"keyword as a key", "SELECT {key:a, offset:b}", Statement{Kind: Read, Verb: "SELECT"}},

	// Calls.
	{"built-in of the newest servers only", "SELECT now()", Statement{Kind: Read, Verb: "SELECT", UserCall: "now"}},
	{"built-ins", "SELECT count(*), Max(a), LOWER(b), coalesce(a, b), replace(a, b, c), trim(BOTH a FROM b)", Statement{Kind: Read, Verb: "SELECT"}},
	{"user's function", "SELECT a, f (b), g(c)", Statement{Kind: Read, Verb: "SELECT", UserCall: "f"}},
	{"user's function behind a comment", "SELECT f/**/(a)", Statement{Kind: Read, Verb: "SELECT", UserCall: "f"}},
	{"user's function in a built-in", "SELECT lower(MyFunc(a))", Statement{Kind: Read, Verb: "SELECT", UserCall: "MyFunc"}},
	{"quoted function", `SELECT "my""f"(a)`, Statement{Kind: Read, Verb: "SELECT", UserCall: `my"f`}},
	{"quoted built-in", `SELECT "LOWER"(a)`, Statement{Kind: Read, Verb: "SELECT"}},
	{"quoted name that is no built-in", `SELECT "lower"(a)`, Statement{Kind: Read, Verb: "SELECT", UserCall: "lower"}},
	{"function of other letters", "SELECT функция(a)", Statement{Kind: Read, Verb: "SELECT", UserCall: "функция"}},
	{"function in values", "VALUES (f(a))", Statement{Kind: Read, Verb: "VALUES", UserCall: "f"}},
	{"function behind with", "WITH c(a) AS (SELECT f(b)) SELECT a FROM c", Statement{Kind: Read, Verb: "SELECT", UserCall: "f"}},
	{"call of the table's name", "WITH c(a) AS (SELECT b) SELECT c(a) FROM c", Statement{Kind: Read, Verb: "SELECT", UserCall: "c"}},
	{"call with an alias", "SELECT f(a, b) AS c", Statement{Kind: Read, Verb: "SELECT", UserCall: "f"}},
	{"table function", "SELECT a FROM f(b)", Statement{Kind: Read, Verb: "SELECT", UserCall: "f"}},
	{"operators that call", "SELECT a WHERE b regexp c", Statement{Kind: Read, Verb: "SELECT", UserCall: "REGEXP"}},
	{"match calls too", "SELECT a MATCH (b)", Statement{Kind: Read, Verb: "SELECT", UserCall: "MATCH"}},
	{"like is a built-in", "SELECT a LIKE (b) ESCAPE (c)", Statement{Kind: Read, Verb: "SELECT"}},
	{"keyword that may be a function", "SELECT if(a)", Statement{Kind: Read, Verb: "SELECT", UserCall: "if"}},
	{"offset as a function", "SELECT offset(a)", Statement{Kind: Read, Verb: "SELECT", UserCall: "offset"}},
	{"keywords before parentheses", "SELECT DISTINCT (a) FROM (SELECT ALL (b)) JOIN (t) USING (c) WHERE (a) AND (b) OR (c) IN (d) AND NOT (e) BETWEEN (f) AND (g) GROUP BY (a) HAVING (b) UNION SELECT (c) LIMIT (d) OFFSET (e)", Statement{Kind: Read, Verb: "SELECT"}},
	{"case and cast", "SELECT CASE (a) WHEN (b) THEN (c) ELSE (d) END, CAST(e AS VARCHAR(9)), EXISTS (SELECT a), a IN (VALUES (b))", Statement{Kind: Read, Verb: "SELECT", Literals: true}},
	{"join on", "SELECT a FROM t LEFT JOIN u ON (a = b)", Statement{Kind: Read, Verb: "SELECT"}},
	{"explain calls nothing", "EXPLAIN SELECT f(a)", Statement{Kind: Read, Verb: "EXPLAIN"}},
	{"element of a name", "SELECT a[b], {c: d}", Statement{Kind: Read, Verb: "SELECT"}},

	// Hints.
	{"hint", "/*+ mode=rw */ SELECT a", Statement{Kind: Read, Verb: "SELECT", Mode: "rw"}},
	{"hint in capitals", " /*+MODE = Prefer_RO*/SELECT a", Statement{Kind: Read, Verb: "SELECT", Mode: "prefer_ro"}},
	{"hint behind a comment", "-- c\n/* d */ /*+ mode=any */ SELECT a", Statement{Kind: Read, Verb: "SELECT", Mode: "any"}},
	{"first hint counts", "/*+ mode=rw *//*+ mode=ro */ SELECT a", Statement{Kind: Read, Verb: "SELECT", Mode: "rw"}},
	{"other hint", "/*+ index(t i) */ SELECT a", Statement{Kind: Read, Verb: "SELECT"}},
	{"hint without a value", "/*+ mode */ SELECT a", Statement{Kind: Read, Verb: "SELECT"}},
	{"unknown mode", "/*+ mode=x y */ SELECT a", Statement{Kind: Read, Verb: "SELECT", Mode: "x y"}},
	{"no hint without the plus", "/* mode=rw */ SELECT a", Statement{Kind: Read, Verb: "SELECT"}},
	{"no hint behind the verb", "SELECT /*+ mode=rw */ a", Statement{Kind: Read, Verb: "SELECT"}},
	{"unterminated hint", "/*+ mode=rw", Statement{}},
	{"hint of a write", "/*+ mode=ro */ DELETE FROM t", Statement{Kind: Write, Verb: "DELETE", Mode: "ro"}},
}

func TestParse(t *testing.T) {
	for _, tt := range texts {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, Parse(tt.text), "%q", tt.text)
		})
	}
}

func TestEveryKindHasItsName(t *testing.T) {
	names := map[Kind]string{
		Unknown: "unknown", Read: "read", Write: "write", DDL: "ddl", Session: "session", Savepoint: "savepoint",
	}
	for kind, name := range names {
		assert.Equal(t, name, kind.String())
	}
	assert.Equal(t, "Kind(77)", Kind(77).String())
}

func TestNamesInTheTablesFitTheFoldBuffer(t *testing.T) {
	for name := range builtins {
		require.LessOrEqual(t, len(name), maxFold)
	}
	for name := range operandLeads {
		require.LessOrEqual(t, len(name), maxFold)
	}
	for name, v := range verbs {
		require.LessOrEqual(t, len(name), maxFold)
		require.Equal(t, name, v.name)
		require.NotEqual(t, Unknown, v.kind)
	}
}
