package script

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
)

func TestParse(t *testing.T) {
	const trigger = "CREATE TRIGGER r AFTER INSERT ON t FOR EACH ROW\nBEGIN\n  INSERT INTO u VALUES (1);\n  DELETE FROM v;\nEND"
	statements, err := Parse("-- COMMIT;\nCREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1);\n\n" + trigger + ";\nINSERT INTO t VALUES ('COMMIT;')\n")
	require.NoError(t, err)
	assert.Equal(t, []Statement{
		{"CREATE TABLE t (id INT PRIMARY KEY)", 2},
		{"INSERT INTO t VALUES (1)", 2},
		{trigger, 4},
		{"INSERT INTO t VALUES ('COMMIT;')\n", 9},
	}, statements)
}

func TestParseOfNothing(t *testing.T) {
	for _, file := range []string{"", "\n", "-- nothing\n;"} {
		statements, err := Parse(file)
		require.NoError(t, err)
		assert.Empty(t, statements)
	}
}

func TestSessionStatementsAreRefusedWithWhatToDo(t *testing.T) {
	const transactions, settings = "no DDL in transactions", "session.NAME=value in the DSN"
	tests := []struct{ statement, advice string }{
		{"START TRANSACTION", transactions},
		{"start /* a */ transaction", transactions},
		{"BEGIN", transactions},
		{"COMMIT", transactions},
		{"ROLLBACK", transactions},
		{"SAVEPOINT s", transactions},
		{"ROLLBACK TO s", transactions},
		{"RELEASE SAVEPOINT s", transactions},
		{`SET SESSION "sql_seq_scan" = true`, settings},
		{`UPDATE "_session_settings" SET "value" = true`, settings},
	}
	for _, tt := range tests {
		t.Run(tt.statement, func(t *testing.T) {
			statements, err := Parse("CREATE TABLE t (id INT PRIMARY KEY);\n" + tt.statement + ";\nDROP TABLE t;")
			assert.Nil(t, statements)
			require.ErrorIs(t, err, tntsql.ErrSessionStatement)
			assert.ErrorContains(t, err, "line 2: "+tt.statement+": ")
			assert.ErrorContains(t, err, tt.advice)
			assert.ErrorContains(t, err, "remove this")
		})
	}
}

func TestErrorsQuoteLittleOfTheFile(t *testing.T) {
	_, err := Parse("UPDATE \"_session_settings\" SET \"value\" = '" + strings.Repeat("ä", 100) + "\nnext line'")
	require.ErrorIs(t, err, tntsql.ErrSessionStatement)
	assert.NotContains(t, err.Error(), "next line")
	assert.NotContains(t, err.Error(), strings.Repeat("ä", 40))
	assert.NotContains(t, err.Error(), "\ufffd")
}

// A file in UTF-16 has a NUL in each ASCII character, at the first of which the
// server would end the text.
func TestANULIsRefused(t *testing.T) {
	_, err := Parse("D\x00R\x00O\x00P\x00")
	assert.ErrorContains(t, err, "save it as UTF-8")
}
