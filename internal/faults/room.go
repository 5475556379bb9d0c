package faults

import (
	"context"
	"database/sql"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tntsql/tntsql"
)

const (
	roomTime  = 500 * time.Millisecond // that a request takes
	roomTries = 5
)

// hasAllRoom has as many requests in flight as the instances may have together, of which
// none may wait: each one that was left or lost must have given its room back.
func (t *Trial) hasAllRoom(p Promise, connector *tntsql.Connector, room int) error {
	impatient := sql.OpenDB(connector.With(tntsql.Defaults{SelectionTimeout: tntsql.NoWait}))
	var failed error
	for range roomTries { // an instance that is suspect on a busy machine has less room
		var (
			callers sync.WaitGroup
			first   atomic.Pointer[error]
		)
		for range room {
			callers.Go(func() {
				_, err := tntsql.Eval(context.Background(), impatient, tntsql.ModeAny, "require('fiber').sleep(...)", roomTime.Seconds())
				if err != nil {
					first.CompareAndSwap(nil, &err)
				}
			})
		}
		callers.Wait()
		t.Count(room, 0)
		if first.Load() == nil {
			return impatient.Close()
		}
		failed = *first.Load()
	}
	t.Violation(p, "there is no room any more for %d requests at a time: %v", room, failed)
	return impatient.Close()
}
