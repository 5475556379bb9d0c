-- What an instance runs. The Go side drives it by Lua calls over a Unix socket
-- in the working directory: unlike IPROTO, that works before box.cfg, on a
-- read-only or orphan instance, and whatever the tests do to users and grants.

local ffi = require('ffi')
local fiber = require('fiber')
local msgpack = require('msgpack')
local socket = require('socket')

local M = {}

-- What a killed instance has printed shall be in its log.
io.stdout:setvbuf('line')

-- The Go process holds the other end of standard input and never writes to it,
-- so readable means that it is gone.
fiber.create(function()
    socket.iowait(0, 'R')
    os.exit(1)
end)

-- plain turns values of types that not every reader of MessagePack knows into
-- text: decimals, UUIDs, datetimes, errors, functions.
local function plain(value)
    if value == nil then
        return msgpack.NULL
    end
    local t = type(value)
    if t == 'cdata' and box.tuple.is(value) then
        value, t = value:totable(), 'table'
    end
    if t == 'table' then
        local mt = getmetatable(value)
        local hint = mt and mt.__serialize
        if type(hint) == 'function' then
            return plain(hint(value))
        end
        local copy = {}
        for k, v in pairs(value) do
            copy[type(k) == 'number' and k or tostring(k)] = plain(v)
        end
        return setmetatable(copy, {__serialize = hint})
    end
    if t == 'number' or t == 'string' or t == 'boolean' or
       t == 'cdata' and (ffi.istype('int64_t', value) or ffi.istype('uint64_t', value)) then
        return value
    end
    return tostring(value)
end

local function reply(ok, ...)
    if not ok then
        return {error = tostring((...))}
    end
    local values = {}
    for i = 1, select('#', ...) do
        values[i] = plain((select(i, ...)))
    end
    return {values = setmetatable(values, {__serialize = 'seq'})}
end

local function run(request)
    local chunk, err = loadstring(request.code, '=lua')
    if chunk == nil then
        return reply(false, err)
    end
    return reply(pcall(chunk, unpack(request.args, 1, #request.args)))
end

local function serve(conn)
    local size = tonumber(conn:read('\n') or '')
    local body = size ~= nil and conn:read(size) or ''
    if #body ~= size then
        return
    end
    local ok, answer = pcall(function() return msgpack.encode(run(msgpack.decode(body))) end)
    conn:write(ok and answer or msgpack.encode(reply(false, answer)))
end

local function wait(timeout, what, condition)
    local deadline = fiber.clock() + timeout
    while not condition() do
        if fiber.clock() > deadline then
            error('no ' .. what .. ' after ' .. timeout .. ' s', 0)
        end
        fiber.sleep(0.005)
    end
end

local function at_least(major, minor)
    local x, y = _TARANTOOL:match('^(%d+)%.(%d+)')
    x, y = tonumber(x), tonumber(y)
    return x > major or x == major and y >= minor
end

local function elects()
    return (box.cfg.election_mode or 'off') ~= 'off'
end

-- version is the server's own version text.
function M.version()
    return _TARANTOOL
end

-- boot configures the instance up to, but not including, its listening and its
-- following of the others. It gives the instance's uuid.
function M.boot(p)
    local cfg = {
        read_only = not p.master,
        replication = p.upstream,
        replication_connect_timeout = p.timeout,
    }
    M.connect_timeout = p.cfg.replication_connect_timeout or 0.3
    if box.internal.feedback_daemon ~= nil then
        cfg.feedback_enabled = false
    end
    if at_least(2, 10) then
        cfg.memtx_use_mvcc_engine = true
    end
    if not at_least(2, 11) then
        -- Else an instance that cannot reach the others at its start remains an
        -- orphan. Since 2.11 bootstrap_strategy = 'auto' makes it run.
        cfg.replication_connect_quorum = 0
        -- Joining through one member takes a second less; newer servers insist
        -- on all of them.
        cfg.replication = p.upstream and p.upstream[1]
    end
    if (p.cfg.election_mode or 'off') ~= 'off' then
        cfg.read_only = false
    end
    for k, v in pairs(p.cfg) do
        cfg[k] = v
    end
    if cfg.memtx_use_mvcc_engine == false and not at_least(2, 7) then
        cfg.memtx_use_mvcc_engine = nil -- 2.6.0 has no such option, and no MVCC
    end
    box.cfg(cfg)
    if p.create ~= nil then
        box.ctl.wait_rw(p.timeout)
        for _, u in ipairs(p.create) do
            box.schema.user.create(u.name, {if_not_exists = true})
            box.schema.user.passwd(u.name, u.password)
            box.schema.user.grant(u.name, u.role, nil, nil, {if_not_exists = true})
        end
    end
    if p.init ~= '' then
        assert(loadstring(p.init, '=InitLua'))()
    end
    return box.info.uuid
end

function M.listen(address)
    box.cfg{listen = address}
end

-- know waits until the instance knows all members of the replica set. One that
-- does not know who wants to follow it refuses, and 2.6 does not try again.
function M.know(members, timeout)
    wait(timeout, 'registration of every instance', function()
        return box.space._cluster:count() == members
    end)
end

-- follow makes the instance replicate from the peers and waits until it follows
-- those of them that run.
function M.follow(peers, running, timeout)
    -- Peers that are down are waited for as long as replication_connect_timeout.
    -- One that still has a former connection refuses the new one, which is tried
    -- again after replication_timeout.
    local replication_timeout = box.cfg.replication_timeout
    box.cfg{
        replication_connect_timeout = M.connect_timeout,
        replication_timeout = math.min(replication_timeout, 0.3),
    }
    box.cfg{replication = peers}
    wait(timeout, 'replication from every running instance', function()
        local follows = {}
        for _, r in pairs(box.info.replication) do
            follows[r.uuid] = r.upstream ~= nil and r.upstream.status == 'follow'
        end
        for _, uuid in ipairs(running) do
            if not follows[uuid] then
                return false
            end
        end
        return true
    end)
    box.cfg{replication_timeout = replication_timeout}
end

-- demote makes the instance read-only and gives its vclock.
function M.demote()
    if not elects() then
        box.cfg{read_only = true}
    end
    return box.info.vclock
end

-- promote makes the instance writable once it has everything in the vclocks.
function M.promote(vclocks, timeout)
    wait(timeout, 'catching up with the other instances', function()
        local own = box.info.vclock
        for _, vclock in ipairs(vclocks) do
            for id, lsn in pairs(vclock) do
                id = tonumber(id)
                -- Component 0 counts writes to local spaces and is not replicated.
                if id ~= 0 and (own[id] or 0) < lsn then
                    return false
                end
            end
        end
        return true
    end)
    if elects() then
        box.ctl.promote()
    else
        box.cfg{read_only = false}
        -- A former master's synchronous writes leave it the owner of their
        -- queue, without which the instance stays read-only.
        local queue = box.info.synchro and box.info.synchro.queue
        if queue ~= nil and queue.owner ~= nil then
            if queue.owner ~= 0 and queue.owner ~= box.info.id then
                box.ctl.promote()
            end
        elseif box.ctl.clear_synchro_queue ~= nil then
            box.ctl.clear_synchro_queue()
        end
    end
    box.ctl.wait_rw(timeout)
end

function M.writable()
    return not box.info.ro
end

package.loaded.tarantooltest = M
assert(socket.tcp_server('unix/', 'control', {name = 'tarantooltest', handler = serve}))
