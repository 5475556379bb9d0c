package bench

import (
	"context"

	"github.com/tarantool/go-tarantool/v2"
)

// preparedClient is go-tarantool v2 with a statement that was prepared by hand.
type preparedClient struct {
	server    *server
	conn      *tarantool.Connection
	statement *tarantool.Prepared
}

func openPrepared(ctx context.Context, s *server) (client, error) {
	conn, err := connectV2(ctx, s)
	if err != nil {
		return nil, err
	}
	statement, err := conn.NewPrepared(selectPoint)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return &preparedClient{s, conn, statement}, nil
}

func (c *preparedClient) name() string { return preparedName }

func (c *preparedClient) close() error { return c.conn.Close() }

func (c *preparedClient) operations() map[string]operation {
	return map[string]operation{pointSelect: c.pointSelect}
}

func (c *preparedClient) pointSelect(_ context.Context, n int) error {
	id := key(n)
	data, err := c.conn.Do(tarantool.NewExecutePreparedRequest(c.statement).Args([]any{id})).Get()
	if err != nil {
		return err
	}
	return c.server.checkOnly(data, id)
}
