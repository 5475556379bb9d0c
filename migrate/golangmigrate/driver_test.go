package golangmigrate

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/iotest"
	"time"

	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database"
	dt "github.com/golang-migrate/migrate/v4/database/testing"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/migrate/internal/shared"
	"github.com/tntsql/tntsql/tarantooltest"
)

// migrations would fail, each of them, if it ran twice.
var migrations = fstest.MapFS{
	"1_users.up.sql": {Data: []byte(`
CREATE TABLE "users" ("id" INTEGER PRIMARY KEY, "name" STRING); CREATE UNIQUE INDEX "name" ON "users" ("name");
`)},
	"1_users.down.sql": {Data: []byte(`DROP TABLE "users"`)},
	"2_log.up.sql": {Data: []byte(`-- a log; of users
CREATE TABLE "log" ("id" INTEGER PRIMARY KEY AUTOINCREMENT, "what" STRING);
CREATE TRIGGER "users_log" AFTER INSERT ON "users" FOR EACH ROW
BEGIN
	INSERT INTO "log" ("what") VALUES ('first; ' || new."name");
	INSERT INTO "log" ("what") VALUES (CASE WHEN new."id" = 1 THEN 'second; ' ELSE '' END || new."name");
END;
`)},
	"2_log.down.sql":   {Data: []byte(`DROP TRIGGER "users_log"; DROP TABLE "log";`)},
	"3_users.up.sql":   {Data: []byte(`INSERT INTO "users" VALUES (1, 'Ann');`)},
	"3_users.down.sql": {Data: []byte(`DELETE FROM "users" WHERE "id" = 1;`)},
}

func TestTheAcceptanceTestOfGolangMigrate(t *testing.T) {
	d := open(t, dsn(shared.Servers(t)))
	dt.Test(t, d, migrations["1_users.up.sql"].Data)
	assert.Empty(t, tables(t, d.db))
}

func TestTheAcceptanceTestOfMigrations(t *testing.T) {
	m := newMigrate(t, dsn(shared.Servers(t)), migrations)
	dt.TestMigrate(t, m)
	assert.Empty(t, tables(t, openDB(t, dsn(shared.Servers(t)))))
}

func TestUpAndDown(t *testing.T) {
	dropAfter(t)
	m := newMigrate(t, dsn(shared.Servers(t)), migrations)
	db := openDB(t, shared.Servers(t).DSN("read_mode=rw"))
	_, _, err := m.Version()
	require.ErrorIs(t, err, migrate.ErrNilVersion)

	require.NoError(t, m.Steps(1))
	requireVersion(t, m, 1, false)
	require.NoError(t, m.Up())
	requireVersion(t, m, 3, false)
	require.ErrorIs(t, m.Up(), migrate.ErrNoChange)
	var logged string
	require.NoError(t, db.QueryRowContext(t.Context(), `SELECT "what" FROM "log" WHERE "id" = 2`).Scan(&logged))
	assert.Equal(t, "second; Ann", logged)
	assert.ElementsMatch(t, []string{"schema_migrations", "schema_migrations_lock", "users", "log"}, tables(t, db))

	require.NoError(t, m.Migrate(1))
	requireVersion(t, m, 1, false)
	require.NoError(t, m.Down())
	_, _, err = m.Version()
	require.ErrorIs(t, err, migrate.ErrNilVersion)
	assert.ElementsMatch(t, []string{"schema_migrations", "schema_migrations_lock"}, tables(t, db))
	require.NoError(t, m.Up())
	requireVersion(t, m, 3, false)
}

func requireVersion(t *testing.T, m *migrate.Migrate, want uint, wantDirty bool) {
	t.Helper()
	version, dirty, err := m.Version()
	require.NoError(t, err)
	require.Equal(t, want, version)
	require.Equal(t, wantDirty, dirty)
}

func TestAMigrationThatFailsInItsMiddleLeavesTheDatabaseDirty(t *testing.T) {
	dropAfter(t)
	files := fstest.MapFS{
		"1_users.up.sql": migrations["1_users.up.sql"],
		"2_log.up.sql":   {Data: []byte("CREATE TABLE \"log\" (\"id\" INTEGER PRIMARY KEY);\n\nINSERT INTO \"log\" VALUES ('no integer');\nDROP TABLE \"log\"")},
	}
	m := newMigrate(t, dsn(shared.Servers(t)), files)
	err := m.Up()
	var failure *tntsql.Error
	require.ErrorAs(t, err, &failure)
	assert.ErrorContains(t, err, "golangmigrate: line 3, statement 2 of 3, of which those before it stay applied: tntsql: ")
	requireVersion(t, m, 2, true)
	require.ErrorAs(t, m.Up(), new(migrate.ErrDirty))
	require.ErrorAs(t, newMigrate(t, dsn(shared.Servers(t)), files).Down(), new(migrate.ErrDirty))

	_, err = openDB(t, dsn(shared.Servers(t))).ExecContext(t.Context(), `DROP TABLE "log"`)
	require.NoError(t, err)
	require.NoError(t, m.Force(1))
	requireVersion(t, m, 1, false)
	require.NoError(t, newMigrate(t, dsn(shared.Servers(t)), migrations).Up())
}

