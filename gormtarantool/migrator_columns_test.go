package gormtarantool_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/tntsql/tntsql"
)

// evolving returns a table "things" with three rows, an index, a unique column and a
// foreign key to it from "parts".
func evolving(t *testing.T, config *gorm.Config) *gorm.DB {
	t.Helper()
	type Thing struct {
		ID    uint
		First string `gorm:"unique"`
		Label string `gorm:"index:idx_label_size"`
		Size  int    `gorm:"index:idx_label_size"`
		Ratio float64
		Last  string
	}
	type Part struct {
		ID      uint
		ThingID uint
		Thing   *Thing
	}
	db := open(t, config)
	migrate(t, db, &Thing{}, &Part{})
	require.NoError(t, db.Create([]Thing{
		{First: "a", Label: "10", Size: 1, Ratio: 3, Last: "x"},
		{First: "b", Label: "20", Size: 2, Ratio: 0.5, Last: "y"},
		{First: "c", Label: "30", Size: 3, Ratio: -1, Last: "z"},
	}).Error)
	require.NoError(t, db.Create([]Part{{ThingID: 1}, {ThingID: 3}}).Error)
	return db
}

// content is what a table has, by column.
func content(t *testing.T, db *gorm.DB, table string) []map[string]any {
	t.Helper()
	var rows []map[string]any
	require.NoError(t, db.Table(table).Order("id").Find(&rows).Error)
	return rows
}

func columns(t *testing.T, db *gorm.DB, table string) map[string]string {
	t.Helper()
	types, err := db.Migrator().ColumnTypes(table)
	require.NoError(t, err)
	found := map[string]string{}
	for _, c := range types {
		nullable, _ := c.Nullable()
		def, _ := c.DefaultValue()
		found[c.Name()] = fmt.Sprintf("%s %t %s", c.DatabaseTypeName(), nullable, def)
	}
	return found
}

func TestAddColumnToATableWithRows(t *testing.T) {
	type Thing struct {
		ID       uint
		First    string
		Plain    *int
		Count    int     `gorm:"not null;default:7"`
		Weight   float64 `gorm:"default:2.5"`
		Flag     bool    `gorm:"default:false"`
		Unique   *string `gorm:"unique"`
		Required string  `gorm:"not null"`
		Computed string  `gorm:"default:uuid()"`
	}
	db := evolving(t, quiet())
	m := db.Migrator()
	for _, name := range []string{"Plain", "Count", "Weight", "Flag", "Unique"} {
		require.False(t, m.HasColumn(&Thing{}, name))
		require.NoError(t, m.AddColumn(&Thing{}, name), name)
		require.True(t, m.HasColumn(&Thing{}, name))
	}
	rows := content(t, db, "things")
	require.Len(t, rows, 3)
	assert.Equal(t, map[string]any{
		"id": int64(1), "first": "a", "label": "10", "size": int64(1), "ratio": 3.0, "last": "x",
		"plain": nil, "count": int64(7), "weight": 2.5, "flag": false, "unique": nil,
	}, rows[0])
	assert.True(t, m.HasConstraint(&Thing{}, "uni_things_unique"))

	require.ErrorContains(t, m.AddColumn(&Thing{}, "Computed"), "no literal")
	before := columns(t, db, "things")
	require.Error(t, m.AddColumn(&Thing{}, "Required"), "there are rows, and there is no default")
	assert.Equal(t, before, columns(t, db, "things"))
	assert.Equal(t, rows, content(t, db, "things"))

	added := Thing{First: "d", Required: "-"}
	require.NoError(t, db.Omit("Required", "Computed").Create(&added).Error)
	assert.EqualValues(t, 4, added.ID)
	require.NoError(t, db.Model(&added).Update("plain", 5).Error)
	assert.Len(t, content(t, db, "parts"), 2)
}

func TestRenameColumn(t *testing.T) {
	type Thing struct {
		ID    uint
		Title string
	}
	db := evolving(t, quiet())
	require.NoError(t, db.Migrator().RenameColumn(&Thing{}, "label", "title"))
	var found Thing
	require.NoError(t, db.Where("title = ? AND size = ?", "20", 2).First(&found).Error)
	assert.EqualValues(t, 2, found.ID)
	assert.True(t, db.Migrator().HasIndex("things", "idx_label_size"))
	assert.ErrorContains(t, db.Migrator().RenameColumn(&Thing{}, "none", "other"), "no column")
}

func TestAlterColumn(t *testing.T) {
	type Thing struct {
		ID    uint
		Label int64 `gorm:"not null;default:5"`
		Ratio string
		Size  float64
		Last  int
	}
	db := evolving(t, quiet())
	m := db.Migrator()
	require.NoError(t, m.AlterColumn(&Thing{}, "Label"))
	require.NoError(t, m.AlterColumn(&Thing{}, "Size"))
	require.NoError(t, m.AlterColumn(&Thing{}, "Ratio"))
	found := columns(t, db, "things")
	assert.Equal(t, "integer false 5", found["label"])
	assert.Equal(t, "double true ", found["size"])
	assert.Equal(t, "string true ", found["ratio"])
	var labels []int64
	require.NoError(t, db.Model(&Thing{}).Where("label > 10").Order("label").Pluck("label", &labels).Error)
	assert.Equal(t, []int64{20, 30}, labels)
	assert.True(t, m.HasIndex(&Thing{}, "idx_label_size"))

	rows := content(t, db, "things")
	require.Error(t, m.AlterColumn(&Thing{}, "Last"), "x is no number")
	assert.Equal(t, found, columns(t, db, "things"))
	assert.Equal(t, rows, content(t, db, "things"))
	assert.Len(t, content(t, db, "parts"), 2)
	require.Error(t, db.Exec("INSERT INTO parts (thing_id) VALUES (99)").Error, "the foreign key is still there")
}

