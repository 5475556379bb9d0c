package tntsql_test

import (
	"context"
	"fmt"
	"net/http"

	"github.com/tntsql/tntsql"
)

// What a session has written, its reads see on any instance.
func ExampleWithSession() {
	dsn, end := replicaSet("")
	defer end()
	db := openExample(dsn)
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE users (id INTEGER PRIMARY KEY, name STRING)"); err != nil {
		fmt.Println(err)
		return
	}
	ctx := tntsql.WithSession(context.Background())
	if _, err := db.ExecContext(ctx, "INSERT INTO users VALUES (1, 'Ann')"); err != nil {
		fmt.Println(err)
		return
	}
	var name string
	if err := db.QueryRowContext(ctx, "SELECT name FROM users WHERE id = 1").Scan(&name); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(name)
	// Output: Ann
}

// Each request of a web server is a session.
func ExampleWithSession_middleware() {
	sessions := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(w, r.WithContext(tntsql.WithSession(r.Context())))
		})
	}
	http.Handle("/", sessions(http.NotFoundHandler()))
}
