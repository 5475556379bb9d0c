package golangmigrate

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	protocol "github.com/tarantool/go-iproto"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/migrate/internal/ident"
)

// maxSystemID is the highest id of the server's own spaces (BOX_SYSTEM_ID_MAX).
const maxSystemID = 511

// space is a table, a view, or a space that was made in Lua.
type space struct {
	name   string
	view   bool
	checks []string // names of its CHECK constraints, on servers from 2.11 on
}

// constraints are, on servers from 2.11 on, the CHECK constraints of a table or a
// column, by name.
type constraints map[string]any

// Drop drops every table, view and Lua space that the user sees, those of
// applications written in Lua too.
func (d *driver) Drop() error {
	left, err := d.spaces()
	if err != nil {
		return prefixed(err)
	}
	// The table of the lock goes last: until then others wait for it.
	isLock := func(s space) bool { return s.name == d.lockTable() }
	hasLock := slices.ContainsFunc(left, isLock)
	left = slices.DeleteFunc(left, isLock)
	for len(left) > 0 {
		// What a view or a foreign key refers to cannot be dropped before it.
		var needed []space
		var errs []error
		for _, s := range left {
			switch err := d.drop(s); {
			case hasCode(err, protocol.ER_DROP_SPACE, protocol.ER_ALTER_SPACE):
				needed = append(needed, s)
				errs = append(errs, err)
			case err != nil:
				return prefixed(err)
			}
		}
		if len(needed) == len(left) {
			return prefixed(fmt.Errorf("what is left refers to each other: %w", errors.Join(errs...)))
		}
		left = needed
	}
	if hasLock {
		return prefixed(d.drop(space{name: d.lockTable()}))
	}
	return nil
}

// spaces returns the youngest first, which may refer to older ones.
func (d *driver) spaces() (_ []space, err error) {
	rows, err := d.db.QueryContext(master(),
		`SELECT "name", "flags", "format" FROM "_vspace" WHERE "id" > ? ORDER BY "id" DESC`, maxSystemID)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var all []space
	for rows.Next() {
		var s space
		var flags tntsql.Doc[struct {
			View       bool        `msgpack:"view"`
			Constraint constraints `msgpack:"constraint"`
		}]
		var format tntsql.Doc[[]struct {
			Constraint constraints `msgpack:"constraint"`
		}]
		if err := rows.Scan(&s.name, &flags, &format); err != nil {
			return nil, err
		}
		s.view = flags.V.View
		s.checks = slices.Collect(maps.Keys(flags.V.Constraint))
		for _, column := range format.V {
			s.checks = slices.AppendSeq(s.checks, maps.Keys(column.Constraint))
		}
		all = append(all, s)
	}
	return all, rows.Err()
}

func (d *driver) drop(s space) error {
	kind := "TABLE "
	if s.view {
		kind = "VIEW "
	}
	if err := d.exec("DROP " + kind + ident.Quote(s.name)); err != nil {
		return err
	}
	// The functions that SQL makes for CHECK constraints outlive the table, and
	// keep it from being made again.
	for _, check := range s.checks {
		if err := d.exec(`DELETE FROM "_func" WHERE "name" = ?`, "check_"+s.name+"_"+check); err != nil {
			return err
		}
	}
	return nil
}

func hasCode(err error, codes ...protocol.Error) bool {
	var e *tntsql.Error
	return errors.As(err, &e) && slices.Contains(codes, protocol.Error(e.Code))
}
