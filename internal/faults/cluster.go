package faults

import (
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/tntsql/tntsql"
	"github.com/tntsql/tntsql/internal/failover"
	"github.com/tntsql/tntsql/internal/faults/history"
	"github.com/tntsql/tntsql/tarantooltest"
)

var (
	//go:embed schema.lua
	schemaLua string
	//go:embed round.lua
	roundLua string
	//go:embed audit.lua
	auditLua string
)

const (
	// patience is how long a replica set may take to be well again, and a load to go on.
	patience = 60 * time.Second
	// maxInFlight is little more than an instance gets at a time.
	maxInFlight = 64
	// counterCount is how many counters all workers share.
	counterCount = 4
	// registerCount is how many registers there are: from 0 those of the sessions, from
	// firstShared those for linearizable transactions.
	registerCount = 2000
	firstShared   = 1000
)

// elections has the instances choose their master themselves, and a leader that may not
// be one any more take no write.
var elections = map[string]any{
	"election_mode": "candidate", "election_fencing_mode": "strict", "election_timeout": 1,
	"replication_synchro_quorum": 2, "replication_timeout": 0.3, "replication_synchro_timeout": 5,
}

// Cluster is a replica set of three instances with the network before it and a handle of
// the driver on it: what a Fault has to work with.
type Cluster struct {
	Set     *tarantooltest.ReplicaSet
	Proxies []*failover.Proxy // one an instance
	Server  failover.Server
	DB      *sql.DB
	// Impatient is another handle on the same connections, with a request_timeout.
	Impatient *sql.DB
	Rand      *rand.Rand // for one fault at a time

	trial       *Trial
	connector   *tntsql.Connector
	dials       *dials
	elects      bool
	synchronous bool
	load        *load
	values      int64 // the last that a round began with
}

// newCluster starts a replica set with the tables of a load.
func newCluster(t *Trial, elects, synchronous bool) (*Cluster, error) {
	c := &Cluster{Server: t.Server, Rand: t.Rand, trial: t, dials: newDials(), elects: elects, synchronous: synchronous}
	cfg := map[string]any{"memtx_memory": 64 << 20}
	if elects {
		maps.Copy(cfg, elections)
	}
	var err error
	if c.Set, err = t.Start(tarantooltest.Cfg(cfg)); err != nil {
		return nil, err
	}
	if _, err := c.Set.Lua(c.Master(), schemaLua, synchronous, counterCount, registerCount); err != nil {
		return nil, err
	}
	if err := c.inStep(); err != nil {
		return nil, err
	}
	return c, c.open()
}

func (c *Cluster) open() error {
	dsn := c.Set.DSN("read_mode=any", "probe_timeout=500ms", "connect_timeout=1s", "selection_timeout=10s", fmt.Sprintf("max_in_flight=%d", maxInFlight))
	for i := range c.Set.Len() {
		p, err := failover.NewProxy(c.Set.Addr(i))
		if err != nil {
			return err
		}
		c.trial.Closing(p.Close)
		c.Proxies = append(c.Proxies, p)
		dsn = strings.Replace(dsn, c.Set.Addr(i), p.Addr(), 1)
	}
	cfg, err := tntsql.ParseDSN(dsn)
	if err != nil {
		return err
	}
	cfg.Dial = c.dials.dial
	db, connector, err := c.trial.Open(cfg)
	if err != nil {
		return err
	}
	c.DB, c.connector = db, connector
	db.SetMaxIdleConns(100)
	c.Impatient = sql.OpenDB(connector.With(tntsql.Defaults{RequestTimeout: hastyTimeout, SelectionTimeout: opTimeout}))
	c.trial.Closing(c.Impatient.Close)
	return ready(connector)
}

// Rest lets the load go on with what is broken.
func (c *Cluster) Rest(d time.Duration) { time.Sleep(d) }

// Any is the number of a random instance.
func (c *Cluster) Any() int { return c.Rand.IntN(c.Set.Len()) }

// Master is the number of the instance that is writable; it waits until there is one.
func (c *Cluster) Master() int {
	i, err := c.awaitMaster(-1)
	if err != nil {
		c.trial.Violation(GoesOn, "%v", err)
		return 0
	}
	return i
}

// Other is the number of a random instance that is not i.
func (c *Cluster) Other(i int) int { return (i + 1 + c.Rand.IntN(c.Set.Len()-1)) % c.Set.Len() }

// OnAll runs Lua on every instance.
func (c *Cluster) OnAll(code string, args ...any) error {
	for i := range c.Set.Len() {
		if _, err := c.Set.Lua(i, code, args...); err != nil {
			return err
		}
	}
	return nil
}

// OnMaster runs Lua on the master. Where there are elections another may have been
// elected meanwhile, and the code must stand being run again.
func (c *Cluster) OnMaster(code string, args ...any) error {
	for end := time.Now().Add(patience); ; c.Rest(100 * time.Millisecond) {
		_, err := c.Set.Lua(c.Master(), code, args...)
		if err == nil || !c.elects || time.Now().After(end) {
			return err
		}
	}
}

// TakeOver makes another instance the master after i was lost: by an election, where
// there are elections.
func (c *Cluster) TakeOver(i int) error {
	if c.elects {
		_, err := c.awaitMaster(i)
		return err
	}
	return c.Set.Promote(c.Other(i))
}

