package bench

import (
	"context"
	"database/sql"

	"github.com/tntsql/tntsql"
)

// tntsqlClient is the driver, with the defaults of its DSN and of database/sql.
type tntsqlClient struct {
	server *server
	db     *sql.DB
}

func openTntsql(ctx context.Context, s *server) (client, error) {
	db, err := sql.Open(tntsql.DriverName, s.DSN())
	if err != nil {
		return nil, err
	}
	return &tntsqlClient{s, db}, db.PingContext(ctx)
}

func (c *tntsqlClient) name() string { return tntsqlName }

func (c *tntsqlClient) close() error { return c.db.Close() }

func (c *tntsqlClient) operations() map[string]operation {
	operations := map[string]operation{
		pointSelect: c.pointSelect,
		besideScan:  c.pointSelect,
		insert:      c.insert,
		update:      c.update,
		call:        c.call,
		page:        c.page,
		scan:        c.scan,
		wide:        c.wide,
		blob:        c.blob,
		transaction: operation(c.transaction).afterConflicts(tntsql.IsTxConflict),
		batch:       operation(c.batch).afterConflicts(tntsql.IsTxConflict),
	}
	for _, n := range textCounts {
		texts := distinctTexts(n)
		operations[manyTexts(n)] = func(ctx context.Context, n int) error {
			return c.selectName(ctx, texts[n%len(texts)], key(n))
		}
	}
	return operations
}

func (c *tntsqlClient) pointSelect(ctx context.Context, n int) error {
	return c.selectName(ctx, selectPoint, key(n))
}

func (c *tntsqlClient) selectName(ctx context.Context, text string, id int) error {
	var name string
	if err := c.db.QueryRowContext(ctx, text, id).Scan(&name); err != nil {
		return err
	}
	return c.server.checkName(id, name)
}

func (c *tntsqlClient) insert(ctx context.Context, _ int) error {
	id := c.server.newID()
	return checkResult(c.db.ExecContext(ctx, insertRow, "a name", 1.5, id))
}

func (c *tntsqlClient) update(ctx context.Context, n int) error {
	return checkResult(c.db.ExecContext(ctx, updateRow, float64(n), key(n)))
}

func checkResult(r sql.Result, err error) error {
	if err != nil {
		return err
	}
	n, err := r.RowsAffected()
	if err != nil {
		return err
	}
	return checkAffected(n)
}

func (c *tntsqlClient) call(ctx context.Context, n int) error {
	id := key(n)
	reply, err := tntsql.Call(ctx, c.db, tntsql.ModeAny, procedure, id)
	if err != nil {
		return err
	}
	return c.server.checkName(id, reply.Values()[0])
}

func (c *tntsqlClient) page(ctx context.Context, n int) error {
	first := firstOf(n, pageRows)
	return c.selectRows(ctx, selectPage, first, pageRows)
}

func (c *tntsqlClient) scan(ctx context.Context, _ int) error {
	return c.selectRows(ctx, selectScan, 1, rowCount)
}

func (c *tntsqlClient) selectRows(ctx context.Context, text string, first, want int) error {
	rows, err := c.db.QueryContext(ctx, text, first)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // Err tells what went wrong
	var (
		id    int64
		score float64
		name  string
		n     int
	)
	for ; rows.Next(); n++ {
		if err := rows.Scan(&id, &score, &name); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return c.server.checkRows(n, want, first+want-1, name)
}

func (c *tntsqlClient) wide(ctx context.Context, n int) error {
	first := firstOf(n, wideRows)
	rows, err := c.db.QueryContext(ctx, selectWide, first)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // Err tells what went wrong
	var (
		integers [wideColumns / 3]int64
		doubles  [wideColumns / 3]float64
		strings  [wideColumns / 3]string
		into     [wideColumns]any
		count    int
	)
	into[0] = &integers[0]
	for i := 1; i < wideColumns/3; i++ {
		into[3*i-2], into[3*i-1], into[3*i] = &integers[i], &doubles[i], &strings[i]
	}
	into[wideColumns-2], into[wideColumns-1] = &doubles[0], &strings[0]
	for ; rows.Next(); count++ {
		if err := rows.Scan(into[:]...); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return c.server.checkRows(count, wideRows, first+wideRows-1, strings[0])
}

func (c *tntsqlClient) blob(ctx context.Context, _ int) error {
	var data []byte
	if err := c.db.QueryRowContext(ctx, selectBlob, 1).Scan(&data); err != nil {
		return err
	}
	return checkBlob(len(data))
}

func (c *tntsqlClient) transaction(ctx context.Context, n int) error {
	tx, err := c.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // it is committed, or failed anyway
	id := c.server.newID()
	if err := checkResult(tx.ExecContext(ctx, insertRow, "a name", 1.5, id)); err != nil {
		return err
	}
	if err := checkResult(tx.ExecContext(ctx, updateRow, float64(n), key(n))); err != nil {
		return err
	}
	return tx.Commit()
}

func (c *tntsqlClient) batch(ctx context.Context, n int) error {
	results, err := tntsql.ExecBatch(ctx, c.db,
		tntsql.Query{SQL: insertRow, Args: []any{"a name", 1.5, c.server.newID()}},
		tntsql.Query{SQL: updateRow, Args: []any{float64(n), key(n)}})
	if err != nil {
		return err
	}
	return checkAffected(results[1].RowsAffected)
}
