package gormtarantool

import (
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// conditions are the expressions as the server takes them: the same slice if it takes
// them as they are.
func conditions(stmt *gorm.Statement, exprs []clause.Expression) ([]clause.Expression, bool) {
	var changed []clause.Expression
	for i, expr := range exprs {
		replaced, ok := condition(stmt, expr)
		if !ok {
			continue
		}
		if changed == nil {
			changed = append(changed, exprs...)
		}
		changed[i] = replaced
	}
	if changed == nil {
		return exprs, false
	}
	return changed, true
}

// condition is an expression as the server takes it, and whether that is another one.
func condition(stmt *gorm.Statement, expr clause.Expression) (clause.Expression, bool) {
	var changed bool
	switch e := expr.(type) {
	case clause.IN:
		if _, single := e.Column.(clause.Column); !single {
			if rows, ok := tuplesOf(e.Values); ok {
				return tupleIn{e.Column, tupleRows{rows: rows}}, true
			}
		}
		convert := conversionOf(stmt, e.Column)
		if convert == nil {
			return expr, false
		}
		values := make([]any, len(e.Values))
		for i, v := range e.Values {
			values[i] = convert(v)
		}
		return clause.IN{Column: e.Column, Values: values}, true
	case clause.Eq:
		if convert := conversionOf(stmt, e.Column); convert != nil {
			e.Value = convert(e.Value)
			return e, true
		}
	case clause.Neq:
		if convert := conversionOf(stmt, e.Column); convert != nil {
			e.Value = convert(e.Value)
			return e, true
		}
	case clause.Expr:
		e.Vars, changed = withTuples(e.SQL, e.Vars)
		return e, changed
	case clause.NamedExpr:
		e.Vars, changed = withTuples(e.SQL, e.Vars)
		return e, changed
	case clause.AndConditions:
		e.Exprs, changed = conditions(stmt, e.Exprs)
		return e, changed
	case clause.OrConditions:
		e.Exprs, changed = conditions(stmt, e.Exprs)
		return e, changed
	case clause.NotConditions:
		e.Exprs, changed = conditions(stmt, e.Exprs)
		return e, changed
	case clause.Where:
		e.Exprs, changed = conditions(stmt, e.Exprs)
		return e, changed
	}
	return expr, false
}

// conversionOf is that of a column of the statement's own table.
func conversionOf(stmt *gorm.Statement, column any) conversion {
	if stmt.Schema == nil {
		return nil
	}
	name := ""
	switch c := column.(type) {
	case string:
		name = c
	case clause.Column:
		if c.Table != "" && c.Table != clause.CurrentTable && c.Table != stmt.Table {
			return nil
		}
		name = c.Name
	}
	d, ok := stmt.Dialector.(*Dialector)
	field := stmt.Schema.FieldsByDBName[name]
	if name == clause.PrimaryKey {
		field = stmt.Schema.PrioritizedPrimaryField
	}
	if !ok || field == nil {
		return nil
	}
	return d.conversions.of(d, field)
}
