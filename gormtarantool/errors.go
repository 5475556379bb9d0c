package gormtarantool

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"

	"github.com/tntsql/tntsql"
)

// translations are GORM's errors for codes of the server's.
var translations = map[uint32]error{
	erTupleFound: gorm.ErrDuplicatedKey,
	196:          gorm.ErrCheckConstraintViolated, // before 2.11
	235:          gorm.ErrCheckConstraintViolated, // of a column
	236:          gorm.ErrCheckConstraintViolated, // of a table
	238:          gorm.ErrForeignKeyViolated,      // the row is referenced
	239:          gorm.ErrForeignKeyViolated,      // no such row, of a column
	240:          gorm.ErrForeignKeyViolated,      // no such row, of a table
}

// Translate gives errors of constraints the names that GORM has for them, if
// gorm.Config.TranslateError is set. The server's error stays inside, for errors.As.
func (*Dialector) Translate(err error) error {
	var e *tntsql.Error
	if !errors.As(err, &e) {
		return err
	}
	translated := translations[e.Code]
	if e.Code == erSQLExecute && strings.Contains(e.Message, "FOREIGN KEY constraint failed") { // before 2.11
		translated = gorm.ErrForeignKeyViolated
	}
	if translated == nil || errors.Is(err, translated) {
		return err
	}
	return fmt.Errorf("%w: %w", translated, err)
}

func hasCode(err error, codes ...uint32) bool {
	var e *tntsql.Error
	return errors.As(err, &e) && slices.Contains(codes, e.Code)
}
