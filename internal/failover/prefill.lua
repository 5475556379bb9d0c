-- Rows for the UPDATEs of one writer.
local first, count = ...
for start = first, first + count - 1, 1000 do
    box.begin()
    for id = start, math.min(start + 1000, first + count) - 1 do
        box.space.W:insert{id, 0}
    end
    box.commit()
end
