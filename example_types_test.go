package tntsql_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
)

// Most of these types came with Tarantool 2.10. An older server gets none of them: the
// error, which each example prints, names the version that is needed.

// exampleGoods is a handle on a new replica set with the table goods. All of its
// statements go to the master.
func exampleGoods() (db *sql.DB, end func()) {
	dsn, stop := replicaSet(`
		if not box.info.ro then
			box.execute('CREATE TABLE goods (id INTEGER PRIMARY KEY, price DECIMAL, code UUID, made DATETIME, lasts INTERVAL, about MAP, tags ARRAY)')
		end`)
	separator := "?"
	if strings.Contains(dsn, "?") {
		separator = "&"
	}
	db = openExample(dsn + separator + "read_mode=rw")
	return db, func() {
		_ = db.Close()
		stop()
	}
}

func ExampleDecimal() {
	db, end := exampleGoods()
	defer end()
	ctx := context.Background()

	_, err := db.ExecContext(ctx, "INSERT INTO goods (id, price) VALUES (?, ?)", 1, tntsql.Decimal("19.90"))
	if err != nil {
		fmt.Println(err)
		return
	}
	var price, three tntsql.Decimal
	err = db.QueryRowContext(ctx, "SELECT price, price * 3 FROM goods WHERE id = ?", 1).Scan(&price, &three)
	fmt.Println(price, three, err)
	// Since Tarantool 2.10 it prints:
	// 19.90 59.70 <nil>
}

func ExampleUUID() {
	db, end := exampleGoods()
	defer end()
	ctx := context.Background()

	code, err := tntsql.ParseUUID("64d22e4d-ac92-4a23-899a-e59f34af5479")
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := db.ExecContext(ctx, "INSERT INTO goods (id, code) VALUES (?, ?)", 1, code); err != nil {
		fmt.Println(err)
		return
	}
	var found tntsql.UUID
	err = db.QueryRowContext(ctx, "SELECT code FROM goods WHERE id = ?", 1).Scan(&found)
	fmt.Println(found, found == code, err)
	// Since Tarantool 2.10 it prints:
	// 64d22e4d-ac92-4a23-899a-e59f34af5479 true <nil>
}

func ExampleParseUUID() {
	id, err := tntsql.ParseUUID("64D22E4D-AC92-4A23-899A-E59F34AF5479")
	fmt.Println(id, err)
	_, err = tntsql.ParseUUID("no such thing")
	fmt.Println(err)
	// Output:
	// 64d22e4d-ac92-4a23-899a-e59f34af5479 <nil>
	// tntsql: not a UUID: "no such thing"
}

func ExampleInterval() {
	db, end := exampleGoods()
	defer end()
	ctx := context.Background()

	end31 := time.Date(2024, time.January, 31, 0, 0, 0, 0, time.UTC)
	for _, adjust := range []int{tntsql.AdjustNone, tntsql.AdjustExcess} {
		var due time.Time
		err := db.QueryRowContext(ctx, "SELECT ? + ?", end31, tntsql.Interval{Month: 1, Adjust: adjust}).Scan(&due)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(due.Format(time.DateOnly))
	}
	// Since Tarantool 2.10 it prints:
	// 2024-02-29
	// 2024-03-02
}

func ExampleInterval_String() {
	fmt.Println(tntsql.Interval{Month: 1, Day: -3})
	// Output: +1 months, -3 days
}

// A time keeps its nanoseconds, its offset, and the name of its zone.
func Example_times() {
	db, end := exampleGoods()
	defer end()
	ctx := context.Background()

	tehran := time.FixedZone("", 3*3600+1800)
	made := time.Date(2024, time.July, 1, 12, 0, 0, 5, tehran)
	if _, err := db.ExecContext(ctx, "INSERT INTO goods (id, made) VALUES (?, ?)", 1, made); err != nil {
		fmt.Println(err)
		return
	}
	var back time.Time
	err := db.QueryRowContext(ctx, "SELECT made FROM goods WHERE id = ?", 1).Scan(&back)
	fmt.Println(back.Format(time.RFC3339Nano), back.Equal(made), err)
	// Since Tarantool 2.10 it prints:
	// 2024-07-01T12:00:00.000000005+03:30 true <nil>
}

