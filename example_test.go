package tntsql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/tarantooltest"
)

// replicaSet gives the DSN of a new replica set whose instances have run some
// Lua, and what ends it. Without a Tarantool binary nobody is at the DSN.
func replicaSet(lua string) (dsn string, end func()) {
	rs, err := tarantooltest.New(context.Background(), tarantooltest.Instances(2), tarantooltest.InitLua(lua))
	if err != nil {
		fmt.Println(err)
		return "tarantool://127.0.0.1:1/?selection_timeout=0", func() {}
	}
	return rs.DSN(), func() {
		if err := rs.Close(); err != nil {
			fmt.Println(err)
		}
	}
}

// openExample is sql.Open without its error, for the examples that are about something else.
func openExample(dsn string) *sql.DB {
	db, err := sql.Open(tntsql.DriverName, dsn)
	if err != nil {
		log.Fatal(err)
	}
	return db
}

func Example_open() {
	dsn, end := replicaSet("") // "tarantool://app:secret@10.0.0.1,10.0.0.2,10.0.0.3/"
	defer end()

	db, err := sql.Open("tarantool", dsn)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	ctx := context.Background()

	// Both go to the master.
	_, err = db.ExecContext(ctx, "CREATE TABLE users (id INTEGER PRIMARY KEY AUTOINCREMENT, name STRING)")
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := db.ExecContext(ctx, "INSERT INTO users (name) VALUES (?), (?)", "Ann", "Bob")
	if err != nil {
		fmt.Println(err)
		return
	}
	id, _ := result.LastInsertId()
	n, _ := result.RowsAffected()
	fmt.Println(n, "rows, the first has id", id)

	// Without a Mode this may go to a replica, which may not have the rows yet.
	var name string
	ctx = tntsql.WithMode(ctx, tntsql.ModeRW)
	err = db.QueryRowContext(ctx, "SELECT name FROM users WHERE id = ?", id).Scan(&name)
	fmt.Println(name, err)
	// Output:
	// 2 rows, the first has id 1
	// Ann <nil>
}

func ExampleCapture() {
	dsn, end := replicaSet("")
	defer end()
	db := openExample(dsn)
	defer db.Close()

	ctx, info := tntsql.Capture(context.Background())
	_, err := db.ExecContext(ctx, "CREATE TABLE users (id INTEGER PRIMARY KEY, name STRING)")
	fmt.Println(info.Kind, info.Mode, info.Instance.Role, info.Attempts, err)

	ctx = tntsql.WithMode(ctx, tntsql.ModeRO)
	var one int
	err = db.QueryRowContext(ctx, "SELECT 1").Scan(&one)
	fmt.Println(info.Kind, info.Mode, info.Instance.Role, info.Attempts, err)
	// Output:
	// ddl rw rw 1 <nil>
	// read ro ro 1 <nil>
}

func ExampleCall() {
	dsn, end := replicaSet(`
		function register(name)
			return {id = 42, name = name}, not box.info.ro
		end`)
	defer end()
	db := openExample(dsn)
	defer db.Close()

	// Only the caller knows that this procedure writes.
	reply, err := tntsql.Call(context.Background(), db, tntsql.ModeRW, "register", "Ann")
	if err != nil {
		fmt.Println(err)
		return
	}
	var user struct {
		ID   int    `msgpack:"id"`
		Name string `msgpack:"name"`
	}
	var writable bool
	err = reply.Decode(&user, &writable)
	fmt.Println(user.ID, user.Name, writable, reply.Instance().Role, err)
	// Output: 42 Ann true rw <nil>
}

func ExampleEval() {
	dsn, end := replicaSet("")
	defer end()
	db := openExample(dsn)
	defer db.Close()

	reply, err := tntsql.Eval(context.Background(), db, tntsql.ModeAny, "local a, b = ... return a * b, a + b", 6, 7)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(reply.Values())
	// Output: [42 13]
}

func ExampleRaw() {
	dsn, end := replicaSet("")
	defer end()
	db := openExample(dsn)
	defer db.Close()

	ctx := context.Background()
	err := tntsql.Raw(ctx, db, func(conn *tntsql.Conn) error {
		reply, err := conn.Call(ctx, tntsql.ModeRO, "math.max", 2, 3)
		if err != nil {
			return err
		}
		fmt.Println(reply.Values(), reply.Instance().Role)
		return nil
	})
	fmt.Println(err)
	// Output:
	// [3] ro
	// <nil>
}

// A held connection gives its Conn by Raw.
func ExampleConn_Call() {
	dsn, end := replicaSet("")
	defer end()
	db := openExample(dsn)
	defer db.Close()

	ctx := context.Background()
	held, err := db.Conn(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer held.Close()
	err = held.Raw(func(dc any) error {
		reply, err := dc.(*tntsql.Conn).Call(ctx, tntsql.ModeRW, "math.max", 2, 3)
		if err != nil {
			return err
		}
		fmt.Println(reply.Values(), reply.Instance().Role)
		return nil
	})
	fmt.Println(err)
	// Output:
	// [3] rw
	// <nil>
}

func ExampleError() {
	dsn, end := replicaSet("")
	defer end()
	db := openExample(dsn)
	defer db.Close()

	_, err := db.ExecContext(context.Background(), "INSERT INTO nowhere VALUES (1)")
	var answer *tntsql.Error
	if errors.As(err, &answer) {
		fmt.Println(answer.Code, answer.Name, answer.Type)
	}
	// Output: 36 ER_NO_SUCH_SPACE ClientError
}
