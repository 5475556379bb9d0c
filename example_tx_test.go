package tntsql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/tntsql/tntsql"
)

// exampleAccounts is a handle on a new replica set with two accounts: 100 on the
// first, nothing on the second.
func exampleAccounts() (db *sql.DB, end func()) {
	dsn, stop := replicaSet(`
		if not box.info.ro then
			box.execute('CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER)')
			box.execute('INSERT INTO accounts VALUES (1, 100), (2, 0)')
		end`)
	db = openExample(dsn)
	return db, func() {
		_ = db.Close()
		stop()
	}
}

// printAccounts prints the balances on the master.
func printAccounts(ctx context.Context, db *sql.DB) {
	ctx = tntsql.WithMode(ctx, tntsql.ModeRW)
	for id := 1; id <= 2; id++ {
		var balance int
		err := db.QueryRowContext(ctx, "SELECT balance FROM accounts WHERE id = ?", id).Scan(&balance)
		fmt.Println("account", id, "has", balance, err)
	}
}

var errPoor = errors.New("not enough money")

// The function may be called several times: whoever is in conflict with another
// transaction, or has lost the master, begins again.
func ExampleRunTx() {
	db, end := exampleAccounts()
	defer end()
	ctx := context.Background()

	const take, give = "UPDATE accounts SET balance = balance - ? WHERE id = ?", "UPDATE accounts SET balance = balance + ? WHERE id = ?"
	err := tntsql.RunTx(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
		var balance int
		if err := tx.QueryRowContext(ctx, "SELECT balance FROM accounts WHERE id = ?", 1).Scan(&balance); err != nil {
			return err
		}
		if balance < 30 {
			return errPoor // rolls back
		}
		if _, err := tx.ExecContext(ctx, take, 30, 1); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, give, 30, 2)
		return err
	}, tntsql.TxOptions(&sql.TxOptions{Isolation: sql.LevelSnapshot}))
	if errors.Is(err, tntsql.ErrTxUnsupported) { // before Tarantool 2.10, where this is what works
		_, err = tntsql.ExecBatch(ctx, db,
			tntsql.Query{SQL: take, Args: []any{30, 1}},
			tntsql.Query{SQL: give, Args: []any{30, 2}})
	}
	if errors.Is(err, tntsql.ErrOutcomeUnknown) {
		fmt.Println("it may have been committed: look before doing it again")
	}
	fmt.Println(err)
	printAccounts(ctx, db)
	// Output:
	// <nil>
	// account 1 has 70 <nil>
	// account 2 has 30 <nil>
}

// Retry goes around what has its own way to a transaction: a batch, or an ORM's
// method. The error must be wrapped, not only quoted.
func ExampleRetry() {
	db, end := exampleAccounts()
	defer end()
	ctx := context.Background()

	err := tntsql.Retry(ctx, func(ctx context.Context) error {
		_, err := tntsql.ExecBatch(ctx, db,
			tntsql.Query{SQL: "UPDATE accounts SET balance = balance - 30 WHERE id = 1"},
			tntsql.Query{SQL: "UPDATE accounts SET balance = balance + 30 WHERE id = 2"})
		if err != nil {
			return fmt.Errorf("move money: %w", err)
		}
		return nil
	}, tntsql.MaxAttempts(5))
	fmt.Println(err)
	printAccounts(ctx, db)
	// Output:
	// <nil>
	// account 1 has 70 <nil>
	// account 2 has 30 <nil>
}

func ExampleIsUniqueViolation() {
	db, end := exampleAccounts()
	defer end()
	ctx := context.Background()

	_, err := db.ExecContext(ctx, "INSERT INTO accounts VALUES (?, ?)", 2, 0)
	fmt.Println(tntsql.IsUniqueViolation(err))
	_, err = db.ExecContext(ctx, "INSERT INTO accounts VALUES (?, ?)", 3, 0)
	fmt.Println(tntsql.IsUniqueViolation(err), err)
	// Output:
	// true
	// false <nil>
}

// A transaction by hand needs Tarantool 2.10 and, on memtx spaces,
// box.cfg.memtx_use_mvcc_engine = true. DDL has no place in it.
func Example_beginTx() {
	db, end := exampleAccounts()
	defer end()
	ctx := context.Background()

	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if errors.Is(err, tntsql.ErrTxUnsupported) {
		fmt.Println(err) // names the version that was found; ExecBatch works there
		return
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it does nothing

	if _, err := tx.ExecContext(ctx, "UPDATE accounts SET balance = balance - 30 WHERE id = 1"); err != nil {
		fmt.Println(err)
		return
	}
	if _, err := tx.ExecContext(ctx, "UPDATE accounts SET balance = balance + 30 WHERE id = 2"); err != nil {
		fmt.Println(err)
		return
	}
	switch err := tx.Commit(); {
	case errors.Is(err, tntsql.ErrOutcomeUnknown):
		fmt.Println("it may have been committed: look before doing it again")
	case tntsql.IsRetryable(err):
		fmt.Println("it was not committed, and may be begun again")
	case err != nil:
		fmt.Println(err)
	}
}
