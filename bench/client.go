package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// client is a way to talk to the server. All of them are open all the time.
type client interface {
	name() string
	// operations are what it does in each case that it takes part in, by the
	// case's name.
	operations() map[string]operation
	close() error
}

// operation does a case once and checks the answer. n chooses the row.
type operation func(ctx context.Context, n int) error

// The names of clients.
const (
	tntsqlName   = "tntsql"
	v2Name       = "go-tarantool v2"
	preparedName = "go-tarantool v2, by prepared id"
	poolName     = "go-tarantool v2, pool"
	v3Name       = "go-tarantool v3"
	floorName    = "floor"
)

// contender is a client in a case.
type contender struct {
	name      string
	do        operation
	meanwhile operation // nil if the case has none
}

// deadline is the timeout of operations that have one. It never passes.
const deadline = 10 * time.Second

func withDeadline(name string) string { return name + ", with a deadline" }

// withDeadline gives each call of an operation a context with a deadline.
func (do operation) withDeadline() operation {
	return func(ctx context.Context, n int) error {
		ctx, cancel := context.WithTimeout(ctx, deadline)
		defer cancel()
		return do(ctx, n)
	}
}

// afterConflicts calls an operation again and again, until no other transaction
// is in conflict with it.
func (do operation) afterConflicts(conflict func(error) bool) operation {
	return func(ctx context.Context, n int) error {
		for {
			if err := do(ctx, n); err == nil || !conflict(err) {
				return err
			}
		}
	}
}

// openClients connects all clients to the server.
func openClients(ctx context.Context, s *server) (clients []client, err error) {
	for _, open := range []func(context.Context, *server) (client, error){
		openTntsql, openV2, openPrepared, openPool, openV3, openFloor,
	} {
		c, err := open(ctx, s)
		if err != nil {
			return nil, errors.Join(err, closeClients(clients))
		}
		clients = append(clients, c)
	}
	return clients, nil
}

func closeClients(clients []client) error {
	var errs []error
	for _, c := range clients {
		if err := c.close(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.name(), err))
		}
	}
	return errors.Join(errs...)
}

// contenders are the clients that take part in a case.
func contenders(clients []client, c Case) (all []contender) {
	for _, client := range clients {
		operations := client.operations()
		do := operations[c.Name]
		if do == nil || c.meanwhile != "" && operations[c.meanwhile] == nil {
			continue
		}
		all = append(all, contender{client.name(), do, operations[c.meanwhile]})
		for _, name := range c.deadlines {
			if name == client.name() {
				all = append(all, contender{withDeadline(name), do.withDeadline(), operations[c.meanwhile]})
			}
		}
	}
	return all
}
