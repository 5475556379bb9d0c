package tntsql_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/tntsql/tntsql"
)

func ExampleExecBatch() {
	dsn, end := replicaSet("")
	defer end()
	db := openExample(dsn)
	defer db.Close()

	ctx := context.Background()
	_, err := tntsql.ExecBatch(ctx, db,
		tntsql.Query{SQL: "CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER CHECK (balance >= 0))"},
		tntsql.Query{SQL: "INSERT INTO accounts VALUES (1, 100), (2, 0)"},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	transfer := func(amount int) error {
		results, err := tntsql.ExecBatch(ctx, db,
			tntsql.Query{SQL: "UPDATE accounts SET balance = balance + ? WHERE id = 2", Args: []any{amount}},
			tntsql.Query{SQL: "UPDATE accounts SET balance = balance - ? WHERE id = 1", Args: []any{amount}},
			tntsql.Query{SQL: "SELECT balance FROM accounts WHERE id > 0 ORDER BY id"},
		)
		if err == nil {
			fmt.Println("balances:", results[2].Rows)
		}
		return err
	}
	fmt.Println(transfer(70))

	// The second statement fails, so the first has done nothing either.
	var failed *tntsql.BatchError
	if errors.As(transfer(70), &failed) {
		fmt.Println("failed:", failed.Query.SQL)
	}
	fmt.Println(transfer(30))
	// Output:
	// balances: [[30] [70]]
	// <nil>
	// failed: UPDATE accounts SET balance = balance - ? WHERE id = 1
	// balances: [[0] [100]]
	// <nil>
}
