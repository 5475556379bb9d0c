package tarantooltest

import (
	"context"
	"time"
)

// lifecycleTimeout bounds each method that waits for an instance.
const lifecycleTimeout = time.Minute

// Stop stops instance i with SIGSTOP: it keeps its connections and answers
// nothing. It returns when the instance has stopped.
func (rs *ReplicaSet) Stop(i int) error {
	return rs.instances[i].failed(rs.instances[i].stop())
}

// Continue lets instance i go on after Stop.
func (rs *ReplicaSet) Continue(i int) error {
	return rs.instances[i].failed(rs.instances[i].resume())
}

// Kill ends instance i with SIGKILL, stopped or not, and returns when it is gone.
func (rs *ReplicaSet) Kill(i int) {
	rs.instances[i].kill()
}

// Shutdown ends instance i with SIGTERM, which lets it finish requests first,
// and returns when it is gone. Its error is that of an instance that is stopped,
// not running, or still running after a minute.
func (rs *ReplicaSet) Shutdown(i int) error {
	ctx, cancel := context.WithTimeout(context.Background(), lifecycleTimeout)
	defer cancel()
	return rs.instances[i].failed(rs.instances[i].shutdown(ctx))
}

// Restart starts instance i again, after a Shutdown if it runs, at the same
// address and with its data. It is the master if it was the last to be promoted,
// else it is read-only. Restart returns when the instance serves and
// follows every other instance that runs.
func (rs *ReplicaSet) Restart(i int) error {
	ctx, cancel := context.WithTimeout(context.Background(), lifecycleTimeout)
	defer cancel()
	in := rs.instances[i]
	return in.failedWithLog(rs.restart(ctx, in))
}

// RestartWith is Restart with another Tarantool binary, which instance i keeps
// for its later starts: an upgrade. Version and AtLeast stay those of the binary
// that the replica set was started with.
func (rs *ReplicaSet) RestartWith(i int, binary string) error {
	in := rs.instances[i]
	path, err := absoluteBinary(binary)
	if err != nil {
		return in.failed(err)
	}
	in.use(path)
	return rs.Restart(i)
}

func (rs *ReplicaSet) restart(ctx context.Context, in *instance) error {
	if in.running() {
		if err := in.shutdown(ctx); err != nil {
			return err
		}
	}
	if err := in.spawn(rs.spawner); err != nil {
		return err
	}
	if _, err := in.boot(ctx, rs.bootParams(in)); err != nil {
		return err
	}
	if err := rs.follow(ctx, in); err != nil {
		return err
	}
	return in.listen(ctx)
}

// Promote makes instance i the only writable one among those that run. The
// others are made read-only first, and i has everything that they acknowledged
// before it becomes writable. If a former master owns the queue of synchronous
// transactions, i takes it over; where transactions of a dead one are left in it,
// the server first waits for twice replication_synchro_timeout (5 s). Where
// election_mode is on, i wins an election instead.
//
// A master that is stopped meanwhile cannot be made read-only: after Continue
// there are two writable instances, until the next Promote.
func (rs *ReplicaSet) Promote(i int) error {
	ctx, cancel := context.WithTimeout(context.Background(), lifecycleTimeout)
	defer cancel()
	in := rs.instances[i]
	if _, err := in.answering(); err != nil {
		return in.failed(err)
	}
	vclocks := []any{}
	for _, other := range rs.instances {
		if other == in {
			continue
		}
		values, err := other.call(ctx, "demote")
		if err == nil {
			vclocks = append(vclocks, values[0])
		} else if _, down := other.answering(); down == nil {
			return other.failed(err)
		}
	}
	if _, err := in.call(ctx, "promote", vclocks, timeoutOf(ctx)); err != nil {
		return in.failed(err)
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.master = i
	return nil
}

// Master is the number of the instance that is writable, by its own account, or
// -1 if none is. If two are, it is the one promoted last.
func (rs *ReplicaSet) Master() int {
	ctx, cancel := context.WithTimeout(context.Background(), lifecycleTimeout)
	defer cancel()
	rs.mu.Lock()
	master := rs.master
	rs.mu.Unlock()
	if rs.instances[master].writable(ctx) {
		return master
	}
	for i, in := range rs.instances {
		if i != master && in.writable(ctx) {
			return i
		}
	}
	return -1
}
