package faults

import (
	"errors"
	"fmt"
	"time"
)

// ddl changes the schema, which makes prepared statements expire.
var ddl = Fault{
	Name: "DDL",
	Do: func(c *Cluster) error {
		name := fmt.Sprintf("T%d", c.Rand.Uint32())
		for _, text := range []string{
			"CREATE TABLE IF NOT EXISTS " + name + " (ID INTEGER PRIMARY KEY, A INTEGER)",
			"CREATE INDEX IF NOT EXISTS " + name + "_A ON " + name + " (A)",
			"DROP TABLE IF EXISTS " + name,
		} {
			if err := c.OnMaster("local r, err = box.execute(...) if err ~= nil then error(err) end", text); err != nil {
				return err
			}
			c.Rest(50 * time.Millisecond)
		}
		return nil
	},
}

// configured is a Fault that changes options of box.cfg on all instances for a while.
func configured(name, broken, mended string) Fault {
	return Fault{
		Name: name,
		Do: func(c *Cluster) error {
			if err := c.OnAll("box.cfg{" + broken + "}"); err != nil {
				return err
			}
			c.Rest(500 * time.Millisecond)
			return errors.Join(c.load.goesOn(), c.OnAll("box.cfg{"+mended+"}"))
		},
	}
}

var (
	fewMessages    = configured("net_msg_max of 2", "net_msg_max = 2", "net_msg_max = 768")
	smallReadahead = configured("readahead of 128 bytes", "readahead = 128", "readahead = 16320")
)

// fullStatementCache fills the cache, which cannot be made smaller than what is in it, on
// all instances. Statements belong to a session, so a fiber keeps its own until the end.
var fullStatementCache = Fault{
	Name: "full statement cache (sql_cache_size)",
	Do: func(c *Cluster) error {
		if err := c.OnAll(`
			local fiber = require('fiber')
			local filled = fiber.channel(1)
			rawset(_G, 'emptied', fiber.channel())
			fiber.create(function()
				local statements = {}
				for _, size in ipairs{100000, 10000, 1000, 100, 1} do
					repeat
						local text = 'SELECT ' .. #statements .. ' -- ' .. string.rep('x', size)
						local ok, statement = pcall(box.prepare, text)
						ok = ok and statement ~= nil
						if ok then table.insert(statements, statement) end
					until not ok
				end
				filled:put(#statements)
				emptied:get()
				for _, s in ipairs(statements) do s:unprepare() end
			end)
			filled:get()`); err != nil {
			return err
		}
		c.Rest(500 * time.Millisecond)
		return errors.Join(c.load.goesOn(), c.OnAll("emptied:close()"))
	},
}

// outOfMemory fills the memory of the master with a temporary space, which is neither
// replicated nor there after a restart.
var outOfMemory = Fault{
	Name: "no memory on the server (memtx_memory)",
	Do: func(c *Cluster) error {
		i := c.Master()
		_, err := c.Set.Lua(i, `
			local fiber = require('fiber')
			local s = box.schema.space.create('ballast', {temporary = true, if_not_exists = true})
			s:create_index('pk', {if_not_exists = true})
			local id = 0
			for _, size in ipairs{1000000, 100000, 10000, 1000, 100} do
				local value = string.rep('x', size)
				repeat
					id = id + 1
					if id % 20 == 0 then fiber.yield() end
				until not pcall(s.replace, s, {id, value})
			end`)
		c.Rest(300 * time.Millisecond)
		mended := c.OnMaster("if box.space.ballast ~= nil then box.space.ballast:drop() end")
		// Its tuples are collected bit by bit after the drop.
		_, collected := c.Set.Lua(i, `
			local fiber = require('fiber')
			local last = fiber.time() + ...
			while box.slab.info().arena_used > box.slab.info().quota_size / 2 do
				if fiber.time() > last then error('the memory of the ballast is not free') end
				fiber.sleep(0.005)
			end`, patience.Seconds())
		return errors.Join(err, mended, collected, c.load.goesOn())
	},
}

// passwordChanged has connections that are made meanwhile refused.
var passwordChanged = Fault{
	Name: "password changed while connected",
	Do: func(c *Cluster) error {
		return c.asAdmin("box.schema.user.passwd(..., 'another')", "box.schema.user.passwd(...)", user, password)
	},
}

var grantsRevoked = Fault{
	Name: "grants revoked while connected",
	Do: func(c *Cluster) error {
		return c.asAdmin("local name = ... box.schema.user.revoke(name, 'super', nil, nil, {if_exists = true})", "local name = ... box.schema.user.grant(name, 'super', nil, nil, {if_not_exists = true})", user)
	},
}

// asAdmin runs Lua on the master with the user's name, cuts all connections, and then
// mends it by other code.
func (c *Cluster) asAdmin(broken, mended string, args ...any) error {
	if err := c.OnMaster(broken, user); err != nil {
		return err
	}
	c.Rest(200 * time.Millisecond)
	for _, p := range c.Proxies {
		if err := p.Reset(); err != nil {
			return err
		}
	}
	c.Rest(100 * time.Millisecond)
	for _, p := range c.Proxies {
		if err := p.Heal(); err != nil {
			return err
		}
	}
	c.Rest(300 * time.Millisecond)
	return errors.Join(c.OnMaster(mended, args...), c.load.goesOn())
}
