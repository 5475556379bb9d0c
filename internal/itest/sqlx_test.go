package itest

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"testing"

	"github.com/jmoiron/sqlx"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
)

// openSQLX opens a handle through sqlx, with the parameters added to the DSN.
func openSQLX(t *testing.T, params ...string) *sqlx.DB {
	t.Helper()
	db, err := sqlx.ConnectContext(t.Context(), tntsql.DriverName, dsn(params...))
	require.NoError(t, err)
	closeAfter(t, db.DB)
	return db
}

// person is a row of the table that createPeople makes. The columns are not
// quoted there, so servers before 3.0 report their names in upper case.
type person struct {
	ID       int64         `db:"id"`
	FullName string        `db:"full_name"`
	Age      sql.NullInt64 `db:"age"`
	Email    *string       `db:"email"`
}

const (
	peopleColumns = "id INTEGER PRIMARY KEY AUTOINCREMENT, full_name STRING, age INTEGER, email STRING"
	namedInsert   = " (id, full_name, age, email) VALUES (:id, :full_name, :age, :email)"
)

var (
	email = "ann@example.com"
	ann   = person{ID: 1, FullName: "Ann", Age: sql.NullInt64{Int64: 31, Valid: true}, Email: &email}
	bob   = person{ID: 2, FullName: "Bob"}
	cyd   = person{ID: 3, FullName: "Cyd", Age: sql.NullInt64{Int64: 0, Valid: true}}
)

// createPeople makes a table with Ann, Bob and Cyd.
func createPeople(t *testing.T, db *sqlx.DB, table string) {
	t.Helper()
	createTable(t, db, table, peopleColumns)
	_, err := db.NamedExecContext(t.Context(), "INSERT INTO "+table+namedInsert, []person{ann, bob, cyd})
	require.NoError(t, err)
}

func TestSQLXGet(t *testing.T) {
	db := openSQLX(t)
	createPeople(t, db, "sqlx_get")

	var p person
	require.NoError(t, db.GetContext(t.Context(), &p, "SELECT * FROM sqlx_get WHERE id = ?", 1))
	assert.Equal(t, ann, p)
	p = person{}
	require.NoError(t, db.GetContext(t.Context(), &p, "SELECT * FROM sqlx_get WHERE id = :id", sql.Named("id", 2)))
	assert.Equal(t, bob, p)
	var count int
	require.NoError(t, db.GetContext(t.Context(), &count, "SELECT COUNT(*) FROM sqlx_get"))
	assert.Equal(t, 3, count)
	assert.ErrorIs(t, db.GetContext(t.Context(), &p, "SELECT * FROM sqlx_get WHERE id = ?", 4), sql.ErrNoRows)
	assert.ErrorContains(t, db.GetContext(t.Context(), &p, "SELECT id AS other FROM sqlx_get"), "missing destination name other")
}

func TestSQLXSelect(t *testing.T) {
	db := openSQLX(t)
	createPeople(t, db, "sqlx_select")

	var people []person
	require.NoError(t, db.SelectContext(t.Context(), &people, "SELECT * FROM sqlx_select ORDER BY id"))
	assert.Equal(t, []person{ann, bob, cyd}, people)
	var pointers []*person
	require.NoError(t, db.SelectContext(t.Context(), &pointers, "SELECT * FROM sqlx_select ORDER BY id DESC"))
	assert.Equal(t, []*person{&cyd, &bob, &ann}, pointers)
	var names []string
	require.NoError(t, db.SelectContext(t.Context(), &names, "SELECT full_name FROM sqlx_select WHERE id < ? ORDER BY id", 3))
	assert.Equal(t, []string{"Ann", "Bob"}, names)
	var ages []sql.NullInt64
	require.NoError(t, db.SelectContext(t.Context(), &ages, "SELECT age FROM sqlx_select ORDER BY id"))
	assert.Equal(t, []sql.NullInt64{ann.Age, bob.Age, cyd.Age}, ages)
}

