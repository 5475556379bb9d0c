package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/tarantool/go-iproto"
	"github.com/tarantool/go-tarantool/v3"
)

// v3Client is go-tarantool v3. It hands futures back for use again, as its
// documentation advises.
type v3Client struct {
	server *server
	conn   *tarantool.Connection
}

func openV3(ctx context.Context, s *server) (client, error) {
	dialer := tarantool.NetDialer{Address: s.Addr(0), User: "app", Password: "secret"}
	conn, err := tarantool.Connect(ctx, dialer, tarantool.Opts{SkipSchema: true})
	if err != nil {
		return nil, err
	}
	return &v3Client{s, conn}, nil
}

func (c *v3Client) name() string { return v3Name }

func (c *v3Client) close() error { return c.conn.Close() }

func (c *v3Client) operations() map[string]operation {
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
	}
	if c.server.streams() {
		operations[transaction] = operation(c.transaction).afterConflicts(isV3Conflict)
		operations[batch] = operations[transaction]
	}
	return operations
}

func isV3Conflict(err error) bool {
	var failed tarantool.ServerError
	return errors.As(err, &failed) && failed.Code == iproto.ER_TRANSACTION_CONFLICT
}

func v3Execute(ctx context.Context, text string, args ...any) tarantool.Request {
	request := tarantool.NewExecuteRequest(text).Args(args)
	if ctx.Done() != nil {
		request = request.Context(ctx)
	}
	return request
}

// v3Doer is a connection or a stream.
type v3Doer interface {
	Do(tarantool.Request) tarantool.Future
}

func v3Get(on v3Doer, request tarantool.Request) ([]any, error) {
	future := on.Do(request)
	defer future.Release()
	return future.Get()
}

func (c *v3Client) query(ctx context.Context, text string, id int) ([]any, error) {
	return v3Get(c.conn, v3Execute(ctx, text, id))
}

func (c *v3Client) insert(ctx context.Context, _ int) error {
	return v3Exec(ctx, c.conn, insertRow, "a name", 1.5, c.server.newID())
}

func (c *v3Client) update(ctx context.Context, n int) error {
	return v3Exec(ctx, c.conn, updateRow, float64(n), key(n))
}

// v3Exec runs a statement that changes a row.
func v3Exec(ctx context.Context, on v3Doer, text string, args ...any) error {
	future := on.Do(v3Execute(ctx, text, args...))
	defer future.Release()
	response, err := future.GetResponse()
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

func (c *v3Client) call(ctx context.Context, n int) error {
	id := key(n)
	request := tarantool.NewCallRequest(procedure).Args([]any{id})
	if ctx.Done() != nil {
		request = request.Context(ctx)
	}
	data, err := v3Get(c.conn, request)
	if err != nil {
		return err
	}
	return c.server.checkReturned(data, id)
}

func (c *v3Client) transaction(ctx context.Context, n int) error {
	stream, err := c.conn.NewStream()
	if err != nil {
		return err
	}
	if _, err := v3Get(stream, tarantool.NewBeginRequest()); err != nil {
		return err
	}
	err = v3Exec(ctx, stream, insertRow, "a name", 1.5, c.server.newID())
	if err == nil {
		err = v3Exec(ctx, stream, updateRow, float64(n), key(n))
	}
	if err != nil {
		_, undone := v3Get(stream, tarantool.NewRollbackRequest())
		return errors.Join(err, undone)
	}
	_, err = v3Get(stream, tarantool.NewCommitRequest())
	return err
}
