package tarantooltest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// startTimeout bounds New and Start, which on an idle machine take a second.
const startTimeout = time.Minute

// The user that instances replicate as. Its password need not be secret: the
// servers listen on the loopback interface and live as long as a test.
const (
	replicationUser     = "replicator"
	replicationPassword = "replicator"
)

// A ReplicaSet is a running replica set of Tarantool instances, each of which
// replicates from all others. Instances are numbered from 0; a method given a
// number that no instance has panics, as the index of a slice does. All
// methods may be called concurrently.
type ReplicaSet struct {
	config    *config
	binary    string
	dir       string
	spawner   *spawner
	instances []*instance
	version   string

	mu     sync.Mutex
	master int
}

// Start gives tb a replica set of its own, which is closed when tb and its
// subtests are over. If tb failed, the end of each instance's log is printed.
//
// Without a Tarantool binary the test is skipped. It fails instead if $CI or
// $TARANTOOL is set.
func Start(tb testing.TB, opts ...Option) *ReplicaSet {
	tb.Helper()
	rs, err := New(context.Background(), opts...)
	if errors.Is(err, ErrNoBinary) && !mustHaveBinary() {
		tb.Skip(err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if tb.Failed() {
			for _, in := range rs.instances {
				tb.Log(in.logTail())
			}
		}
		if err := rs.Close(); err != nil {
			tb.Error(err)
		}
	})
	return rs
}

// New starts a replica set outside of a test. It returns when every instance
// serves and follows all others; instance 0 is the master. The context bounds
// the start only, to a minute if it has no deadline. The error wraps ErrNoBinary
// if there is no Tarantool binary.
//
// The caller must Close the replica set.
func New(ctx context.Context, opts ...Option) (*ReplicaSet, error) {
	c, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	binary, err := findBinary()
	if err != nil {
		return nil, err
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, startTimeout)
		defer cancel()
	}
	dir, err := os.MkdirTemp("", "tarantooltest-")
	if err != nil {
		return nil, fmt.Errorf("tarantooltest: %w", err)
	}
	if len(dir)+len("/30/"+controlSocket) > maxSocketPath {
		return nil, errors.Join(fmt.Errorf("tarantooltest: %s is too long a path for Unix sockets: "+
			"set $TMPDIR to a shorter one", dir), os.Remove(dir))
	}
	rs := &ReplicaSet{config: c, binary: binary, dir: dir, spawner: newSpawner()}
	if err := rs.start(ctx); err != nil {
		return nil, errors.Join(err, rs.Close())
	}
	return rs, nil
}

func (rs *ReplicaSet) start(ctx context.Context) error {
	for i := range rs.config.instances {
		in, err := newInstance(i, filepath.Join(rs.dir, strconv.Itoa(i)), rs.binary)
		if err != nil {
			return fmt.Errorf("tarantooltest: %w", err)
		}
		rs.instances = append(rs.instances, in)
		if err := in.spawn(rs.spawner); err != nil {
			return in.failed(err)
		}
	}
	// One after the other: the master alone bootstraps, ids are in order, and
	// servers since 2.11 let an instance join only if it connects to all members.
	for i, in := range rs.instances {
		if err := rs.first(ctx, in, rs.instances[:i]); err != nil {
			return in.failedWithLog(err)
		}
	}
	values, err := rs.instances[0].call(ctx, "version")
	if err != nil {
		return rs.instances[0].failed(err)
	}
	rs.version = values[0].(string)
	if err := each(rs.instances, func(in *instance) error {
		_, err := in.call(ctx, "know", len(rs.instances), timeoutOf(ctx))
		return in.failedWithLog(err)
	}); err != nil {
		return err
	}
	return each(rs.instances, func(in *instance) error {
		return in.failedWithLog(rs.follow(ctx, in))
	})
}

// first is an instance's first boot, in which it joins those before it.
func (rs *ReplicaSet) first(ctx context.Context, in *instance, before []*instance) error {
	params := rs.bootParams(in)
	if len(before) > 0 {
		params["upstream"] = rs.peers(before)
	} else {
		params["create"] = []map[string]any{
			{"name": replicationUser, "password": replicationPassword, "role": "replication"},
			{"name": rs.config.user, "password": rs.config.password, "role": "super"},
		}
	}
	uuid, err := in.boot(ctx, params)
	if err != nil {
		return err
	}
	in.uuid = uuid
	return in.listen(ctx)
}

