package tntgoose

import (
	"database/sql"
	"io/fs"

	"github.com/pressly/goose/v3"
)

// NewProvider returns a goose provider for the migrations of fsys, which may be
// nil if all are in Go. It is goose.NewProvider with what Tarantool needs: the
// Store of goose's usual table, goose.WithIsolateDDL(true), and NewLocker. Those
// of opts that set one of them are an error. A file with START TRANSACTION and
// the like is refused before anything of it has run, by an error that is a
// tntsql.ErrSessionStatement.
func NewProvider(db *sql.DB, fsys fs.FS, opts ...goose.ProviderOption) (*goose.Provider, error) {
	if fsys != nil {
		fsys = files{fsys}
	}
	return goose.NewProvider(goose.DialectCustom, db, fsys, append([]goose.ProviderOption{
		goose.WithStore(NewStore(goose.DefaultTablename)),
		goose.WithIsolateDDL(true),
		goose.WithLocker(NewLocker()),
	}, opts...)...)
}
