local ffi = require('ffi')
local statements = ...
local results = {}

-- What the driver needs of an error; 2.10 and newer name the reason of a refusal.
local function described(err)
    if type(err) ~= 'cdata' then
        return {code = 32, message = tostring(err)}
    end
    return {code = err.code, type = err.type, message = err.message, reason = err.reason,
            state = err.state, leader_uuid = err.leader_uuid}
end

-- Lua would bind 3.0 as an integer.
local function double(bindings, n)
    local binding = bindings[n]
    if type(binding) ~= 'table' then
        bindings[n] = ffi.cast('double', binding)
        return
    end
    for name, value in pairs(binding) do
        binding[name] = ffi.cast('double', value)
    end
end

box.begin()
for i, statement in ipairs(statements) do
    local text, bindings, doubles = unpack(statement)
    for _, n in ipairs(doubles) do
        double(bindings, n)
    end
    local ok, res, err = pcall(box.execute, text, bindings)
    if not ok or res == nil then
        box.rollback()
        return i, described(ok and err or res)
    end
    -- OR ROLLBACK and RAISE(ROLLBACK) end the transaction: the next statement would
    -- be committed by itself.
    if not box.is_in_txn() then
        return i, {ended = true}
    end
    results[i] = {res.row_count or 0, res.autoincrement_ids or {}, res.rows or box.NULL}
end
box.commit()
return 0, results