func (rs *ReplicaSet) bootParams(in *instance) map[string]any {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return map[string]any{
		"master": in.index == rs.master,
		"cfg":    rs.config.cfg,
		"init":   rs.config.init,
	}
}

// follow makes an instance replicate from all others.
func (rs *ReplicaSet) follow(ctx context.Context, in *instance) error {
	var others []*instance
	running := []string{}
	for _, other := range rs.instances {
		if other == in {
			continue
		}
		others = append(others, other)
		if _, err := other.answering(); err == nil {
			running = append(running, other.uuid)
		}
	}
	_, err := in.call(ctx, "follow", rs.peers(others), running, timeoutOf(ctx))
	return err
}

// peers is the value of box.cfg.replication that follows the instances.
func (rs *ReplicaSet) peers(instances []*instance) []string {
	uris := []string{}
	for _, in := range instances {
		uris = append(uris, replicationUser+":"+replicationPassword+"@"+in.address)
	}
	return uris
}

// Close kills all instances and removes their directories. It may be called
// again, and while other methods run.
func (rs *ReplicaSet) Close() error {
	rs.spawner.close(func() {
		_ = each(rs.instances, func(in *instance) error {
			in.kill()
			return nil
		})
	})
	if err := os.RemoveAll(rs.dir); err != nil {
		return fmt.Errorf("tarantooltest: %w", err)
	}
	return nil
}

// DSN is the address of the whole replica set in the form of package tntsql,
// all instances in it:
//
//	tarantool://app:secret@127.0.0.1:20001,127.0.0.1:20002/?read_mode=any
//
// Each of params is one "name=value", percent-encoded where need be.
func (rs *ReplicaSet) DSN(params ...string) string {
	addresses := make([]string, len(rs.instances))
	for i, in := range rs.instances {
		addresses[i] = in.address
	}
	dsn := "tarantool://" + escape(rs.config.user) + ":" + escape(rs.config.password) +
		"@" + strings.Join(addresses, ",") + "/"
	if len(params) > 0 {
		dsn += "?" + strings.Join(params, "&")
	}
	return dsn
}

// escape percent-encodes a user or password, in which a plus is a plus.
func escape(s string) string {
	return strings.ReplaceAll(url.QueryEscape(s), "+", "%20")
}

// Len is the number of instances.
func (rs *ReplicaSet) Len() int { return len(rs.instances) }

// Addr is the host and port at which instance i listens, always the same.
func (rs *ReplicaSet) Addr(i int) string { return rs.instances[i].address }

// UUID is the uuid of instance i, as in box.info.uuid.
func (rs *ReplicaSet) UUID(i int) string { return rs.instances[i].uuid }

// Log is what instance i has logged so far, in all its runs. It is empty after
// Close.
func (rs *ReplicaSet) Log(i int) string {
	log, err := os.ReadFile(rs.instances[i].logFile())
	if err != nil {
		return ""
	}
	return string(log)
}

// Version is the server's version, for example "2.11.9-0-g54aebb0960".
func (rs *ReplicaSet) Version() string { return rs.version }

// AtLeast reports whether the server's version is major.minor.patch or newer.
func (rs *ReplicaSet) AtLeast(major, minor, patch int) bool {
	var x, y, z int
	if _, err := fmt.Sscanf(rs.version, "%d.%d.%d", &x, &y, &z); err != nil {
		return false
	}
	if x != major {
		return x > major
	}
	if y != minor {
		return y > minor
	}
	return z >= patch
}

// Lua runs code on instance i, as the user admin, and gives what it returns. In
// the code, args are "...". Integers come back as int64, above its range as
// uint64, other numbers as float64, tables and tuples as []any or
// map[string]any, and values of other types, such as a decimal or an error
// object, as their text. An error that the code raises becomes Lua's error.
//
// It does not need the instance to listen, to be writable or to be in step with
// the others, but it must run and not be stopped. Lua gives up after 30 seconds;
// the code then still runs.
func (rs *ReplicaSet) Lua(i int, code string, args ...any) ([]any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), luaTimeout)
	defer cancel()
	values, err := rs.instances[i].lua(ctx, code, args)
	return values, rs.instances[i].failed(err)
}

// each runs f for all instances at once.
func each(instances []*instance, f func(*instance) error) error {
	errs := make([]error, len(instances))
	var wg sync.WaitGroup
	for i, in := range instances {
		wg.Go(func() { errs[i] = f(in) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
