package tntsql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/tarantooltest"
)

const (
	accounts = 8
	balance  = 1000 // of each at first
)

// bank is a replica set that elects its master, with accounts and transfers in
// synchronous spaces. A leader that has lost its quorum stops to be writable
// before there is another.
func bank(t *testing.T) *tarantooltest.ReplicaSet {
	t.Helper()
	t.Parallel()
	needStreams(t, sharedSet(t)) // elections came with 2.6.1, and 2.6.0 refuses their options
	rs := tarantooltest.Start(t, tarantooltest.Cfg(map[string]any{
		"election_mode":               "candidate",
		"election_fencing_mode":       "strict",
		"election_timeout":            1, // until a split vote is repeated
		"replication_synchro_quorum":  2,
		"replication_synchro_timeout": 1,
	}))
	// A new replica set may elect another leader within its first seconds.
	eventually(t, "accounts", func() bool {
		_, err := rs.Lua(leader(t, rs), `
local accounts, balance = ...
assert(box.execute('CREATE TABLE IF NOT EXISTS ACCOUNTS (ID INTEGER PRIMARY KEY, BALANCE INTEGER)'))
assert(box.execute('CREATE TABLE IF NOT EXISTS TRANSFERS (ID INTEGER PRIMARY KEY, SOURCE INTEGER, TARGET INTEGER, AMOUNT INTEGER)'))
for id = 1, accounts do box.space.ACCOUNTS:replace{id, balance} end
box.space.ACCOUNTS:alter{is_sync = true}
box.space.TRANSFERS:alter{is_sync = true}`, accounts, balance)
		return err == nil
	})
	return rs
}

// leader waits for an instance that is writable.
func leader(t *testing.T, rs *tarantooltest.ReplicaSet) int {
	t.Helper()
	i := -1
	eventually(t, "leader", func() bool { i = rs.Master(); return i >= 0 })
	return i
}

// transfer moves money and writes down that it has.
func transfer(ctx context.Context, tx *sql.Tx, id int64, from, to, amount int) error {
	var has int
	if err := tx.QueryRowContext(ctx, "SELECT BALANCE FROM ACCOUNTS WHERE ID = ?", from).Scan(&has); err != nil {
		return err
	}
	amount = min(amount, has)
	for _, move := range []struct {
		text string
		args []any
	}{
		{"UPDATE ACCOUNTS SET BALANCE = ? WHERE ID = ?", []any{has - amount, from}},
		{"UPDATE ACCOUNTS SET BALANCE = BALANCE + ? WHERE ID = ?", []any{amount, to}},
		{"INSERT INTO TRANSFERS VALUES (?, ?, ?, ?)", []any{id, from, to, amount}},
	} {
		if _, err := tx.ExecContext(ctx, move.text, move.args...); err != nil {
			return err
		}
	}
	return nil
}

func TestABankLosesNothingWithItsLeaders(t *testing.T) {
	if testing.Short() {
		t.Skip("two elections take up to 40 s")
	}
	const tellers, kills = 32, 2
	rs := bank(t)
	db, connector := openDSN(t, rs.DSN("selection_timeout=1m"))
	knowsAll(t, connector)
	var j journal
	var attempts atomic.Int64
	l := under(t, tellers, func(int) error {
		id, from := j.next.Add(1), rand.N(accounts)
		to := (from + 1 + rand.N(accounts-1)) % accounts
		return j.note(id, tntsql.RunTx(t.Context(), db, func(ctx context.Context, tx *sql.Tx) error {
			attempts.Add(1)
			return transfer(ctx, tx, id, from+1, to+1, 1+rand.N(100))
		}, tntsql.MaxAttempts(1000)))
	})
	for range kills {
		victim, killed := leader(t, rs), time.Now()
		rs.Kill(victim)
		l.goesOn(t)
		t.Logf("goes on %v after kill -9 of leader %d", time.Since(killed).Round(time.Millisecond), victim)
		require.NoError(t, rs.Restart(victim))
		l.goesOn(t)
	}
	l.end()
	t.Logf("%d transfers took %d attempts", j.next.Load(), attempts.Load())

	inStep(t, rs)
	for i := range rs.Len() {
		j.requireStored(t, rs, i, "TRANSFERS")
		assert.EqualValues(t, accounts*balance, lua(t, rs, i, sumOfBalances), "on instance %d", i)
		assert.Empty(t, lua(t, rs, i, disagree, balance), "accounts that do not agree with the transfers on instance %d", i)
	}
}

const sumOfBalances = `
local sum = 0
for _, account in box.space.ACCOUNTS:pairs() do sum = sum + account[2] end
return sum`

// disagree finds the accounts whose balance is not what the transfers make it.
const disagree = `
local balance, sums, differ = ..., {}, {}
for _, transfer in box.space.TRANSFERS:pairs() do
    local _, source, target, amount = transfer:unpack()
    sums[source] = (sums[source] or 0) - amount
    sums[target] = (sums[target] or 0) + amount
end
for _, account in box.space.ACCOUNTS:pairs() do
    if account[2] ~= balance + (sums[account[1]] or 0) then table.insert(differ, account) end
end
return differ`

// journal is the rows that writers have inserted, each with an id of its own, as
// far as they know.
type journal struct {
	next                  atomic.Int64
	mu                    sync.Mutex
	acknowledged, unknown []int64
}

// note takes in what became of a row, and gives an error that no caller may see.
func (j *journal) note(id int64, err error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case err == nil:
		j.acknowledged = append(j.acknowledged, id)
	case errors.Is(err, tntsql.ErrOutcomeUnknown):
		j.unknown = append(j.unknown, id)
	default:
		return fmt.Errorf("row %d: %w", id, err)
	}
	return nil
}

// requireStored tells that each acknowledged row is on the instance, and no row
// that nobody has written.
func (j *journal) requireStored(t *testing.T, rs *tarantooltest.ReplicaSet, i int, space string) {
	t.Helper()
	const compare = `
local space, acknowledged, unknown = ...
local missing, found = {}, 0
for _, id in ipairs(acknowledged) do
    if box.space[space]:get(id) == nil then table.insert(missing, id) end
end
for _, id in ipairs(unknown) do
    if box.space[space]:get(id) ~= nil then found = found + 1 end
end
return missing, found, box.space[space]:count() - #acknowledged`
	values, err := rs.Lua(i, compare, space, append([]int64{}, j.acknowledged...), append([]int64{}, j.unknown...))
	require.NoError(t, err)
	assert.Empty(t, values[0], "acknowledged, and not on instance %d", i)
	assert.Equal(t, values[1], values[2], "rows of unknown outcome on instance %d", i)
	t.Logf("instance %d: %d acknowledged are there, and %v of %d whose outcome was unknown", i, len(j.acknowledged), values[1], len(j.unknown))
}
