package gormtarantool_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

type person struct {
	ID    uint
	Name  string
	Email *string `gorm:"unique"`
	Age   int     `gorm:"default:18"`
}

func (person) TableName() string { return "people" }

func email(s string) *string { return &s }

func TestGeneratedIDs(t *testing.T) {
	db := open(t, quiet())
	migrate(t, db, &person{})

	one := person{Name: "Ann"}
	require.NoError(t, db.Create(&one).Error)
	assert.EqualValues(t, 1, one.ID)
	assert.Equal(t, 18, one.Age)

	// An explicit id moves the sequence, so the ids of a batch need not be contiguous.
	batch := []*person{{Name: "Bob"}, {ID: 100, Name: "Cyd"}, {Name: "Dan"}, {Name: "Eve"}}
	result := db.Create(&batch)
	require.NoError(t, result.Error)
	assert.EqualValues(t, 4, result.RowsAffected)
	for _, p := range batch {
		var stored person
		require.NoError(t, db.First(&stored, p.ID).Error)
		assert.Equal(t, p.Name, stored.Name)
	}
	assert.EqualValues(t, 101, batch[2].ID)

	row := map[string]any{"name": "Fay"}
	require.NoError(t, db.Model(&person{}).Create(row).Error)
	assert.EqualValues(t, 103, row["id"])
	rows := []map[string]any{{"name": "Gus"}, {"name": "Hal", "id": 200}, {"name": "Ida"}}
	require.NoError(t, db.Model(&person{}).Create(rows).Error)
	assert.EqualValues(t, 104, rows[0]["id"])
	assert.EqualValues(t, 201, rows[2]["id"])

	many := make([]person, 25)
	require.NoError(t, db.CreateInBatches(&many, 10).Error)
	for i, p := range many {
		assert.EqualValues(t, 202+i, p.ID)
	}
}

func TestGeneratedIDInACompositeKey(t *testing.T) {
	type edition struct {
		ID     uint   `gorm:"primaryKey;autoIncrement"`
		Locale string `gorm:"primaryKey"`
		Title  string
	}
	db := open(t, quiet())
	migrate(t, db, &edition{})
	editions := []edition{{Locale: "de"}, {ID: 7, Locale: "en"}, {Locale: "fr"}}
	require.NoError(t, db.Create(&editions).Error)
	assert.EqualValues(t, 1, editions[0].ID)
	assert.EqualValues(t, 7, editions[1].ID)
	assert.EqualValues(t, 8, editions[2].ID)
}

func TestModelWithoutAPrimaryKey(t *testing.T) {
	type event struct {
		Name string
		N    int
	}
	db := open(t, quiet())
	migrate(t, db, &event{})
	require.NoError(t, db.Create([]event{{"a", 1}, {"a", 1}, {"b", 2}}).Error)
	var events []event
	require.NoError(t, db.Order("n").Find(&events).Error)
	assert.Equal(t, []event{{"a", 1}, {"a", 1}, {"b", 2}}, events)
	require.NoError(t, db.AutoMigrate(&event{}))
	columns, err := db.Migrator().ColumnTypes(&event{})
	require.NoError(t, err)
	assert.Len(t, columns, 2)
}

func TestModelOfAnIDOnly(t *testing.T) {
	type ticket struct{ ID uint }
	db := open(t, quiet())
	migrate(t, db, &ticket{})
	for want := range 3 {
		var one ticket
		require.NoError(t, db.Create(&one).Error)
		assert.EqualValues(t, want+1, one.ID)
	}
	assert.ErrorIs(t, db.Create(&[]ticket{}).Error, gorm.ErrEmptySlice)
	several := []ticket{{}, {ID: 10}, {}}
	require.NoError(t, db.Create(&several).Error)
	assert.EqualValues(t, 11, several[2].ID)
}

