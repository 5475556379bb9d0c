package gormtarantool_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/gormtarantool"
)

func TestAutoMigrateTwiceChangesNothing(t *testing.T) {
	type parent struct {
		ID   uint
		Code string `gorm:"size:100;uniqueIndex"`
	}
	type child struct {
		ID       uint
		Name     string  `gorm:"not null;default:it's me;index:idx_name_rank,priority:1"`
		Rank     int64   `gorm:"default:-7;index:idx_name_rank,priority:2"`
		Share    float64 `gorm:"default:1.50"`
		Enabled  bool    `gorm:"default:true"`
		Off      bool    `gorm:"default:false"`
		Big      uint64  `gorm:"type:bigint unsigned"`
		Words    string  `gorm:"type:varchar(20);unique"`
		Blob     []byte
		Checked  int `gorm:"check:checked_is_small,checked < 100"`
		ParentID *uint
		Parent   *parent
		Parents  []parent `gorm:"many2many:child_parents"`
	}
	db := open(t, quiet())
	require.NoError(t, db.Migrator().DropTable("child_parents"))
	migrate(t, db, &parent{}, &child{})
	t.Cleanup(func() { assert.NoError(t, db.Migrator().DropTable("child_parents")) })

	before := schemaVersion(t)
	require.NoError(t, db.AutoMigrate(&parent{}, &child{}))
	assert.Equal(t, before, schemaVersion(t))

	c := child{Words: "x"}
	require.NoError(t, db.Create(&c).Error)
	require.NoError(t, db.Exec("INSERT INTO children (words, checked) VALUES ('y', 1)").Error)
	var stored []child
	require.NoError(t, db.Order("id").Find(&stored).Error)
	require.Len(t, stored, 2)
	assert.Equal(t, "it's me", stored[1].Name)
	assert.EqualValues(t, -7, stored[1].Rank)
	assert.InDelta(t, 1.5, stored[1].Share, 0)
	assert.True(t, stored[1].Enabled)
}

func TestAutoMigrateTwiceWithTimes(t *testing.T) {
	needsTimes(t)
	type timed struct {
		gorm.Model
		At *time.Time `gorm:"default:2000-01-02"`
	}
	db := open(t, quiet())
	migrate(t, db, &timed{})
	before := schemaVersion(t)
	require.NoError(t, db.AutoMigrate(&timed{}))
	assert.Equal(t, before, schemaVersion(t))
	require.NoError(t, db.Exec("INSERT INTO timeds (created_at) VALUES (NULL)").Error)
	var stored timed
	require.NoError(t, db.First(&stored).Error)
	require.NotNil(t, stored.At)
	assert.Equal(t, 2000, stored.At.Year())
}

func TestTablesAndViews(t *testing.T) {
	type Thing struct{ ID uint }
	db := evolving(t, quiet())
	m := db.Migrator()
	kind, err := m.TableType("things")
	require.NoError(t, err)
	assert.Equal(t, "BASE TABLE", kind.Type())
	require.NoError(t, m.CreateView("large_things", gorm.ViewOption{Query: db.Table("things").Where("size > ?", 1)}))
	kind, err = m.TableType("large_things")
	require.NoError(t, err)
	assert.Equal(t, "VIEW", kind.Type())
	assert.False(t, m.HasTable("large_things"))
	var n int64
	require.NoError(t, db.Table("large_things").Count(&n).Error)
	assert.EqualValues(t, 2, n)
	require.NoError(t, m.DropView("large_things"))

	require.NoError(t, m.DropTable("renamed"))
	require.NoError(t, m.RenameTable(&Thing{}, "renamed"))
	tables, err := m.GetTables()
	require.NoError(t, err)
	assert.Contains(t, tables, "renamed")
	assert.NotContains(t, tables, "things")
	require.NoError(t, m.CreateTable(&Thing{}), "its name, and that of its sequence, are free")
	require.NoError(t, db.Exec("INSERT INTO renamed (first) VALUES ('d')").Error)
	assert.Len(t, content(t, db, "renamed"), 4)
	require.NoError(t, m.DropTable("renamed"), "though parts refers to it")
	assert.Empty(t, m.CurrentDatabase())
}

func TestATableWithAFaultIsNotLeftHalfMade(t *testing.T) {
	type broken struct {
		ID   uint
		Name string `gorm:"index:idx_broken,where:name > ''"`
	}
	db := open(t, quiet())
	require.Error(t, db.AutoMigrate(&broken{}))
	assert.False(t, db.Migrator().HasTable(&broken{}))
}

