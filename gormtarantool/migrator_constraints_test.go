package gormtarantool_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAColumnInACheckConstraintStays(t *testing.T) {
	type guarded struct {
		ID    uint
		Price int `gorm:"check:price > 0"`
	}
	db := open(t, quiet())
	migrate(t, db, &guarded{})
	m := db.Migrator()
	assert.ErrorContains(t, m.RenameColumn(&guarded{}, "price", "cost"), "CHECK constraint")
	assert.ErrorContains(t, m.DropColumn(&guarded{}, "price"), "CHECK constraint")
	require.NoError(t, m.DropConstraint(&guarded{}, "chk_guardeds_price"))
	require.NoError(t, m.DropColumn(&guarded{}, "price"))
}

func TestConstraintsOnATableWithRows(t *testing.T) {
	type Thing struct {
		ID    uint
		Size  int     `gorm:"check:size_is_small,size < 100"`
		Ratio float64 `gorm:"check:ratio_is_large,ratio > 100"`
		Last  string  `gorm:"unique"`
	}
	type Part struct {
		ID      uint
		ThingID uint
		OtherID *uint
		Other   *Thing
	}
	db := evolving(t, quiet())
	m := db.Migrator()
	for _, name := range []string{"size_is_small", "uni_things_last"} {
		require.False(t, m.HasConstraint(&Thing{}, name))
		require.NoError(t, m.CreateConstraint(&Thing{}, name))
		require.True(t, m.HasConstraint(&Thing{}, name))
	}
	require.Error(t, db.Exec("UPDATE things SET size = 200 WHERE id = 1").Error)
	require.Error(t, db.Exec("UPDATE things SET last = 'y' WHERE id = 1").Error)

	rows := content(t, db, "things")
	require.Error(t, m.CreateConstraint(&Thing{}, "ratio_is_large"), "the rows do not fulfil it")
	assert.False(t, m.HasConstraint(&Thing{}, "ratio_is_large"))
	assert.Equal(t, rows, content(t, db, "things"))

	require.NoError(t, m.DropConstraint(&Thing{}, "size_is_small"))
	require.NoError(t, m.CreateConstraint(&Thing{}, "size_is_small"), "again")
	require.NoError(t, m.DropConstraint(&Thing{}, "size_is_small"))
	require.NoError(t, m.DropConstraint(&Thing{}, "uni_things_last"))
	require.NoError(t, db.Exec("UPDATE things SET size = 200, last = 'y' WHERE id = 1").Error)

	require.NoError(t, m.AddColumn(&Part{}, "OtherID"))
	require.NoError(t, db.Exec("UPDATE parts SET other_id = 99 WHERE id = 2").Error)
	require.Error(t, m.CreateConstraint(&Part{}, "Other"), "there is no such thing")
	assert.False(t, m.HasConstraint(&Part{}, "Other"))
	require.NoError(t, db.Exec("UPDATE parts SET other_id = 1 WHERE id = 2").Error)
	require.NoError(t, m.CreateConstraint(&Part{}, "Other"))
	assert.True(t, m.HasConstraint(&Part{}, "Other"))
	require.Error(t, db.Exec("UPDATE parts SET other_id = 99 WHERE id = 1").Error)
	require.NoError(t, db.Exec("UPDATE parts SET other_id = 2 WHERE id = 1").Error)
	assert.Len(t, content(t, db, "parts"), 2)
}

func TestSelfReferencesSurviveARewrite(t *testing.T) {
	type employee struct {
		ID     uint
		Name   string
		Note   string
		BossID *uint
		Boss   *employee
	}
	db := open(t, quiet())
	migrate(t, db, &employee{})
	two := uint(2)
	require.NoError(t, db.Create(&employee{ID: 2, Name: "b"}).Error)
	require.NoError(t, db.Create(&employee{ID: 1, Name: "a", BossID: &two}).Error)
	require.NoError(t, db.Migrator().DropColumn(&employee{}, "note"))
	assert.Equal(t, []map[string]any{
		{"id": int64(1), "name": "a", "boss_id": int64(2)}, {"id": int64(2), "name": "b", "boss_id": nil},
	}, content(t, db, "employees"))
	require.Error(t, db.Exec("UPDATE employees SET boss_id = 99 WHERE id = 1").Error)
}

func TestIndexes(t *testing.T) {
	type Thing struct {
		ID   uint
		Last string `gorm:"size:50;index:idx_last,length:10;index:idx_ci,unique"`
		Size int    `gorm:"index:idx_partial,where:size > 1"`
		Expr string `gorm:"index:idx_expr,expression:LOWER(expr)"`
	}
	db := evolving(t, quiet())
	m := db.Migrator()
	require.NoError(t, m.CreateIndex(&Thing{}, "idx_last"))
	require.NoError(t, m.CreateIndex(&Thing{}, "idx_ci"))
	assert.ErrorContains(t, m.CreateIndex(&Thing{}, "idx_partial"), "condition")
	assert.ErrorContains(t, m.CreateIndex(&Thing{}, "idx_expr"), "expressions")
	require.NoError(t, m.RenameIndex(&Thing{}, "idx_ci", "idx_unique"))
	require.NoError(t, m.DropIndex(&Thing{}, "idx_last"))
	assert.False(t, m.HasIndex(&Thing{}, "idx_last"))
	assert.False(t, m.HasIndex("things", "idx_ci"))
	assert.True(t, m.HasIndex("things", "idx_unique"))

	indexes, err := m.GetIndexes("things")
	require.NoError(t, err)
	found := map[string][]string{}
	for _, i := range indexes {
		if primary, _ := i.PrimaryKey(); !primary {
			found[i.Name()] = i.Columns()
		}
	}
	assert.Equal(t, map[string][]string{
		"uni_things_first": {"first"}, "idx_label_size": {"label", "size"}, "idx_unique": {"last"},
	}, found)
}
