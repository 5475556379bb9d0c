package failover

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tntsql/tntsql/tarantooltest"
)

var (
	//go:embed instance.lua
	instanceLua string
	//go:embed schema.lua
	schemaLua string
	//go:embed prefill.lua
	prefillLua string
	//go:embed audit.lua
	auditLua string
)

const (
	user     = "app"
	password = "secret"

	inStepTimeout = 30 * time.Second
)

// startSet starts a replica set with the tables of a load, the same on every
// instance.
func startSet(s *Scenario) (*tarantooltest.ReplicaSet, error) {
	set, err := tarantooltest.New(context.Background(), tarantooltest.User(user, password),
		tarantooltest.Cfg(s.Cfg), tarantooltest.InitLua(instanceLua))
	if err != nil {
		return nil, err
	}
	if _, err := set.Lua(set.Master(), schemaLua, s.Synchronous, rowCount); err != nil {
		return nil, errors.Join(err, set.Close())
	}
	return set, nil
}

// prefill makes the rows that UPDATEs of the writers find.
func prefill(set *tarantooltest.ReplicaSet, writers, rows int) error {
	for w := range writers {
		if _, err := set.Lua(set.Master(), prefillLua, int64(w)<<idBits, rows); err != nil {
			return err
		}
	}
	return nil
}

// running are the instances that answer.
func running(set *tarantooltest.ReplicaSet) (up []int) {
	for i := range set.Len() {
		if _, err := set.Lua(i, "return"); err == nil {
			up = append(up, i)
		}
	}
	return up
}

// inStep waits until all running instances have the same of each other.
func inStep(set *tarantooltest.ReplicaSet) error {
	var vclocks []map[string]any
	for end := time.Now().Add(inStepTimeout); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		vclocks = nil
		for _, i := range running(set) {
			values, err := set.Lua(i, `
				local vclock = {}
				for id, lsn in pairs(box.info.vclock) do
					if id ~= 0 then vclock[tostring(id)] = lsn end
				end
				return vclock`)
			if err != nil {
				return err
			}
			vclock, _ := values[0].(map[string]any)
			vclocks = append(vclocks, vclock)
		}
		if !slices.ContainsFunc(vclocks, func(v map[string]any) bool { return !maps.Equal(v, vclocks[0]) }) {
			return nil
		}
	}
	return fmt.Errorf("the instances are not in step after %v: %v", inStepTimeout, vclocks)
}
