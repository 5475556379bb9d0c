-- The procedure of the case CALL, and what prepares the tables.
local function space(name)
    return box.space[name:upper()] or box.space[name]
end

function bench_name(id)
    return space('read_only'):get(id)[2]
end

local function name_of(id)
    return 'name of number ' .. id
end

-- With MVCC, to compile a statement takes a walk over all that transactions have
-- left behind, until that is collected.
local function collect()
    if box.internal.memtx_tx_gc then
        box.internal.memtx_tx_gc(1000000)
    end
end

function bench_fill(rows, thirds)
    box.begin()
    for id = 1, rows do
        local row = {id, name_of(id), id + 0.5}
        space('read_only'):insert(row)
        space('written'):insert(row)
        local wide = {id}
        for i = 1, thirds do
            table.insert(wide, id + i)
            table.insert(wide, id + i + 0.5)
            table.insert(wide, name_of(id))
        end
        table.insert(wide, id + 0.5)
        table.insert(wide, name_of(id))
        space('wide'):insert(wide)
    end
    box.commit()
    collect()
end

-- Not by TRUNCATE, which might expire prepared statements as DDL does.
function bench_clean(above)
    local written = space('written')
    while true do
        local rows = written:select({above}, {iterator = 'GT', limit = 5000})
        if #rows == 0 then
            return collect()
        end
        box.begin()
        for _, row in ipairs(rows) do
            written:delete(row[1])
        end
        box.commit()
    end
end
