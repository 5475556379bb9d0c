-- Which of the ids from first to last were not applied, and which twice.
local first, last = ...
local missing, twice = {}, {}
local id = first
for _, row in box.space.W:pairs(first, {iterator = 'GE'}) do
    if row[1] > last then
        break
    end
    while id < row[1] do
        table.insert(missing, id)
        id = id + 1
    end
    if row[2] == 0 then
        table.insert(missing, id)
    elseif row[2] > 1 then
        table.insert(twice, id)
    end
    id = id + 1
end
while id <= last do
    table.insert(missing, id)
    id = id + 1
end
return missing, twice
