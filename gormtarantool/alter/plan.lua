-- Changes a table and its rows in one transaction: all of it is done, or nothing.
-- ALTER TABLE cannot: it adds columns to empty tables only, and changes and drops none.
-- While the table is empty inside of the transaction, its format, indexes and
-- constraints can be changed. The space keeps its id, and with it grants,
-- sequences and what refers to it.
local name, change = ...
local ffi = require('ffi')

local space = box.space[name]
if space == nil then
    box.error(box.error.NO_SUCH_SPACE, name)
end

local function fail(text, ...)
    error(('table %s: '):format(name) .. text:format(...), 0)
end

local function execute(...)
    local result, err = box.execute(...)
    if result == nil then
        error(err, 0)
    end
    return result
end

local function map(t)
    return setmetatable(t, {__serialize = 'map'})
end

local old = box.space._space:get(space.id)
local before = space:format()

-- The new format. positions[n] is where the old field n goes; casts[n] its new type.
local format, positions, casts, fills = {}, {}, {}, {}

local function literal(text, type)
    local value = execute('SELECT ' .. text).rows[1][1]
    if type == 'double' then
        return ffi.cast('double', tonumber(tostring(value)))
    end
    return value
end

for i, column in ipairs(change.columns) do
    local def = column.from and table.deepcopy(before[column.from]) or {}
    if column.from then
        positions[column.from] = i
        if def.type ~= column.type then
            casts[column.from] = column.type
        end
    end
    def.name, def.type = column.name, column.type
    if def.type ~= 'string' then
        def.collation = nil
    end
    def.is_nullable = column.nullable
    def.nullable_action = column.nullable and 'none' or 'abort'
    if column.set_default then
        def.default = nil
        if column.default ~= nil then
            local value = literal(column.default, column.type)
            def.default = column.default
            if change.default_is_value then
                def.default = value
            end
            if not column.from then
                fills[i] = value
            end
        end
    end
    format[i] = def
end

local fields, kept = #before, 0
for n = 1, fields do
    kept = kept + (positions[n] and 1 or 0)
end

-- A CHECK constraint names columns in its text, which nobody rewrites.
local function checks()
    local texts = {}
    if change.constraints_in_format then
        local function add(ids)
            for constraint, id in pairs(ids or {}) do
                local func = box.space._func:get(id)
                texts[constraint] = func and func.body or ''
            end
        end
        add(old.flags.constraint)
        for _, def in ipairs(before) do
            add(def.constraint)
        end
    else
        for _, check in box.space._ck_constraint:pairs(space.id) do
            texts[check.name] = check.code
        end
    end
    return texts
end

for n, def in ipairs(before) do
    local at = positions[n]
    if not at or format[at].name ~= def.name then
        for constraint, text in pairs(checks()) do
            if text:lower():find(def.name:lower(), 1, true) then
                fail('the CHECK constraint %s names column %s: drop it first', constraint, def.name)
            end
        end
    end
end

-- The indexes whose parts change, with their new tuples; without one if a column of
-- theirs is dropped.
local indexes = {}
for _, index in box.space._index:pairs(space.id) do
    local parts, changed, dropped = {}, false, false
    for i, part in ipairs(index.parts) do
        part = table.deepcopy(part)
        if part.field == nil then
            part = {field = part[1], type = part[2]}
        end
        local at = positions[part.field + 1]
        if at == nil then
            dropped = true
        else
            local def, was = format[at], before[part.field + 1]
            if at ~= part.field + 1 or def.type ~= was.type or def.is_nullable ~= was.is_nullable then
                changed = true
                part.field, part.type, part.collation = at - 1, def.type, def.collation
                if index.iid > 0 then
                    part.is_nullable, part.nullable_action = def.is_nullable, def.nullable_action
                end
            end
            parts[i] = part
        end
    end
    if dropped and index.iid == 0 then
        fail('a column of the primary key cannot be dropped')
    end
    if changed or dropped then
        table.insert(indexes, {iid = index.iid, tuple = not dropped and index:update({{'=', 6, parts}}) or nil})
    end
end

local rewrite = #indexes > 0 or kept < fields or next(casts) ~= nil or next(fills) ~= nil or #change.statements > 0
for i = kept + 1, #format do
    rewrite = rewrite or not format[i].is_nullable
end

if not rewrite then
    -- Rows that are shorter than the format read as NULL behind their end.
    local count = #format > fields and 0 or old.field_count
    box.space._space:update(space.id, {{'=', 'field_count', count}, {'=', 'format', format}})
    return
end

if space.engine ~= 'memtx' and space:len() > 0 then
    fail('tables of engine %s can only be changed so while they are empty', space.engine)
end
