-- The tables of a load, made on the master: R to read from, W to write to.
local synchronous, rows = ...
if synchronous and box.ctl.promote ~= nil then
    box.ctl.promote()
end
box.execute('CREATE TABLE R (ID INTEGER PRIMARY KEY, V INTEGER)')
box.execute('CREATE TABLE W (ID INTEGER PRIMARY KEY, N INTEGER)')
for id = 0, rows - 1 do
    box.space.R:insert{id, 7 * id + 1}
end
if synchronous then
    box.space.W:alter{is_sync = true}
end
