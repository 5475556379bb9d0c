package tntsql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"

	"github.com/tntsql/tntsql"
)

// connectorOf is NewConnector of a DSN without its error.
func connectorOf(dsn string, change func(*tntsql.Config)) *tntsql.Connector {
	cfg, err := tntsql.ParseDSN(dsn)
	if err != nil {
		log.Fatal(err)
	}
	if change != nil {
		change(cfg)
	}
	connector, err := tntsql.NewConnector(cfg)
	if err != nil {
		log.Fatal(err)
	}
	return connector
}

func ExampleConnector_With() {
	dsn, end := replicaSet("")
	defer end()
	connector := connectorOf(dsn, nil)
	writes := sql.OpenDB(connector)
	defer writes.Close()

	// Over the same connections: no writes, and reads from replicas if there are any.
	reports := sql.OpenDB(connector.With(tntsql.Defaults{ReadMode: tntsql.ModePreferRO, ReadOnly: true}))
	defer reports.Close()
	_, err := reports.Exec("DELETE FROM users")
	fmt.Println(errors.Is(err, tntsql.ErrReadOnlyHandle))
	// Output: true
}

func ExampleConnector_Topology() {
	dsn, end := replicaSet("")
	defer end()
	connector := connectorOf(dsn, nil)
	defer connector.Close()

	ctx := context.Background()
	for _, mode := range []tntsql.Mode{tntsql.ModeRW, tntsql.ModeRO} {
		if err := connector.WaitReady(ctx, mode); err != nil {
			fmt.Println(err)
			return
		}
	}
	for _, in := range connector.Topology().Instances { // its String is a table of more
		fmt.Println(in.Role, in.Status)
	}
	// Output:
	// rw running
	// ro running
}

func ExampleConnector_Stats() {
	dsn, end := replicaSet("")
	defer end()
	connector := connectorOf(dsn, nil)
	db := sql.OpenDB(connector)
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE t (id INTEGER PRIMARY KEY)"); err != nil {
		fmt.Println(err)
		return
	}
	stats := connector.Stats()
	fmt.Println(stats.Picks[tntsql.ModeRW], stats.Resent.Refused)
	// Output: 1 0
}

func ExampleTrace() {
	dsn, end := replicaSet("")
	defer end()
	db := sql.OpenDB(connectorOf(dsn, func(cfg *tntsql.Config) {
		cfg.Trace = &tntsql.Trace{
			Done: func(_ context.Context, info tntsql.Info, err error) {
				fmt.Println(info.Kind, info.Mode, info.Instance.Role, err)
			},
		}
	}))
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE t (id INTEGER PRIMARY KEY)"); err != nil {
		fmt.Println(err)
	}
	// Output: ddl rw rw <nil>
}
