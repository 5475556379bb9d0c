package gormtarantool

import (
	"math"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// clauseBuilders write the clauses that the server wants in another form.
var clauseBuilders = map[string]clause.ClauseBuilder{
	"WHERE":    buildWhere,
	"GROUP BY": buildGroupBy,
	"FROM":     buildFrom,
	"SET":      buildSet,
	"LIMIT":    buildLimit,
	"FOR":      buildFor,
}

func buildWhere(c clause.Clause, builder clause.Builder) {
	if where, ok := c.Expression.(clause.Where); ok {
		if stmt, ok := builder.(*gorm.Statement); ok {
			where.Exprs, _ = conditions(stmt, where.Exprs)
			c.Expression = where
		}
	}
	c.Build(builder)
}

func buildGroupBy(c clause.Clause, builder clause.Builder) {
	if group, ok := c.Expression.(clause.GroupBy); ok {
		if stmt, ok := builder.(*gorm.Statement); ok {
			group.Having, _ = conditions(stmt, group.Having)
			c.Expression = group
		}
	}
	c.Build(builder)
}

func buildFrom(c clause.Clause, builder clause.Builder) {
	from, ok := c.Expression.(clause.From)
	stmt, isStmt := builder.(*gorm.Statement)
	if ok && isStmt && len(from.Joins) > 0 {
		joins := make([]clause.Join, len(from.Joins))
		for i, join := range from.Joins {
			join.ON.Exprs, _ = conditions(stmt, join.ON.Exprs)
			joins[i] = join
		}
		from.Joins = joins
		c.Expression = from
	}
	c.Build(builder)
}

// buildSet converts values for their columns, and names these without their table,
// which UPDATE does not take there.
func buildSet(c clause.Clause, builder clause.Builder) {
	set, ok := c.Expression.(clause.Set)
	if stmt, isStmt := builder.(*gorm.Statement); ok && isStmt {
		c.Expression = converted(stmt, set)
	}
	c.Build(builder)
}

func converted(stmt *gorm.Statement, set clause.Set) clause.Set {
	assignments := make(clause.Set, len(set))
	for i, a := range set {
		a.Column.Table = ""
		if convert := conversionOf(stmt, a.Column); convert != nil {
			a.Value = convert(a.Value)
		}
		assignments[i] = a
	}
	return assignments
}

// buildLimit gives an OFFSET the LIMIT that the server wants with it.
func buildLimit(c clause.Clause, builder clause.Builder) {
	if limit, ok := c.Expression.(clause.Limit); ok && limit.Offset > 0 && (limit.Limit == nil || *limit.Limit < 0) {
		all := math.MaxInt
		limit.Limit = &all
		c.Expression = limit
	}
	c.Build(builder)
}

// buildFor writes nothing: the server has no locks of rows. A transaction that has
// read what another one changed meanwhile fails with a conflict.
func buildFor(clause.Clause, clause.Builder) {}
