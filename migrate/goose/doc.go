// Package tntgoose runs the migrations of goose, github.com/pressly/goose/v3, on
// Tarantool.
//
//	db, err := sql.Open("tarantool", dsn)
//	provider, err := tntgoose.NewProvider(db, os.DirFS("migrations"))
//	results, err := provider.Up(ctx)
//
// Tarantool has no DDL in transactions, so migrations run outside of one, each
// statement by itself. One that fails in its middle leaves what came before it:
// keep migrations small.
//
// All statements go to the master, those that read versions too: a replica that
// lags would have a migration run twice.
package tntgoose
