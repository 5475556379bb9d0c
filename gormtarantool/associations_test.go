package gormtarantool_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// author has an association of each kind.
type author struct {
	ID          uint
	Name        string
	Profile     profile
	Books       []book
	PublisherID *uint
	Publisher   *publisher
	Languages   []language `gorm:"many2many:author_languages"`
	Pictures    []picture  `gorm:"polymorphic:Owner"`
}

type profile struct {
	ID       uint
	AuthorID uint
	Text     string
}

type book struct {
	ID       uint
	AuthorID uint
	Title    string
	Pictures []picture `gorm:"polymorphic:Owner"`
}

type publisher struct {
	ID   uint
	Name string
}

type language struct {
	Code string `gorm:"primaryKey"`
	Name string
}

// picture's owner is text in Go, as GORM's documentation has it, and a number in the table.
type picture struct {
	ID        uint
	Path      string
	OwnerID   string
	OwnerType string
}

var authorModels = []any{&publisher{}, &language{}, &author{}, &profile{}, &book{}, &picture{}}

func openAuthors(t *testing.T) *gorm.DB {
	t.Helper()
	config := quiet()
	config.TranslateError = true
	db := open(t, config)
	require.NoError(t, db.Migrator().DropTable("author_languages"))
	migrate(t, db, authorModels...)
	t.Cleanup(func() { assert.NoError(t, db.Migrator().DropTable("author_languages")) })
	return db
}

func newAuthor() author {
	return author{
		Name:      "Ann",
		Profile:   profile{Text: "writes"},
		Books:     []book{{Title: "One", Pictures: []picture{{Path: "one.png"}}}, {Title: "Two"}},
		Publisher: &publisher{Name: "Press"},
		Languages: []language{{Code: "de", Name: "German"}, {Code: "en", Name: "English"}},
		Pictures:  []picture{{Path: "ann.png"}},
	}
}

func TestAssociationsAreSavedAndLoaded(t *testing.T) {
	db := openAuthors(t)
	a := newAuthor()
	require.NoError(t, db.Create(&a).Error)
	require.NotNil(t, a.PublisherID)

	var loaded author
	require.NoError(t, db.Preload(clause.Associations).Preload("Books.Pictures").First(&loaded, a.ID).Error)
	assert.Equal(t, a.Profile, loaded.Profile)
	assert.Equal(t, a.Publisher, loaded.Publisher)
	assert.ElementsMatch(t, a.Languages, loaded.Languages)
	require.Len(t, loaded.Books, 2)
	assert.Equal(t, a.Books[0].Pictures, loaded.Books[0].Pictures)
	assert.Equal(t, a.Pictures, loaded.Pictures)

	var joined author
	require.NoError(t, db.Joins("Publisher").Joins("Profile").First(&joined, "authors.name = ?", "Ann").Error)
	assert.Equal(t, "Press", joined.Publisher.Name)
	assert.Equal(t, "writes", joined.Profile.Text)

	var found []picture
	require.NoError(t, db.Where(&picture{OwnerID: "1", OwnerType: "authors"}).Find(&found).Error)
	assert.Equal(t, a.Pictures, found)
	require.NoError(t, db.Model(&found[0]).Update("owner_id", "2").Error)
	require.NoError(t, db.First(&found[0], found[0].ID).Error)
	assert.Equal(t, "2", found[0].OwnerID)
}

func TestAssociationsAreSavedAgain(t *testing.T) {
	db := openAuthors(t)
	a := newAuthor()
	require.NoError(t, db.Create(&a).Error)
	a.Books[0].Title = "Uno"
	a.Books = append(a.Books, book{Title: "Three"})
	a.Languages = append(a.Languages, language{Code: "fr", Name: "French"})
	require.NoError(t, db.Save(&a).Error)
	var books []book
	require.NoError(t, db.Order("id").Find(&books).Error)
	require.Len(t, books, 3)
	assert.Equal(t, "One", books[0].Title, "only new ones are saved")
	require.NoError(t, db.Session(&gorm.Session{FullSaveAssociations: true}).Save(&a).Error)
	require.NoError(t, db.First(&books[0], books[0].ID).Error)
	assert.Equal(t, "Uno", books[0].Title)

	languages := func() *gorm.Association { return db.Model(&a).Association("Languages") }
	assert.EqualValues(t, 3, languages().Count())
	require.NoError(t, languages().Append(&language{Code: "it", Name: "Italian"}))
	require.NoError(t, languages().Delete(&language{Code: "de"}))
	assert.EqualValues(t, 3, languages().Count())
	require.NoError(t, languages().Replace([]language{{Code: "en"}}))
	assert.EqualValues(t, 1, languages().Count())
	require.NoError(t, languages().Clear())
	assert.Zero(t, languages().Count())

	require.NoError(t, db.Select(clause.Associations).Delete(&a).Error)
	var n int64
	require.NoError(t, db.Model(&book{}).Count(&n).Error)
	assert.Zero(t, n)
}

func TestForeignKeysHold(t *testing.T) {
	db := openAuthors(t)
	missing := uint(99)
	assert.ErrorIs(t, db.Create(&author{Name: "Bob", PublisherID: &missing}).Error, gorm.ErrForeignKeyViolated)
	a := newAuthor()
	require.NoError(t, db.Create(&a).Error)
	assert.ErrorIs(t, db.Delete(a.Publisher).Error, gorm.ErrForeignKeyViolated)
	// GORM saves the rows of a join table with OnConflict{DoNothing}.
	err := db.Model(&a).Omit("Languages.*").Association("Languages").Append(&language{Code: "xx"})
	assert.ErrorIs(t, err, gorm.ErrForeignKeyViolated)

	// An index serves the foreign key, without which no publisher could be deleted.
	other := publisher{Name: "None"}
	require.NoError(t, db.Create(&other).Error)
	require.NoError(t, db.Delete(&other).Error)
}
