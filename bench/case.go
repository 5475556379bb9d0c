package bench

import "fmt"

// A Case is something that clients do.
type Case struct {
	Name       string
	What       string // for a reader of the report
	Goroutines []int  // how many do it at once

	deadlines []string // clients that also do it with a deadline in each context
	meanwhile string   // the case that one more goroutine does all the time
	inserts   bool     // rows that have to go after each slice
	streams   bool     // needs transactions over the network, Tarantool 2.10
	mvcc      bool     // needs a server with MVCC, if it has streams
}

// The names of cases.
const (
	pointSelect = "point SELECT"
	insert      = "INSERT"
	update      = "UPDATE"
	call        = "CALL"
	page        = "100 rows"
	scan        = "10,000 rows"
	wide        = "100 wide rows"
	blob        = "1 MiB BLOB"
	transaction = "transaction"
	batch       = "batch"
	besideScan  = "point SELECT beside a scan"
)

// textCounts are the numbers of distinct texts that point SELECTs are made of.
var textCounts = []int{1, 100, 1_000, 10_000}

func manyTexts(n int) string { return fmt.Sprintf("point SELECT, %d texts", n) }

var (
	upTo8   = []int{1, 8}
	upTo64  = []int{1, 8, 64}
	upTo512 = []int{1, 8, 64, 512}
)

// Cases are all cases.
var Cases = append([]Case{
	{
		Name: pointSelect, Goroutines: upTo512, deadlines: []string{tntsqlName, v2Name, v3Name},
		What: "one column of a row by its primary key, the key a parameter",
	},
	{
		Name: insert, Goroutines: upTo512, deadlines: []string{tntsqlName}, inserts: true,
		What: "a row of three columns, all of them parameters",
	},
	{
		Name: update, Goroutines: upTo512, deadlines: []string{tntsqlName},
		What: "a column of a row by its primary key, both of them parameters",
	},
	{
		Name: call, Goroutines: upTo512, deadlines: []string{tntsqlName},
		What: "a stored procedure that reads a row by its primary key and returns a column",
	},
	{
		Name: page, Goroutines: upTo512,
		What: "rows of 3 columns; tntsql with `Scan` into typed variables, the others as far as `Get`, into `any`",
	},
	{
		Name: scan, Goroutines: upTo8,
		What: "the same for a whole table",
	},
	{
		Name: wide, Goroutines: upTo64,
		What: "rows of 30 columns, likewise",
	},
	{
		Name: blob, Goroutines: upTo8,
		What: "a VARBINARY of 1 MiB, by its primary key",
	},
	{
		Name: transaction, Goroutines: upTo8, inserts: true, streams: true, mvcc: true,
		What: "BEGIN, INSERT, UPDATE, COMMIT, from the start again after a conflict; go-tarantool by a stream",
	},
	{
		Name: batch, Goroutines: upTo8, inserts: true, mvcc: true,
		What: "the same two statements by `ExecBatch`; go-tarantool by a stream, before Tarantool 2.10 by an EVAL",
	},
	{
		Name: besideScan, Goroutines: []int{64}, meanwhile: scan,
		What: "while one more goroutine reads 10,000 rows all the time",
	},
}, textCases()...)

func textCases() (cases []Case) {
	for _, n := range textCounts {
		cases = append(cases, Case{
			Name: manyTexts(n), Goroutines: []int{64},
			What: fmt.Sprintf("the same in %d different texts, in turns", n),
		})
	}
	return cases
}
