package golangmigrate_test

import (
	"context"
	"fmt"
	"log"
	"testing/fstest"

	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/source/iofs"

	_ "github.com/tntsql/tntsql/migrate/golangmigrate"
	"github.com/tntsql/tntsql/tarantooltest"
)

// files stands for a directory of migrations, or for an embed.FS.
var files = fstest.MapFS{
	"1_users.up.sql": {Data: []byte(`
CREATE TABLE users (id INTEGER PRIMARY KEY, name STRING);
CREATE INDEX users_name ON users (name);
`)},
	"1_users.down.sql": {Data: []byte(`DROP TABLE users`)},
	"2_ann.up.sql":     {Data: []byte(`INSERT INTO users VALUES (1, 'Ann')`)},
	"2_ann.down.sql":   {Data: []byte(`DELETE FROM users WHERE id = 1`)},
}

func Example() {
	rs, err := tarantooltest.New(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	defer rs.Close()
	source, err := iofs.New(files, ".")
	if err != nil {
		fmt.Println(err)
		return
	}
	url := rs.DSN() // "tarantool://app:secret@10.0.0.1,10.0.0.2,10.0.0.3/"

	m, err := migrate.NewWithSourceInstance("iofs", source, url)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	fmt.Println(m.Up())
	fmt.Println(m.Version())
	fmt.Println(m.Steps(-1))
	fmt.Println(m.Version())
	// Output:
	// <nil>
	// 2 false <nil>
	// <nil>
	// 1 false <nil>
}
