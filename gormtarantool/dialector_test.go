package gormtarantool_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/gormtarantool"
)

func TestName(t *testing.T) {
	assert.Equal(t, "tarantool", gormtarantool.Open("").Name())
}

func TestDSNErrorsComeFromOpen(t *testing.T) {
	_, err := gorm.Open(gormtarantool.Open("tarantool://app:secret@h/?no_such_parameter=1"), quiet())
	require.ErrorContains(t, err, "no_such_parameter")
	assert.NotContains(t, err.Error(), "secret")
}

// wrapped is what a metrics library may put around a *sql.DB.
type wrapped struct{ *sql.DB }

func (w wrapped) GetDBConn() (*sql.DB, error) { return w.DB, nil }

func TestExistingConnections(t *testing.T) {
	pool, err := sql.Open(tntsql.DriverName, dsn())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, pool.Close()) })
	for name, conn := range map[string]gorm.ConnPool{"sql.DB": pool, "another ConnPool": wrapped{pool}} {
		t.Run(name, func(t *testing.T) {
			db, err := gorm.Open(gormtarantool.New(gormtarantool.Config{Conn: conn}), quiet())
			require.NoError(t, err)
			migrate(t, db, &city{})
			require.NoError(t, db.Create(&city{Name: "Bonn"}).Error)
			require.NoError(t, db.Migrator().RenameColumn(&city{}, "people", "inhabitants"))
			assert.Equal(t, []string{"Bonn"}, names(t, db))
			assert.Equal(t, servers.AtLeast(2, 10, 0), !db.SkipDefaultTransaction)
		})
	}
}

// Without a Mode, reads go where read_mode says; with one, where that says.
func TestReadsAndWritesAreRouted(t *testing.T) {
	db := open(t, quiet())
	migrate(t, db, &city{})
	replicas := openWith(t, gormtarantool.Open(servers.DSN("read_mode=prefer_ro", "seq_scan=true")), quiet())
	served := func(ctx context.Context, f func(*gorm.DB) error) string {
		ctx, info := tntsql.Capture(ctx)
		require.NoError(t, f(replicas.WithContext(ctx)))
		return info.Instance.UUID
	}
	master, replica := servers.UUID(servers.Master()), servers.UUID(1-servers.Master())
	write := func(tx *gorm.DB) error { return tx.Create(&city{Name: "Bonn"}).Error }
	read := func(tx *gorm.DB) error { return tx.Find(&[]city{}).Error }

	require.Eventually(t, func() bool { return replicas.Find(&[]city{}).Error == nil }, waitFor, tick, "the replica has the table")
	replicas.SkipDefaultTransaction = true // Capture tells of the last statement only
	assert.Equal(t, master, served(t.Context(), write))
	assert.Equal(t, replica, served(t.Context(), read))
	assert.Equal(t, master, served(tntsql.WithMode(t.Context(), tntsql.ModeRW), read))
	assert.Equal(t, replica, served(tntsql.WithMode(t.Context(), tntsql.ModeRO), read))
}

func TestSessionReadsItsOwnWrites(t *testing.T) {
	db := open(t, quiet())
	migrate(t, db, &city{})
	replicas := openWith(t, gormtarantool.Open(servers.DSN("read_mode=prefer_ro", "seq_scan=true")), quiet())
	session := replicas.WithContext(tntsql.WithSession(t.Context()))
	for i := range 100 {
		c := city{People: i}
		require.NoError(t, session.Create(&c).Error)
		var got city
		require.NoError(t, session.First(&got, c.ID).Error)
		assert.Equal(t, i, got.People)
	}
}

func TestFoldedNames(t *testing.T) {
	// On 3.x too, names in raw SQL are found whatever their case, as on 2.x.
	db := openWith(t, gormtarantool.New(gormtarantool.Config{DSN: dsn(), FoldNames: gormtarantool.FoldAlways}), quiet())
	migrate(t, db, &city{})
	require.NoError(t, db.Create(&city{Name: "Bonn"}).Error)
	values, err := servers.Lua(servers.Master(), "return box.space.CITIES ~= nil")
	require.NoError(t, err)
	assert.Equal(t, []any{true}, values)
	var found city
	require.NoError(t, db.Where("Name = ? AND id = 1", "Bonn").First(&found).Error)
	assert.Equal(t, "Bonn", found.Name)
	tables, err := db.Migrator().GetTables()
	require.NoError(t, err)
	assert.Contains(t, tables, "cities")

	exact := openWith(t, gormtarantool.New(gormtarantool.Config{DSN: dsn(), FoldNames: gormtarantool.FoldNever}), quiet())
	assert.False(t, exact.Migrator().HasTable(&city{}))
	assert.True(t, exact.Migrator().HasTable("CITIES"))
}

// keyworded has columns that are keywords: some on every server, some since 2.11, some
// in certain places only.
type keyworded struct {
	ID      int
	User    string `gorm:"index"`
	Number  int
	Order   int
	Group   int
	Limit   int
	Key     int
	Action  int
	Seqscan int
	Map     int
	Count   int
}

func (keyworded) TableName() string { return "transaction" }

func TestKeywordsAsNames(t *testing.T) {
	db := open(t, quiet())
	migrate(t, db, &keyworded{})
	want := keyworded{1, "Ann", 2, 3, 4, 5, 6, 7, 8, 9, 10}
	require.NoError(t, db.Create(&want).Error)
	require.NoError(t, db.Model(&want).Updates(map[string]any{"number": 20, "action": 70, "count": 100}).Error)
	var got keyworded
	conditions := map[string]any{"user": "Ann", "number": 20, "key": 6, "seqscan": 8, "map": 9, "count": 100}
	require.NoError(t, db.Where(conditions).Order(clause.OrderByColumn{Column: clause.Column{Name: "limit"}}).Take(&got).Error)
	assert.Equal(t, keyworded{1, "Ann", 20, 3, 4, 5, 6, 70, 8, 9, 100}, got)
}
