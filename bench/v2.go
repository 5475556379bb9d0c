package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/tarantool/go-iproto"
	"github.com/tarantool/go-tarantool/v2"
	"github.com/tarantool/go-tarantool/v2/pool"
)

// v2Client is go-tarantool v2, which programs use without database/sql. By
// default a context has no part in a request, since each costs a goroutine.
type v2Client struct {
	server *server
	v2Connection
	called     string
	disconnect func() error
}

// v2Connection is a connection or a pool of go-tarantool.
type v2Connection interface {
	tarantool.Doer
	NewStream() (*tarantool.Stream, error)
}

func v2Dialer(s *server) tarantool.Dialer {
	return tarantool.NetDialer{Address: s.Addr(0), User: "app", Password: "secret"}
}

var v2Options = tarantool.Opts{SkipSchema: true}

func connectV2(ctx context.Context, s *server) (*tarantool.Connection, error) {
	return tarantool.Connect(ctx, v2Dialer(s), v2Options)
}

func openV2(ctx context.Context, s *server) (client, error) {
	conn, err := connectV2(ctx, s)
	if err != nil {
		return nil, err
	}
	return &v2Client{s, conn, v2Name, conn.Close}, nil
}

func openPool(ctx context.Context, s *server) (client, error) {
	p, err := pool.Connect(ctx, []pool.Instance{{Name: "0", Dialer: v2Dialer(s), Opts: v2Options}})
	if err != nil {
		return nil, err
	}
	adapter := pool.NewConnectorAdapter(p, pool.RW)
	return &v2Client{s, adapter, poolName, adapter.Close}, nil
}

func (c *v2Client) name() string { return c.called }

func (c *v2Client) close() error { return c.disconnect() }

func (c *v2Client) operations() map[string]operation {
	read := reader{c.server, c.query}
	operations := map[string]operation{
		pointSelect: read.pointSelect,
		besideScan:  read.pointSelect,
		insert:      c.insert,
		update:      c.update,
		call:        c.call,
		scan:        read.scan,
		page:        read.page,
		wide:        read.wide,
		blob:        read.blob,
		transaction: operation(c.transaction).afterConflicts(isV2Conflict),
		batch:       operation(c.transaction).afterConflicts(isV2Conflict),
	}
	if !c.server.streams() {
		operations[batch] = c.batch
	}
	for _, n := range textCounts {
		texts := distinctTexts(n)
		operations[manyTexts(n)] = func(ctx context.Context, n int) error {
			return read.selectName(ctx, texts[n%len(texts)], key(n))
		}
	}
	if c.called == poolName {
		for _, name := range []string{page, wide, blob, transaction, batch} {
			delete(operations, name)
		}
		for _, n := range textCounts {
			delete(operations, manyTexts(n))
		}
	}
	return operations
}

func isV2Conflict(err error) bool {
	var failed tarantool.Error
	return errors.As(err, &failed) && failed.Code == iproto.ER_TRANSACTION_CONFLICT
}

// v2Execute makes the request of a statement, which has the context only if that
// may end.
func v2Execute(ctx context.Context, text string, args ...any) tarantool.Request {
	request := tarantool.NewExecuteRequest(text).Args(args)
	if ctx.Done() != nil {
		request.Context(ctx)
	}
	return request
}

func (c *v2Client) query(ctx context.Context, text string, id int) ([]any, error) {
	return c.Do(v2Execute(ctx, text, id)).Get()
}

func (c *v2Client) insert(ctx context.Context, _ int) error {
	return v2Exec(ctx, c, insertRow, "a name", 1.5, c.server.newID())
}

func (c *v2Client) update(ctx context.Context, n int) error {
	return v2Exec(ctx, c, updateRow, float64(n), key(n))
}

// v2Exec runs a statement that changes a row.
func v2Exec(ctx context.Context, on tarantool.Doer, text string, args ...any) error {
	response, err := on.Do(v2Execute(ctx, text, args...)).GetResponse()
	if err != nil {
		return err
	}
	executed, ok := response.(*tarantool.ExecuteResponse)
	if !ok {
		return fmt.Errorf("a response of type %T", response)
	}
	info, err := executed.SQLInfo()
	if err != nil {
		return err
	}
	return checkAffected(int64(info.AffectedCount))
}

func (c *v2Client) call(ctx context.Context, n int) error {
	id := key(n)
	request := tarantool.NewCall17Request(procedure).Args([]any{id})
	if ctx.Done() != nil {
		request.Context(ctx)
	}
	data, err := c.Do(request).Get()
	if err != nil {
		return err
	}
	return c.server.checkReturned(data, id)
}

func (c *v2Client) transaction(ctx context.Context, n int) (err error) {
	stream, err := c.NewStream()
	if err != nil {
		return err
	}
	if _, err := stream.Do(tarantool.NewBeginRequest()).Get(); err != nil {
		return err
	}
	err = v2Exec(ctx, stream, insertRow, "a name", 1.5, c.server.newID())
	if err == nil {
		err = v2Exec(ctx, stream, updateRow, float64(n), key(n))
	}
	if err != nil {
		_, undone := stream.Do(tarantool.NewRollbackRequest()).Get()
		return errors.Join(err, undone)
	}
	_, err = stream.Do(tarantool.NewCommitRequest()).Get()
	return err
}

// batchScript runs two statements as one transaction.
const batchScript = `
local insert, inserted, update, updated = ...
box.begin()
local result, err = box.execute(insert, inserted)
if result then
	result, err = box.execute(update, updated)
end
if not result then
	box.rollback()
	error(err)
end
box.commit()
return result.row_count`

func (c *v2Client) batch(_ context.Context, n int) error {
	request := tarantool.NewEvalRequest(batchScript).Args([]any{
		insertRow, []any{"a name", 1.5, c.server.newID()},
		updateRow, []any{float64(n), key(n)},
	})
	var affected []int64
	if err := c.Do(request).GetTyped(&affected); err != nil {
		return err
	}
	if len(affected) != 1 {
		return fmt.Errorf("%d values returned, not 1", len(affected))
	}
	return checkAffected(affected[0])
}
