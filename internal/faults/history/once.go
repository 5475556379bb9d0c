package history

import "fmt"

// Once checks Insert operations against how often each key is stored, as every
// instance has it in the end. A key that is not there counts 0. Each operation is a
// Breach of one kind once, whichever instances it concerns.
func Once(ops []Op, instances ...map[int64]int) (breaches []Breach) {
	known := make(map[int64]bool)
	for _, op := range ops {
		if op.Kind != Insert {
			continue
		}
		known[op.Key] = true
		least, most := extent(op.Key, instances)
		switch {
		case most > 1:
			breaches = append(breaches, Breach{Promise: Twice, Op: op})
		case op.Outcome == Done && least == 0:
			breaches = append(breaches, Breach{Promise: Lost, Op: op})
		case op.Outcome == Failed && most > 0:
			breaches = append(breaches, Breach{Promise: False, Op: op})
		}
	}
	for _, keys := range instances {
		for key, n := range keys {
			if n > 0 && !known[key] {
				what := fmt.Sprintf("key %d is there, which no operation has", key)
				breaches = append(breaches, Breach{Invented, Op{Kind: Insert, Key: key}, what})
				known[key] = true
			}
		}
	}
	return breaches
}

// Unknowns is how many Insert operations have an unknown outcome, and how many of them
// were applied.
func Unknowns(ops []Op, instances ...map[int64]int) (unknown, applied int) {
	for _, op := range ops {
		if op.Kind != Insert || op.Outcome != Unknown {
			continue
		}
		unknown++
		if _, most := extent(op.Key, instances); most > 0 {
			applied++
		}
	}
	return unknown, applied
}

// extent is the lowest and the highest number of times that the instances have a key.
func extent(key int64, instances []map[int64]int) (least, most int) {
	for i, keys := range instances {
		n := keys[key]
		if i == 0 {
			least = n
		}
		least, most = min(least, n), max(most, n)
	}
	return least, most
}

// Counters checks Add operations against the counters as every instance has them in
// the end: no more than the acknowledged ones and those of unknown outcome, and no
// less than the acknowledged ones if none may be lost.
func Counters(ops []Op, mayLose bool, instances ...map[int64]int64) (breaches []Breach) {
	type bounds struct{ least, most int64 }
	want := make(map[int64]bounds)
	for _, op := range ops {
		if op.Kind != Add || op.Outcome == Failed {
			continue
		}
		b := want[op.Key]
		b.most++
		if op.Outcome == Done {
			b.least++
		}
		want[op.Key] = b
	}
	for _, counters := range instances {
		for key, n := range counters {
			b := want[key]
			sum := Breach{Op: Op{Kind: Add, Key: key, Value: n}}
			sum.What = fmt.Sprintf("add to counter %d, which is %d in the end: %d times were acknowledged, and with those of unknown outcome it is %d",
				key, n, b.least, b.most)
			switch {
			case n > b.most:
				sum.Promise = Twice
				breaches = append(breaches, sum)
			case n < b.least && !mayLose:
				sum.Promise = Lost
				breaches = append(breaches, sum)
			}
		}
	}
	return breaches
}
