package gormtarantool_test

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/tntsql/tntsql/gormtarantool"
)

type city struct {
	ID      uint
	Name    string
	Country string
	People  int
}

var cities = []city{
	{ID: 1, Name: "Bonn", Country: "DE", People: 330},
	{ID: 2, Name: "Köln", Country: "DE", People: 1080},
	{ID: 3, Name: "Lyon", Country: "FR", People: 520},
	{ID: 4, Name: "Nice", Country: "FR", People: 340},
	{ID: 5, Name: "Turin", Country: "IT", People: 850},
}

func openCities(t *testing.T) *gorm.DB {
	t.Helper()
	db := open(t, quiet())
	migrate(t, db, &city{})
	require.NoError(t, db.Create(append([]city{}, cities...)).Error)
	return db
}

func names(t *testing.T, tx *gorm.DB) []string {
	t.Helper()
	var found []string
	require.NoError(t, tx.Model(&city{}).Order("id").Pluck("name", &found).Error)
	return found
}

func TestTupleIn(t *testing.T) {
	db := openCities(t)
	pairs := [][]any{{"Bonn", "DE"}, {"Nice", "FR"}, {"Turin", "FR"}}
	columns := []clause.Column{{Name: "name"}, {Name: "country"}}
	in := clause.IN{Column: columns, Values: []any{pairs[0], pairs[1]}}
	want := []string{"Bonn", "Nice"}

	assert.Equal(t, want, names(t, db.Where(in)))
	assert.Equal(t, []string{"Bonn"}, names(t, db.Where(clause.IN{Column: columns, Values: []any{pairs[0]}})))
	assert.Equal(t, want, names(t, db.Where("(name, country) IN ?", pairs)))
	assert.Equal(t, want, names(t, db.Where("(name, country) IN (?)", pairs)))
	assert.Equal(t, want, names(t, db.Where("(name, country) IN @pairs", sql.Named("pairs", pairs))))
	assert.Equal(t, want, names(t, db.Where("(name, country) IN (@pairs)", sql.Named("pairs", pairs))))
	assert.Equal(t, want, names(t, db.Where("people > ?", 0).Where("(name, country) IN ?", pairs)))
	assert.Equal(t, []string{"Köln", "Lyon", "Turin"}, names(t, db.Not(in)))
	assert.Equal(t, []string{"Köln", "Lyon", "Turin"}, names(t, db.Not("(name, country) IN ?", pairs)))
	assert.Equal(t, []string{"Bonn", "Nice", "Turin"}, names(t, db.Where("name = ?", "Turin").Or(in)))
	assert.Equal(t, []string{"Bonn"}, names(t, db.Where(db.Where(in).Where("people < ?", 335))))

	if servers.AtLeast(3, 0, 0) {
		// The first column's index serves: no full scan, which 3.x refuses by default.
		strict := openWith(t, gormtarantool.Open(servers.DSN("read_mode=rw")), quiet())
		byKey := clause.IN{Column: []clause.Column{{Name: "id"}, {Name: "name"}}, Values: []any{[]any{1, "Bonn"}, []any{2, "Bonn"}}}
		var found []city
		require.NoError(t, strict.Where(byKey).Find(&found).Error)
		assert.Equal(t, cities[:1], found)
	}

	var countries []string
	require.NoError(t, db.Model(&city{}).Select("country").Group("country").
		Having("(country, COUNT(*)) IN ?", [][]any{{"DE", 2}, {"FR", 3}}).Scan(&countries).Error)
	assert.Equal(t, []string{"DE"}, countries)
}

