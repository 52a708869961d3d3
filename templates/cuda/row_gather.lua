-- row_gather.lua -- every row reads its own group's weights; the default variant is valid for every op, on every target.
local act_error = shared "lib/act_error.lua"
local ceil_div = shared "lib/ceil_div.lua"
local prior = shared "lib/prior.lua"
local work = shared "lib/work.lua"

local grid_max = 2147483647 -- blocks in x; the kernels loop past it
local unrolled = 8 -- multiply-adds that a lane's main loop keeps together at least; UNROLL of lib/sums.cuh

local function widest(op) return math.max(op.n_out, op.n_hidden) end
local function longest(op) return math.max(op.n_in, op.n_hidden) end
local function fused_shared(op, p) return p.fused_rows * ceil_div(op.n_hidden, 4) * 16 end

-- blocks for rows of n outputs: each slot of `lanes` threads makes one tile of `outputs` outputs
local function grid(n, p)
  return string.format("min(ceil_div(rows * %d, %d), %d)", ceil_div(n, p.outputs), p.threads // p.lanes, grid_max)
end

local function step(kernel, blocks, p) return { kernel = kernel, grid = blocks, block = tostring(p.threads), shared = "0" } end

-- instructions of a warp for one tile of a layer of k inputs: loads of x and weights, multiply-adds, the lanes' sum, the rest
local function tile_instructions(k, op, p)
  local wide = op.layout == "kn" and p.outputs or p.chunk
  local each = p.outputs + p.outputs / wide + 1 / p.chunk + 1
  return math.ceil(k / p.lanes * each + 2 * p.outputs * math.log(p.lanes, 2) + 40)
end

return family {
  about = "every row reads its own group's weights; some lanes make a few outputs of one row; nothing is sorted",
  source = "the gather of weights by row, without the copy that a framework makes of them",
  revision = 1,
  rank = 0,
  device = "cuda",
  ops = { "linear", "mlp" },
  dtypes = { "f32", "f16", "bf16" },
  params = {
    { "threads", { 64, 128, 256 }, default = 128, about = "threads of a block" },
    { "lanes", { 1, 8, 32 }, default = 8, about = "threads that share the sum over k of one row's outputs" },
    { "chunk", { 1, 4 }, default = 1, about = "neighbouring k that a lane takes at once" },
    { "outputs", { 1, 4, 16 }, default = 1, about = "neighbouring outputs of a row that a lane sums together" },
    { "fused_rows", { 0, 1, 8 }, default = 0, about = "0: a kernel a layer; else rows whose hidden values a block keeps" },
    { "in_registers", { 0, 1 }, default = 0, about = "1: each hidden unit is added into the outputs by the thread that has it" },
  },
  constraints = {
    { "a linear layer has nothing to fuse", function(op, p) return p.fused_rows + p.in_registers == 0 or op.kind == "mlp" end },
    { "hidden values live in one place", function(op, p) return p.fused_rows == 0 or p.in_registers == 0 end },
    { "x in registers", function(op, p) return p.in_registers == 0 or op.n_in <= 64 end },
    { "units in registers read as wide as they may", function(op, p) return p.in_registers == 0 or p.chunk == 1 end },
    { "units computed again for other outputs", function(op, p)
      return p.in_registers == 0 or (ceil_div(op.n_out, p.outputs) <= 2 and p.outputs < 2 * op.n_out and p.lanes < 2 * op.n_hidden)
    end },
    { "sixteen outputs are for units in registers", function(op, p) return p.outputs <= 4 or p.in_registers == 1 end },
    { "fused hidden values in static shared memory", function(op, p, device)
      return fused_shared(op, p) <= device.shared_static_max
    end },
    { "unrolled multiply-adds of a thread", function(op, p)
      return p.outputs * p.chunk * (1 + math.max(1, unrolled // (p.outputs * p.chunk))) <= 512
    end },
    { "lanes without work", function(op, p)
      return p.lanes * p.chunk <= 8 or p.lanes * p.chunk < 2 * longest(op)
    end },
    { "outputs that no row has", function(op, p) return p.outputs < 2 * widest(op) end },
    { "a fused block with too little work", function(op, p)
      return p.fused_rows == 0 or p.fused_rows * ceil_div(widest(op), p.outputs) * p.lanes * 2 > p.threads
    end },
    { "block sizes worth trying", function(op, p) -- where threads of a block share nothing, little hangs on its size
      return op.kind == "linear" or p.threads == 128 or (p.fused_rows > 0 and p.threads == 256)
        or (p.in_registers == 1 and p.threads == 64)
    end },
  },
  numeric = function(op, p)
    local act = act_error[op.act]
    local class = p.lanes == 1 and "seq" or (p.in_registers == 1 and "units" or "lanes") .. p.lanes .. (p.chunk > 1 and "x" .. p.chunk or "")
    return { p1 = 0, p2 = 0, hidden = "f32", alpha = act.alpha, beta = act.beta, class = class }
  end,
  work = work,
  prior = function(op, p)
    local n1 = op.kind == "mlp" and op.n_hidden or op.n_out
    local tiles1, tiles2 = ceil_div(n1, p.outputs), op.kind == "mlp" and ceil_div(op.n_out, p.outputs) or 0
    local each1, each2 = tile_instructions(op.n_in, op, p), tile_instructions(op.n_hidden, op, p)
    if p.in_registers == 1 then
      local tiles, unit = ceil_div(op.n_out, p.outputs), 2 * op.n_in + 2 * p.outputs + 20
      return prior("1", string.format("ceil_div(rows * %d, 32)", tiles * p.lanes), ceil_div(op.n_hidden, p.lanes) * unit + 60)
    end
    if p.fused_rows > 0 then
      local function turns(tiles) return ceil_div(p.fused_rows * tiles * p.lanes, p.threads) end
      local blocks = string.format("ceil_div(rows, %d) * %d", p.fused_rows, p.threads // 32)
      return prior("1", blocks, turns(tiles1) * each1 + turns(tiles2) * each2 + 40)
    end
    local each = (tiles1 * each1 + tiles2 * each2) // (tiles1 + tiles2)
    return prior(tiles2 > 0 and "2" or "1", string.format("ceil_div(rows * %d, 32)", (tiles1 + tiles2) * p.lanes), each)
  end,
  valid = "1",
  workspace = function(op, p) return op.kind == "mlp" and p.fused_rows + p.in_registers == 0 and "4 * rows * n_hidden" or "0" end,
  steps = function(op, p)
    if op.kind == "linear" then return { step("row_gather", grid(op.n_out, p), p) } end
    if p.in_registers == 1 then return { step("row_gather", grid(op.n_out, p), p) } end
    if p.fused_rows > 0 then
      return { step("row_gather", string.format("min(ceil_div(rows, %d), %d)", p.fused_rows, grid_max), p) }
    end
    return {
      step("row_gather_hidden", grid(op.n_hidden, p), p),
      step("row_gather_out", grid(op.n_out, p), p),
    }
  end,
}
