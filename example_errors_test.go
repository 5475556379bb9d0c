package tntsql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/tntsql/tntsql"
)

func ExampleNewConnector() {
	dsn, end := replicaSet("")
	defer end()
	cfg, err := tntsql.ParseDSN(dsn)
	if err != nil {
		log.Fatal(err)
	}
	// What no text can carry: a secret that is fetched for each connection, say.
	user, password := cfg.User, cfg.Password
	cfg.Credentials = func(context.Context, string) (string, string, error) { return user, password, nil }

	connector, err := tntsql.NewConnector(cfg)
	if err != nil {
		log.Fatal(err)
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	fmt.Println(db.Ping())
	// Output: <nil>
}

func ExampleConnector_WaitReady() {
	dsn, end := replicaSet("")
	defer end()
	connector := connectorOf(dsn, nil)
	defer connector.Close()

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	fmt.Println(connector.WaitReady(ctx, tntsql.ModeRW))
	// Output: <nil>
}

func ExampleNoInstanceError() {
	db := openExample("tarantool://127.0.0.1:1/?selection_timeout=0") // nobody is there
	defer db.Close()

	_, err := db.Exec("DELETE FROM users")
	var none *tntsql.NoInstanceError
	if errors.As(err, &none) {
		for _, in := range none.Instances {
			fmt.Println(none.Mode, in.Address, in.Status)
		}
	}
	// Output: rw 127.0.0.1:1 down
}

func ExampleOutcomeUnknownError() {
	dsn, end := replicaSet("function slow() require('fiber').sleep(1) end")
	defer end()
	db := openExample(dsn)
	defer db.Close()
	if _, err := db.Exec("SELECT 1"); err != nil { // connects to the master
		fmt.Println(err)
		return
	}

	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	_, err := tntsql.Call(ctx, db, tntsql.ModeRW, "slow")
	var unknown *tntsql.OutcomeUnknownError
	if errors.As(err, &unknown) { // the call was sent: look before you send it again
		fmt.Println(unknown.Instance.Role, errors.Is(err, context.DeadlineExceeded))
	}
	// Output: rw true
}
