package tntsql_test

import (
	"testing"

	"github.com/DATA-DOG/go-sqlmock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
)

func TestSqlmockIsNotTarantool(t *testing.T) {
	db, mock, err := sqlmock.New()
	require.NoError(t, err)
	db.SetMaxOpenConns(1)
	refuses := func(on tntsql.Execer) {
		_, err := tntsql.Call(t.Context(), on, tntsql.ModeRW, "who")
		assert.ErrorIs(t, err, tntsql.ErrNotTarantool)
		_, err = tntsql.Eval(t.Context(), on, tntsql.ModeRW, "return 1")
		assert.ErrorIs(t, err, tntsql.ErrNotTarantool)
	}
	refuses(db)
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	refuses(conn)
	require.NoError(t, conn.Close())
	assert.ErrorIs(t, tntsql.Raw(t.Context(), db, func(*tntsql.Conn) error { return nil }), tntsql.ErrNotTarantool)

	// Anything executed would have been an error: none was expected.
	mock.ExpectClose()
	require.NoError(t, db.Close())
	assert.NoError(t, mock.ExpectationsWereMet())
}
