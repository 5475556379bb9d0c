package failover

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/tntsql/tntsql"
)

// The statements of a load. An UPDATE finds its row there already, with N = 0:
// that is for servers that take an INSERT though they are read-only.
const (
	insertSQL = "INSERT INTO W (ID, N) VALUES (?, 1)"
	updateSQL = "UPDATE W SET N = N + 1 WHERE ID = ?"
	readSQL   = "SELECT V FROM R WHERE ID = ?"
)

// Kinds of errors.
const (
	unknownOutcome = "outcome unknown"
	// ownDeadline is what a caller asked for: its deadline passed, and the
	// write had not been sent.
	ownDeadline = "deadline"
)

// value is what the row to read has in V.
func value(row int64) int64 { return 7*row + 1 }

func writeSQL(s Server) string {
	if s.AtLeast(2, 10) {
		return insertSQL
	}
	return updateSQL
}

// database is the driver under test.
type database struct {
	writes, reads *sql.DB
	statement     string
}

func (d *database) write(ctx context.Context, id int64) error {
	result, err := d.writes.ExecContext(ctx, d.statement, id)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		return fmt.Errorf("a write changed %d rows (%w)", n, err)
	}
	return nil
}

func (d *database) read(ctx context.Context, row int64) error {
	var v int64
	if err := d.reads.QueryRowContext(ctx, readSQL, row).Scan(&v); err != nil {
		return err
	}
	return compare(row, v)
}

func compare(row, v int64) error {
	if v != value(row) {
		return fmt.Errorf("row %d has %d, not %d", row, v, value(row))
	}
	return nil
}

func (d *database) judge(err error) (outcome, string) {
	var refused *tntsql.Error
	switch {
	case errors.Is(err, tntsql.ErrOutcomeUnknown):
		return unknown, unknownOutcome
	case errors.Is(err, context.DeadlineExceeded):
		return failed, ownDeadline
	case errors.Is(err, tntsql.ErrNoInstance):
		return failed, "no instance"
	case errors.As(err, &refused):
		return failed, refused.Name
	}
	return failed, "other"
}
