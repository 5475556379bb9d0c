package gormtarantool

import (
	_ "embed" // the chunk
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/tntsql/tntsql"
)

// The chunk that changes tables, in three parts.
var (
	//go:embed alter/plan.lua
	alterPlan string
	//go:embed alter/keys.lua
	alterKeys string
	//go:embed alter/rows.lua
	alterRows string

	alterChunk = alterPlan + alterKeys + alterRows
)

// change is what the chunk makes of a table.
type change struct {
	columns    []map[string]any // all of the new table's
	statements []string         // run while the table is empty
	violations string           // a query for rows that must not be, if there is one
}

// keep begins a change that keeps all columns.
func (t *table) keep() *change {
	c := &change{columns: make([]map[string]any, len(t.columns)), statements: []string{}}
	for i, column := range t.columns {
		c.columns[i] = map[string]any{
			"from":     i + 1,
			"name":     column.name,
			"type":     column.typ,
			"nullable": column.nullable,
		}
	}
	return c
}

var errInTransaction = errors.New("gormtarantool: tables cannot be changed inside a transaction")

// exec runs DDL. In a transaction the server would answer OK, and forget it.
func (m Migrator) exec(text string, vars ...any) error {
	if m.inTransaction() {
		return errInTransaction
	}
	return m.DB.Session(&gorm.Session{}).Exec(text, vars...).Error
}

func (m Migrator) inTransaction() bool {
	_, inside := m.DB.Statement.ConnPool.(gorm.TxCommitter)
	return inside
}

// alter changes a table and its rows, all or nothing.
func (m Migrator) alter(t *table, c *change, what string) error {
	text := fmt.Sprintf("/* %s: %s */", t.name, what) // what logs show
	if m.DB.DryRun {
		return m.DB.Exec(text).Error
	}
	if m.inTransaction() {
		return errInTransaction
	}
	pool := m.DB.Statement.ConnPool
	if prepared, ok := pool.(*gorm.PreparedStmtDB); ok {
		pool = prepared.ConnPool // a chunk is no statement to prepare
	}
	server := m.dialector.server.version
	argument := map[string]any{
		"columns":               c.columns,
		"statements":            c.statements,
		"constraints_in_format": server.atLeast(2, 11),
		"default_is_value":      server.atLeast(3, 0),
	}
	if c.violations != "" {
		argument["violations"] = c.violations
	}
	if server.atLeast(2, 10) {
		argument["isolation"] = "read-committed"
	}
	ctx, started := m.DB.Statement.Context, time.Now()
	_, err := tntsql.Eval(ctx, pool, tntsql.ModeRW, alterChunk, t.name, argument)
	m.DB.Logger.Trace(ctx, started, func() (string, int64) { return text, -1 }, err)
	if hasCode(err, erAccessDenied) {
		err = fmt.Errorf("%w; to change tables that hold rows the user needs: box.schema.user.grant(user, 'execute', 'universe')", err)
	}
	if err != nil {
		return fmt.Errorf("gormtarantool: %s: %w", what, err)
	}
	return nil
}
