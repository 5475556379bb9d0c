package tntgoose

import (
	"context"
	"database/sql"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/migrate/internal/shared"
	"github.com/tntsql/tntsql/tarantooltest"
)

// migrations would fail, each of them, if it ran twice.
var migrations = fstest.MapFS{
	"00001_users.sql": {Data: []byte(`-- +goose Up
CREATE TABLE "users" ("id" INTEGER PRIMARY KEY, "name" STRING);
CREATE UNIQUE INDEX "name" ON "users" ("name");
-- +goose Down
DROP TABLE "users";
`)},
	"00002_log.sql": {Data: []byte(`-- +goose Up
CREATE TABLE "log" ("id" INTEGER PRIMARY KEY AUTOINCREMENT, "what" STRING);
-- +goose StatementBegin
CREATE TRIGGER "users_log" AFTER INSERT ON "users" FOR EACH ROW
BEGIN
	INSERT INTO "log" ("what") VALUES ('first; ' || new."name");
	INSERT INTO "log" ("what") VALUES ('second; ' || new."name");
END;
-- +goose StatementEnd
-- +goose Down
DROP TRIGGER "users_log";
DROP TABLE "log";
`)},
	"00003_ann.sql": {Data: []byte(`-- +goose NO TRANSACTION
-- +goose Up
INSERT INTO "users" VALUES (1, 'Ann');
-- +goose Down
DELETE FROM "users" WHERE "id" = 1;
`)},
}

func newProvider(t *testing.T, db *sql.DB, files fstest.MapFS) *goose.Provider {
	t.Helper()
	provider, err := NewProvider(db, files, goose.WithLogger(goose.NopLogger()), goose.WithDisableGlobalRegistry(true))
	require.NoError(t, err)
	return provider
}

func TestUpAndDown(t *testing.T) {
	db := openDB(t, shared.Servers(t))
	cleanAfter(t, db)
	provider := newProvider(t, db, migrations)
	ctx := t.Context()

	pending, err := provider.HasPending(ctx)
	require.NoError(t, err)
	assert.True(t, pending)
	result, err := provider.UpByOne(ctx)
	require.NoError(t, err)
	assert.EqualValues(t, 1, result.Source.Version)
	results, err := provider.Up(ctx)
	require.NoError(t, err)
	assert.Len(t, results, 2)
	results, err = provider.Up(ctx)
	require.NoError(t, err)
	assert.Empty(t, results)

	version, err := provider.GetDBVersion(ctx)
	require.NoError(t, err)
	assert.EqualValues(t, 3, version)
	assert.ElementsMatch(t, []string{"goose_db_version", "goose_lock", "users", "log"}, tables(t, db))
	var logged string
	require.NoError(t, db.QueryRowContext(onMaster(t), `SELECT "what" FROM "log" WHERE "id" = 2`).Scan(&logged))
	assert.Equal(t, "second; Ann", logged)

	status, err := provider.Status(ctx)
	require.NoError(t, err)
	require.Len(t, status, 3)
	for _, s := range status {
		assert.Equal(t, goose.StateApplied, s.State)
		assert.WithinDuration(t, time.Now(), s.AppliedAt, time.Minute)
	}

	result, err = provider.Down(ctx)
	require.NoError(t, err)
	assert.EqualValues(t, 3, result.Source.Version)
	status, err = provider.Status(ctx)
	require.NoError(t, err)
	assert.Equal(t, goose.StatePending, status[2].State)
	_, err = provider.ApplyVersion(ctx, 2, true)
	require.ErrorIs(t, err, goose.ErrAlreadyApplied)

	results, err = provider.DownTo(ctx, 0)
	require.NoError(t, err)
	assert.Len(t, results, 2)
	assert.ElementsMatch(t, []string{"goose_db_version", "goose_lock"}, tables(t, db))
	_, err = provider.Down(ctx)
	require.ErrorIs(t, err, goose.ErrNoNextVersion)
	results, err = provider.Up(ctx)
	require.NoError(t, err)
	assert.Len(t, results, 3)
}

func TestMigrationsOutOfOrderGoDownInTheirOwnOrder(t *testing.T) {
	db := openDB(t, shared.Servers(t))
	cleanAfter(t, db)
	nothing := goose.NewGoMigration
	provider, err := NewProvider(db, nil, goose.WithLogger(goose.NopLogger()), goose.WithAllowOutofOrder(true),
		goose.WithDisableGlobalRegistry(true), goose.WithGoMigrations(nothing(1, nil, nil), nothing(3, nil, nil)))
	require.NoError(t, err)
	_, err = provider.Up(t.Context())
	require.NoError(t, err)
	provider, err = NewProvider(db, nil, goose.WithLogger(goose.NopLogger()), goose.WithAllowOutofOrder(true),
		goose.WithDisableGlobalRegistry(true), goose.WithGoMigrations(nothing(1, nil, nil), nothing(2, nil, nil), nothing(3, nil, nil)))
	require.NoError(t, err)
	_, err = provider.Up(t.Context())
	require.NoError(t, err)
	result, err := provider.Down(t.Context())
	require.NoError(t, err)
	assert.EqualValues(t, 2, result.Source.Version)
}