func TestAFileWithATransactionIsRefusedBeforeAnythingRuns(t *testing.T) {
	dropAfter(t)
	m := newMigrate(t, dsn(shared.Servers(t)), fstest.MapFS{
		"1_users.up.sql": migrations["1_users.up.sql"],
		"2_log.up.sql": {Data: []byte("CREATE TABLE \"log\" (\"id\" INTEGER PRIMARY KEY);\n" +
			"START TRANSACTION;\nINSERT INTO \"log\" VALUES (1);\nCOMMIT;")},
	})
	err := m.Up()
	require.ErrorIs(t, err, tntsql.ErrSessionStatement)
	assert.ErrorContains(t, err, "golangmigrate: line 2: START TRANSACTION: ")
	assert.ErrorContains(t, err, "remove this, and all other transaction control, from the file")
	assert.NotContains(t, tables(t, openDB(t, dsn(shared.Servers(t)))), "log")

	requireVersion(t, m, 2, true)
	require.NoError(t, m.Force(1))
	require.NoError(t, newMigrate(t, dsn(shared.Servers(t)), migrations).Up())
}

func TestRunOfAFileWithoutAStatement(t *testing.T) {
	dropAfter(t)
	d := open(t, dsn(shared.Servers(t)))
	require.NoError(t, d.Run(strings.NewReader("-- nothing;\n")))
	require.ErrorIs(t, d.Run(iotest.ErrReader(errors.ErrUnsupported)), errors.ErrUnsupported)
}

func TestOneOfManyProcessesMigrates(t *testing.T) {
	dropAfter(t)
	var migrated atomic.Int32
	var wg sync.WaitGroup
	for range 4 {
		m := newMigrate(t, dsn(shared.Servers(t)), migrations)
		wg.Go(func() {
			err := m.Up()
			if errors.Is(err, migrate.ErrNoChange) {
				return
			}
			assert.NoError(t, err)
			migrated.Add(1)
		})
	}
	wg.Wait()
	assert.EqualValues(t, 1, migrated.Load())
	requireVersion(t, newMigrate(t, dsn(shared.Servers(t)), migrations), 3, false)
}

func TestALockThatIsHeld(t *testing.T) {
	dropAfter(t)
	one, two := open(t, dsn(shared.Servers(t))), open(t, dsn(shared.Servers(t)))
	require.NoError(t, one.Lock())
	require.ErrorIs(t, one.Lock(), database.ErrLocked)
	two.lockWait = time.Second
	err := two.Lock()
	require.ErrorIs(t, err, database.ErrLocked)
	assert.ErrorContains(t, err, "the lock is held by ")
	require.ErrorIs(t, two.Unlock(), database.ErrNotLocked)

	require.NoError(t, one.Unlock())
	require.ErrorIs(t, one.Unlock(), database.ErrNotLocked)
	require.NoError(t, two.Lock())
}

// Migrate does not wait for a Lock that takes longer, and who holds a lock longer
// than Lock waits could not be got rid of.
func TestTheLockOfADeadProcessCanBeHad(t *testing.T) {
	assert.Less(t, lockTerm+lockTerm/10, lockWait)
	assert.Less(t, lockWait, migrate.DefaultLockTimeout)
}

func TestCloseReleasesTheLock(t *testing.T) {
	dropAfter(t)
	one, err := database.Open(dsn(shared.Servers(t)))
	require.NoError(t, err)
	require.NoError(t, one.Lock())
	require.NoError(t, one.Close())
	two := open(t, dsn(shared.Servers(t)))
	two.lockWait = time.Second
	require.NoError(t, two.Lock())
}

