package bench

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/tarantooltest"
)

// rowCount is how many rows there are to read, with ids from 1 on.
const rowCount = 10_000

const (
	pageRows    = 100
	wideRows    = 100
	wideColumns = 30
	blobSize    = 1 << 20
)

// Rows that cases insert have larger ids.
const firstInserted = 1_000_000

// The statements. Where there are several parameters, the id is the last one; the
// last column of a row is its name.
const (
	selectPoint = "SELECT name FROM read_only WHERE id = ?"
	selectPage  = "SELECT id, score, name FROM read_only WHERE id >= ? LIMIT 100"
	selectScan  = "SELECT id, score, name FROM read_only WHERE id >= ?"
	selectWide  = "SELECT * FROM wide WHERE id >= ? LIMIT 100"
	selectBlob  = "SELECT data FROM blobs WHERE id = ?"
	insertRow   = "INSERT INTO written (name, score, id) VALUES (?, ?, ?)"
	updateRow   = "UPDATE written SET score = ? WHERE id = ?"
	procedure   = "bench_name"
)

//go:embed schema.lua
var schema string

// server is the instance that all clients use.
type server struct {
	*tarantooltest.ReplicaSet
	names []string // by id
	ids   atomic.Int64
}

// startServer starts an instance with its default configuration, in which it has
// no MVCC, but for what the rows need, or one with MVCC, without which a stream's
// transaction fails.
func startServer(ctx context.Context, mvcc bool) (*server, error) {
	rs, err := tarantooltest.New(ctx,
		tarantooltest.Instances(1),
		tarantooltest.InitLua(schema),
		tarantooltest.Cfg(map[string]any{
			"memtx_memory":          512 << 20,
			"memtx_max_tuple_size":  2 * blobSize,
			"memtx_use_mvcc_engine": mvcc,
		}))
	if err != nil {
		return nil, err
	}
	s := &server{ReplicaSet: rs, names: make([]string, rowCount+1)}
	for id := range s.names {
		s.names[id] = fmt.Sprintf("name of number %d", id)
	}
	s.ids.Store(firstInserted)
	if err := s.fill(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *server) fill(ctx context.Context) error {
	db, err := sql.Open(tntsql.DriverName, s.DSN())
	if err != nil {
		return err
	}
	var columns strings.Builder
	for i := range (wideColumns - 3) / 3 {
		fmt.Fprintf(&columns, "i%d INTEGER, d%d DOUBLE, s%d STRING, ", i, i, i)
	}
	for _, statement := range []string{
		"CREATE TABLE read_only (id INTEGER PRIMARY KEY, name STRING, score DOUBLE)",
		"CREATE TABLE written (id INTEGER PRIMARY KEY, name STRING, score DOUBLE)",
		"CREATE TABLE wide (id INTEGER PRIMARY KEY, " + columns.String() + "score DOUBLE, name STRING)",
		"CREATE TABLE blobs (id INTEGER PRIMARY KEY, data VARBINARY)",
	} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return errors.Join(err, db.Close())
		}
	}
	_, err = db.ExecContext(ctx, "INSERT INTO blobs VALUES (1, ?)", make([]byte, blobSize))
	if err == nil {
		_, err = s.Lua(0, "bench_fill(...)", rowCount, (wideColumns-3)/3)
	}
	return errors.Join(err, db.Close())
}

// streams tells whether the server has transactions over the network.
func (s *server) streams() bool { return s.AtLeast(2, 10, 0) }

// version is what the server's version is without its commit.
func (s *server) version() string {
	v, _, _ := strings.Cut(s.Version(), "-")
	return v
}

// clean deletes what was inserted.
func (s *server) clean() error {
	_, err := s.Lua(0, "bench_clean(...)", firstInserted)
	return err
}

// newID is the id of a row to insert. It is an int since go-tarantool sends a
// positive int64 as a signed number, which Tarantool 2.6 misreads.
func (s *server) newID() int { return int(s.ids.Add(1)) }

// key is the id of a row to read or to update.
func key(n int) int { return n%rowCount + 1 }

// firstOf is the id of the first of several rows.
func firstOf(n, rows int) int { return n%(rowCount-rows+1) + 1 }
