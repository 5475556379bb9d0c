package history

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
			breaches = append(breaches, Breach{Twice, op})
		case op.Outcome == Done && least == 0:
			breaches = append(breaches, Breach{Lost, op})
		case op.Outcome == Failed && most > 0:
			breaches = append(breaches, Breach{False, op})
		}
	}
	for _, keys := range instances {
		for key, n := range keys {
			if n > 0 && !known[key] {
				breaches = append(breaches, Breach{Invented, Op{Kind: Insert, Key: key}})
				known[key] = true
			}
		}
	}
	return breaches
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
			sum := Op{Kind: Add, Key: key, Value: n}
			switch b := want[key]; {
			case n > b.most:
				breaches = append(breaches, Breach{Twice, sum})
			case n < b.least && !mayLose:
				breaches = append(breaches, Breach{Lost, sum})
			}
		}
	}
	return breaches
}
