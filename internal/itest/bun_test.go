package itest

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/internal/itest/bundialect"
)

// openBun opens a handle of bun.
func openBun(t *testing.T) *bun.DB {
	t.Helper()
	return bun.NewDB(openDB(t), bundialect.New())
}

type town struct {
	bun.BaseModel `bun:"table:bun_towns"`

	ID     int64 `bun:",pk,autoincrement"`
	Name   string
	People *int64
	Coast  bool
}

func thousand(n int64) *int64 {
	n *= 1000
	return &n
}

// createTowns makes the table of town, with three rows from one INSERT.
func createTowns(t *testing.T, db *bun.DB) []town {
	t.Helper()
	createModel(t, db, (*town)(nil))
	towns := []town{{Name: "Riga", People: thousand(600), Coast: true}, {Name: "Tartu", People: thousand(97)}, {Name: "O'Higgins"}}
	_, err := db.NewInsert().Model(&towns).Exec(t.Context())
	require.NoError(t, err)
	return towns
}

// createModel makes the table of a model for the time of the test.
func createModel(t *testing.T, db *bun.DB, model any) {
	t.Helper()
	_, err := db.NewCreateTable().Model(model).IfNotExists().Exec(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := db.NewDropTable().Model(model).Exec(context.Background())
		assert.NoError(t, err)
	})
}

func TestBunInsertTellsTheGeneratedIDs(t *testing.T) {
	db := openBun(t)
	towns := createTowns(t, db)
	for i, town := range towns {
		assert.EqualValues(t, i+1, town.ID)
	}
	one := town{Name: "Oslo"}
	_, err := db.NewInsert().Model(&one).Exec(t.Context())
	require.NoError(t, err)
	assert.EqualValues(t, 4, one.ID)
	_, err = db.NewInsert().Model(&one).Exec(t.Context())
	assert.True(t, tntsql.IsUniqueViolation(err), err)
}

func TestBunSelect(t *testing.T) {
	db := openBun(t)
	towns := createTowns(t, db)

	var all []town
	require.NoError(t, db.NewSelect().Model(&all).Order("id").Scan(t.Context()))
	assert.Equal(t, towns, all)
	one := town{ID: 2}
	require.NoError(t, db.NewSelect().Model(&one).WherePK().Scan(t.Context()))
	assert.Equal(t, towns[1], one)
	var names []string
	require.NoError(t, db.NewSelect().Model((*town)(nil)).Column("name").Where("? IN (?)", bun.Ident("id"), bun.List([]int{1, 3})).
		Order("id DESC").Limit(2).Scan(t.Context(), &names))
	assert.Equal(t, []string{"O'Higgins", "Riga"}, names)

	count, err := db.NewSelect().Model((*town)(nil)).Where("? = ?", bun.Ident("name"), "O'Higgins").Count(t.Context())
	require.NoError(t, err)
	assert.EqualValues(t, 1, count)
	exists, err := db.NewSelect().Model((*town)(nil)).Where("? > ?", bun.Ident("people"), 1e6).Exists(t.Context())
	require.NoError(t, err)
	assert.False(t, exists)
	assert.ErrorIs(t, db.NewSelect().Model(&one).Where("? = ?", bun.Ident("id"), 9).Scan(t.Context()), sql.ErrNoRows)

	big := db.NewSelect().Model((*town)(nil)).Where("?", bun.Ident("coast"))
	require.NoError(t, db.NewSelect().With("big", big).TableExpr("?", bun.Ident("big")).Column("name").Scan(t.Context(), &names))
	assert.Equal(t, []string{"Riga"}, names)
}

func TestBunNamedArguments(t *testing.T) {
	db := openBun(t)
	createTowns(t, db)
	var name string
	require.NoError(t, db.WithNamedArg("least", 100_000).NewSelect().Model((*town)(nil)).Column("name").
		Where("? > ?least", bun.Ident("people")).Scan(t.Context(), &name))
	assert.Equal(t, "Riga", name)
}

func TestBunUpdateAndDelete(t *testing.T) {
	db := openBun(t)
	towns := createTowns(t, db)
	towns[1].Name = "Dorpat"
	_, err := db.NewUpdate().Model(&towns[1]).WherePK().Exec(t.Context())
	require.NoError(t, err)
	result, err := db.NewUpdate().Model((*town)(nil)).Set("? = ? + 1", bun.Ident("people"), bun.Ident("people")).
		Where("? IS NOT NULL", bun.Ident("people")).Exec(t.Context())
	require.NoError(t, err)
	affected, err := result.RowsAffected()
	require.NoError(t, err)
	assert.EqualValues(t, 2, affected)
	_, err = db.NewDelete().Model(&towns[0]).WherePK().Exec(t.Context())
	require.NoError(t, err)

	var all []town
	require.NoError(t, db.NewSelect().Model(&all).Order("id").Scan(t.Context()))
	*towns[1].People++
	assert.Equal(t, towns[1:], all)
	_, err = db.NewTruncateTable().Model((*town)(nil)).Exec(t.Context())
	require.NoError(t, err)
	count, err := db.NewSelect().Model((*town)(nil)).Count(t.Context())
	require.NoError(t, err)
	assert.Zero(t, count)
}