func TestSQLXNamedExec(t *testing.T) {
	db := openSQLX(t)
	tests := []struct {
		name string
		arg  any
		want []person
	}{
		{"struct", ann, []person{ann}},
		{"pointer to a struct", &bob, []person{bob}},
		{"map", map[string]any{"id": 3, "full_name": "Cyd", "age": 0, "email": nil}, []person{cyd}},
		{"slice of structs", []person{ann, bob, cyd}, []person{ann, bob, cyd}},
		{"slice of maps", []map[string]any{
			{"id": int8(1), "full_name": "Ann", "age": uint16(31), "email": email},
			{"id": uint64(2), "full_name": "Bob", "age": nil, "email": nil},
		}, []person{ann, bob}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			createTable(t, db, "sqlx_named_exec", peopleColumns)
			result, err := db.NamedExecContext(t.Context(), "INSERT INTO sqlx_named_exec"+namedInsert, tt.arg)
			require.NoError(t, err)
			affected, err := result.RowsAffected()
			require.NoError(t, err)
			assert.EqualValues(t, len(tt.want), affected)

			var got []person
			require.NoError(t, db.SelectContext(t.Context(), &got, "SELECT * FROM sqlx_named_exec ORDER BY id"))
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestSQLXNamedExecTellsTheFirstGeneratedID(t *testing.T) {
	db := openSQLX(t)
	createPeople(t, db, "sqlx_ids")
	ctx, info := tntsql.Capture(t.Context())
	result, err := db.NamedExecContext(ctx, "INSERT INTO sqlx_ids (full_name) VALUES (:full_name)",
		[]person{{FullName: "Dan"}, {FullName: "Eve"}})
	require.NoError(t, err)
	first, err := result.LastInsertId()
	require.NoError(t, err)
	assert.EqualValues(t, 4, first)
	assert.Equal(t, []int64{4, 5}, info.GeneratedIDs)
}

func TestSQLXInAndRebind(t *testing.T) {
	db := openSQLX(t)
	createPeople(t, db, "sqlx_in")
	query, args, err := sqlx.In("SELECT full_name FROM sqlx_in WHERE id IN (?) AND full_name <> ? ORDER BY id", []int64{1, 2, 3}, "Bob")
	require.NoError(t, err)

	texts := map[string]string{
		"of the handle": db.Rebind(query),
		"QUESTION":      sqlx.Rebind(sqlx.QUESTION, query),
		"DOLLAR":        sqlx.Rebind(sqlx.DOLLAR, query),
		"NAMED":         sqlx.Rebind(sqlx.NAMED, query),
		"AT":            sqlx.Rebind(sqlx.AT, query),
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			var names []string
			require.NoError(t, db.SelectContext(t.Context(), &names, text, args...), text)
			assert.Equal(t, []string{"Ann", "Cyd"}, names)
		})
	}
}

// sqlx does not know the driver's name, and takes "?" for the placeholder of
// a driver that it does not know: BindDriver only makes that explicit.
func TestSQLXBindDriver(t *testing.T) {
	db := openSQLX(t)
	createPeople(t, db, "sqlx_bind_driver")
	query := func(t *testing.T) {
		t.Helper()
		text := "SELECT id FROM sqlx_bind_driver WHERE full_name = ?"
		assert.Equal(t, text, db.Rebind(text))
		rows, err := db.NamedQueryContext(t.Context(), "SELECT id FROM sqlx_bind_driver WHERE full_name = :full_name", bob)
		require.NoError(t, err)
		assert.Equal(t, []person{{ID: 2}}, structs(t, rows))
	}
	before := sqlx.BindType(tntsql.DriverName)
	defer sqlx.BindDriver(tntsql.DriverName, before)
	assert.Equal(t, sqlx.UNKNOWN, before)
	query(t)
	sqlx.BindDriver(tntsql.DriverName, sqlx.QUESTION)
	query(t)
}

func TestSQLXNamedQuery(t *testing.T) {
	db := openSQLX(t)
	createPeople(t, db, "sqlx_named_query")
	const query = "SELECT * FROM sqlx_named_query WHERE id >= :id AND full_name <> :full_name ORDER BY id"
	for name, arg := range map[string]any{
		"struct": person{ID: 1, FullName: "Bob"},
		"map":    map[string]any{"id": 1, "full_name": "Bob"},
	} {
		t.Run(name, func(t *testing.T) {
			rows, err := db.NamedQueryContext(t.Context(), query, arg)
			require.NoError(t, err)
			assert.Equal(t, []person{ann, cyd}, structs(t, rows))
		})
	}
}

// structs scans all rows.
func structs(t *testing.T, rows *sqlx.Rows) []person {
	t.Helper()
	defer rows.Close()
	var out []person
	for rows.Next() {
		var p person
		require.NoError(t, rows.StructScan(&p))
		out = append(out, p)
	}
	require.NoError(t, rows.Err())
	return out
}

func TestSQLXPrepareNamed(t *testing.T) {
	db := openSQLX(t)
	createPeople(t, db, "sqlx_prepare_named")

	one, err := db.PrepareNamedContext(t.Context(), "SELECT * FROM sqlx_prepare_named WHERE id = :id")
	require.NoError(t, err)
	defer one.Close()
	for _, want := range []person{ann, bob, cyd} {
		var got person
		require.NoError(t, one.GetContext(t.Context(), &got, want))
		assert.Equal(t, want, got)
	}

	several, err := db.PrepareNamedContext(t.Context(), "SELECT * FROM sqlx_prepare_named WHERE id > :id ORDER BY id")
	require.NoError(t, err)
	defer several.Close()
	var got []person
	require.NoError(t, several.SelectContext(t.Context(), &got, map[string]any{"id": 1}))
	assert.Equal(t, []person{bob, cyd}, got)
	rows, err := several.QueryxContext(t.Context(), bob)
	require.NoError(t, err)
	assert.Equal(t, []person{cyd}, structs(t, rows))

	rename, err := db.PrepareNamedContext(t.Context(), "UPDATE sqlx_prepare_named SET full_name = :full_name WHERE id = :id")
	require.NoError(t, err)
	defer rename.Close()
	result, err := rename.ExecContext(t.Context(), person{ID: 2, FullName: "Rob"})
	require.NoError(t, err)
	affected, err := result.RowsAffected()
	require.NoError(t, err)
	assert.EqualValues(t, 1, affected)
	var name string
	require.NoError(t, db.GetContext(t.Context(), &name, "SELECT full_name FROM sqlx_prepare_named WHERE id = 2"))
	assert.Equal(t, "Rob", name)
}

func TestSQLXScans(t *testing.T) {
	db := openSQLX(t)
	createPeople(t, db, "sqlx_scans")

	row := make(map[string]any)
	require.NoError(t, db.QueryRowxContext(t.Context(), "SELECT * FROM sqlx_scans WHERE id = 1").MapScan(row))
	assert.Equal(t, map[string]any{"id": int64(1), "full_name": "Ann", "age": int64(31), "email": email}, row)
	values, err := db.QueryRowxContext(t.Context(), "SELECT * FROM sqlx_scans WHERE id = 2").SliceScan()
	require.NoError(t, err)
	assert.Equal(t, []any{int64(2), "Bob", nil, nil}, values)
	var p person
	require.NoError(t, db.QueryRowxContext(t.Context(), "SELECT * FROM sqlx_scans WHERE id = 3").StructScan(&p))
	assert.Equal(t, cyd, p)

	var pair struct {
		Elder   person `db:"elder"`
		Younger person `db:"younger"`
		Total   int    `db:"total"`
	}
	require.NoError(t, db.GetContext(t.Context(), &pair, `
		SELECT e.id AS "elder.id", e.full_name AS "elder.full_name", y.full_name AS "younger.full_name", e.age + y.age AS total
		FROM sqlx_scans AS e JOIN sqlx_scans AS y ON y.age < e.age`))
	assert.Equal(t, person{ID: 1, FullName: "Ann"}, pair.Elder)
	assert.Equal(t, person{FullName: "Cyd"}, pair.Younger)
	assert.Equal(t, 31, pair.Total)
}

// The names are quoted, so every server reports them as they are here.
func TestSQLXColumnCase(t *testing.T) {
	db := openSQLX(t)
	createTable(t, db, "sqlx_column_case", `"ID" INTEGER PRIMARY KEY, "fullName" STRING, "E_MAIL" STRING`)
	_, err := db.ExecContext(t.Context(), "INSERT INTO sqlx_column_case VALUES (1, 'Ann', ?)", email)
	require.NoError(t, err)
	const query = "SELECT * FROM sqlx_column_case"

	var lower struct {
		ID    int64  `db:"id"`
		Name  string `db:"fullName"`
		Email string `db:"e_mail"`
	}
	require.NoError(t, db.GetContext(t.Context(), &lower, query))
	assert.EqualValues(t, 1, lower.ID)
	assert.Equal(t, "Ann", lower.Name)
	assert.Equal(t, email, lower.Email)

	preserving := openSQLX(t, "column_case=preserve")
	assert.ErrorContains(t, preserving.GetContext(t.Context(), &lower, query), "missing destination name ID")
	var preserved struct {
		ID    int64  `db:"ID"`
		Name  string `db:"fullName"`
		Email string `db:"E_MAIL"`
	}
	require.NoError(t, preserving.GetContext(t.Context(), &preserved, query))
	assert.Equal(t, email, preserved.Email)
}

func TestSQLXKeepsTheContext(t *testing.T) {
	db := openSQLX(t)
	for mode, onMaster := range map[tntsql.Mode]bool{tntsql.ModeRW: true, tntsql.ModeRO: false} {
		t.Run(mode.String(), func(t *testing.T) {
			ctx, info := tntsql.Capture(tntsql.WithMode(t.Context(), mode))
			var one int
			require.NoError(t, db.GetContext(ctx, &one, "SELECT 1"))
			assert.Equal(t, 1, one)
			assert.Equal(t, onMaster, info.Instance.UUID == masterUUID(), info.Instance)
		})
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	var one int
	assert.ErrorIs(t, db.GetContext(ended, &one, "SELECT 1"), context.Canceled)
}

// No two goroutines update the same row: where memtx_use_mvcc_engine is on, the
// server aborts one of two such statements (ER_TRANSACTION_CONFLICT).
func TestSQLXFromManyGoroutines(t *testing.T) {
	const (
		goroutines = 100
		each       = 10
	)
	db := openSQLX(t)
	createTable(t, db, "sqlx_goroutines", peopleColumns)
	grow, err := db.PrepareNamedContext(t.Context(), "UPDATE sqlx_goroutines SET age = :age WHERE id = :id")
	require.NoError(t, err)
	defer grow.Close()

	work := func(g int) error {
		people := make([]person, each)
		for i := range people {
			people[i] = person{ID: int64(g*each + i + 1), FullName: fmt.Sprintf("%d of %d", i, g)}
		}
		if _, err := db.NamedExecContext(t.Context(), "INSERT INTO sqlx_goroutines"+namedInsert, people); err != nil {
			return err
		}
		for _, want := range people {
			want.Age = sql.NullInt64{Int64: want.ID, Valid: true}
			if _, err := grow.ExecContext(t.Context(), want); err != nil {
				return err
			}
			var got person
			if err := db.GetContext(t.Context(), &got, "SELECT * FROM sqlx_goroutines WHERE id = ?", want.ID); err != nil {
				return err
			}
			if got != want {
				return fmt.Errorf("got %v, want %v", got, want)
			}
		}
		return nil
	}
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() { assert.NoError(t, work(g)) })
	}
	wg.Wait()

	var ages []int64
	require.NoError(t, db.SelectContext(t.Context(), &ages, "SELECT age FROM sqlx_goroutines ORDER BY id"))
	require.Len(t, ages, goroutines*each)
	for i, age := range ages {
		require.EqualValues(t, i+1, age)
	}
}
