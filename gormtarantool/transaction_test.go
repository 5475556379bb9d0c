package gormtarantool_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/gormtarantool"
	"github.com/tntsql/tntsql/tarantooltest"
)

var errWanted = errors.New("wanted")

func TestTransactions(t *testing.T) {
	needsTransactions(t)
	for name, config := range map[string]gorm.Config{"plain": {}, "prepared": {PrepareStmt: true}} {
		t.Run(name, func(t *testing.T) {
			config.Logger = quiet().Logger
			db := open(t, &config)
			migrate(t, db, &city{})
			create := func(tx *gorm.DB, name string) { require.NoError(t, tx.Create(&city{Name: name}).Error) }

			require.NoError(t, db.Transaction(func(tx *gorm.DB) error {
				create(tx, "a")
				err := tx.Transaction(func(nested *gorm.DB) error {
					create(nested, "b")
					return errWanted
				})
				require.ErrorIs(t, err, errWanted)
				create(tx, "c")
				return nil
			}))
			assert.Equal(t, []string{"a", "c"}, names(t, db))

			assert.ErrorIs(t, db.Transaction(func(tx *gorm.DB) error { create(tx, "d"); return errWanted }), errWanted)
			assert.Equal(t, []string{"a", "c"}, names(t, db))

			tx := db.Begin()
			create(tx, "e")
			require.NoError(t, tx.SavePoint("here").Error)
			create(tx, "f")
			require.NoError(t, tx.RollbackTo("here").Error)
			create(tx, "g")
			require.NoError(t, tx.Commit().Error)
			assert.Equal(t, []string{"a", "c", "e", "g"}, names(t, db))

			// A statement that fails does not end the transaction.
			require.NoError(t, db.Transaction(func(tx *gorm.DB) error {
				require.Error(t, tx.Create(&city{ID: 1}).Error)
				create(tx, "h")
				return nil
			}))
			assert.Equal(t, []string{"a", "c", "e", "g", "h"}, names(t, db))

			for name, migrate := range map[string]func(m gorm.Migrator) error{
				"alter":  func(m gorm.Migrator) error { return m.AlterColumn(&city{}, "Name") },
				"create": func(m gorm.Migrator) error { return m.CreateTable(&person{}) },
				"drop":   func(m gorm.Migrator) error { return m.DropTable(&city{}) },
				"again":  func(m gorm.Migrator) error { return m.AutoMigrate(&city{}) },
			} {
				err := db.Transaction(func(tx *gorm.DB) error {
					assert.True(t, tx.Migrator().HasTable(&city{}))
					return migrate(tx.Migrator())
				})
				if name == "again" { // there is nothing to do
					assert.NoError(t, err)
				} else {
					assert.ErrorContains(t, err, "inside a transaction", name)
				}
			}
		})
	}
}

func TestWithoutTransactionsOldServersSayWhy(t *testing.T) {
	if servers.AtLeast(2, 10, 0) {
		t.Skip("this server has transactions: Tarantool " + servers.Version())
	}
	db := open(t, quiet())
	assert.True(t, db.SkipDefaultTransaction)
	err := db.Transaction(func(*gorm.DB) error { return nil })
	require.ErrorIs(t, err, tntsql.ErrTxUnsupported)
	assert.ErrorContains(t, err, "2.10")
}

func TestServerWithoutMVCC(t *testing.T) {
	needsTransactions(t)
	rs := tarantooltest.Start(t, tarantooltest.Instances(1), tarantooltest.Cfg(map[string]any{"memtx_use_mvcc_engine": false}))
	db := openWith(t, gormtarantool.Open(rs.DSN("seq_scan=true")), quiet())
	assert.True(t, db.SkipDefaultTransaction)
	require.NoError(t, db.AutoMigrate(&city{}))
	require.NoError(t, db.Create([]city{{Name: "a"}, {Name: "b"}}).Error)
	assert.Equal(t, []string{"a", "b"}, names(t, db))
	err := db.Transaction(func(tx *gorm.DB) error {
		if err := tx.Create(&city{Name: "c"}).Error; err != nil {
			return err
		}
		return tx.Create(&city{Name: "d"}).Error
	})
	assert.ErrorContains(t, err, "memtx_use_mvcc_engine")
}

func TestServerWithMVCC(t *testing.T) {
	needsTransactions(t)
	assert.False(t, open(t, quiet()).SkipDefaultTransaction)
}

// A user may lack every right that is not on his own tables.
func TestServerIsLearntByAUserWithFewRights(t *testing.T) {
	for _, mvcc := range []bool{true, false} {
		cfg := map[string]any{}
		if servers.AtLeast(2, 10, 0) {
			cfg["memtx_use_mvcc_engine"] = mvcc
		}
		rs := tarantooltest.Start(t, tarantooltest.Instances(1), tarantooltest.Cfg(cfg))
		lua := func(code string) {
			_, err := rs.Lua(0, code)
			require.NoError(t, err)
		}
		lua(`box.schema.user.create('few', {password = 'few'})
			pcall(box.schema.user.grant, 'few', 'execute', 'sql')`)
		dsn := "tarantool://few:few@" + rs.Addr(0) + "/"
		db := openWith(t, gormtarantool.Open(dsn), quiet())
		assert.True(t, db.SkipDefaultTransaction, "nothing tells that there are transactions")

		lua(`box.execute([[CREATE TABLE hidden (id INTEGER PRIMARY KEY)]])
			box.execute([[CREATE TABLE seen (id INTEGER PRIMARY KEY)]])
			local seen = box.space.SEEN or box.space.seen
			box.schema.user.grant('few', 'read,write', 'space', seen.name)`)
		db = openWith(t, gormtarantool.Open(dsn), quiet())
		assert.Equal(t, !mvcc || !rs.AtLeast(2, 10, 0), db.SkipDefaultTransaction)
		require.NoError(t, db.Table("seen").Create(map[string]any{"id": 1}).Error)
	}
}
