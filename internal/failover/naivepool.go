package failover

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tarantool/go-iproto"
	"github.com/tarantool/go-tarantool/v2"
	"github.com/tarantool/go-tarantool/v2/pool"

	"github.com/tntsql/tntsql/tarantooltest"
)

const (
	poolWriters = 8
	poolReaders = 8

	poolCheck   = time.Second           // its CheckTimeout
	poolTimeout = 3 * time.Second       // of a request
	poolPause   = 10 * time.Millisecond // between two attempts
	poolGivesUp = 15 * time.Second      // the driver's selection_timeout
)

// naivePool is go-tarantool's pool in the loop that its users write around it:
// any error is a reason to try again.
type naivePool struct {
	pool      *pool.ConnectionPool
	statement string
}

func newNaivePool(set *tarantooltest.ReplicaSet, statement string) (*naivePool, error) {
	var instances []pool.Instance
	for i := range set.Len() {
		instances = append(instances, pool.Instance{
			Name:   set.Addr(i),
			Dialer: tarantool.NetDialer{Address: set.Addr(i), User: user, Password: password},
			Opts:   tarantool.Opts{Timeout: poolTimeout, SkipSchema: true, Logger: mute{}},
		})
	}
	p, err := pool.ConnectWithOpts(context.Background(), instances, pool.Opts{CheckTimeout: poolCheck})
	return &naivePool{p, statement}, err
}

func (p *naivePool) write(ctx context.Context, id int64) error {
	_, err := p.do(ctx, tarantool.NewExecuteRequest(p.statement).Args(numbers(id)), pool.RW)
	var refused tarantool.Error
	if errors.As(err, &refused) && refused.Code == iproto.ER_TUPLE_FOUND {
		return nil // an attempt that got no answer was applied
	}
	return err
}

func (p *naivePool) read(ctx context.Context, row int64) error {
	rows, err := p.do(ctx, tarantool.NewExecuteRequest(readSQL).Args(numbers(row)), pool.ANY)
	if err != nil {
		return err
	}
	if len(rows) != 1 {
		return fmt.Errorf("%d rows", len(rows))
	}
	fields, _ := rows[0].([]any)
	return compare(row, number(fields[0]))
}

func (p *naivePool) do(ctx context.Context, req tarantool.Request, mode pool.Mode) ([]any, error) {
	ctx, cancel := context.WithTimeout(ctx, poolGivesUp)
	defer cancel()
	for {
		rows, err := p.pool.Do(req, mode).Get()
		var refused tarantool.Error
		if err == nil || errors.As(err, &refused) && refused.Code == iproto.ER_TUPLE_FOUND {
			return rows, err
		}
		select {
		case <-time.After(poolPause):
		case <-ctx.Done():
			return nil, err
		}
	}
}

func (p *naivePool) judge(error) (outcome, string) { return unknown, "gave up" }

func (p *naivePool) close() { p.pool.Close() }

// numbers are one parameter: msgpack sends a positive int64 as a signed integer,
// which servers before 3.3.2 read wrong.
func numbers(n int64) []any { return []any{uint64(n)} }

// number is an integer of any of the types that go-tarantool decodes to.
func number(v any) int64 {
	switch v := v.(type) {
	case int8:
		return int64(v)
	case int16:
		return int64(v)
	case int32:
		return int64(v)
	case int64:
		return v
	case uint8:
		return int64(v)
	case uint16:
		return int64(v)
	case uint32:
		return int64(v)
	case uint64:
		return int64(v)
	}
	return -1
}

// mute is a logger that says nothing: the pool's lines would bury the report.
type mute struct{}

func (mute) Report(tarantool.ConnLogKind, *tarantool.Connection, ...any) {}