func TestDropColumn(t *testing.T) {
	type Thing struct {
		ID   uint
		Last string
	}
	db := evolving(t, quiet())
	m := db.Migrator()
	require.NoError(t, m.DropColumn("things", "first"))
	require.NoError(t, m.DropColumn("things", "size"))
	require.NoError(t, m.DropColumn("things", "ratio"))
	assert.False(t, m.HasConstraint("things", "uni_things_first"))
	assert.False(t, m.HasIndex("things", "idx_label_size"), "a column of it is gone")
	assert.Equal(t, []map[string]any{
		{"id": int64(1), "label": "10", "last": "x"},
		{"id": int64(2), "label": "20", "last": "y"},
		{"id": int64(3), "label": "30", "last": "z"},
	}, content(t, db, "things"))
	added := Thing{Last: "new"}
	require.NoError(t, db.Create(&added).Error)
	assert.EqualValues(t, 4, added.ID, "ids go on")
	assert.Error(t, m.DropColumn("things", "id"))
	assert.ErrorContains(t, m.DropColumn("things", "none"), "no column")
	require.Error(t, db.Exec("INSERT INTO parts (thing_id) VALUES (99)").Error, "the foreign key is still there")
	require.NoError(t, db.Exec("INSERT INTO parts (thing_id) VALUES (4)").Error)
	assert.Len(t, content(t, db, "parts"), 3)
	require.NoError(t, m.DropColumn("parts", "thing_id"), "with its foreign key")
	require.NoError(t, m.DropColumn("things", "label"))
}

func TestDropColumnBeforeThePrimaryKey(t *testing.T) {
	type legacy struct {
		Old  string
		Code string `gorm:"primaryKey"`
		Mid  int
		ID   uint `gorm:"primaryKey;autoIncrement"`
	}
	db := open(t, quiet())
	migrate(t, db, &legacy{})
	require.NoError(t, db.Create([]legacy{{Code: "a", Mid: 1}, {Code: "b", Mid: 2}}).Error)
	require.NoError(t, db.Migrator().DropColumn(&legacy{}, "old"))
	require.NoError(t, db.Migrator().DropColumn(&legacy{}, "mid"))
	require.NoError(t, db.Exec("INSERT INTO legacies (code) VALUES ('c')").Error)
	assert.Equal(t, []map[string]any{
		{"id": int64(1), "code": "a"}, {"id": int64(2), "code": "b"}, {"id": int64(3), "code": "c"},
	}, content(t, db, "legacies"))
}

func TestGrantsSurviveARewrite(t *testing.T) {
	db := evolving(t, quiet())
	space := "things"
	if !servers.AtLeast(3, 0, 0) {
		space = "THINGS"
	}
	_, err := servers.Lua(servers.Master(), `box.schema.user.create('reader', {if_not_exists = true})
		box.schema.user.grant('reader', 'read', 'space', ...)`, space)
	require.NoError(t, err)
	require.NoError(t, db.Migrator().DropColumn("things", "last"))
	rights, err := servers.Lua(servers.Master(), `return #box.space._vpriv:select{box.space._user.index.name:get('reader').id, 'space'}`)
	require.NoError(t, err)
	assert.Equal(t, []any{int64(1)}, rights)
}

func TestDryRunChangesNothing(t *testing.T) {
	type Thing struct {
		ID    uint
		Added int
	}
	db := evolving(t, quiet())
	before := schemaVersion(t)
	dry := db.Session(&gorm.Session{DryRun: true})
	require.NoError(t, dry.Migrator().AddColumn(&Thing{}, "Added"))
	require.NoError(t, dry.Migrator().DropColumn(&Thing{}, "last"))
	assert.Equal(t, before, schemaVersion(t))
}

func TestNoWriteIsLostWhileATableIsRewritten(t *testing.T) {
	type Thing struct {
		ID    uint
		First string
		Count int `gorm:"not null;default:7"`
	}
	db := evolving(t, quiet())
	var (
		wg      sync.WaitGroup
		stop    = make(chan struct{})
		written atomic.Int64
	)
	for w := range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				err := db.Exec("INSERT INTO things (first) VALUES (?)", fmt.Sprintf("%d of %d", i, w)).Error
				if err == nil {
					written.Add(1)
				} else if !tntsql.IsTxConflict(err) { // a change of the table aborts what is in progress
					t.Error(err)
					return
				}
			}
		})
	}
	enough := func(n int64) {
		require.Eventually(t, func() bool { return written.Load() >= n }, waitFor, tick)
	}
	enough(50)
	require.NoError(t, db.Migrator().AddColumn(&Thing{}, "Count"))
	enough(written.Load() + 50)
	require.NoError(t, db.Migrator().DropColumn("things", "last"))
	enough(written.Load() + 50)
	close(stop)
	wg.Wait()
	rows := content(t, db, "things")
	assert.Len(t, rows, int(written.Load())+3)
	for _, row := range rows {
		require.EqualValues(t, 7, row["count"])
	}
}

func TestAViewOfATableThatChanges(t *testing.T) {
	type Thing struct {
		ID    uint
		Count int `gorm:"not null;default:7"`
	}
	db := evolving(t, quiet())
	m := db.Migrator()
	require.NoError(t, m.CreateView("labels", gorm.ViewOption{Query: db.Table("things").Select("id", "label")}))
	t.Cleanup(func() { assert.NoError(t, m.DropView("labels")) })
	require.NoError(t, m.AddColumn(&Thing{}, "Count"))
	require.NoError(t, m.DropColumn("things", "last"))
	assert.Equal(t, map[string]any{"id": int64(1), "label": "10"}, content(t, db, "labels")[0])
}