// awaitMaster waits for a master that is not the one before.
func (c *Cluster) awaitMaster(before int) (int, error) {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if i := c.Set.Master(); i >= 0 && i != before {
			return i, nil
		}
	}
	return 0, fmt.Errorf("no master after %v", patience)
}

// running are the instances that answer.
func (c *Cluster) running() (up []int) {
	for i := range c.Set.Len() {
		if _, err := c.Set.Lua(i, "return"); err == nil {
			up = append(up, i)
		}
	}
	return up
}

// heal mends all, and waits until the replica set is well.
func (c *Cluster) heal() error {
	for _, p := range c.Proxies {
		if err := p.Heal(); err != nil {
			return err
		}
	}
	up := c.running()
	for i := range c.Set.Len() {
		if !slices.Contains(up, i) {
			if err := c.Set.Restart(i); err != nil {
				return err
			}
		}
	}
	if _, err := c.awaitMaster(-1); err != nil {
		return err
	}
	return c.inStep()
}

var errNotInUse = errors.New("it is well, and not in use")

// allInUse waits until the driver is connected to all instances again, though the others
// serve all that is asked for.
func (c *Cluster) allInUse() error {
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		instances := c.connector.Topology().Instances
		i := slices.IndexFunc(instances, func(in tntsql.TopologyInstance) bool { return in.Status != "running" })
		if i < 0 {
			return nil
		}
		if time.Now().After(end) {
			in := instances[i]
			return fmt.Errorf("%s is %s for the driver after %v, %s: %w", in.Address, in.Status, patience, in.Role, errors.Join(errNotInUse, in.Err))
		}
	}
}

// inStep waits until all running instances have the same of each other, and no synchronous
// transaction is undecided.
func (c *Cluster) inStep() error {
	var states []map[string]any
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		states = nil
		for _, i := range c.running() {
			values, err := c.Set.Lua(i, `
				local state = {queue = 0}
				for id, lsn in pairs(box.info.vclock) do
					if id ~= 0 then state[tostring(id)] = lsn end
				end
				local synchro = box.info.synchro
				if synchro ~= nil then state.queue = synchro.queue.len end
				return state`)
			if err != nil {
				return err
			}
			state, _ := values[0].(map[string]any)
			states = append(states, state)
		}
		if !slices.ContainsFunc(states, func(s map[string]any) bool { return !maps.Equal(s, states[0]) || s["queue"] != int64(0) }) {
			return nil
		}
	}
	return fmt.Errorf("the instances are not in step after %v: %v\n%s", patience, states, c.replication())
}

// replication says why instances may not be in step.
func (c *Cluster) replication() string {
	var b strings.Builder
	for i := range c.Set.Len() {
		values, err := c.Set.Lua(i, "return require('json').encode({ro = box.info.ro, election = box.info.election, replication = box.info.replication})")
		fmt.Fprintf(&b, "%d: %v %v\n", i, values, err)
	}
	return b.String()
}

// spread waits until everything that instance i has is on the others too, while a load
// goes on.
func (c *Cluster) spread(i int) error {
	values, err := c.Set.Lua(i, "return box.info.id, box.info.vclock[box.info.id] or 0")
	if err != nil {
		return err
	}
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		behind := false
		for other := range c.Set.Len() {
			has, err := c.Set.Lua(other, "local id = ... return box.info.vclock[id] or 0", values[0])
			if err != nil {
				return err
			}
			behind = behind || has[0].(int64) < values[1].(int64)
		}
		if !behind {
			return nil
		}
	}
	return fmt.Errorf("instance %d has what others have not after %v\n%s", i, patience, c.replication())
}

// audit is what each running instance has of a load.
func (c *Cluster) audit() (logs []map[int64]int, counters []map[int64]int64, err error) {
	for _, i := range c.running() {
		values, err := c.Set.Lua(i, auditLua)
		if err != nil {
			return nil, nil, err
		}
		log, sums := make(map[int64]int), make(map[int64]int64)
		for op, n := range pairs(values[0]) {
			log[op] = int(n)
		}
		maps.Insert(sums, pairs(values[1]))
		logs, counters = append(logs, log), append(counters, sums)
	}
	return logs, counters, nil
}

// pairs are the keys and values of a list from Lua that has them by turns.
func pairs(list any) func(yield func(int64, int64) bool) {
	values, _ := list.([]any)
	return func(yield func(int64, int64) bool) {
		for i := 0; i+1 < len(values); i += 2 {
			key, _ := values[i].(int64)
			value, _ := values[i+1].(int64)
			if !yield(key, value) {
				return
			}
		}
	}
}

// checks are what a round's history must keep.
func (c *Cluster) checks(l *load) ([]history.Breach, error) {
	logs, counters, err := c.audit()
	if err != nil {
		return nil, err
	}
	ops := l.history()
	r := c.trial.result
	unknown, applied := history.Unknowns(ops[logged], logs...)
	r.UnknownInserts, r.AppliedInserts = r.UnknownInserts+unknown, r.AppliedInserts+applied
	lossy := l.lossy
	if c.synchronous {
		lossy = nil // whatever happens
	}
	breaches := history.Once(ops[logged], logs...)
	breaches = append(breaches, history.Counters(ops[counted], len(lossy) > 0, counters...)...)
	breaches = append(breaches, history.Sessions(ops[own], lossy...)...)
	return append(breaches, history.Linearizable(ops[ordered], linearizableTimeout)...), nil
}
