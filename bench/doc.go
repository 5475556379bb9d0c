// Package bench measures the driver beside go-tarantool, on one server and in one
// run.
//
// A Case is something that programs do, such as a SELECT by primary key. Each
// client does it in its own way and checks the answer. The clients take turns: in
// each round each of them has a slice of time, and the order rotates. What counts
// is the ratio of two of them in one round, and of those the median over all
// rounds, since the machine gets faster and slower while time passes.
//
// A new case is an entry of Cases, and an operation of that name in each client
// that takes part.
package bench