func TestQueryForms(t *testing.T) {
	db := openCities(t)
	assert.Equal(t, []string{"Lyon", "Nice", "Turin"}, names(t, db.Offset(2)), "without a limit")
	assert.Equal(t, []string{"Lyon"}, names(t, db.Offset(2).Limit(1)))
	assert.Equal(t, []string{"Bonn", "Köln"}, names(t, db.Where(&city{Country: "DE"})))
	assert.Equal(t, []string{"Köln"}, names(t, db.Where(map[string]any{"country": "DE", "id": []int{2, 3}})))
	assert.Equal(t, []string{"Lyon", "Nice"}, names(t, db.Where("country = @c", sql.Named("c", "FR"))))
	assert.Equal(t, []string{"Bonn"}, names(t, db.Clauses(clause.Locking{Strength: "UPDATE"}).Where("id = ?", 1)))
	assert.Equal(t, []string{"Köln"}, names(t, db.Where("people > (?)", db.Model(&city{}).Select("MAX(people) - 1"))))

	var count int64
	require.NoError(t, db.Model(&city{}).Distinct("country").Count(&count).Error)
	assert.EqualValues(t, 3, count)

	var totals []struct {
		Country string
		Total   int
	}
	require.NoError(t, db.Model(&city{}).Select("country, SUM(people) AS total").Group("country").
		Having("SUM(people) > ?", 855).Order("country").Scan(&totals).Error)
	require.Len(t, totals, 2)
	assert.Equal(t, 1410, totals[0].Total)

	var row map[string]any
	require.NoError(t, db.Model(&city{}).Take(&row, 3).Error)
	assert.Equal(t, "Lyon", row["name"])

	var batches int
	var part []city
	require.NoError(t, db.FindInBatches(&part, 2, func(*gorm.DB, int) error { batches++; return nil }).Error)
	assert.Equal(t, 3, batches)

	var one city
	assert.ErrorIs(t, db.First(&one, 99).Error, gorm.ErrRecordNotFound)
	require.NoError(t, db.FirstOrCreate(&one, city{Name: "Graz", Country: "AT"}).Error)
	assert.NotZero(t, one.ID)
}

func TestUpdateAndDelete(t *testing.T) {
	db := openCities(t)
	result := db.Model(&city{}).Where("country = ?", "DE").Update("people", gorm.Expr("people + ?", 1))
	require.NoError(t, result.Error)
	assert.EqualValues(t, 2, result.RowsAffected)
	require.NoError(t, db.Model(&city{ID: 1}).Updates(map[string]any{"name": "Bonn am Rhein"}).Error)
	var bonn city
	require.NoError(t, db.First(&bonn, 1).Error)
	assert.Equal(t, city{ID: 1, Name: "Bonn am Rhein", Country: "DE", People: 331}, bonn)

	assert.ErrorIs(t, db.Delete(&city{}).Error, gorm.ErrMissingWhereClause)
	result = db.Where("country IN ?", []string{"FR", "IT"}).Delete(&city{})
	require.NoError(t, result.Error)
	assert.EqualValues(t, 3, result.RowsAffected)
	require.NoError(t, db.Session(&gorm.Session{AllowGlobalUpdate: true}).Delete(&city{}).Error)
	assert.Empty(t, names(t, db))
}

func TestSoftDelete(t *testing.T) {
	needsTimes(t)
	type note struct {
		gorm.Model
		Text string
	}
	db := open(t, quiet())
	migrate(t, db, &note{})
	notes := []note{{Text: "a"}, {Text: "b"}}
	require.NoError(t, db.Create(&notes).Error)
	assert.False(t, notes[0].CreatedAt.IsZero())
	require.NoError(t, db.Delete(&notes[0]).Error)

	var left []note
	require.NoError(t, db.Find(&left).Error)
	require.Len(t, left, 1)
	assert.Equal(t, "b", left[0].Text)
	assert.True(t, left[0].CreatedAt.Equal(notes[1].CreatedAt), "to the nanosecond")
	require.NoError(t, db.Unscoped().Find(&left).Error)
	require.Len(t, left, 2)
	assert.True(t, left[0].DeletedAt.Valid)
	require.NoError(t, db.Unscoped().Delete(&left[0]).Error)
	var n int64
	require.NoError(t, db.Unscoped().Model(&note{}).Count(&n).Error)
	assert.EqualValues(t, 1, n)
}

func TestPreparedStatements(t *testing.T) {
	db := open(t, &gorm.Config{PrepareStmt: true, Logger: quiet().Logger})
	migrate(t, db, &city{})
	for i := range 3 {
		require.NoError(t, db.Create(&city{Name: cities[i].Name}).Error)
		var found city
		require.NoError(t, db.First(&found, "name = ?", cities[i].Name).Error)
		assert.EqualValues(t, i+1, found.ID)
		// DDL expires every prepared statement of the server.
		require.NoError(t, db.Migrator().CreateView("some_cities", gorm.ViewOption{Query: db.Model(&city{}).Where("id > ?", i), Replace: true}))
	}
	require.NoError(t, db.Migrator().DropView("some_cities"))
	require.NoError(t, db.Migrator().RenameColumn(&city{}, "people", "inhabitants"))
}
