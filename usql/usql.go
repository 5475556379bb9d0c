// Package usql registers Tarantool with usql, the command-line client for many databases
// (github.com/xo/usql), with the URLs of package dburl beside it. README says how to build
// a usql with it.
package usql

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/xo/usql/drivers"

	"github.com/tntsql/tntsql"
	_ "github.com/tntsql/tntsql/usql/dburl" // registers the scheme
)

func init() {
	drivers.Register(tntsql.DriverName, drivers.Driver{
		AllowMultilineComments: true,
		Version:                version,
		Err:                    codeAndMessage,
		IsPasswordErr:          loginRefused,
		ConvertBytes:           bytesLiteral,
		Copy:                   copyRows,
	})
}

func version(ctx context.Context, db drivers.DB) (string, error) {
	var version string
	if err := db.QueryRowContext(ctx, "SELECT version()").Scan(&version); err != nil {
		return "", err
	}
	return "Tarantool " + version, nil
}

// codeAndMessage are the server's code, where it answered, and the text without the prefix
// that usql adds.
func codeAndMessage(err error) (code, message string) {
	var server *tntsql.Error
	if errors.As(err, &server) {
		code = strconv.FormatUint(uint64(server.Code), 10)
	}
	return code, strings.TrimPrefix(err.Error(), "tntsql: ")
}

// loginRefused has usql ask for the password.
func loginRefused(err error) bool {
	var none *tntsql.NoInstanceError
	return errors.As(err, &none) &&
		slices.ContainsFunc(none.Instances, func(in tntsql.TopologyInstance) bool { return in.Status == "login refused" })
}

// bytesLiteral shows a VARBINARY as SQL has it. Nothing else comes as bytes.
func bytesLiteral(b []byte, _ string) (string, error) {
	return "x'" + hex.EncodeToString(b) + "'", nil
}

// copyRows is usql's \copy. Each row is a statement of its own: transactions need
// Tarantool 2.10 and, for memtx, memtx_use_mvcc_engine.
func copyRows(ctx context.Context, db *sql.DB, rows *sql.Rows, table string) (int64, error) {
	return drivers.FlexibleCopyWithInsert(ctx, db, rows, table, func(int) string { return "?" }, false)
}