func TestBesideAReplicaWhoseApplierIsPaused(t *testing.T) {
	rs := tarantooltest.Start(t, tarantooltest.Instances(2))
	m := newMigrate(t, dsn(rs), migrations)
	require.NoError(t, m.Steps(1))
	plain := openDB(t, dsn(rs))
	onReplica := func() (version int64) {
		row := plain.QueryRowContext(t.Context(), `SELECT "version" FROM "schema_migrations" WHERE "id" = 1 AND NOT "dirty"`)
		if row.Scan(&version) != nil {
			return 0
		}
		return version
	}
	require.Eventually(t, func() bool { return onReplica() == 1 }, 10*time.Second, time.Millisecond)
	_, err := rs.Lua(1, "box.cfg{replication = {}}")
	require.NoError(t, err)

	require.NoError(t, m.Up())
	require.EqualValues(t, 1, onReplica())
	again := newMigrate(t, dsn(rs), migrations)
	requireVersion(t, again, 3, false)
	require.ErrorIs(t, again.Up(), migrate.ErrNoChange)
	require.NoError(t, again.Down())
	require.EqualValues(t, 1, onReplica())
	require.ErrorIs(t, again.Down(), migrate.ErrNoChange)
	require.NoError(t, again.Drop())
}

func TestAllIsDoneOnTheMaster(t *testing.T) {
	cfg, err := tntsql.ParseDSN(dsn(shared.Servers(t)))
	require.NoError(t, err)
	cfg.Trace = &tntsql.Trace{Done: func(_ context.Context, info tntsql.Info, _ error) {
		assert.Equal(t, tntsql.ModeRW, info.Mode)
	}}
	connector, err := tntsql.NewConnector(cfg)
	require.NoError(t, err)
	d, err := WithInstance(sql.OpenDB(connector), &Config{})
	require.NoError(t, err)
	defer d.Close()
	dt.Test(t, d, bytes.Join([][]byte{migrations["1_users.up.sql"].Data, migrations["2_log.up.sql"].Data}, nil))
}

func TestWithInstance(t *testing.T) {
	dropAfter(t)
	db := openDB(t, dsn(shared.Servers(t)))
	_, err := WithInstance(db, nil)
	require.ErrorIs(t, err, ErrNilConfig)
	d, err := WithInstance(db, &Config{MigrationsTable: `versions of "us"`})
	require.NoError(t, err)
	require.NoError(t, d.Lock())
	require.NoError(t, d.SetVersion(20260101000000, true))
	version, dirty, err := d.Version()
	require.NoError(t, err)
	assert.Equal(t, 20260101000000, version)
	assert.True(t, dirty)
	assert.Equal(t, []string{`versions of "us"`, `versions of "us"_lock`}, tables(t, db))
	require.NoError(t, d.Close())
	assert.ErrorContains(t, db.PingContext(t.Context()), "database is closed")
}

func TestErrorsAreNotTakenForAnEmptyTable(t *testing.T) {
	dropAfter(t)
	d := open(t, dsn(shared.Servers(t), "x-migrations-table=gone"))
	require.NoError(t, d.exec(`DROP TABLE "gone"`))
	_, _, err := d.Version()
	require.ErrorAs(t, err, new(*tntsql.Error))
	require.Error(t, d.SetVersion(1, false))
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
	url := "tarantool://migrator:" + password + "@" + rs.Addr(0) + "/"
	m := newMigrate(t, url, migrations)
	require.NoError(t, m.Up())
	require.NoError(t, m.Down())
	makeEverything(t, openDB(t, url))
	require.NoError(t, m.Drop())
	assert.Empty(t, tables(t, openDB(t, url)))
}

func TestErrorsOfTheURLHideThePassword(t *testing.T) {
	const password = "s3cret"
	rs := tarantooltest.Start(t, tarantooltest.Instances(1))
	for name, url := range map[string]string{
		"a wrong password":      "tarantool://app:" + password + "@" + rs.Addr(0) + "/?selection_timeout=0",
		"nobody there":          "tarantool://app:" + password + "@127.0.0.1:1/?selection_timeout=0",
		"an unknown parameter":  "tarantool://app:" + password + "@127.0.0.1:1/?unknown=1",
		"an unknown x-":         "tarantool://app:" + password + "@127.0.0.1:1/?x-unknown=1",
		"a bad table":           "tarantool://app:" + password + "@127.0.0.1:1/?x-migrations-table=%zz",
		"a raw question mark":   "tarantool://app:" + password + "?@127.0.0.1:1/",
		"a raw at":              "tarantool://app:" + password + "@" + password + "@127.0.0.1:1/",
		"a port that is no one": "tarantool://app:" + password + "@127.0.0.1:port/",
	} {
		t.Run(name, func(t *testing.T) {
			if name == "a wrong password" {
				url = strings.Replace(url, password, password+"-wrong", 1)
			}
			_, err := migrate.NewWithSourceInstance("iofs", nil, url)
			require.ErrorContains(t, err, "golangmigrate: ")
			assert.NotContains(t, err.Error(), password)
			assert.NotContains(t, fmt.Sprintf("%+v %#v", err, err), password)
		})
	}
}
