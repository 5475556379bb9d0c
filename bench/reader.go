package bench

import "context"

// reader does the SELECTs of a client of go-tarantool, whose versions differ in how a
// query is made, not in what comes back.
type reader struct {
	server *server
	query  func(ctx context.Context, text string, id int) ([]any, error)
}

func (r reader) pointSelect(ctx context.Context, n int) error {
	return r.selectName(ctx, selectPoint, key(n))
}

func (r reader) selectName(ctx context.Context, text string, id int) error {
	data, err := r.query(ctx, text, id)
	if err != nil {
		return err
	}
	return r.server.checkOnly(data, id)
}

func (r reader) page(ctx context.Context, n int) error {
	return r.selectRows(ctx, selectPage, firstOf(n, pageRows), pageRows)
}

func (r reader) scan(ctx context.Context, _ int) error {
	return r.selectRows(ctx, selectScan, 1, rowCount)
}

func (r reader) wide(ctx context.Context, n int) error {
	return r.selectRows(ctx, selectWide, firstOf(n, wideRows), wideRows)
}

func (r reader) selectRows(ctx context.Context, text string, first, want int) error {
	data, err := r.query(ctx, text, first)
	if err != nil {
		return err
	}
	return r.server.checkLast(data, first, want)
}

func (r reader) blob(ctx context.Context, _ int) error {
	data, err := r.query(ctx, selectBlob, 1)
	if err != nil {
		return err
	}
	return checkOnlyBlob(data)
}
