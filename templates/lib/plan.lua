-- plan.lua -- the launches and the workspace of cuda/lib/plan.cuh, for the spec of a family that puts it before its own kernel.
-- `tile` is the template's PLAN_TILE. A call that comes raw is sorted; one in order needs tiles alone.
local threads, chunk, cut = 256, 2048, 4096 -- PLAN_THREADS, PLAN_CHUNK, PLAN_CUT
local header = 3136 -- bytes of plan_header

local chunks = "ceil_div(rows, " .. chunk .. ")"
local cuts = "ceil_div(rows, " .. cut .. ")"

local function step(kernel, grid) return { kernel = kernel, grid = grid, block = tostring(threads), shared = "0" } end

local plan = {}

-- The call's sizes that the plan can do: 24 bits of a group, 31 of a row.
function plan.valid() return "(groups < 16777216) * (rows < 2147483648)" end

-- Tiles at most: a full one for every `tile` rows, and one that is not full for each group and each cut.
function plan.max_tiles(tile) return string.format("min(rows, rows / %d + min(groups, rows) + %s)", tile, cuts) end

function plan.workspace(op, tile)
  local bytes = string.format("%d + 16 * %s + 16 * %s", header, cuts, plan.max_tiles(tile))
  if op.order ~= "raw" then return bytes end
  return string.format("%s + %d * %s + 8 * (rows + 3) * (1 + (groups > 255))", bytes, 8 * 256, chunks)
end

-- Before the family's own step. To 2,048 rows one launch; else a memset, a count of digits, a pass for every 8 bits of a group,
-- the tiles. In order: one launch to 4,096 rows, else a memset before it.
function plan.steps(op)
  local emptied = string.format("%d + 16 * %s", header, cuts)
  if op.order ~= "raw" then
    return {
      { memset = { offset = "0", bytes = string.format("(rows > %d) * (%s)", cut, emptied), value = 0 } },
      step("plan_tiles", cuts),
    }
  end
  local large = string.format("(rows > %d) * ", chunk)
  local pass = large .. chunks
  return {
    { memset = { offset = "0", bytes = string.format("%s(%s)", large, emptied), value = 0 } },
    step("plan_begin", chunks),
    step("plan_pass", pass),
    step("plan_pass", pass .. " * (groups > 255)"),
    step("plan_pass", pass .. " * (groups > 65535)"),
    step("plan_tiles", large .. cuts),
  }
end

return plan
