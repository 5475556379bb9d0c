// Package golangmigrate is the database driver of golang-migrate,
// github.com/golang-migrate/migrate/v4, for Tarantool. Importing it registers the
// schemes tarantool and tarantool+srv:
//
//	m, err := migrate.New("file://migrations", "tarantool://app:secret@10.0.0.1,10.0.0.2,10.0.0.3/")
//	err = m.Up()
//
// The URL is a DSN of package tntsql. One parameter more, x-migrations-table, is
// the table for the version; by default it is schema_migrations.
//
// Tarantool has no DDL in transactions, so the statements of a file run one by
// one, each by itself. When one fails, those before it stay, and the database is
// dirty: undo by hand what the file has done, then Force the version before it.
//
// All statements go to the master, the one that reads the version too: a replica
// that lags would have a migration run twice.
package golangmigrate
