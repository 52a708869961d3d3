-- weight_stationary.lua -- a team of threads keeps a group's weights and walks its rows; f32 multiply-adds, both layers fused.
local act_error = shared "lib/act_error.lua"
local ceil_div = shared "lib/ceil_div.lua"
local plan = shared "lib/plan.lua"
local prior = shared "lib/prior.lua"
local work = shared "lib/work.lua"

-- the layers of an op: inputs, outputs
local function layers(op)
  if op.kind == "linear" then return { { op.n_in, op.n_out } } end
  return { { op.n_in, op.n_hidden }, { op.n_hidden, op.n_out } }
end

-- weights that a lane keeps in registers
local function kept(op, p)
  local n = 0
  for _, l in ipairs(layers(op)) do n = n + l[1] * ceil_div(l[2], p.team) end
  return n
end

-- bytes of a block's weights and hidden values in shared memory: cuda/lib/staged.cuh
local function pitch(n)
  local quads = ceil_div(n, 4)
  return 4 * (quads % 2 == 0 and quads + 1 or quads)
end
local function staged_bytes(op, p)
  local n = op.kind == "mlp" and p.tile * ceil_div(op.n_hidden, 4) * 16 or 0
  for _, l in ipairs(layers(op)) do n = n + l[1] * pitch(l[2]) * op.elem_bytes end
  return n
end

local function widest(op) return math.max(op.n_out, op.n_hidden) end
local function teams(p) return p.threads // p.team end
local function slots(p) return p.team <= 32 and p.threads // 32 or 1 end -- without a plan
local function hidden_bytes(op, p) return op.kind == "mlp" and teams(p) * p.at_once * (op.n_hidden + 1) * 4 or 0 end

local function grid(op, p)
  if p.plan == 1 then
    return string.format("min(ceil_div(%s, %d), sm_count * occupancy)", plan.max_tiles(p.tile), teams(p))
  end
  return string.format("ceil_div((groups + 1) * %s, %d)", plan.ballot_parts(p.tile), slots(p))
end

return family {
  about = "a team of threads keeps the weights of a group, in registers or shared memory, and walks its rows",
  source = "weight-stationary dataflow, as recurrent networks use it: load weights once, stream rows past them",
  revision = 1,
  rank = 20,
  device = "cuda",
  ops = { "linear", "mlp" },
  dtypes = { "f32", "f16", "bf16" },
  params = {
    { "threads", { 64, 128, 256 }, default = 128, about = "threads of a block" },
    { "team", { 2, 4, 8, 16, 32, 64, 128, 256 }, default = 128, about = "threads that share a group's weights" },
    { "held", { 0, 1 }, default = 0, about = "weights stay in 0: the block's shared memory, 1: registers" },
    { "tile", { 4, 16, 64 }, default = 16, about = "rows of a group that a team takes at most, before another may have the rest" },
    { "at_once", { 1, 2, 4 }, default = 1, about = "rows that a weight is multiplied with in one go" },
    { "plan", { 0, 1 }, default = 1, about = "0: every tile's warps look through the index; 1: rows are sorted first" },
  },
  constraints = {
    { "a team is a block or lies in a warp", function(op, p) return p.team <= 32 or p.team == p.threads end },
    { "shared memory is a block's", function(op, p) return p.held == 1 or p.team == p.threads end },
    { "weights in registers", function(op, p) return p.held == 0 or kept(op, p) <= 128 end },
    { "unrolled multiply-adds of a thread", function(op, p) return p.held == 0 or kept(op, p) * p.at_once <= 512 end },
    { "lanes that keep nothing", function(op, p) return p.team < 2 * widest(op) or p.held == 0 end },
    { "threads without work", function(op, p)
      return p.held == 1 or p.threads == 64 or ceil_div(widest(op), 4) * p.tile // p.at_once * 2 > p.threads
    end },
    { "block sizes worth trying", function(op, p) return p.team > 32 or p.threads == 128 end },
    { "tiles worth trying", function(op, p) return p.at_once <= p.tile and (p.held == 0 or p.tile > 4 or p.at_once < 4) end },
    { "without a plan there are few rows", function(op, p) return p.plan == 1 or p.tile == 16 end },
    { "hidden values in static shared memory", function(op, p, device)
      return p.held == 0 or hidden_bytes(op, p) + 1024 * slots(p) <= device.shared_static_max
    end },
    { "weights in shared memory", function(op, p, device)
      return p.held == 1 or staged_bytes(op, p) + 8192 <= device.shared_optin_max
    end },
  },
  numeric = function(op, p)
    local act = act_error[op.act]
    return { p1 = 0, p2 = 0, hidden = "f32", alpha = act.alpha, beta = act.beta, class = "seq" }
  end,
  work = work,
  prior = function(op, p)
    local row, weights = 30, 0 -- instructions of a lane for a row, and for a group's weights
    for _, l in ipairs(layers(op)) do
      row = row + 2 * l[1] * ceil_div(l[2], p.team)
      weights = weights + (p.held == 1 and 2 * l[1] * ceil_div(l[2], p.team) or 4 * ceil_div(l[1] * l[2], p.threads))
    end
    if p.held == 1 then row = row - (row - 30) * (p.at_once - 1) // (2 * p.at_once) end
    local rows = string.format("min(%d, ceil_div(rows, groups))", p.tile)
    local each = string.format("%d + %d * %s", 150 + weights, row, rows)
    if p.plan == 0 then each = each .. " + rows / 6" end
    local tiles = string.format("(rows / %d + min(groups, rows))", p.tile)
    return prior(p.plan == 1 and "1 + " .. plan.launches(op) or "1",
      string.format("ceil_div(%s * %d, 32)", tiles, math.max(p.team, 32 // math.max(1, 32 // p.team))), each)
  end,
  valid = function(op, p)
    if p.plan == 1 then return plan.valid() end
    return plan.ballot_valid()
  end,
  workspace = function(op, p) return p.plan == 1 and plan.workspace(op, p.tile) or "0" end,
  steps = function(op, p)
    local steps = p.plan == 1 and plan.steps(op) or {}
    steps[#steps + 1] = {
      kernel = "weight_stationary",
      grid = grid(op, p),
      block = tostring(p.threads),
      shared = p.held == 1 and "0" or tostring(staged_bytes(op, p)),
    }
    return steps
  end,
}
