package tntgoose_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"testing/fstest"

	"github.com/pressly/goose/v3"

	tntgoose "github.com/tntsql/tntsql/migrate/goose"
	"github.com/tntsql/tntsql/tarantooltest"
)

// migrations stands for os.DirFS("migrations"), or for an embed.FS.
var migrations = fstest.MapFS{
	"00001_users.sql": {Data: []byte(`-- +goose Up
CREATE TABLE users (id INTEGER PRIMARY KEY, name STRING);
CREATE INDEX users_name ON users (name);

-- +goose Down
DROP TABLE users;
`)},
	"00002_ann.sql": {Data: []byte(`-- +goose Up
INSERT INTO users VALUES (1, 'Ann');

-- +goose Down
DELETE FROM users WHERE id = 1;
`)},
}

func Example() {
	ctx := context.Background()
	rs, err := tarantooltest.New(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer rs.Close()
	db, err := sql.Open("tarantool", rs.DSN()) // "tarantool://app:secret@10.0.0.1,10.0.0.2,10.0.0.3/"
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	provider, err := tntgoose.NewProvider(db, migrations, goose.WithLogger(goose.NopLogger()))
	if err != nil {
		fmt.Println(err)
		return
	}
	results, err := provider.Up(ctx)
	for _, r := range results {
		fmt.Println(r.Direction, r.Source.Path)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := provider.Down(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Direction, result.Source.Path)
	version, err := provider.GetDBVersion(ctx)
	fmt.Println("version:", version, err)
	// Output:
	// up 00001_users.sql
	// up 00002_ann.sql
	// down 00002_ann.sql
	// version: 1 <nil>
}