func TestBunTypes(t *testing.T) {
	type values struct {
		bun.BaseModel `bun:"table:bun_values"`

		ID       int32 `bun:",pk"`
		Unsigned uint64
		Double   float64
		Text     string
		Bytes    []byte
		Yes      bool
		List     []string
		Custom   string `bun:"type:SCALAR"`
	}
	db := openBun(t)
	createModel(t, db, (*values)(nil))
	want := []values{
		{ID: math.MinInt32, List: []string{}},
		{ID: 1, Unsigned: math.MaxUint64, Double: -0.1, Text: "Ā 'quote' \\", Bytes: []byte{0, 0xff, '\''}, Yes: true, List: []string{"a'b", `"`}, Custom: "x"},
	}
	_, err := db.NewInsert().Model(&want).Exec(t.Context())
	require.NoError(t, err)
	var got []values
	require.NoError(t, db.NewSelect().Model(&got).Order("id").Scan(t.Context()))
	want[0].Bytes = got[0].Bytes // nil or empty
	assert.Empty(t, got[0].Bytes)
	assert.Equal(t, want, got)
}

func TestBunTimes(t *testing.T) {
	if !servers.AtLeast(2, 10, 0) {
		t.Skipf("Tarantool %s has no DATETIME", servers.Version())
	}
	type event struct {
		bun.BaseModel `bun:"table:bun_events"`

		ID int64 `bun:",pk"`
		At time.Time
	}
	db := openBun(t)
	createModel(t, db, (*event)(nil))
	want := event{ID: 1, At: time.Date(2026, 11, 30, 12, 0, 0, 123456789, time.FixedZone("", 3600))}
	_, err := db.NewInsert().Model(&want).Exec(t.Context())
	require.NoError(t, err)
	var got event
	require.NoError(t, db.NewSelect().Model(&got).Where("? = ?", bun.Ident("at"), want.At).Scan(t.Context()))
	assert.True(t, want.At.Equal(got.At), got.At)
}

func TestBunTransactions(t *testing.T) {
	needStreams(t)
	db := openBun(t)
	createTowns(t, db)
	undo := errors.New("undo")
	remove := func(ctx context.Context, on bun.IDB, id int) error {
		_, err := on.NewDelete().Model((*town)(nil)).Where("? = ?", bun.Ident("id"), id).Exec(ctx)
		return err
	}
	left := func() (ids []int64) {
		require.NoError(t, db.NewSelect().Model((*town)(nil)).Column("id").Order("id").Scan(t.Context(), &ids))
		return ids
	}

	err := db.RunInTx(t.Context(), nil, func(ctx context.Context, tx bun.Tx) error {
		return errors.Join(remove(ctx, tx, 1), undo)
	})
	require.ErrorIs(t, err, undo)
	assert.Equal(t, []int64{1, 2, 3}, left())

	// One in another is a savepoint. Retry runs the whole again after a conflict.
	require.NoError(t, tntsql.Retry(t.Context(), func(ctx context.Context) error {
		return db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
			if err := remove(ctx, tx, 1); err != nil {
				return err
			}
			err := tx.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
				return errors.Join(remove(ctx, tx, 2), undo)
			})
			if !errors.Is(err, undo) {
				return err
			}
			return tx.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error { return remove(ctx, tx, 3) })
		})
	}))
	assert.Equal(t, []int64{2}, left())
}

// bun's own handles write the arguments into the text, so what is no statement,
// a batch or a call, goes to the handle of database/sql beneath.
func TestBunBatch(t *testing.T) {
	db := openBun(t)
	towns := createTowns(t, db)
	var batch []tntsql.Query
	for _, query := range []interface{ String() string }{
		db.NewDelete().Model(&towns[0]).WherePK(),
		db.NewInsert().Model(&town{Name: "Umeå"}),
	} {
		batch = append(batch, tntsql.Query{SQL: query.String()})
	}
	_, err := tntsql.ExecBatch(t.Context(), db, batch...)
	require.ErrorIs(t, err, tntsql.ErrNotTarantool)
	results, err := tntsql.ExecBatch(t.Context(), db.DB, batch...)
	require.NoError(t, err)
	assert.Equal(t, []int64{4}, results[1].GeneratedIDs)
	var names []string
	require.NoError(t, db.NewSelect().Model((*town)(nil)).Column("name").Order("id").Scan(t.Context(), &names))
	assert.Equal(t, []string{"Tartu", "O'Higgins", "Umeå"}, names)
}

// What Tarantool does not have is an error of the server, or left out by bun.
func TestBunWithoutUpserts(t *testing.T) {
	db := openBun(t)
	towns := createTowns(t, db)
	_, err := db.NewInsert().Model(&towns[0]).On("CONFLICT DO NOTHING").Exec(t.Context())
	var answered *tntsql.Error
	require.ErrorAs(t, err, &answered)
	_, err = db.NewUpdate().Model(&towns).Column("name").Bulk().Exec(t.Context())
	require.ErrorAs(t, err, &answered)
	_, err = db.NewInsert().Model(&town{ID: 9}).Returning("*").Exec(t.Context())
	require.NoError(t, err, "it is left out")
	_, err = db.NewInsert().Model(&towns[0]).Ignore().Exec(t.Context())
	assert.True(t, tntsql.IsUniqueViolation(err), err)
}

func TestBunSpansNameTheInstance(t *testing.T) {
	traced, spans := openInstanceTraced(t)
	db := bun.NewDB(traced, bundialect.New())
	createTowns(t, db)
	checkInstances(t, spans,
		func(ctx context.Context) error {
			_, err := db.NewDelete().Model((*town)(nil)).Where("? = ?", bun.Ident("id"), 1).Exec(ctx)
			return err
		},
		func(ctx context.Context) error {
			var one int
			return db.NewSelect().ColumnExpr("1").Scan(ctx, &one)
		})
}
