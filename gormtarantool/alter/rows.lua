-- The rows, and the transaction.

local function cast(value, type)
    if value == nil then
        return box.NULL
    end
    local converted = execute('SELECT CAST(? AS ' .. type .. ')', {value}).rows[1][1]
    if type == 'double' then
        return ffi.cast('double', converted)
    end
    return converted
end

-- Tuples are transformed, not built: Lua cannot tell 3.0 from 3, a DOUBLE column can.
-- And not updated, which would ask the old format.
local function rewritten(tuple)
    for n = #tuple + 1, fields do
        tuple = tuple:transform(n, 0, box.NULL)
    end
    for n, type in pairs(casts) do
        if positions[n] then
            tuple = tuple:transform(n, 1, cast(tuple[n], type))
        end
    end
    for n = fields, 1, -1 do
        if not positions[n] then
            tuple = tuple:transform(n, 1)
        end
    end
    for i = kept + 1, #format do
        tuple = tuple:transform(i, 0, fills[i] == nil and box.NULL or fills[i])
    end
    return tuple
end

local function all_rows()
    local rows = {}
    for id in pairs(family) do
        for _, tuple in box.space[id]:pairs() do
            table.insert(rows, {id, tuple})
        end
    end
    return rows
end

local function empty(rows)
    for _, row in ipairs(rows) do
        local key = {}
        for i, part in ipairs(box.space[row[1]].index[0].parts) do
            key[i] = row[2][part.fieldno]
        end
        box.space[row[1]]:delete(key)
    end
end

local foreign_key_failed = {[239] = true, [240] = true}

-- Rows go in after those that they refer to, whatever the order.
local function refill(rows)
    while #rows > 0 do
        local waiting, problem = {}, nil
        for _, row in ipairs(rows) do
            local ok, err = pcall(box.space[row[1]].insert, box.space[row[1]], row[2])
            if not ok then
                if not foreign_key_failed[err.code] then
                    error(err, 0)
                end
                problem = err
                table.insert(waiting, row)
            end
        end
        if #waiting == #rows then
            error(problem, 0)
        end
        rows = waiting
    end
end

local function run()
    local rows = all_rows()
    if change.constraints_in_format then
        for _, tuple in pairs(family) do
            without_keys(tuple)
        end
    end
    for _, key in ipairs(foreign_keys) do
        box.space._fk_constraint:delete(key.before)
    end
    empty(rows)

    local sequence = box.space._space_sequence:get(space.id)
    if sequence ~= nil and #indexes > 0 then
        box.space._space_sequence:delete(space.id)
    end
    for i = #indexes, 1, -1 do
        if indexes[i].iid > 0 then
            box.space._index:delete({space.id, indexes[i].iid})
        end
    end
    local primary = indexes[1] and indexes[1].iid == 0 and indexes[1]
    if primary then
        -- Neither the old primary key nor the new one need fit what is between.
        box.space._space:update(space.id, {{'=', 'field_count', 0}, {'=', 'format', {}}})
        box.space._index:replace(primary.tuple)
    end
    local plain = table.deepcopy(format)
    if change.constraints_in_format then
        for _, def in ipairs(plain) do
            def.foreign_key = nil
        end
    end
    box.space._space:update(space.id, {{'=', 'field_count', #format}, {'=', 'format', plain}})
    for _, index in ipairs(indexes) do
        if index.iid > 0 and index.tuple then
            box.space._index:insert(index.tuple)
        end
    end
    if sequence ~= nil and #indexes > 0 then
        box.space._space_sequence:insert(sequence:update({{'=', 4, positions[sequence[4] + 1] - 1}}))
    end
    if change.constraints_in_format then
        for id, tuple in pairs(family) do
            with_keys(tuple, id == space.id and format or tuple.format)
        end
    end
    for _, key in ipairs(foreign_keys) do
        if key.after then
            box.space._fk_constraint:insert(key.after)
        end
    end
    for _, statement in ipairs(change.statements) do
        execute(statement)
    end
    for _, row in ipairs(rows) do
        if row[1] == space.id then
            row[2] = rewritten(row[2])
        end
    end
    refill(rows)
    if change.violations and #execute(change.violations).rows > 0 then
        fail('there are rows that violate the constraint')
    end
end

-- Rows that others have written and that wait for the log only are read: they are
-- older than this transaction, and a conflict with them would be in vain.
if change.isolation then
    box.begin({txn_isolation = change.isolation})
else
    box.begin()
end
local ok, err = pcall(run)
if ok then
    ok, err = pcall(box.commit)
end
if not ok then
    box.rollback()
    error(err, 0)
end
