-- row_gather.lua -- every row reads its own group's weights. The default variant is valid for every op, on every CPU.
local act_error = shared "lib/act_error.lua"
local work = shared "lib/work.lua"

local columns = 512 -- COLUMNS of row_gather.c

-- A part is worth a quarter of an MFLOP: below that a second core costs more than it brings.
local part_flops = 262144

local function grid(n_in, n_out)
  local blocks = (n_out + columns - 1) // columns
  local flops = 2 * n_in * math.min(n_out, columns)
  return string.format("min(rows * %d, 4 * n_threads, max(1, ceil_div(rows * %d, %d)))", blocks, blocks, part_flops // flops + 1)
end

return family {
  about = "every row reads its own group's weights; nothing is sorted",
  source = "the plain loop over rows; dot products reduced eight at a time by transposed additions",
  revision = 1,
  rank = 0,
  device = "cpu",
  ops = { "linear", "mlp" },
  dtypes = { "f32", "f16", "bf16" },
  params = {
    { "fused", { 0, 1 }, default = 0, about = "both layers of the MLP in one step, hidden on the stack" },
    { "lanes", { 4, 8, 16 }, default = 8, about = "floats of a vector" },
    { "vectors", { 1, 2, 4, 8 }, default = 4, about = "kn: vectors of outputs summed together" },
  },
  constraints = {
    { "a linear layer has nothing to fuse", function(op, p) return p.fused == 0 or op.kind == "mlp" end },
    { "fused hidden on the stack, 4096 floats", function(op, p) return p.fused == 0 or op.n_hidden <= 4096 end },
    { "lanes of the target's vectors", function(op, p, device) return p.lanes <= math.max(8, device.lanes_max) end },
    { "only kn sums vectors of outputs", function(op, p) return p.vectors == 4 or op.layout == "kn" end },
    { "vectors wider than the outputs", function(op, p)
      local widest = math.max(op.n_out, op.kind == "mlp" and op.n_hidden or 0)
      return p.vectors <= 4 or p.lanes * p.vectors < 2 * widest
    end },
  },
  numeric = function(op, p)
    local act = act_error[op.act]
    local class = op.layout == "kn" and "seq" or "dot" .. p.lanes
    return { p1 = 0, p2 = 0, hidden = "f32", alpha = act.alpha, beta = act.beta, class = class }
  end,
  work = work,
  valid = "1",
  workspace = function(op, p) return op.kind == "mlp" and p.fused == 0 and "4 * rows * n_hidden" or "0" end,
  steps = function(op, p)
    if op.kind == "linear" then return { { kernel = "row_gather", grid = grid(op.n_in, op.n_out) } } end
    if p.fused == 1 then
      -- one block of a row's work: both layers
      local flops = 2 * op.n_hidden * (op.n_in + op.n_out)
      return { { kernel = "row_gather", grid = string.format("min(rows, 4 * n_threads, max(1, ceil_div(rows, %d)))", part_flops // flops + 1) } }
    end
    return {
      { kernel = "row_gather", grid = grid(op.n_in, op.n_hidden) },
      { kernel = "row_gather", grid = grid(op.n_hidden, op.n_out) },
    }
  end,
}
