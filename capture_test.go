package tntsql_test

import (
	"database/sql/driver"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
)

func TestCaptureTellsHowAStatementWasServed(t *testing.T) {
	rs := sharedSet(t)
	db := open(t)
	name := table(t, rs, "ID INTEGER PRIMARY KEY")
	for _, c := range []struct {
		text string
		mode tntsql.Mode
		kind tntsql.Kind
		want tntsql.Mode
	}{
		{"INSERT INTO " + name + " VALUES (1)", tntsql.ModePreferRO, tntsql.KindWrite, tntsql.ModeRW},
		{"CREATE TABLE IF NOT EXISTS " + name + " (ID INTEGER PRIMARY KEY)", 0, tntsql.KindDDL, tntsql.ModeRW},
		{"FOO BAR", 0, tntsql.KindUnknown, tntsql.ModeRW},
		{"SELECT 1", 0, tntsql.KindRead, tntsql.ModeRW}, // by Exec
		{"SELECT 1", tntsql.ModeRO, tntsql.KindRead, tntsql.ModeRO},
	} {
		t.Run(c.text, func(t *testing.T) {
			ctx, info := tntsql.Capture(withMode(t, c.mode))
			start := time.Now()
			_, err := db.ExecContext(ctx, c.text)
			took := time.Since(start)
			assert.Equal(t, c.kind == tntsql.KindUnknown, err != nil)

			i := number(t, rs, info.Instance.UUID)
			role := "ro"
			if i == 0 {
				role = "rw"
			}
			assert.Equal(t, rs.Addr(i), info.Instance.Address)
			assert.Equal(t, role, info.Instance.Role)
			assert.NotEmpty(t, info.Instance.ReplicaSet)
			assert.Equal(t, c.kind, info.Kind)
			assert.Equal(t, c.want, info.Mode)
			assert.Equal(t, 1, info.Attempts)
			assert.Zero(t, info.Wait)
			assert.Positive(t, info.Duration)
			assert.LessOrEqual(t, info.Duration, took)
			assert.Empty(t, info.GeneratedIDs)
		})
	}
}

func TestGeneratedIDs(t *testing.T) {
	rs := sharedSet(t)
	db := open(t)
	name := table(t, rs, "ID INTEGER PRIMARY KEY AUTOINCREMENT, N INTEGER")
	for _, c := range []struct {
		text     string
		affected int64
		ids      []int64
	}{
		{"INSERT INTO " + name + " (N) VALUES (1)", 1, []int64{1}},
		{"INSERT INTO " + name + " (N) VALUES (2), (3), (4)", 3, []int64{2, 3, 4}},
		{"INSERT INTO " + name + " VALUES (NULL, 5), (10, 6), (NULL, 7)", 3, []int64{5, 11}},
		{"INSERT INTO " + name + " VALUES (20, 8)", 1, nil},
		{"REPLACE INTO " + name + " VALUES (20, 9)", 2, nil},
		{"UPDATE " + name + " SET N = 0 WHERE ID = 1", 1, nil},
		{"UPDATE " + name + " SET N = 0 WHERE ID = 1000", 0, nil},
		{"DELETE FROM " + name + " WHERE ID < 3", 2, nil},
		{"CREATE TABLE IF NOT EXISTS " + name + " (ID INTEGER PRIMARY KEY)", 0, nil},
	} {
		t.Run(c.text, func(t *testing.T) {
			ctx, info := tntsql.Capture(t.Context())
			result, err := db.ExecContext(ctx, c.text)
			require.NoError(t, err)
			affected, err := result.RowsAffected()
			require.NoError(t, err)
			assert.Equal(t, c.affected, affected)
			first, err := result.LastInsertId()
			require.NoError(t, err)
			if len(c.ids) > 0 {
				assert.Equal(t, c.ids[0], first)
			} else {
				assert.Zero(t, first)
			}
			assert.Equal(t, c.ids, info.GeneratedIDs)
		})
	}
}

func TestCaptureIsOfTheLatestStatement(t *testing.T) {
	rs := sharedSet(t)
	db := open(t)
	name := table(t, rs, "ID INTEGER PRIMARY KEY AUTOINCREMENT")
	ctx, info := tntsql.Capture(t.Context())
	_, err := db.ExecContext(ctx, "INSERT INTO "+name+" VALUES (NULL)")
	require.NoError(t, err)
	assert.Equal(t, []int64{1}, info.GeneratedIDs)

	_, err = tntsql.Call(ctx, db, tntsql.ModeRO, "who")
	require.NoError(t, err)
	assert.Equal(t, tntsql.KindCall, info.Kind)
	assert.Empty(t, info.GeneratedIDs)

	_, err = tntsql.Eval(ctx, db, tntsql.ModeRO, "return 1")
	require.NoError(t, err)
	assert.Equal(t, tntsql.KindEval, info.Kind)
}

func TestCaptureForgetsTheStatementBeforeOneThatIsNotSent(t *testing.T) {
	db := open(t)
	ctx, info := tntsql.Capture(t.Context())
	_, err := db.ExecContext(ctx, "VALUES (1)")
	require.NoError(t, err)
	require.NotEmpty(t, info.Instance)
	_, err = db.ExecContext(ctx, "VALUES (?)")
	require.Error(t, err)
	assert.Equal(t, tntsql.Info{}, *info)
}

type quitter struct{}

func (quitter) Value() (driver.Value, error) {
	runtime.Goexit()
	return nil, nil
}

// As t.FailNow in a Valuer does.
func TestArgumentThatEndsItsGoroutineTakesNoRoom(t *testing.T) {
	db := open(t, "max_in_flight=2", "read_mode=rw")
	for range 5 {
		var wg sync.WaitGroup
		wg.Go(func() {
			_, _ = tntsql.ExecBatch(t.Context(), db, tntsql.Query{SQL: "SELECT ?", Args: []any{quitter{}}})
		})
		wg.Wait()
	}
	assert.Equal(t, 1, value[int](t, db, "SELECT 1"))
}