func TestUpsertUpdatesOrInserts(t *testing.T) {
	db := open(t, quiet())
	migrate(t, db, &person{})
	require.NoError(t, db.Create(&[]person{{Name: "Ann", Email: email("ann@x"), Age: 30}, {Name: "Bob", Email: email("bob@x"), Age: 31}}).Error)
	stored := func(id uint) person {
		var p person
		require.NoError(t, db.First(&p, id).Error)
		return p
	}

	t.Run("all columns by primary key", func(t *testing.T) {
		people := []person{{ID: 1, Name: "Anna", Email: email("ann@x"), Age: 40}, {Name: "Cyd", Age: 50}, {ID: 9, Name: "Dan", Age: 60}}
		result := db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&people)
		require.NoError(t, result.Error)
		assert.EqualValues(t, 3, result.RowsAffected)
		assert.Equal(t, "Anna", stored(1).Name)
		assert.Equal(t, "Cyd", stored(people[1].ID).Name)
		assert.Equal(t, "Dan", stored(9).Name)
	})
	t.Run("some columns by a unique one", func(t *testing.T) {
		p := person{Name: "Robert", Email: email("bob@x"), Age: 99}
		require.NoError(t, db.Clauses(clause.OnConflict{
			Columns:   []clause.Column{{Name: "email"}},
			DoUpdates: clause.AssignmentColumns([]string{"name"}),
		}).Create(&p).Error)
		assert.EqualValues(t, 2, p.ID, "the id of the row that was there")
		assert.Equal(t, "Robert", stored(2).Name)
		assert.Equal(t, 31, stored(2).Age)
	})
	t.Run("an expression", func(t *testing.T) {
		require.NoError(t, db.Clauses(clause.OnConflict{
			Columns:   []clause.Column{{Name: "id"}},
			DoUpdates: clause.Assignments(map[string]any{"age": gorm.Expr("age + ?", 5)}),
		}).Create(&person{ID: 2, Name: "nobody"}).Error)
		assert.Equal(t, person{ID: 2, Name: "Robert", Email: email("bob@x"), Age: 36}, stored(2))
	})
	t.Run("under a condition", func(t *testing.T) {
		result := db.Clauses(clause.OnConflict{
			Columns:   []clause.Column{{Name: "id"}},
			DoUpdates: clause.AssignmentColumns([]string{"name"}),
			Where:     clause.Where{Exprs: []clause.Expression{clause.Gt{Column: "age", Value: 1000}}},
		}).Create(&person{ID: 2, Name: "Methuselah"})
		require.NoError(t, result.Error)
		assert.Zero(t, result.RowsAffected)
		assert.Equal(t, "Robert", stored(2).Name)
	})
	t.Run("one key twice", func(t *testing.T) {
		twice := []person{{ID: 70, Name: "first"}, {ID: 70, Name: "second"}}
		require.NoError(t, db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&twice).Error)
		assert.Equal(t, "second", stored(70).Name)
	})
	t.Run("another unique column is in the way", func(t *testing.T) {
		err := db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&person{ID: 71, Email: email("bob@x")}).Error
		assert.ErrorContains(t, err, "Duplicate key")
	})
	t.Run("a constraint's name", func(t *testing.T) {
		err := db.Clauses(clause.OnConflict{OnConstraint: "uni_people_email", DoUpdates: clause.AssignmentColumns([]string{"name"})}).
			Create(&person{ID: 2}).Error
		assert.ErrorContains(t, err, "name the columns")
	})
}

func TestUpsertDoNothing(t *testing.T) {
	db := open(t, quiet())
	migrate(t, db, &person{})
	require.NoError(t, db.Create(&person{Name: "Ann", Email: email("ann@x")}).Error)

	people := []person{{Name: "Bob"}, {Name: "again", Email: email("ann@x")}, {ID: 1, Name: "again"}, {Name: "Cyd"}}
	result := db.Clauses(clause.OnConflict{DoNothing: true}).Create(&people)
	require.NoError(t, result.Error)
	assert.EqualValues(t, 2, result.RowsAffected)
	assert.Zero(t, people[1].ID, "it was not inserted")
	for _, p := range []person{people[0], people[3]} {
		var stored person
		require.NoError(t, db.First(&stored, p.ID).Error)
		assert.Equal(t, p.Name, stored.Name)
	}
	again := []person{{ID: people[0].ID, Name: "again"}, {Name: "Dan"}, {ID: people[3].ID, Name: "again"}, {ID: 60, Name: "Eve"}}
	result = db.Clauses(clause.OnConflict{DoNothing: true}).Create(&again)
	require.NoError(t, result.Error)
	assert.EqualValues(t, 2, result.RowsAffected)
	for id, want := range map[uint]string{people[0].ID: "Bob", again[1].ID: "Dan", people[3].ID: "Cyd", 60: "Eve"} {
		var stored person
		require.NoError(t, db.First(&stored, id).Error)
		assert.Equal(t, want, stored.Name)
	}

	// By the column named, and no other.
	err := db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "id"}}, DoNothing: true}).
		Create(&person{ID: 50, Email: email("ann@x")}).Error
	assert.ErrorContains(t, err, "Duplicate key")
}

func TestSaveCreatesWithAGivenID(t *testing.T) {
	db := open(t, quiet())
	migrate(t, db, &person{})
	p := person{ID: 5, Name: "Ann"}
	require.NoError(t, db.Save(&p).Error)
	p.Name = "Anna"
	require.NoError(t, db.Save(&p).Error)
	var all []person
	require.NoError(t, db.Find(&all).Error)
	assert.Equal(t, []person{{ID: 5, Name: "Anna", Age: 18}}, all)
}

type hooked struct {
	ID   uint
	Name string
	Seen []string `gorm:"-"`
}

func (h *hooked) BeforeCreate(*gorm.DB) error { h.Seen = append(h.Seen, "before"); return nil }
func (h *hooked) AfterCreate(tx *gorm.DB) error {
	h.Seen = append(h.Seen, "after")
	if h.Name == "bad" {
		return gorm.ErrInvalidData
	}
	return nil
}

func TestHooks(t *testing.T) {
	db := open(t, quiet())
	migrate(t, db, &hooked{})
	h := hooked{Name: "good"}
	require.NoError(t, db.Create(&h).Error)
	assert.Equal(t, []string{"before", "after"}, h.Seen)
	assert.NotZero(t, h.ID)

	assert.ErrorIs(t, db.Create(&hooked{Name: "bad"}).Error, gorm.ErrInvalidData)
	var n int64
	require.NoError(t, db.Model(&hooked{}).Where("name = ?", "bad").Count(&n).Error)
	if db.SkipDefaultTransaction {
		assert.EqualValues(t, 1, n, "without transactions a hook that fails undoes nothing")
	} else {
		assert.Zero(t, n)
	}
}
