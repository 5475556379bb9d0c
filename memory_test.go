package tntsql_test

import (
	"bytes"
	"database/sql"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tntsql/tntsql"
)

// liveHeap is how many bytes are in use.
func liveHeap() int64 {
	// What has a finalizer is gone after the second time.
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

const (
	mebibyte      = 1 << 20
	oneConnection = "conns_per_instance=1"
)

// settledHeap is liveHeap without the last reply, which a connection's reader holds until
// the next one comes.
func settledHeap(t testing.TB, db *sql.DB) int64 {
	t.Helper()
	require.Equal(t, 1, value[int](t, db, "SELECT 1"))
	return liveHeap()
}

// Bytes that are handed out end at their capacity: what is appended to them goes
// elsewhere.
func TestAppendingToBytesOfARowTouchesNothingElse(t *testing.T) {
	db := open(t)
	rows, err := db.QueryContext(t.Context(), "VALUES (x'0102', x'0304', 'ab'), (x'0506', x'', 'cd')")
	require.NoError(t, err)
	defer rows.Close()
	tail := bytes.Repeat([]byte{9}, 100)

	require.True(t, rows.Next())
	var first, second sql.RawBytes
	var text string
	require.NoError(t, rows.Scan(&first, &second, &text))
	assert.Equal(t, len(first), cap(first))
	_ = append(first, tail...)
	assert.Equal(t, sql.RawBytes{3, 4}, second, "the next column")
	_ = append(second, tail...)
	assert.Equal(t, "ab", text)

	require.True(t, rows.Next())
	require.NoError(t, rows.Scan(&first, &second, &text))
	assert.Equal(t, sql.RawBytes{5, 6}, first, "the next row")
	_ = append(second, tail...) // an empty one has the least of its own
	assert.Equal(t, "cd", text)
	require.False(t, rows.Next())
	require.NoError(t, rows.Err())
}

func TestAppendingToBytesInADocumentTouchesNothingElse(t *testing.T) {
	newTypes(t)
	db := open(t)
	list := value[any](t, db, "SELECT ?", []any{[]byte{1, 2}, []byte{3, 4}, "ab"}).([]any)
	_ = append(list[0].([]byte), 9, 9, 9, 9, 9, 9)
	assert.Equal(t, []any{[]byte{1, 2}, []byte{3, 4}, "ab"}, list)
}

// Strings may be views of the reply that they come in.
func TestASmallValueDoesNotKeepALargeReply(t *testing.T) {
	const size = 16 << 20
	db := open(t, "read_mode=rw", oneConnection)
	small := func(dst any) {
		t.Helper()
		rows, err := db.QueryContext(t.Context(), "SELECT ZEROBLOB(?), 'ten bytes!'", size)
		require.NoError(t, err)
		defer rows.Close()
		require.True(t, rows.Next())
		var raw sql.RawBytes
		require.NoError(t, rows.Scan(&raw, dst))
		require.Len(t, raw, size)
	}
	before := settledHeap(t, db)
	var text string
	var anything any
	var document tntsql.Doc[string]
	small(&text)
	small(&anything)
	small(&document)
	kept := settledHeap(t, db) - before
	t.Logf("three values of 10 bytes out of replies of %d MiB keep %d bytes", size/mebibyte, kept)
	assert.Less(t, kept, int64(mebibyte))
	assert.Equal(t, []any{"ten bytes!", "ten bytes!", "ten bytes!"}, []any{text, anything, document.V})
}

func TestRowsHoldNoMoreThanTheirReply(t *testing.T) {
	const n = 100_000
	rs := sharedSet(t)
	db := open(t, "read_mode=rw", "seq_scan=true", oneConnection)
	name := table(t, rs, "ID INTEGER PRIMARY KEY, S STRING, D DOUBLE")
	size := lua(t, rs, 0, `
		local name, n = ...
		local space = box.space[name]
		for i = 1, n, 1000 do
			box.begin()
			for j = i, i + 999 do space:insert{j, ('x'):rep(50 + j % 50), j + 0.5} end
			box.commit()
		end
		return space:bsize()`, name, n).(int64)
	inStep(t, rs)
	query := "SELECT ID, S, D FROM " + name + " ORDER BY ID"

	read := func() (held int64) {
		before := settledHeap(t, db)
		rows, err := db.QueryContext(t.Context(), query)
		require.NoError(t, err)
		defer rows.Close()
		for id := 1; rows.Next(); id++ {
			var (
				gotID int
				text  string
				d     float64
			)
			require.NoError(t, rows.Scan(&gotID, &text, &d))
			require.True(t, gotID == id && len(text) == 50+id%50 && text == strings.Repeat("x", len(text)) && d == float64(id)+0.5)
			if id%10_000 == 0 {
				held = max(held, liveHeap()-before)
			}
		}
		require.NoError(t, rows.Err())
		return held
	}
	before := settledHeap(t, db)
	held := read()
	left := settledHeap(t, db) - before
	t.Logf("%d rows of %d bytes in all: at most %d held while they are read, %d when they are closed", n, size, held, left)
	assert.Less(t, held, size+size/10+mebibyte)
	assert.Less(t, left, int64(mebibyte))
}
