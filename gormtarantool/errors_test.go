package gormtarantool_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/tntsql/tntsql"
)

func TestErrorsAreTranslated(t *testing.T) {
	type owner struct {
		ID   uint
		Name string `gorm:"unique"`
	}
	type item struct {
		ID      uint
		Price   int `gorm:"check:price_is_positive,price > 0"`
		OwnerID *uint
		Owner   *owner
	}
	config := quiet()
	config.TranslateError = true
	db := open(t, config)
	migrate(t, db, &owner{}, &item{})
	require.NoError(t, db.Create(&owner{Name: "Ann"}).Error)

	missing := uint(99)
	for name, test := range map[string]struct {
		value any
		want  error
	}{
		"unique":      {&owner{Name: "Ann"}, gorm.ErrDuplicatedKey},
		"primary key": {&owner{ID: 1}, gorm.ErrDuplicatedKey},
		"check":       {&item{Price: -1}, gorm.ErrCheckConstraintViolated},
		"foreign key": {&item{Price: 1, OwnerID: &missing}, gorm.ErrForeignKeyViolated},
	} {
		t.Run(name, func(t *testing.T) {
			err := db.Create(test.value).Error
			require.ErrorIs(t, err, test.want)
			var e *tntsql.Error
			assert.ErrorAs(t, err, &e, "the server's error is inside")
		})
	}

	require.NoError(t, db.Create(&item{Price: 1, Owner: &owner{Name: "Bob"}}).Error)
	assert.ErrorIs(t, db.Where("name = ?", "Bob").Delete(&owner{}).Error, gorm.ErrForeignKeyViolated)
	err := db.Exec("SELECT nonsense").Error
	require.Error(t, err)
	assert.NotErrorIs(t, err, gorm.ErrForeignKeyViolated)
}