func TestGoMigrations(t *testing.T) {
	db := openDB(t, shared.Servers(t))
	cleanAfter(t, db)
	up := func(ctx context.Context, db *sql.DB) error {
		_, err := db.ExecContext(ctx, `CREATE TABLE "users" ("id" INTEGER PRIMARY KEY)`)
		return err
	}
	provider, err := NewProvider(db, nil, goose.WithLogger(goose.NopLogger()), goose.WithDisableGlobalRegistry(true),
		goose.WithGoMigrations(goose.NewGoMigration(1, &goose.GoFunc{RunDB: up}, nil)))
	require.NoError(t, err)
	_, err = provider.Up(t.Context())
	require.NoError(t, err)
	assert.Contains(t, tables(t, db), "users")
}

func TestAFileWithATransactionIsRefusedBeforeAnythingRuns(t *testing.T) {
	db := openDB(t, shared.Servers(t))
	cleanAfter(t, db)
	provider := newProvider(t, db, fstest.MapFS{
		"00001_users.sql": migrations["00001_users.sql"],
		"00002_log.sql": {Data: []byte(`-- +goose Up
CREATE TABLE "log" ("id" INTEGER PRIMARY KEY);
START TRANSACTION;
INSERT INTO "log" VALUES (1);
COMMIT;
`)},
	})
	_, err := provider.Up(t.Context())
	require.ErrorIs(t, err, tntsql.ErrSessionStatement)
	assert.ErrorContains(t, err, "tntgoose: 00002_log.sql: line 3: START TRANSACTION: ")
	assert.ErrorContains(t, err, "remove this, and all other transaction control, from the file")
	assert.ElementsMatch(t, []string{"goose_db_version", "goose_lock"}, tables(t, db))
}

// What came before the statement that failed stays, and goose does not record the
// migration: so it must be undone by hand, or written to stand being run again.
func TestAMigrationThatFailsInItsMiddle(t *testing.T) {
	db := openDB(t, shared.Servers(t))
	cleanAfter(t, db)
	provider := newProvider(t, db, fstest.MapFS{
		"00001_users.sql": migrations["00001_users.sql"],
		"00002_log.sql": {Data: []byte(`-- +goose Up
CREATE TABLE IF NOT EXISTS "log" ("id" INTEGER PRIMARY KEY);
INSERT INTO "log" VALUES ('no integer');
`)},
	})
	_, err := provider.Up(t.Context())
	var partial *goose.PartialError
	require.ErrorAs(t, err, &partial)
	assert.Len(t, partial.Applied, 1)
	assert.EqualValues(t, 2, partial.Failed.Source.Version)
	var failure *tntsql.Error
	require.ErrorAs(t, err, &failure)
	assert.Contains(t, tables(t, db), "log")
	version, err := provider.GetDBVersion(t.Context())
	require.NoError(t, err)
	assert.EqualValues(t, 1, version)

	corrected := newProvider(t, db, fstest.MapFS{
		"00001_users.sql": migrations["00001_users.sql"],
		"00002_log.sql":   {Data: []byte("-- +goose Up\nCREATE TABLE IF NOT EXISTS \"log\" (\"id\" INTEGER PRIMARY KEY);\nINSERT INTO \"log\" VALUES (1);\n")},
	})
	_, err = corrected.Up(t.Context())
	require.NoError(t, err)
}

func TestOneOfManyProcessesMigrates(t *testing.T) {
	db := openDB(t, shared.Servers(t))
	cleanAfter(t, db)
	var mu sync.Mutex
	var applied []int64
	var wg sync.WaitGroup
	for range 4 {
		provider := newProvider(t, openDB(t, shared.Servers(t)), migrations)
		wg.Go(func() {
			results, err := provider.Up(t.Context())
			assert.NoError(t, err)
			mu.Lock()
			defer mu.Unlock()
			for _, r := range results {
				applied = append(applied, r.Source.Version)
			}
		})
	}
	wg.Wait()
	assert.Equal(t, []int64{1, 2, 3}, applied)
}

