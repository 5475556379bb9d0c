package tntgoose

import (
	"context"
	"database/sql"
	"io/fs"
	"testing"
	"testing/fstest"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/migrate/internal/shared"
)

// newStore gives a store whose table is dropped after the test.
func newStore(t *testing.T, db *sql.DB, table string) database.StoreExtender {
	t.Helper()
	s := NewStore(table)
	t.Cleanup(func() {
		_, err := db.ExecContext(context.Background(), "DROP TABLE IF EXISTS "+s.(*store).table())
		assert.NoError(t, err)
	})
	return s
}

func TestStore(t *testing.T) {
	db, ctx := openDB(t, shared.Servers(t)), t.Context()
	s := newStore(t, db, `Versions of "us"`)
	assert.Equal(t, `Versions of "us"`, s.Tablename())

	exists, err := s.TableExists(ctx, db)
	require.NoError(t, err)
	assert.False(t, exists)
	require.NoError(t, s.CreateVersionTable(ctx, db))
	require.NoError(t, s.CreateVersionTable(ctx, db))
	exists, err = s.TableExists(ctx, db)
	require.NoError(t, err)
	assert.False(t, exists, "without its first row")

	_, err = s.GetLatestVersion(ctx, db)
	require.ErrorIs(t, err, database.ErrVersionNotFound)
	_, err = s.GetMigration(ctx, db, 0)
	require.ErrorIs(t, err, database.ErrVersionNotFound)
	list, err := s.ListMigrations(ctx, db)
	require.NoError(t, err)
	assert.Equal(t, []*database.ListMigrationsResult{}, list)

	for _, version := range []int64{0, 20260101000000, 2} {
		require.NoError(t, s.Insert(ctx, db, database.InsertRequest{Version: version}))
	}
	require.True(t, tntsql.IsUniqueViolation(s.Insert(ctx, db, database.InsertRequest{Version: 2})))
	exists, err = s.TableExists(ctx, db)
	require.NoError(t, err)
	assert.True(t, exists)
	latest, err := s.GetLatestVersion(ctx, db)
	require.NoError(t, err)
	assert.EqualValues(t, 20260101000000, latest)
	list, err = s.ListMigrations(ctx, db)
	require.NoError(t, err)
	assert.Equal(t, []*database.ListMigrationsResult{{Version: 2, IsApplied: true}, {Version: 20260101000000, IsApplied: true}, {IsApplied: true}}, list)
	migration, err := s.GetMigration(ctx, db, 2)
	require.NoError(t, err)
	assert.True(t, migration.IsApplied)
	assert.WithinDuration(t, time.Now(), migration.Timestamp, time.Minute)

	require.NoError(t, s.Delete(ctx, db, 20260101000000))
	latest, err = s.GetLatestVersion(ctx, db)
	require.NoError(t, err)
	assert.EqualValues(t, 2, latest)
}

func TestStoreErrorsAreNotTakenForAnEmptyTable(t *testing.T) {
	db, ctx := openDB(t, shared.Servers(t)), t.Context()
	s := NewStore("no table")
	_, err := s.GetLatestVersion(ctx, db)
	require.Error(t, err)
	require.NotErrorIs(t, err, database.ErrVersionNotFound)
	_, err = s.GetMigration(ctx, db, 0)
	require.Error(t, err)
	require.NotErrorIs(t, err, database.ErrVersionNotFound)
	_, err = s.ListMigrations(ctx, db)
	require.Error(t, err)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err = s.TableExists(ended, db)
	require.ErrorIs(t, err, context.Canceled)
}

func TestAnotherTable(t *testing.T) {
	db := openDB(t, shared.Servers(t))
	cleanAfter(t, db)
	provider, err := goose.NewProvider(goose.DialectCustom, db, migrations, goose.WithStore(newStore(t, db, "versions")),
		goose.WithIsolateDDL(true), goose.WithLocker(NewLocker()), goose.WithLogger(goose.NopLogger()))
	require.NoError(t, err)
	_, err = provider.Up(t.Context())
	require.NoError(t, err)
	assert.Contains(t, tables(t, db), "versions")
	assert.NotContains(t, tables(t, db), "goose_db_version")
}

// Goose makes its table in a transaction unless it is told not to.
func TestATransactionAroundTheTableIsRefusedWithWhatToDo(t *testing.T) {
	db := openDB(t, shared.Servers(t))
	tx, err := db.BeginTx(t.Context(), nil)
	if !shared.Servers(t).AtLeast(2, 10, 0) {
		require.ErrorIs(t, err, tntsql.ErrTxUnsupported)
		return
	}
	require.NoError(t, err)
	defer func() { assert.NoError(t, tx.Rollback()) }()
	assert.ErrorContains(t, NewStore("versions").CreateVersionTable(t.Context(), tx), "goose.WithIsolateDDL(true)")
}

func TestAMissingFile(t *testing.T) {
	_, err := files{fstest.MapFS{}}.Open("missing.sql")
	assert.ErrorIs(t, err, fs.ErrNotExist)
}
