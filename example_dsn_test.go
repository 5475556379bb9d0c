package tntsql_test

import (
	"context"
	"fmt"

	"github.com/tntsql/tntsql"
)

func ExampleParseDSN() {
	cfg, err := tntsql.ParseDSN("tarantool://app:secret@10.0.0.1,10.0.0.2:3302/?read_mode=prefer_ro&request_timeout=300ms")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(cfg.User, cfg.Hosts, cfg.ReadMode, cfg.RequestTimeout, cfg.ConnectTimeout)
	fmt.Println(cfg)

	_, err = tntsql.ParseDSN("tarantool://app:p@ss@10.0.0.1/")
	fmt.Println(err)
	// Output:
	// app [10.0.0.1:3301 10.0.0.2:3302] prefer_ro 300ms 5s
	// tarantool://app:***@10.0.0.1:3301,10.0.0.2:3302/?read_mode=prefer_ro&request_timeout=300ms
	// tntsql: DSN: password: percent-encode "@" as %40
}

func ExampleConfig_FormatDSN() {
	cfg := tntsql.NewConfig()
	cfg.User, cfg.Password = "app", "p@ss/word"
	cfg.Hosts = []string{"10.0.0.1:3301", "/var/run/tnt.sock"}
	fmt.Println(cfg.FormatDSN())
	// Output: tarantool://app:p%40ss%2Fword@10.0.0.1:3301,%2Fvar%2Frun%2Ftnt.sock/
}

func ExampleWithMode() {
	ctx := tntsql.WithMode(context.Background(), tntsql.ModeRW)
	// db.QueryContext(ctx, ...) reads from the master.
	mode, ok := tntsql.ModeFromContext(ctx)
	fmt.Println(mode, ok)
	// Output: rw true
}
