package gormtarantool

import (
	"database/sql"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/callbacks"
	"gorm.io/gorm/clause"

	"github.com/tntsql/tntsql"
)

// create is GORM's callback gorm:create for a server without RETURNING and ON
// CONFLICT.
func create(db *gorm.DB) {
	if db.Error != nil {
		return
	}
	stmt := db.Statement
	if stmt.Schema != nil && !stmt.Unscoped {
		for _, c := range stmt.Schema.CreateClauses {
			stmt.AddClause(c)
		}
	}
	c := &creation{db: db, started: time.Now()}
	if stmt.SQL.Len() > 0 {
		if !db.DryRun {
			_, _, err := c.exec(false)
			c.done(err)
		}
		return
	}
	stmt.AddClauseIfNotExists(clause.Insert{})
	c.values = callbacks.ConvertToCreateValues(stmt)
	if db.Error != nil {
		return
	}
	c.convert()
	c.ids = idsOf(stmt)
	conflict, _ := stmt.Clauses["ON CONFLICT"].Expression.(clause.OnConflict)
	switch {
	case db.DryRun:
		c.build(c.all())
	case conflict.DoNothing:
		c.done(c.insertMissing(conflict))
	case len(conflict.DoUpdates) > 0:
		c.done(c.upsert(conflict))
	default:
		c.done(c.insert(c.all()))
	}
}

// creation is one Create.
type creation struct {
	db       *gorm.DB
	values   clause.Values
	ids      ids
	affected int64
	result   sql.Result
	started  time.Time // the statement that is being built or runs
	executed bool      // one has been, and is not logged yet
	err      error     // what it answered
	changed  int64     // how many rows it did
}

// convert makes values fit their columns.
func (c *creation) convert() {
	for column := range c.values.Columns {
		convert := conversionOf(c.db.Statement, c.values.Columns[column])
		if convert == nil {
			continue
		}
		for _, row := range c.values.Values {
			row[column] = convert(row[column])
		}
	}
}

// all are the numbers of all rows.
func (c *creation) all() []int {
	rows := make([]int, len(c.values.Values))
	for i := range rows {
		rows[i] = i
	}
	return rows
}

// insert inserts rows in one statement, and gives them their ids.
func (c *creation) insert(rows []int) error {
	c.build(rows)
	missing := c.ids.missing(rows)
	result, generated, err := c.exec(len(missing) > 1)
	if err != nil || len(missing) == 0 {
		return err
	}
	return c.ids.assign(missing, result, generated)
}

// build writes an INSERT of some rows.
func (c *creation) build(rows []int) {
	c.next()
	stmt := c.db.Statement
	values := c.values
	if len(rows) != len(values.Values) {
		values.Values = make([][]any, len(rows))
		for i, row := range rows {
			values.Values[i] = c.values.Values[row]
		}
	}
	stmt.SQL.Grow(180)
	stmt.AddClause(values)
	stmt.Build(stmt.BuildClauses...)
}

// next makes the statement empty for another one. GORM logs the last; those before
// it are logged here.
func (c *creation) next() {
	stmt := c.db.Statement
	if c.executed {
		text, vars := stmt.SQL.String(), stmt.Vars
		c.db.Logger.Trace(stmt.Context, c.started, func() (string, int64) {
			shown, values := text, vars
			if filter, ok := c.db.Logger.(gorm.ParamsFilter); ok {
				shown, values = filter.ParamsFilter(stmt.Context, text, vars...)
			}
			return c.db.Explain(shown, values...), c.changed
		}, c.err)
		c.executed = false
	}
	c.started = time.Now()
	stmt.SQL.Reset()
	stmt.Vars = nil
}

// exec runs the statement that was built. The ids generated for several rows need
// not follow each other: only Capture has them all.
func (c *creation) exec(capture bool) (sql.Result, []int64, error) {
	stmt := c.db.Statement
	ctx := stmt.Context
	info := new(tntsql.Info)
	if capture {
		ctx, info = tntsql.Capture(ctx)
	}
	result, err := stmt.ConnPool.ExecContext(ctx, stmt.SQL.String(), stmt.Vars...)
	c.executed, c.err, c.changed = true, err, 0
	if err != nil {
		return nil, nil, err
	}
	if c.changed, err = result.RowsAffected(); err != nil {
		return nil, nil, err
	}
	c.affected += c.changed
	c.result = result
	return result, info.GeneratedIDs, nil
}

// done tells GORM how it went.
func (c *creation) done(err error) {
	if err != nil {
		_ = c.db.AddError(err)
		return
	}
	c.db.RowsAffected = c.affected
	if result := c.db.Statement.Result; result != nil {
		result.Result = c.result
		result.RowsAffected = c.affected
	}
}
