-- How often each operation was applied, and the counters.
local fiber = require('fiber')
local log, counters = {}, {}
local n = 0
for _, row in box.space.LOG:pairs() do
    log[row[2]] = (log[row[2]] or 0) + 1
    n = n + 1
    if n % 10000 == 0 then
        fiber.yield()
    end
end
local ops = {}
for op, times in pairs(log) do
    table.insert(ops, op)
    table.insert(ops, times)
end
for _, row in box.space.K:pairs() do
    table.insert(counters, row[1])
    table.insert(counters, row[2])
end
return ops, counters
