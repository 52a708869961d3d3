-- group_tiles.lua -- rows sorted by group, then register tiles of rows that share a group's weights, both layers in one step.
local act_error = shared "lib/act_error.lua"
local work = shared "lib/work.lua"

-- The constants of group_tiles.c.
local function hidden_pitch(op) return (op.n_hidden + 15) // 16 * 16 + 16 end
local function x_pitch(op) return (op.n_in + 15) // 16 * 16 + 16 end
local function tile_rows(op, p)
  if p.over == 0 then return p.vectors * p.lanes end
  return p.block * math.max(1, math.min(8, 65536 // (p.block * hidden_pitch(op))))
end
local function packed_floats(op, p)
  local panel = p.vectors * p.lanes
  local function size(n_k, n_n) return (n_n + panel - 1) // panel * panel * n_k end
  if op.kind == "linear" then return size(op.n_in, op.n_out) end
  return size(op.n_in, op.n_hidden) + size(op.n_hidden, op.n_out)
end
local function part_floats(op, p)
  local n
  if p.over == 0 then
    n = tile_rows(op, p) * (op.n_in + op.n_hidden)
  else
    n = op.kind == "mlp" and tile_rows(op, p) * hidden_pitch(op) or 0
    if op.dtype ~= "f32" then n = n + tile_rows(op, p) * x_pitch(op) end
    if p.packed == 1 then n = n + packed_floats(op, p) end
    if p.packed == 2 then n = n + p.vectors * p.lanes * math.max(op.n_in, op.n_hidden) end
  end
  return (n + 15) // 16 * 16
end

local function row_flops(op) return op.kind == "mlp" and 2 * op.n_hidden * (op.n_in + op.n_out) or 2 * op.n_in * op.n_out end

-- Parts of the sort: one, until there are rows enough for each, and so many groups are not counted many times over.
local sort_parts = "max(1, min(n_threads, rows / 65536, 4 * rows / groups))"
-- Parts of the products: half an MFLOP each (5 to 10 us; a second core that joins costs 2 to 4 us in cache lines), then four a thread.
local function compute_parts(op)
  return string.format("max(1, min(4 * n_threads, ceil_div(rows, %d)))", math.max(1, 524288 // row_flops(op)))
end

return family {
  about = "rows sorted by group, then register tiles of one group's rows through both layers",
  source = "counting sort and indirect rows as in grouped GEMMs of mixture-of-experts code; register tiles as in BLIS",
  revision = 1,
  rank = 1,
  device = "cpu",
  ops = { "linear", "mlp" },
  dtypes = { "f32", "f16", "bf16" },
  params = {
    { "over", { 0, 1, 2 }, default = 0, about = "what lanes run over: 0 rows, 1 outputs, 2 the values that are summed" },
    { "packed", { 0, 1, 2 }, default = 0,
      about = "over outputs, weights: 0 as they lie, 1 packed once for each group that a part meets, 2 panel by panel for each tile" },
    { "lanes", { 4, 8, 16 }, default = 8, about = "floats of a vector" },
    { "vectors", { 1, 2, 3 }, default = 1, about = "vectors of a register tile: of rows or of outputs, as `over` says" },
    { "block", { 4, 6, 8 }, default = 4, about = "the tile's other side: outputs, or rows" },
  },
  constraints = {
    { "lanes of the target's vectors", function(op, p, device) return p.lanes <= device.lanes_max and 2 * p.lanes >= device.lanes_max end },
    { "sums of a tile fit the registers", function(op, p, device)
      return p.block * p.vectors + p.vectors + 1 <= (device.lanes_max == 16 and 32 or 16)
    end },
    { "only lanes over outputs take packed weights", function(op, p) return p.over == 1 or p.packed == 0 end },
    { "lanes over outputs need nk packed", function(op, p) return p.over ~= 1 or p.packed > 0 or op.layout == "kn" end },
    { "lanes over the sum: nk, four outputs, two rows or four", function(op, p)
      return p.over ~= 2 or op.layout == "nk" and p.vectors == 1 and p.block == 4
    end },
    { "whole groups are packed for nk, up to 128 KiB", function(op, p)
      return p.packed ~= 1 or op.layout == "nk" and packed_floats(op, p) <= 32768
    end },
    { "single panels are packed from 64 KiB on", function(op, p) return p.packed ~= 2 or packed_floats(op, p) > 16384 end },
    { "a part's memory, 4 MiB", function(op, p) return part_floats(op, p) <= 1048576 end },
    { "vectors wider than the outputs", function(op, p)
      return p.over == 0 or p.vectors == 1 or p.lanes * (p.vectors - 1) < math.max(op.n_hidden, op.n_out)
    end },
  },
  numeric = function(op, p)
    local act = act_error[op.act]
    local class = p.over == 2 and "dot" .. p.lanes or "seq"
    return { p1 = 0, p2 = 0, hidden = "f32", alpha = act.alpha, beta = act.beta, class = class }
  end,
  work = work,
  -- counts are cleared in every call: with far more groups than rows that is all it would do
  valid = function(op) return op.order == "raw" and "groups <= 4 * rows + 4096" or "1" end,
  workspace = function(op, p)
    if op.order ~= "raw" then return string.format("4 * %d * %s", part_floats(op, p), compute_parts(op)) end
    return string.format(
      "4 * (2 * (groups + 16) + rows + 16 + max(2 * groups * %s, %d * %s))", sort_parts, part_floats(op, p), compute_parts(op))
  end,
  steps = function(op)
    if op.order ~= "raw" then return { { kernel = "group_tiles", grid = compute_parts(op) } } end
    return {
      { kernel = "group_tiles", grid = sort_parts },
      { kernel = "group_tiles", grid = sort_parts },
      { kernel = "group_tiles", grid = compute_parts(op) },
    }
  end,
}
