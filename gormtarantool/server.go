package gormtarantool

import (
	"context"
	"database/sql"
	"fmt"

	"gorm.io/gorm"

	"github.com/tntsql/tntsql"
)

// version is a server's major and minor version: no feature here came in a patch.
type version struct{ major, minor int }

func (v version) atLeast(major, minor int) bool {
	return v.major > major || v.major == major && v.minor >= minor
}

// String is "2.6".
func (v version) String() string { return fmt.Sprintf("%d.%d", v.major, v.minor) }

// server is what is known of the servers behind a handle. They are expected to be
// alike, as they are in a replica set outside of an upgrade.
type server struct {
	version      version
	transactions bool // over the network, on memtx tables
}

// Codes of the server's errors that decide something here.
const (
	erTupleFound       = 3
	erDropSpace        = 11
	erAlterSpace       = 12
	erAccessDenied     = 42
	erMultiStatement   = 54
	erTransactionYield = 154
	erSQLExecute       = 159
)

// learn asks an instance for its version and tries a transaction there. It needs no
// right that statements would not need.
func learn(conn gorm.ConnPool) (server, error) {
	ctx := context.Background()
	var (
		s    server
		text string
	)
	rows, err := conn.QueryContext(ctx, "SELECT VERSION()")
	if err != nil {
		return s, err
	}
	if err := scanOne(rows, &text); err != nil {
		return s, err
	}
	if _, err := fmt.Sscanf(text, "%d.%d", &s.version.major, &s.version.minor); err != nil {
		return s, fmt.Errorf("version %q: %w", text, err)
	}
	if s.version.atLeast(2, 10) {
		s.transactions, err = transactionsWork(ctx, conn)
	}
	return s, err
}

func scanOne(rows *sql.Rows, dst any) error {
	defer rows.Close() //nolint:errcheck // Err has what matters
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return err
		}
		return sql.ErrNoRows
	}
	if err := rows.Scan(dst); err != nil {
		return err
	}
	return rows.Err()
}

// transactionsWork tries one. box.cfg is not for every user to read; but where
// memtx_use_mvcc_engine is off, the second request of a transaction that has
// touched a memtx space answers ER_TRANSACTION_YIELD. It must be a space that the
// user may read: with the right to read the universe, which UPDATE and DELETE
// need, _schema is one; else one of the user's own may be. If none is, the answer is no:
// without transactions everything works that works at all.
func transactionsWork(ctx context.Context, conn gorm.ConnPool) (bool, error) {
	works, err := tryTransaction(ctx, conn, `SELECT "key" FROM "_schema" WHERE "key" = 'version'`)
	if !hasCode(err, erAccessDenied) {
		return works, err
	}
	rows, err := conn.QueryContext(ctx, `SELECT "name" FROM "_vspace" WHERE "id" > 511 AND "engine" = 'memtx' LIMIT 16`)
	if err != nil {
		return false, err
	}
	defer rows.Close() //nolint:errcheck // Err has what matters
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return false, err
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		return false, err
	}
	for _, name := range names {
		works, err := tryTransaction(ctx, conn, "SELECT COUNT(*) FROM "+quoted(name))
		if !hasCode(err, erAccessDenied) {
			return works, err
		}
	}
	return false, nil
}

// tryTransaction reads twice in one transaction, which changes nothing: on the
// master if there is one, since transactions that write run there.
func tryTransaction(ctx context.Context, conn gorm.ConnPool, query string) (works bool, err error) {
	tx, err := begin(tntsql.WithMode(ctx, tntsql.ModePreferRW), conn)
	if err != nil || tx == nil {
		return false, err
	}
	defer tx.Rollback() //nolint:errcheck // nothing was written
	for range 2 {
		rows, err := tx.QueryContext(ctx, query)
		if hasCode(err, erTransactionYield) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if err := rows.Close(); err != nil {
			return false, err
		}
	}
	return true, nil
}

// readTx is what tryTransaction needs of a transaction.
type readTx interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	Rollback() error
}

// begin is nil without an error if conn begins no transactions.
func begin(ctx context.Context, conn gorm.ConnPool) (readTx, error) {
	opts := &sql.TxOptions{ReadOnly: true}
	switch beginner := conn.(type) {
	case gorm.TxBeginner:
		return beginner.BeginTx(ctx, opts)
	case gorm.ConnPoolBeginner:
		pool, err := beginner.BeginTx(ctx, opts)
		if err != nil {
			return nil, err
		}
		tx, _ := pool.(readTx)
		return tx, nil
	default:
		return nil, nil
	}
}
