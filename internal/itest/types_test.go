package itest

import (
	"database/sql"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
)

// newTypes skips on servers without DECIMAL and UUID, but shows that they refuse them.
func newTypes(t *testing.T) {
	t.Helper()
	if servers.AtLeast(2, 10, 0) {
		return
	}
	db := openDB(t)
	for _, v := range []any{decimal.New(1, 0), decimal.NewNullDecimal(decimal.New(1, 0)), uuid.New(), uuid.NullUUID{UUID: uuid.New(), Valid: true}} {
		_, err := db.ExecContext(t.Context(), "SELECT ?", v)
		assert.ErrorContains(t, err, "needs Tarantool 2.10.0 or later", "%T", v)
	}
	for _, v := range []any{decimal.NullDecimal{}, uuid.NullUUID{}, (*decimal.Decimal)(nil), (*uuid.UUID)(nil)} {
		var out any
		require.NoError(t, db.QueryRowContext(t.Context(), "SELECT ?", v).Scan(&out), "%T", v)
		assert.Nil(t, out)
	}
	t.Skipf("Tarantool %s has neither DECIMAL nor UUID", servers.Version())
}

func TestShopspringDecimals(t *testing.T) {
	newTypes(t)
	db := openDB(t)
	createTable(t, db, "shopspring", "id INTEGER PRIMARY KEY AUTOINCREMENT, d DECIMAL")
	for _, text := range []string{
		"0", "-0.1", "1.50", "19.9", "12345678901234567890.123456789012345678", "-0.00000000000000000000000000000000000001",
		"99999999999999999999999999999999999999", "1e20", "-1.25e-7",
	} {
		d := decimal.RequireFromString(text)
		for _, in := range []any{d, &d, decimal.NewNullDecimal(d), sql.Null[decimal.Decimal]{V: d, Valid: true}} {
			result, err := db.ExecContext(t.Context(), "INSERT INTO shopspring (d) VALUES (?)", in)
			require.NoError(t, err, "%T of %s", in, text)
			id, err := result.LastInsertId()
			require.NoError(t, err)
			var (
				out      decimal.Decimal
				null     decimal.NullDecimal
				generic  sql.Null[decimal.Decimal]
				pointer  *decimal.Decimal
				ours     tntsql.Decimal
				anything any
			)
			row := db.QueryRowContext(t.Context(), "SELECT d, d, d, d, d, d FROM shopspring WHERE id = ? AND d = ?", id, in)
			require.NoError(t, row.Scan(&out, &null, &generic, &pointer, &ours, &anything))
			assert.True(t, d.Equal(out), "%s came out as %s", d, out)
			assert.True(t, null.Valid && d.Equal(null.Decimal))
			assert.True(t, generic.Valid && d.Equal(generic.V))
			assert.True(t, d.Equal(*pointer))
			assert.True(t, d.Equal(decimal.RequireFromString(string(ours))))
			assert.Equal(t, string(ours), anything)
		}
	}
	for _, in := range []any{decimal.NullDecimal{}, (*decimal.Decimal)(nil), sql.Null[decimal.Decimal]{}} {
		var null decimal.NullDecimal
		require.NoError(t, db.QueryRowContext(t.Context(), "SELECT ?", in).Scan(&null))
		assert.False(t, null.Valid)
	}
	_, err := db.ExecContext(t.Context(), "SELECT ?", decimal.New(1, 100))
	assert.ErrorContains(t, err, "digits")
	var sum decimal.Decimal
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT ? + ?", decimal.RequireFromString("0.1"), decimal.RequireFromString("0.2")).Scan(&sum))
	assert.Equal(t, "0.3", sum.String())
}

func TestGoogleUUIDs(t *testing.T) {
	newTypes(t)
	db := openDB(t)
	createTable(t, db, "google", "id UUID PRIMARY KEY, written STRING")
	id := uuid.MustParse("64d22e4d-ac92-4a23-899a-e59f34af5479")
	_, err := db.ExecContext(t.Context(), "INSERT INTO google VALUES (?, ?)", id, id.String())
	require.NoError(t, err)
	for _, in := range []any{id, &id, uuid.NullUUID{UUID: id, Valid: true}, tntsql.UUID(id), sql.Null[uuid.UUID]{V: id, Valid: true}} {
		var (
			out, fromText uuid.UUID
			null          uuid.NullUUID
			pointer       *uuid.UUID
			ours          tntsql.UUID
			text          string
		)
		row := db.QueryRowContext(t.Context(), "SELECT id, written, id, id, id, id FROM google WHERE id = ?", in)
		require.NoError(t, row.Scan(&out, &fromText, &null, &pointer, &ours, &text), "%T", in)
		assert.Equal(t, []uuid.UUID{id, id, id, id, id}, []uuid.UUID{out, fromText, null.UUID, *pointer, uuid.UUID(ours)})
		assert.True(t, null.Valid)
		assert.Equal(t, id.String(), text)
	}
	for _, in := range []any{uuid.NullUUID{}, (*uuid.UUID)(nil)} {
		var null uuid.NullUUID
		require.NoError(t, db.QueryRowContext(t.Context(), "SELECT ?", in).Scan(&null))
		assert.False(t, null.Valid)
	}
}

