local ffi = require('ffi')
local statements = ...
local results = {}

-- The codes that IPROTO gives to errors of classes that have none. One of a cancelled
-- fiber has 32, too, which the driver takes for a write that waits for its quorum:
-- here nothing does before the commit.
local codes = {LuajitError = 32, IllegalParams = 32, OutOfMemory = 2, SystemError = 115}

-- What the driver needs of an error; 2.10 and newer name the reason of a refusal.
local function described(err)
    if type(err) ~= 'cdata' then
        return {code = codes.LuajitError, message = tostring(err)}
    end
    local code = err.code or 0
    if code == 0 then
        code = codes[err.base_type] or 0
    end
    return {code = code, type = err.base_type, message = err.message, reason = err.reason,
            state = err.state, leader_uuid = err.leader_uuid}
end

-- Lua would bind 3.0 as an integer, and bytes as a string where the compatibility
-- option binary_data_decoding of 3.0 and newer is old.
local function typed(value)
    if type(value) == 'number' then
        return ffi.cast('double', value)
    end
    if type(value) == 'string' then
        return require('varbinary').new(value)
    end
    return value
end

local function keep(bindings, n)
    local binding = bindings[n]
    if type(binding) ~= 'table' then
        bindings[n] = typed(binding)
        return
    end
    for name, value in pairs(binding) do
        binding[name] = typed(value)
    end
end

box.begin()
for i, statement in ipairs(statements) do
    local text, bindings, kept, calls = unpack(statement)
    for _, n in ipairs(kept) do
        keep(bindings, n)
    end
    local ok, res, err = pcall(box.execute, text, bindings)
    local failed = not ok or res == nil
    -- A function that the statement calls may have ended the transaction, even by a
    -- commit: the next statement would be committed by itself.
    if (calls or not failed) and not box.is_in_txn() then
        return i, {ended = true}
    end
    if failed then
        box.rollback()
        return i, described(ok and err or res)
    end
    results[i] = {res.row_count or 0, res.autoincrement_ids or {}, res.rows or box.NULL}
end
box.commit()
return 0, results
