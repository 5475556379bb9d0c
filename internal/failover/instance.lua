-- What an instance notes of itself, whatever its clients see.
local clock = require('clock')
local fiber = require('fiber')

local observer = {
    writable = {}, -- the times at which it became writable
    deaf = 0,      -- the longest time in which it ran no other fiber, in seconds
}

fiber.create(function()
    while true do
        box.ctl.wait_ro()
        box.ctl.wait_rw()
        table.insert(observer.writable, clock.time())
    end
end)

fiber.create(function()
    local last = clock.monotonic()
    while true do
        fiber.sleep(0.01)
        local now = clock.monotonic()
        observer.deaf = math.max(observer.deaf, now - last)
        last = now
    end
end)

rawset(_G, 'observer', observer)
