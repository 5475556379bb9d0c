package failover

import "github.com/tntsql/tntsql/tarantooltest"

// Audit is what the instances have of the writes of a load, compared with what
// their callers were told. A write is counted once, whichever instances it
// concerns.
type Audit struct {
	Lost  int // acknowledged, and not on every instance
	Twice int // applied more than once
	False int // applied, though its error said that it was not
}

// audit looks every write up on all running instances.
func audit(set *tarantooltest.ReplicaSet, writers []*worker) (Audit, error) {
	var a Audit
	for _, w := range writers {
		if len(w.requests) == 0 {
			continue
		}
		lost, twice, applied := make(map[int64]bool), make(map[int64]bool), make(map[int64]bool)
		for _, i := range running(set) {
			values, err := set.Lua(i, auditLua, w.id(0), w.id(len(w.requests)-1))
			if err != nil {
				return a, err
			}
			missing := set64(values[0])
			for n, r := range w.requests {
				switch id := w.id(n); {
				case missing[id] && r.outcome == done:
					lost[id] = true
				case !missing[id] && r.outcome == failed:
					applied[id] = true
				}
			}
			for id := range set64(values[1]) {
				twice[id] = true
			}
		}
		a.Lost += len(lost)
		a.Twice += len(twice)
		a.False += len(applied)
	}
	return a, nil
}

// set64 is a list of integers from Lua.
func set64(list any) map[int64]bool {
	ids := make(map[int64]bool)
	values, _ := list.([]any)
	for _, v := range values {
		if id, ok := v.(int64); ok {
			ids[id] = true
		}
	}
	return ids
}