func TestALockThatIsHeld(t *testing.T) {
	db := openDB(t, shared.Servers(t))
	cleanAfter(t, db)
	locker := NewLocker()
	require.NoError(t, locker.Lock(t.Context(), openDB(t, shared.Servers(t))))

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_, err := newProvider(t, db, migrations).Up(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.ErrorContains(t, err, "tntgoose: the lock is held by ")

	require.NoError(t, locker.Unlock(t.Context(), db))
	require.Error(t, locker.Unlock(t.Context(), db))
	_, err = newProvider(t, db, migrations).Up(t.Context())
	require.NoError(t, err)
}

func TestBesideAReplicaWhoseApplierIsPaused(t *testing.T) {
	rs := tarantooltest.Start(t, tarantooltest.Instances(2))
	db := openDB(t, rs)
	provider := newProvider(t, db, migrations)
	_, err := provider.UpByOne(t.Context())
	require.NoError(t, err)
	replicated := func() bool {
		var n int
		err := db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM "goose_db_version" WHERE "version_id" = 1`).Scan(&n)
		return err == nil && n == 1
	}
	require.Eventually(t, replicated, 10*time.Second, time.Millisecond)
	_, err = rs.Lua(1, "box.cfg{replication = {}}")
	require.NoError(t, err)

	_, err = provider.Up(t.Context())
	require.NoError(t, err)
	var old int64
	require.NoError(t, db.QueryRowContext(t.Context(), `SELECT MAX("version_id") FROM "goose_db_version"`).Scan(&old))
	require.EqualValues(t, 1, old, "of a plain read, which the replica serves")

	again := newProvider(t, openDB(t, rs), migrations)
	for _, ctx := range []context.Context{t.Context(), tntsql.WithMode(t.Context(), tntsql.ModePreferRO)} {
		results, err := again.Up(ctx)
		require.NoError(t, err)
		assert.Empty(t, results)
		status, err := again.Status(ctx)
		require.NoError(t, err)
		assert.Equal(t, goose.StateApplied, status[2].State)
		version, err := again.GetDBVersion(ctx)
		require.NoError(t, err)
		assert.EqualValues(t, 3, version)
	}
	_, err = again.DownTo(t.Context(), 0)
	require.NoError(t, err)
	pending, err := again.HasPending(t.Context())
	require.NoError(t, err)
	assert.True(t, pending)
}

func TestAllIsDoneOnTheMaster(t *testing.T) {
	cfg, err := tntsql.ParseDSN(shared.Servers(t).DSN("read_mode=ro"))
	require.NoError(t, err)
	cfg.Trace = &tntsql.Trace{Done: func(_ context.Context, info tntsql.Info, _ error) {
		assert.Equal(t, tntsql.ModeRW, info.Mode)
	}}
	connector, err := tntsql.NewConnector(cfg)
	require.NoError(t, err)
	db := sql.OpenDB(connector)
	defer db.Close()
	defer cleanAfter(t, openDB(t, shared.Servers(t)))

	provider := newProvider(t, db, migrations)
	_, err = provider.Up(t.Context())
	require.NoError(t, err)
	_, err = provider.Status(t.Context())
	require.NoError(t, err)
	_, err = provider.DownTo(t.Context(), 0)
	require.NoError(t, err)
}

// The grants are those of the README.
func TestAUserWithNoMoreThanTheGrants(t *testing.T) {
	const password = "s3cret"
	rs := tarantooltest.Start(t, tarantooltest.Instances(1))
	_, err := rs.Lua(0, `
		box.schema.user.create('migrator', {password = ...})
		box.schema.user.grant('migrator', 'read,write,create,drop,alter', 'universe')
		if not _TARANTOOL:match('^2') then
			box.schema.user.grant('migrator', 'execute', 'sql')
		end`, password)
	require.NoError(t, err)
	db := openDSN(t, "tarantool://migrator:"+password+"@"+rs.Addr(0)+"/")
	provider := newProvider(t, db, migrations)
	_, err = provider.Up(t.Context())
	require.NoError(t, err)
	_, err = provider.DownTo(t.Context(), 0)
	require.NoError(t, err)

	const wrong = "wr0ng"
	_, err = newProvider(t, openDSN(t, "tarantool://migrator:"+wrong+"@"+rs.Addr(0)+"/?selection_timeout=0"), migrations).Up(t.Context())
	require.ErrorIs(t, err, tntsql.ErrNoInstance)
	assert.NotContains(t, err.Error(), wrong)
}

func TestOptionsThatNewProviderHasSetAreRefused(t *testing.T) {
	db := openDSN(t, "tarantool://127.0.0.1:1/")
	for _, option := range []goose.ProviderOption{goose.WithStore(NewStore("versions")), goose.WithLocker(NewLocker())} {
		_, err := NewProvider(db, migrations, option)
		assert.ErrorContains(t, err, "already")
	}
	_, err := NewProvider(db, fstest.MapFS{})
	assert.ErrorIs(t, err, goose.ErrNoMigrations)
	_, err = NewProvider(nil, migrations)
	assert.Error(t, err)
}
