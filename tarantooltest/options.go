package tarantooltest

import (
	"fmt"
	"maps"
)

// An Option changes what Start and New start.
type Option func(*config)

type config struct {
	instances int
	user      string
	password  string
	cfg       map[string]any
	init      string
}

// maxInstances is how many instances a replica set can have: a vclock has 32
// components, and number 0 is for local writes.
const maxInstances = 31

func newConfig(opts []Option) (*config, error) {
	c := &config{instances: 3, user: "app", password: "secret", cfg: map[string]any{}}
	for _, opt := range opts {
		opt(c)
	}
	if c.instances < 1 || c.instances > maxInstances {
		return nil, fmt.Errorf("tarantooltest: %d instances: a replica set has 1 to %d", c.instances, maxInstances)
	}
	if c.user == replicationUser {
		return nil, fmt.Errorf("tarantooltest: user %q is the one that replicates", c.user)
	}
	return c, nil
}

// Instances sets how many instances the replica set has: 1 to 31, by default 3.
func Instances(n int) Option {
	return func(c *config) { c.instances = n }
}

// User sets the user and the password in the DSN, by default "app" and
// "secret". The user has the role super.
func User(name, password string) Option {
	return func(c *config) { c.user, c.password = name, password }
}

// Cfg adds options of box.cfg, for every instance and each of its starts. They
// take precedence over the package's own: read_only on all instances but the
// master, memtx_use_mvcc_engine on servers from 2.10 on, and
// replication_connect_quorum 0 before 2.11. With an election_mode other than
// "off" (2.6.1+) no instance is configured read-only.
func Cfg(options map[string]any) Option {
	return func(c *config) { maps.Copy(c.cfg, options) }
}

// InitLua sets Lua code that every instance runs each time it starts, after
// box.cfg and before it listens: the place for functions that clients call.
// Code that creates spaces belongs below "if not box.info.ro", which holds on
// the master only, and must stand being run again.
func InitLua(code string) Option {
	return func(c *config) { c.init = code }
}
