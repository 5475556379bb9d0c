package tntsql_test

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The behaviours here are those that every driver of database/sql is measured
// by: blobs, many queries one after the other, transactions, and a prepared
// statement that many share.

func TestBlobsOfAnySizeComeBackAsTheyWere(t *testing.T) {
	rs := sharedSet(t)
	db := open(t, "read_mode=rw")
	name := table(t, rs, "ID INTEGER PRIMARY KEY, BIN VARBINARY, STR STRING")
	for _, size := range []int{0, 1, 31, 32, 255, 256, 65_535, 65_536, 1 << 20} {
		blob := make([]byte, size)
		for i := range blob {
			blob[i] = byte(rand.N(256))
		}
		text := string(bytes.ToValidUTF8(blob, []byte("?")))
		mustExec(t, db, "INSERT INTO "+name+" VALUES (?, ?, ?)", size, blob, text)

		var gotBlob, gotText []byte
		row := db.QueryRowContext(t.Context(), "SELECT BIN, STR FROM "+name+" WHERE ID = ?", size)
		require.NoError(t, row.Scan(&gotBlob, &gotText))
		assert.True(t, bytes.Equal(blob, gotBlob), "%d bytes", size)
		assert.True(t, bytes.Equal([]byte(text), gotText), "text of %d bytes", size)
	}
}

func TestManyQueriesLeakNoSession(t *testing.T) {
	rs := sharedSet(t)
	connected := settled(t, rs) + int64(rs.Len()) + 1 // a control connection each, and one to the master
	db := open(t, quiet, "read_mode=rw")
	name := table(t, rs, "ID INTEGER PRIMARY KEY, N INTEGER")
	mustExec(t, db, "INSERT INTO "+name+" VALUES (1, 42)")
	for range 10_000 {
		var n int
		if err := db.QueryRowContext(t.Context(), "SELECT N FROM "+name+" WHERE ID = ?", 1).Scan(&n); err != nil || n != 42 {
			require.NoError(t, err)
			require.Equal(t, 42, n)
		}
	}
	assert.Equal(t, 1, db.Stats().OpenConnections)
	assert.Equal(t, connected, connections(t, rs))
}

func TestAPreparedStatementIsSharedByGoroutines(t *testing.T) {
	const goroutines, rounds = 10, 100
	rs := sharedSet(t)
	db := open(t, "read_mode=rw", "seq_scan=true")
	name := table(t, rs, "ID INTEGER PRIMARY KEY AUTOINCREMENT, N INTEGER")
	insert := prepare(t, db, "INSERT INTO "+name+" (N) VALUES (?)")
	query := prepare(t, db, "SELECT COUNT(*), MAX(N) FROM "+name+" WHERE N = ?")
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range rounds {
				_, err := insert.ExecContext(t.Context(), g)
				assert.NoError(t, err)
				var count, n int
				assert.NoError(t, query.QueryRowContext(t.Context(), g).Scan(&count, &n))
				assert.Equal(t, []int{i + 1, g}, []int{count, n})
			}
		})
	}
	wg.Wait()
	assert.Equal(t, goroutines*rounds, value[int](t, db, "SELECT COUNT(*) FROM "+name))
}
