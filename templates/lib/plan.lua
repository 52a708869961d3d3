-- plan.lua -- the launches and the workspace of cuda/lib/plan.cuh, for the spec of a family that puts it before its own kernel.
-- `tile` is the template's PLAN_TILE. A call that comes raw is sorted; one in order needs tiles alone.
local threads, chunk = 512, 2048 -- PLAN_THREADS, PLAN_CHUNK
local header = 3136 -- bytes of plan_header

local chunks = "ceil_div(rows, " .. chunk .. ")"
local large = string.format("(rows > %d) * ", chunk) -- more than one block can hold

local function step(kernel, grid) return { kernel = kernel, grid = grid, block = tostring(threads), shared = "0" } end

local plan = {}

-- The call's sizes that the plan can do: 24 bits of a group, 31 of a row.
function plan.valid() return "(groups < 16777216) * (rows < 2147483648)" end

-- Tiles at most: a full one for every `tile` rows, and one that is not full for each group and each chunk.
function plan.max_tiles(tile) return string.format("min(rows, rows / %d + min(groups, rows) + %s)", tile, chunks) end

function plan.workspace(op, tile)
  local bytes = string.format("%d + 16 * %s + 16 * %s", header, chunks, plan.max_tiles(tile))
  if op.order ~= "raw" then return bytes end
  return string.format("%s + %d * %s + 8 * (rows + 3) * (1 + (groups > 255))", bytes, 8 * 256, chunks)
end

-- Before the family's own step. To 2,048 rows one launch. More: a memset, a count of digits, a pass for every 8 bits of a group,
-- the tiles; in order: a memset, the tiles.
function plan.steps(op)
  local bytes = string.format("%s(%d + 16 * %s)", large, header, chunks)
  local empty = { memset = { offset = "0", bytes = bytes, value = 0 } }
  if op.order ~= "raw" then return { empty, step("plan_tiles", chunks) } end
  return {
    empty,
    step("plan_count", large .. chunks),
    step("plan_sort", chunks),
    step("plan_sort", large .. chunks .. " * (groups > 255)"),
    step("plan_sort", large .. chunks .. " * (groups > 65535)"),
    step("plan_sort", large .. chunks),
  }
end

-- How many launches these are, for a prior.
function plan.launches(op)
  if op.order ~= "raw" then return "1" end
  return "1 + 3 * (rows > " .. chunk .. ") + (groups > 255)"
end

-- Without a plan every tile's warps look through the index (cuda/lib/plan_ballot.cuh): the sizes of calls that may do so, and how
-- many parts a bucket's tiles are dealt to: as many as an average bucket has tiles, at most 8.
function plan.ballot_valid() return "rows <= 1048576 and groups <= 1048576 and rows * (groups + 1) <= 33554432" end
function plan.ballot_parts(tile) return string.format("min(8, max(1, rows / ((groups + 1) * %d)))", tile) end

return plan
