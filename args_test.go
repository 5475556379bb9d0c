package tntsql_test

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/tntsql/tntsql"
)

func TestParametersOfEveryKind(t *testing.T) {
	db := open(t)
	a, b := sql.Named("a", "A"), sql.Named("b", "B")
	for _, c := range []struct {
		query string
		args  []any
		want  string
	}{
		{"SELECT ? || ?", []any{"A", "B"}, "AB"},
		{"SELECT $1 || $2", []any{"A", "B"}, "AB"},
		{"SELECT $2 || $1", []any{"A", "B"}, "BA"},
		{"SELECT $2 || $1 || $2", []any{"A", "B"}, "BAB"},
		{"SELECT :a || :b", []any{a, b}, "AB"},
		{"SELECT :a || :b", []any{b, a}, "AB"},
		{"SELECT @b || @a", []any{a, b}, "BA"},
		{"SELECT #a || #b", []any{a, b}, "AB"},
		{"SELECT :a || :b || :a", []any{a, b}, "ABA"},
		{"SELECT @a || #b || :a", []any{a, b}, "ABA"},
		{"SELECT :a || :b", []any{"A", "B"}, "AB"},
		{"SELECT '?' || ? || ':a' || \"$1\" FROM (SELECT '@' AS \"$1\")", []any{"A"}, "?A:a@"},
		{"SELECT /* ? */ ? -- ?", []any{"A"}, "A"},
		{"SELECT 'none'", nil, "none"},
	} {
		t.Run(c.query, func(t *testing.T) {
			assert.Equal(t, c.want, value[string](t, db, c.query, c.args...))
			stmt, err := db.PrepareContext(t.Context(), c.query)
			require.NoError(t, err)
			defer stmt.Close()
			var got string
			require.NoError(t, stmt.QueryRowContext(t.Context(), c.args...).Scan(&got))
			assert.Equal(t, c.want, got, "prepared")
		})
	}
}

// panics is a type of a user whose methods do not keep their promises.
type panics struct{}

func (panics) Value() (driver.Value, error) { panic("no value") }

type panicsInside struct{}

func (panicsInside) EncodeMsgpack(enc *msgpack.Encoder) error {
	_ = enc.EncodeArrayLen(3)
	panic("no msgpack")
}

type fails struct{}

func (fails) Value() (driver.Value, error) { return nil, errNoValue }

var errNoValue = errors.New("no value")

// recursive contains itself.
type recursive []any

func TestArgumentsThatDoNotFitAreErrorsBeforeAnythingIsSent(t *testing.T) {
	rs := sharedSet(t)
	db := open(t, quiet, "read_mode=rw")
	loop := recursive{nil}
	loop[0] = loop
	for _, c := range []struct {
		query string
		args  []any
		want  string
	}{
		{"SELECT ?", nil, "the text has 1 parameter, the call 0 arguments"},
		{"SELECT ?, ?", []any{1}, "the text has 2 parameters, the call 1 argument"},
		{"SELECT ?", []any{1, 2}, "the text has 1 parameter, the call 2 arguments"},
		{"SELECT 1", []any{1}, "the text has 0 parameters, the call 1 argument"},
		{"SELECT $1, $3", []any{1, 2}, "the text has 3 parameters, the call 2 arguments"},
		{"SELECT :a, :b, :a", []any{1, 2, 3}, "the text has 2 parameters, the call 3 arguments"},
		{"SELECT :a, :b", []any{sql.Named("a", 1)}, "parameter :b has no argument"},
		{"SELECT :a", []any{sql.Named("A", 1)}, "parameter :a has no argument"},
		{"SELECT :a", []any{sql.Named("a", 1), sql.Named("b", 2)}, `argument "b" is no parameter`},
		{"SELECT :a, :b", []any{sql.Named("a", 1), 2}, "parameter :b has no argument"},
		{"SELECT :a", []any{sql.Named("a", 1), 2}, "name all arguments or none"},
		{"SELECT :a", []any{sql.Named("a", 1), sql.Named("a", 2)}, `argument "a" is given twice`},
		{"SELECT ?", []any{sql.Named("a", 1)}, "named arguments need :name"},
		{"SELECT $1", []any{sql.Named("a", 1)}, "named arguments need :name"},
		{"SELECT ?, $2", []any{1, 2}, "mixes kinds of parameters"},
		{"SELECT 1\x00, ?", nil, "the text has a NUL byte"},
		{"DELETE FROM t\x00WHERE id = 1", nil, "the text has a NUL byte"},
		{"SELECT ?, :a", []any{1, 2}, "mixes kinds of parameters"},
		{"SELECT $1, @a", []any{sql.Named("a", 1), sql.Named("b", 1)}, "mixes kinds of parameters"},
		{"SELECT ?", []any{make(chan int)}, "parameter 1: unsupported type chan int"},
		{"SELECT ?, ?", []any{1, struct{ A int }{1}}, "parameter 2: unsupported type struct { A int }: pass a struct as a tntsql.Doc"},
		{"SELECT ?", []any{loop}, "parameter 1: "},
		{"SELECT ?", []any{map[string]any{}}, "parameter 1: "},
		{"SELECT ?", []any{panics{}}, "no value"},
		{"SELECT ?", []any{&panics{}}, "no value"},
		{"SELECT ?", []any{fails{}}, "no value"},
		{"SELECT ?", []any{sql.Out{Dest: new(int)}}, "output parameters are not supported"},
	} {
		t.Run(fmt.Sprintf("%s of %T", c.query, c.args), func(t *testing.T) {
			requireRequests(t, rs, 0, func() {
				_, err := db.ExecContext(t.Context(), c.query, c.args...)
				assert.ErrorContains(t, err, c.want)
				assert.Error(t, db.QueryRowContext(t.Context(), c.query, c.args...).Scan(new(any)))
			})
			assert.Equal(t, 1, value[int](t, db, "SELECT 1"), "the connection goes on")
		})
	}
}

func TestAnErrorOfAValuerIsInTheChain(t *testing.T) {
	_, err := open(t).ExecContext(t.Context(), "SELECT ?", fails{})
	assert.ErrorIs(t, err, errNoValue)
}

func TestAPanickingEncoderOfACallIsAnErrorAndTheConnectionGoesOn(t *testing.T) {
	rs := sharedSet(t)
	db := open(t, quiet)
	connectAll(t, rs, db)
	for range 5 {
		requireRequests(t, rs, 0, func() {
			_, err := tntsql.Call(t.Context(), db, tntsql.ModeRW, "who", 1, struct{ P panicsInside }{})
			assert.ErrorContains(t, err, "no msgpack")
		})
		reply, err := tntsql.Call(t.Context(), db, tntsql.ModeRW, "who")
		require.NoError(t, err)
		assert.Equal(t, []any{rs.UUID(0)}, reply.Values())
	}
}