func TestTypesThatAServerLacks(t *testing.T) {
	if servers.AtLeast(2, 10, 0) {
		t.Skip("this server has all types: Tarantool " + servers.Version())
	}
	type thing struct {
		gorm.Model
		Price string `gorm:"type:decimal(10,2)"`
	}
	db := open(t, quiet())
	err := db.AutoMigrate(&thing{})
	var unsupported *gormtarantool.UnsupportedTypeError
	require.ErrorAs(t, err, &unsupported)
	assert.Equal(t, gormtarantool.UnsupportedTypeError{Field: "thing.CreatedAt", Type: "DATETIME", Server: "2.6", Needed: "2.10"}, *unsupported)
	assert.ErrorContains(t, err, "2.10")
	assert.False(t, db.Migrator().HasTable(&thing{}))
}

func TestMigrationByAUserWhoMayNotEval(t *testing.T) {
	type Thing struct {
		ID    uint
		Added int
	}
	evolving(t, quiet())
	_, err := servers.Lua(servers.Master(), `box.schema.user.create('ddl', {password = 'ddl', if_not_exists = true})
		box.schema.user.grant('ddl', 'read,write,create,drop,alter', 'universe', nil, {if_not_exists = true})
		pcall(box.schema.user.grant, 'ddl', 'execute', 'sql', nil, {if_not_exists = true})`)
	require.NoError(t, err)
	db := openWith(t, gormtarantool.Open("tarantool://ddl:ddl@"+servers.Addr(servers.Master())+"/?seq_scan=true"), quiet())
	err = db.Migrator().AddColumn(&Thing{}, "Added")
	require.ErrorContains(t, err, "'execute', 'universe'")
	var e *tntsql.Error
	assert.ErrorAs(t, err, &e)
}

// A replica whose applier is paused knows nothing of what was migrated. Reads go to it,
// if it were not for the Migrator's mode.
func TestMigrationDoesNotAskALaggingReplica(t *testing.T) {
	type Late struct {
		ID   uint
		Name string
	}
	db := openWith(t, gormtarantool.Open(servers.DSN("read_mode=ro", "seq_scan=true")), quiet())
	replica := 1 - servers.Master()
	replication, err := servers.Lua(replica, "local r = box.cfg.replication box.cfg{replication = {}} return r")
	require.NoError(t, err)
	resume := func() {
		_, err := servers.Lua(replica, "box.cfg{replication = ...}", replication[0])
		assert.NoError(t, err)
	}
	defer resume()
	t.Cleanup(func() { assert.NoError(t, db.Migrator().DropTable("lates")) })

	require.NoError(t, db.AutoMigrate(&Late{}))
	require.Error(t, db.Find(&[]Late{}).Error, "the replica, which reads go to, has no such table")
	before := schemaVersion(t)
	require.NoError(t, db.AutoMigrate(&Late{}))
	assert.Equal(t, before, schemaVersion(t))
	assert.True(t, db.Migrator().HasTable(&Late{}))

	type Lates struct {
		ID    uint
		Name  string `gorm:"index"`
		Added int    `gorm:"default:1;check:added_is_small,added < 10"`
	}
	widen := func() error { return db.Table("lates").AutoMigrate(&Lates{}) }
	require.NoError(t, widen())
	before = schemaVersion(t)
	require.NoError(t, widen())
	assert.Equal(t, before, schemaVersion(t))
	ctx := tntsql.WithMode(t.Context(), tntsql.ModeRO)
	assert.True(t, db.WithContext(ctx).Migrator().HasColumn("lates", "added"), "whatever the context says")
}

// A DSN without seq_scan is enough for migrations, on 3.x too.
func TestMigrationsNeedNoFullScans(t *testing.T) {
	type parent struct{ ID uint }
	type scanned struct {
		ID       uint
		Name     string `gorm:"index;check:name_is_short,LENGTH(name) < 10"`
		Gone     int
		ParentID *uint
		Parent   *parent
	}
	db := openWith(t, gormtarantool.Open(servers.DSN("read_mode=rw")), quiet())
	migrate(t, db, &parent{}, &scanned{})
	require.NoError(t, db.Create(&[]scanned{{Name: "a", Parent: &parent{}}, {Name: "b"}}).Error)
	m := db.Migrator()
	require.NoError(t, m.DropColumn(&scanned{}, "gone"))
	require.NoError(t, m.AddColumn(&scanned{}, "Gone"))
	require.NoError(t, m.DropConstraint(&scanned{}, "name_is_short"))
	require.NoError(t, m.CreateConstraint(&scanned{}, "name_is_short"))
	require.NoError(t, m.RenameTable(&scanned{}, "unscanned"))
	require.NoError(t, m.RenameTable("unscanned", &scanned{}))
	_, err := m.GetTables()
	require.NoError(t, err)
	require.NoError(t, m.DropTable(&parent{}), "another table refers to it")
}
