-- The tables of a load, made on the master: LOG has a row for each time that an INSERT
-- is applied, K has counters, REG registers.
local synchronous, counters, registers = ...
if synchronous and box.ctl.promote ~= nil then
    box.ctl.promote()
end
box.execute('CREATE TABLE LOG (ID INTEGER PRIMARY KEY, OP INTEGER)')
box.execute('CREATE TABLE K (ID INTEGER PRIMARY KEY, N INTEGER)')
box.execute('CREATE TABLE REG (ID INTEGER PRIMARY KEY, V INTEGER)')
-- RANDOM() would give the same numbers again after each start of a server.
box.schema.func.create('UNIQUE_ID', {
    language = 'LUA', returns = 'integer', exports = {'LUA', 'SQL'}, is_deterministic = false,
    body = "function() return require('clock').time64() * 4 + box.info.id end",
})
for id = 0, counters - 1 do
    box.space.K:insert{id, 0}
end
-- Registers are there from the start, and only updated: the INSERTs of two masters would
-- be in conflict. 2.11 also replicates concurrent REPLACEs of a new key as two INSERTs.
box.begin()
for id = 0, registers - 1 do
    box.space.REG:insert{id, 0}
end
box.commit()
if synchronous then
    for _, name in ipairs{'LOG', 'K', 'REG'} do
        box.space[name]:alter{is_sync = true}
    end
end