// A struct is a MAP of its fields. A MAP needs a parameter with a name.
func ExampleDoc() {
	db, end := exampleGoods()
	defer end()
	ctx := context.Background()

	type maker struct {
		Name    string         `json:"name"`
		Country string         `json:"country,omitempty"`
		Revenue tntsql.Decimal `json:"revenue"`
		Sold    uint64         `json:"sold"`
	}
	about := tntsql.Doc[maker]{V: maker{Name: "Ann & Co", Revenue: "1250000.50", Sold: 1<<64 - 1}, Valid: true}
	tags := tntsql.Doc[[]string]{V: []string{"new", "red"}, Valid: true}
	_, err := db.ExecContext(ctx, "INSERT INTO goods (id, about, tags) VALUES (:id, :about, :tags)",
		sql.Named("id", 1), sql.Named("about", about), sql.Named("tags", tags))
	if err != nil {
		fmt.Println(err)
		return
	}

	var (
		found tntsql.Doc[maker]
		loose tntsql.Doc[map[string]any]
		words tntsql.Doc[[]string]
	)
	err = db.QueryRowContext(ctx, "SELECT about, about, tags FROM goods WHERE id = ?", 1).Scan(&found, &loose, &words)
	fmt.Println(found.V.Name, found.V.Revenue, found.V.Sold, err)
	fmt.Println(loose.V)
	fmt.Println(words.V, words.Valid)

	// A path into a MAP works in SQL, too. A NULL is not Valid.
	var name string
	err = db.QueryRowContext(ctx, "SELECT about['name'], NULL FROM goods WHERE id = ?", 1).Scan(&name, &found)
	fmt.Println(name, found.Valid, err)
	// Since Tarantool 2.10 it prints:
	// Ann & Co 1250000.50 18446744073709551615 <nil>
	// map[name:Ann & Co revenue:1250000.50 sold:18446744073709551615]
	// [new red] true
	// Ann & Co false <nil>
}

// With full_metadata=true a result says which of its columns may be NULL.
func Example_columnTypes() {
	dsn, end := replicaSet(`if not box.info.ro then box.execute('CREATE TABLE users (id INTEGER PRIMARY KEY, name STRING)') end`)
	defer end()
	cfg, err := tntsql.ParseDSN(dsn)
	if err != nil {
		fmt.Println(err)
		return
	}
	cfg.ReadMode, cfg.FullMetadata = tntsql.ModeRW, true
	connector, err := tntsql.NewConnector(cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	db := sql.OpenDB(connector)
	defer db.Close()

	rows, err := db.QueryContext(context.Background(), "SELECT id, name, id + 1 AS next FROM users WHERE id = 1")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, column := range types {
		nullable, known := column.Nullable()
		fmt.Println(column.Name(), column.DatabaseTypeName(), column.ScanType(), nullable, known)
	}
	// Output:
	// id INTEGER sql.Null[int64] false true
	// name STRING sql.Null[string] true true
	// next INTEGER sql.Null[int64] false false
}

// examplesSince210 are the examples above that print something else on older servers.
var examplesSince210 = map[string]func(){
	"ExampleDecimal": ExampleDecimal, "ExampleUUID": ExampleUUID, "ExampleInterval": ExampleInterval, "Example_times": Example_times, "ExampleDoc": ExampleDoc,
}

func TestExamplesOfTypes(t *testing.T) {
	rs := sharedSet(t)
	source, err := os.ReadFile("example_types_test.go")
	require.NoError(t, err)
	for name, example := range examplesSince210 {
		t.Run(name, func(t *testing.T) {
			_, code, found := strings.Cut(string(source), "func "+name+"() {\n")
			require.True(t, found)
			code, _, _ = strings.Cut(code, "\n}\n")
			_, want, found := strings.Cut(code, "\t// Since Tarantool 2.10 it prints:\n")
			require.True(t, found)
			want = strings.ReplaceAll(want, "\t// ", "")

			printed := printedBy(t, example)
			if rs.AtLeast(2, 10, 0) {
				assert.Equal(t, want, strings.TrimSpace(printed))
			} else {
				assert.Contains(t, printed, "needs Tarantool 2.10.0 or later, the server's version is ")
			}
		})
	}
}

// printedBy is what f prints.
func printedBy(t testing.TB, f func()) string {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	stdout := os.Stdout
	os.Stdout = w
	defer func() { os.Stdout = stdout }()
	printed := make(chan string)
	go func() {
		text, _ := io.ReadAll(r)
		printed <- string(text)
	}()
	f()
	require.NoError(t, w.Close())
	return <-printed
}
