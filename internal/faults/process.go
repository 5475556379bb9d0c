package faults

import (
	"errors"
	"time"
)

// kill has another instance take over while the master is down.
var kill = Fault{
	Name: "kill -9 of the master",
	Do: func(c *Cluster) error {
		i := c.Master()
		c.load.mayLose()()
		c.Set.Kill(i)
		if err := errors.Join(c.TakeOver(i), c.load.goesOn()); err != nil {
			return err
		}
		defer c.load.mayLose()()
		return errors.Join(c.Set.Restart(i), c.spread(i))
	},
}

var killInPlace = Fault{
	Name: "kill -9 of an instance, which comes back",
	Do: func(c *Cluster) error {
		i := c.Any()
		if c.elects { // another may be elected meanwhile
			defer c.load.mayLose()()
		}
		c.Set.Kill(i)
		c.Rest(50 * time.Millisecond)
		return c.Set.Restart(i)
	},
}

var stop = Fault{
	Name: "SIGSTOP and SIGCONT of an instance",
	Do: func(c *Cluster) error {
		i := c.Any()
		if c.elects {
			defer c.load.mayLose()()
		}
		if err := c.Set.Stop(i); err != nil {
			return err
		}
		c.Rest(time.Duration(100+c.Rand.IntN(1400)) * time.Millisecond)
		return c.Set.Continue(i)
	},
}

var switchover = Fault{
	Name: "switchover",
	Do: func(c *Cluster) error {
		// An election is won without what the former leader has not spread yet.
		if c.elects {
			defer c.load.mayLose()()
		}
		return c.promote()
	},
}

// promote makes another instance the master. In an election another one may win.
func (c *Cluster) promote() error {
	err := c.Set.Promote(c.Other(c.Master()))
	if c.elects {
		_, err = c.awaitMaster(-1)
	}
	return err
}

// readOnly leaves writes nowhere to go, while their instance answers and refuses them.
var readOnly = Fault{
	Name: "the master read-only for 200 ms",
	Do: func(c *Cluster) error {
		i := c.Master()
		if _, err := c.Set.Lua(i, "box.cfg{read_only = true}"); err != nil {
			return err
		}
		c.Rest(200 * time.Millisecond)
		_, err := c.Set.Lua(i, "box.cfg{read_only = false}")
		return errors.Join(err, c.load.goesOn())
	},
}

var resign = Fault{
	Name:      "the leader resigns",
	Elections: true,
	Do: func(c *Cluster) error {
		i := c.Master()
		defer c.load.mayLose()()
		// Another may have been elected meanwhile, and then there is nothing to resign from.
		_, _ = c.Set.Lua(i, "pcall(box.ctl.demote)")
		_, err := c.awaitMaster(-1)
		return err
	},
}

// slowQuorum has a synchronous write need the instance that is stopped, and give up
// waiting for it: what becomes of it nobody can tell.
var slowQuorum = Fault{
	Name:      "a quorum that is not there in time",
	Elections: true,
	Do: func(c *Cluster) error {
		i := c.Other(c.Master())
		defer c.load.mayLose()()
		if err := c.OnAll("box.cfg{replication_synchro_quorum = 3, replication_synchro_timeout = 0.15}"); err != nil {
			return err
		}
		err := c.Set.Stop(i)
		c.Rest(400 * time.Millisecond)
		return errors.Join(err, c.Set.Continue(i),
			c.OnAll("box.cfg{replication_synchro_quorum = 2, replication_synchro_timeout = 5}"))
	},
}

// laggard has an instance that is no master fall behind, though it answers as ever.
var laggard = Fault{
	Name: "replication to an instance is cut",
	Do: func(c *Cluster) error {
		i := c.Other(c.Master())
		if c.elects { // another may be elected meanwhile
			defer c.load.mayLose()()
		}
		_, err := c.Set.Lua(i, `
			local cfg = box.cfg
			rawset(_G, 'before', {replication = cfg.replication, election_mode = cfg.election_mode})
			box.cfg{replication = {}, election_mode = cfg.election_mode and 'voter'}`)
		if err != nil {
			return err
		}
		c.Rest(300 * time.Millisecond)
		err = c.load.goesOn()
		_, mended := c.Set.Lua(i, "box.cfg(before)")
		return errors.Join(err, mended)
	},
}

var restart = Fault{
	Name: "restart of an instance",
	Do: func(c *Cluster) error {
		if c.elects {
			defer c.load.mayLose()()
		}
		return c.Set.Restart(c.Any())
	},
}

var rollingRestart = Fault{
	Name: "rolling restart",
	Do: func(c *Cluster) error {
		if c.elects {
			defer c.load.mayLose()()
		}
		for n := range c.Set.Len() {
			if err := errors.Join(c.Set.Restart(n), c.load.goesOn()); err != nil {
				return err
			}
		}
		return nil
	},
}

var allDown = Fault{
	Name: "all instances down",
	Do: func(c *Cluster) error {
		for i := range c.Set.Len() {
			c.Set.Kill(i)
		}
		c.Rest(300 * time.Millisecond)
		for i := range c.Set.Len() {
			if err := c.Set.Restart(i); err != nil {
				return err
			}
		}
		for i := range c.Set.Len() {
			if err := c.spread(i); err != nil {
				return err
			}
		}
		return nil
	},
}
