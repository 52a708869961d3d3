-- pad8.lua -- tiles of 8 (or 16) rows of one group on tensor cores: rows, k and outputs are padded on the chip alone.
local act_error = shared "lib/act_error.lua"
local ceil_div = shared "lib/ceil_div.lua"
local plan = shared "lib/plan.lua"
local prior = shared "lib/prior.lua"
local product = shared "lib/product.lua"
local work = shared "lib/work.lua"
local sizes = shared("lib/pad8.lua").sizes

-- steps of 16 that chunks of p.run take of n, against those that are needed
local function pads_no_more(n, p) return p.run == 4 or n == 0 or ceil_div(n, 32) * 2 == ceil_div(n, 16) end

return family {
  about = "tiles of 8 rows of a group on tensor cores, both layers fused; padded on the chip",
  source = "mma.m16n8k16 with the weights as the A operand: its n of 8 is the smallest padding of tensor cores; or x, 16 rows",
  revision = 1,
  rank = 20,
  device = "cuda",
  ops = { "linear", "mlp" },
  dtypes = { "f32", "f16", "bf16" },
  params = {
    { "tokens", { 0, 1 }, default = 0, about = "the side of the product that rows are on: 0: n, in pieces of 8; 1: m, of 16" },
    { "sub_tiles", { 1, 2, 4 }, default = 1, about = "pieces of 8 or 16 rows in a tile; those without rows are passed over" },
    { "warps", { 1, 2, 4, 8 }, default = 1, about = "warps of a block" },
    { "share", { 0, 1 }, default = 0, about = "1: the block's warps share a tile; 0: each has its own" },
    { "run", { 4, 8 }, default = 4, about = "neighbouring k that a lane owns: 4 go into one step of 16, 8 into two" },
    { "hidden_shared", { 0, 1 }, default = 0, about = "1: hidden values go through shared memory; 0: they stay in registers" },
    { "hidden_parts", { 1, 2 }, default = 1, about = "2: a hidden value is a high and a low part of the storage type" },
    { "product", product.values, default = 0, about = "of f32: 0 3xtf32, 1 tf32, 2 bf16x3, 3 bf16x6; of 16 bits: 0, as they are" },
    { "stage_x", { 0, 1 }, default = 0, about = "1: a tile's x goes through shared memory" },
    { "plan", { 0, 1 }, default = 0, about = "0: every tile's warps look through the index; 1: rows are sorted first" },
  },
  constraints = {
    { "tensor cores that take bf16", function(op, p, device) return device.sm >= 80 end },
    { "a linear layer has no hidden values", function(op, p)
      return op.kind == "mlp" or (p.hidden_shared == 0 and p.hidden_parts == 1)
    end },
    { "products of 16-bit types are of the type itself", product.is_allowed },
    { "f32 by other products than 3xtf32, in a few forms", function(op, p)
      return p.product == 0 or (p.stage_x == 0 and (p.warps == 1 or p.warps == 4))
    end },
    { "hidden values of f32 are kept whole", function(op, p) return p.hidden_parts == 1 or op.dtype ~= "f32" end },
    { "f32 is loaded 16 bytes at a time by 4 of k", function(op, p) return p.run == 4 or op.dtype ~= "f32" end },
    { "one warp shares with none", function(op, p) return p.share == 0 or p.warps > 1 end },
    { "sharers without work", function(op, p)
      return p.share == 0 or p.warps < 2 * math.max(sizes(op, p).hidden_chunks, sizes(op, p).out_chunks)
    end },
    { "block sizes worth trying", function(op, p) return p.share == 1 or p.warps == 1 or p.warps == 4 end },
    { "x is staged, and hidden values are, for those who share", function(op, p)
      local s = sizes(op, p)
      return p.share == 1 or (p.stage_x == 0 and (p.hidden_shared == 0 or s.hidden_chunks * s.out_chunks > 64))
    end },
    { "a lane for each row of a tile", function(op, p) return sizes(op, p).tile_rows <= 32 end },
    { "hidden values in two parts, in a few forms", function(op, p)
      return p.hidden_parts == 1 or (p.run == 4 and p.stage_x == 0 and (p.warps == 1 or (p.warps == 4 and p.share == 1)))
    end },
    { "without a plan there are few rows", function(op, p) return p.plan == 1 or p.sub_tiles < 4 end },
    { "padding of k and outputs to 16", function(op, p)
      return pads_no_more(op.n_in, p) and pads_no_more(op.n_hidden, p) and pads_no_more(op.n_out, p)
    end },
    { "outputs of a tile in registers", function(op, p) return sizes(op, p).out_words <= 96 end },
    { "registers of a thread", function(op, p)
      local s = sizes(op, p)
      return s.out_words + s.x_kept * s.x_words + s.sum_words <= 160
    end },
    { "unrolled products of a warp", function(op, p) return sizes(op, p).unrolled <= 160 end },
    { "shared memory of a block", function(op, p, device)
      return sizes(op, p).shared_bytes <= device.shared_optin_max - 8192 -- and what is static: the rooms of ballots
    end },
  },
  numeric = function(op, p)
    local act, s, multiplied = act_error[op.act], sizes(op, p), product.of(op, p)
    local class = (p.tokens == 1 and "mma16_" or "mma8_") .. multiplied.name .. "_" .. p.run
    if op.kind == "mlp" and p.hidden_shared == 0 and s.sharers > 1 then class = class .. "_by" .. s.sharers end
    if p.hidden_parts == 2 then class = class .. (p.hidden_shared == 1 and "_x2s" or "_x2") end -- s: all high parts first
    local hidden = op.kind == "linear" and "f32" or op.dtype .. (p.hidden_parts == 2 and "x2" or "")
    return {
      p1 = multiplied.p,
      p2 = op.kind == "mlp" and multiplied.p or 0,
      hidden = hidden,
      mma = true,
      alpha = act.alpha,
      beta = act.beta,
      class = class,
    }
  end,
  work = work,
  prior = function(op, p)
    local s = sizes(op, p)
    local steps = s.in_chunks * s.steps * ceil_div(op.kind == "mlp" and op.n_hidden or op.n_out, 16)
    if op.kind == "mlp" then steps = steps + s.hidden_chunks * s.steps * ceil_div(op.n_out, 16) end
    local words = product.of(op, p).words -- of 4 values: 2 where 16 bits are taken as they are
    local each = steps * (4 + 2 * words + s.row_parts * p.sub_tiles * words) // s.sharers + 150
    if p.plan == 1 then
      return prior("1 + " .. plan.launches(op), string.format("(rows / %d + min(groups, rows)) * %d", s.tile_rows, s.sharers),
        tostring(each))
    end
    return prior("1", string.format("(rows / %d + groups + 1) * %d", s.tile_rows, s.sharers), each .. " + rows / 6")
  end,
  valid = function(op, p)
    if p.plan == 1 then return plan.valid() end
    return plan.ballot_valid()
  end,
  workspace = function(op, p) return p.plan == 1 and plan.workspace(op, sizes(op, p).tile_rows) or "0" end,
  steps = function(op, p)
    local s = sizes(op, p)
    local steps, tiles = {}, nil
    if p.plan == 1 then
      steps = plan.steps(op)
      tiles = string.format("min(ceil_div(%s, %d), sm_count * occupancy * 4)", plan.max_tiles(s.tile_rows), s.slots)
    else
      tiles = string.format("ceil_div((groups + 1) * %s, %d)", plan.ballot_parts(s.tile_rows), s.slots)
    end
    steps[#steps + 1] =
      { kernel = "pad8", grid = tiles, block = tostring(32 * p.warps), shared = tostring(s.shared_bytes) }
    return steps
  end,
}
