package bench

import (
	"context"
	"errors"
)

// site is a server with all clients.
type site struct {
	server  *server
	clients []client
}

func openSite(ctx context.Context, mvcc bool) (*site, error) {
	s, err := startServer(ctx, mvcc)
	if err != nil {
		return nil, err
	}
	clients, err := openClients(ctx, s)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return &site{s, clients}, nil
}

func (s *site) close() error {
	return errors.Join(closeClients(s.clients), s.server.Close())
}

// openSites starts the servers: one with the default configuration, and one with
// MVCC if there are streams.
func openSites(ctx context.Context) (plain, mvcc *site, err error) {
	if plain, err = openSite(ctx, false); err != nil {
		return nil, nil, err
	}
	if !plain.server.streams() {
		return plain, plain, nil
	}
	if mvcc, err = openSite(ctx, true); err != nil {
		return nil, nil, errors.Join(err, plain.close())
	}
	return plain, mvcc, nil
}

func closeSites(plain, mvcc *site) error {
	if mvcc == plain {
		return plain.close()
	}
	return errors.Join(plain.close(), mvcc.close())
}
