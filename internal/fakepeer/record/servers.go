package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/tntsql/tntsql/tarantooltest"
)

// elections is a refusal that names the leader.
func (r *recorder) elections() error {
	rs, err := tarantooltest.New(context.Background(), tarantooltest.Instances(2))
	if err != nil {
		return err
	}
	defer rs.Close() //nolint:errcheck // its data is of no interest
	if _, err := rs.Lua(0, `
		box.schema.user.grant('guest', 'super')
		box.execute('CREATE TABLE users (id INTEGER PRIMARY KEY, name STRING)')
		box.cfg{replication_synchro_quorum = 1, election_mode = 'candidate'}
		box.ctl.wait_rw(5)`); err != nil {
		return err
	}
	if _, err := rs.Lua(1, `
		box.cfg{read_only = false, election_mode = 'voter'}
		while box.info.election.leader == 0 or not box.space.users and not box.space.USERS do
			require('fiber').sleep(0.001)
		end`); err != nil {
		return err
	}
	if err := r.connect(rs, 1); err != nil {
		return err
	}
	defer r.Close() //nolint:errcheck // nothing is expected any more
	r.uuids[rs.UUID(0)] = leaderUUID
	return r.ask("insert, not the leader", "refused by a follower, which names the leader", r.sql("INSERT INTO users (id, name) VALUES (1, 'Ann')"))
}

// loading is a server that listens and has not yet booted, because the instance
// that it is to join is not there.
func (r *recorder) loading(tarantool string) error {
	dir, err := os.MkdirTemp("", "record-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // below the system's temporary directory
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	//nolint:gosec // the program is the one that the developer names
	server := exec.CommandContext(ctx, tarantool, "-e", fmt.Sprintf(`
		box.cfg{listen = '127.0.0.1:0', work_dir = '%s', replication = '127.0.0.1:1', replication_connect_timeout = 60, log = 'log'}`, dir))
	if err := server.Start(); err != nil {
		return err
	}
	defer server.Wait() //nolint:errcheck // it is killed
	defer cancel()
	address, err := listening(ctx, filepath.Join(dir, "log"))
	if err != nil {
		return err
	}
	for { // it says so shortly before it listens
		if r.client, err = dial(address); err == nil {
			break
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
	defer r.Close() //nolint:errcheck // nothing is expected any more
	return r.all(
		ask{"vote, loading", "the ballot of an instance that has not booted", vote},
		ask{"auth, loading", "refused, whatever the password", login},
	)
}

// listening waits for the log to say where the server listens.
func listening(ctx context.Context, log string) (string, error) {
	for {
		text, _ := os.ReadFile(log)
		for line := range strings.Lines(string(text)) {
			if _, address, ok := strings.Cut(line, "bound to "); ok && strings.Contains(address, ":") {
				return strings.TrimSpace(address), nil
			}
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("the server does not listen: %s", text)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