// goods is a row with types of other packages.
type goods struct {
	ID    uuid.UUID           `db:"id"`
	Maker uuid.NullUUID       `db:"maker"`
	Price decimal.Decimal     `db:"price"`
	Tax   decimal.NullDecimal `db:"tax"`
	Made  time.Time           `db:"made"`
	Gone  sql.NullTime        `db:"gone"`
	About tntsql.Doc[about]   `db:"about"`
}

// about is in a MAP.
type about struct {
	Part   uuid.UUID           `json:"part"`
	Weight decimal.Decimal     `json:"weight"`
	Spare  uuid.NullUUID       `json:"spare"`
	Rebate decimal.NullDecimal `json:"rebate"`
	Tested time.Time           `json:"tested"`
}

func TestTypesOfOtherPackagesInStructsOfSQLX(t *testing.T) {
	newTypes(t)
	db := openSQLX(t)
	createTable(t, db, "goods", "id UUID PRIMARY KEY, maker UUID, price DECIMAL, tax DECIMAL, made DATETIME, gone DATETIME, about MAP")
	at := time.Date(2024, 7, 1, 12, 0, 0, 5, time.UTC)
	full := goods{
		ID: uuid.New(), Maker: uuid.NullUUID{UUID: uuid.New(), Valid: true}, Price: decimal.RequireFromString("19.90"),
		Tax: decimal.NewNullDecimal(decimal.RequireFromString("0.19")), Made: at, Gone: sql.NullTime{Time: at, Valid: true},
		About: tntsql.Doc[about]{Valid: true, V: about{
			Part: uuid.New(), Weight: decimal.RequireFromString("1.250"), Spare: uuid.NullUUID{UUID: uuid.New(), Valid: true},
			Rebate: decimal.NewNullDecimal(decimal.RequireFromString("0.5")), Tested: at,
		}},
	}
	bare := goods{ID: uuid.New(), Price: decimal.New(7, 0), Made: at}
	for _, in := range []goods{full, bare} {
		// sqlx makes positional parameters of names, for drivers that it does not know:
		// the MAP goes in separately.
		_, err := db.NamedExecContext(t.Context(), "INSERT INTO goods (id, maker, price, tax, made, gone) VALUES (:id, :maker, :price, :tax, :made, :gone)", in)
		require.NoError(t, err)
		_, err = db.ExecContext(t.Context(), "UPDATE goods SET about = :about WHERE id = :id", sql.Named("about", in.About), sql.Named("id", in.ID))
		require.NoError(t, err)

		var out goods
		require.NoError(t, db.GetContext(t.Context(), &out, "SELECT * FROM goods WHERE id = ?", in.ID))
		assert.Equal(t, in, out)
	}
	var one []goods
	require.NoError(t, db.SelectContext(t.Context(), &one, "SELECT * FROM goods WHERE price = ?", full.Price))
	assert.Equal(t, []goods{full}, one)
}

// In a MAP the values have the server's types, and those that another client wrote fit.
func TestTypesOfOtherPackagesInDocuments(t *testing.T) {
	newTypes(t)
	db := openDB(t)
	part := uuid.New()
	reply, err := tntsql.Eval(t.Context(), db, tntsql.ModeRW, `
		local doc, part = ...
		local decimal, uuid, datetime = require('decimal'), require('uuid'), require('datetime')
		return decimal.is_decimal(doc.weight) and uuid.is_uuid(doc.part) and datetime.is_datetime(doc.tested) and doc.spare == nil,
			{weight = decimal.new('1.5'), part = uuid.fromstr(part), rebate = 3, tested = datetime.new{year = 2024}}`,
		about{Part: part, Weight: decimal.RequireFromString("1.5"), Tested: time.Now()}, part.String())
	require.NoError(t, err)
	var typed bool
	var back about
	require.NoError(t, reply.Decode(&typed, &back))
	assert.True(t, typed)
	assert.Equal(t, part, back.Part)
	assert.Equal(t, "1.5", back.Weight.String())
	assert.Equal(t, "3", back.Rebate.Decimal.String())
	assert.Equal(t, time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), back.Tested)
}
