-- Foreign keys that must be away while a table is empty.

-- moved are the fields of a foreign key of this table, as it will be.
local function moved(field)
    local at = type(field) == 'number' and positions[field + 1] or nil
    return at and at - 1 or field
end

-- Every table that refers to this one, or to one that does.
local family, foreign_keys = {[space.id] = old}, {}
if change.constraints_in_format then
    local function references(tuple)
        local found = {}
        for _, key in pairs(tuple.flags.foreign_key or {}) do
            found[key.space or tuple.id] = true
        end
        for _, def in ipairs(tuple.format) do
            for _, key in pairs(def.foreign_key or {}) do
                found[key.space or tuple.id] = true
            end
        end
        return found
    end
    local again = true
    while again do
        again = false
        for _, tuple in box.space._space:pairs(512, {iterator = 'GE'}) do
            for id in pairs(family[tuple.id] and {} or references(tuple)) do
                if family[id] then
                    family[tuple.id], again = tuple, true
                    break
                end
            end
        end
    end
else
    -- Before 2.11 they are kept apart, and their own table must be empty when they
    -- are made.
    local function replaced(columns)
        local at, moves = {}, false
        for i, n in ipairs(columns) do
            at[i], moves = moved(n), moves or positions[n + 1] ~= n + 1
            if not positions[n + 1] then
                return nil, true
            end
        end
        return at, moves
    end
    for _, key in box.space._fk_constraint:pairs() do
        local child, child_moves = key.child_cols, false
        local parent, parent_moves = key.parent_cols, false
        if key.child_id == space.id then
            child, child_moves = replaced(child)
        end
        if key.parent_id == space.id then
            parent, parent_moves = replaced(parent)
        end
        if child_moves or parent_moves then
            family[key.child_id] = box.space._space:get(key.child_id)
            table.insert(foreign_keys, {
                before = {key.name, key.child_id},
                after = child and parent and key:update({{'=', 8, child}, {'=', 9, parent}}),
            })
        end
    end
end

local function without_keys(tuple)
    local plain = table.deepcopy(tuple.format)
    for _, def in ipairs(plain) do
        def.foreign_key = nil
    end
    local flags = table.deepcopy(tuple.flags)
    flags.foreign_key = nil
    box.space._space:update(tuple.id, {{'=', 'format', plain}, {'=', 'flags', map(flags)}})
end

-- with_keys gives a table its foreign keys back, the fields of the changed table moved.
local function with_keys(tuple, fields_of)
    local plain = table.deepcopy(fields_of)
    for _, def in ipairs(plain) do
        for _, key in pairs(def.foreign_key or {}) do
            if (key.space or tuple.id) == space.id then
                key.field = moved(key.field)
            end
        end
    end
    local flags = table.deepcopy(tuple.flags)
    for key_name, key in pairs(flags.foreign_key or {}) do
        local mapping, gone = {}, false
        for child, parent in pairs(key.field) do
            if tuple.id == space.id then
                gone = gone or type(child) == 'number' and not positions[child + 1]
                child = moved(child)
            end
            if (key.space or tuple.id) == space.id then
                parent = moved(parent)
            end
            mapping[child] = parent
        end
        if gone then
            flags.foreign_key[key_name] = nil
        else
            key.field = map(mapping)
        end
    end
    if flags.foreign_key and next(flags.foreign_key) == nil then
        flags.foreign_key = nil
    end
    box.space._space:update(tuple.id, {{'=', 'format', plain}, {'=', 'flags', map(flags)}})
end
