package gormtarantool

import (
	"database/sql"
	"reflect"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"
)

// ids puts generated ids into what is created.
type ids struct {
	stmt  *gorm.Statement
	field *schema.Field    // of structs, and of maps with a model
	name  string           // in maps
	maps  []map[string]any // what is created, if it is maps
}

// withoutModel is where GORM puts the id into a map if it knows no model.
const withoutModel = "@id"

// idsOf finds the field that the server generates; without one nothing is missing.
func idsOf(stmt *gorm.Statement) ids {
	i := ids{stmt: stmt}
	if stmt.Schema != nil {
		i.field = generatedField(stmt.Schema)
		if i.field == nil {
			return i
		}
		i.name = i.field.DBName
	} else {
		i.name = withoutModel
	}
	switch dest := stmt.Dest.(type) {
	case map[string]any:
		i.maps = []map[string]any{dest}
	case *map[string]any:
		i.maps = []map[string]any{*dest}
	case []map[string]any:
		i.maps = dest
	case *[]map[string]any:
		i.maps = *dest
	}
	return i
}

// generatedField is the one with AUTOINCREMENT.
func generatedField(s *schema.Schema) *schema.Field {
	if f := s.PrioritizedPrimaryField; f != nil && f.AutoIncrement && f.Readable {
		return f
	}
	for _, f := range s.PrimaryFields {
		if f.AutoIncrement && f.Readable {
			return f
		}
	}
	return nil
}

// missing are those of the rows that have no id.
func (i *ids) missing(rows []int) []int {
	if i.name == "" {
		return nil
	}
	var missing []int
	for _, row := range rows {
		if i.lacks(row) {
			missing = append(missing, row)
		}
	}
	return missing
}

func (i *ids) lacks(row int) bool {
	if i.maps != nil {
		m := i.maps[row]
		if m == nil {
			return false
		}
		for _, name := range i.names() {
			if v, ok := m[name]; ok && v != nil {
				return false
			}
		}
		return true
	}
	value, ok := i.value(row)
	if !ok {
		return false
	}
	_, zero := i.field.ValueOf(i.stmt.Context, value)
	return zero
}

// names are those by which a map may have the id.
func (i *ids) names() []string {
	if i.field == nil {
		return []string{i.name}
	}
	return []string{i.name, i.field.Name}
}

// value is the struct of a row.
func (i *ids) value(row int) (reflect.Value, bool) {
	value := i.stmt.ReflectValue
	if kind := value.Kind(); kind == reflect.Slice || kind == reflect.Array {
		value = value.Index(row)
	}
	return value, i.field != nil && reflect.Indirect(value).Kind() == reflect.Struct
}

// assign gives the rows their ids. A row that was ignored has none, and what
// generates none, such as a table without AUTOINCREMENT, leaves them as they are.
func (i *ids) assign(rows []int, result sql.Result, generated []int64) error {
	if len(generated) == 0 {
		first, err := result.LastInsertId()
		if err != nil || first == 0 {
			return err
		}
		for n := range rows {
			generated = append(generated, first+int64(n))
		}
	}
	if len(generated) != len(rows) {
		return nil
	}
	for n, row := range rows {
		if err := i.set(row, generated[n]); err != nil {
			return err
		}
	}
	return nil
}

func (i *ids) set(row int, id int64) error {
	if i.maps != nil {
		i.maps[row][i.name] = id
		return nil
	}
	value, ok := i.value(row)
	if !ok {
		return nil
	}
	return i.field.Set(i.stmt.Context, value, id)
}
