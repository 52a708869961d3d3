-- pad8.lua -- sizes that the spec and the template of pad8 must agree on. Bytes, where nothing else is said.
local ceil_div = shared "lib/ceil_div.lua"
local product = shared "lib/product.lua"

-- A row of n elements in shared memory, of which a lane takes p.run at once: pieces of 4 lanes, and an odd number of them, so
-- that the rows of neighbouring lanes begin in different banks.
local function pitch(n, op, p)
  local piece = 4 * p.run
  return (ceil_div(n, piece) // 2 * 2 + 1) * piece * op.elem_bytes
end

local function sizes(op, p)
  local s = { chunk = 4 * p.run, row_parts = p.tokens == 1 and 2 or 1 }
  local lane_rows = s.row_parts * p.sub_tiles
  s.tile_rows = 8 * lane_rows
  s.steps = s.chunk // 16
  s.sharers = p.share == 1 and p.warps or 1
  s.slots = p.warps // s.sharers
  s.in_chunks = ceil_div(op.n_in, s.chunk)
  s.hidden_chunks = ceil_div(op.n_hidden, s.chunk)
  s.out_chunks = ceil_div(op.n_out, s.chunk)
  s.x_pitch, s.hidden_pitch, s.x_bytes, s.hidden_bytes, s.partial_bytes = 0, 0, 0, 0, 0
  if p.stage_x == 1 then
    s.x_pitch = pitch(op.n_in, op, p)
    s.x_bytes = s.tile_rows * s.x_pitch
  end
  if p.hidden_shared == 1 then
    s.hidden_pitch = pitch(op.n_hidden, op, p)
    s.hidden_bytes = p.hidden_parts * s.tile_rows * s.hidden_pitch
  elseif op.kind == "mlp" and s.sharers > 1 then
    s.partial_bytes = s.sharers * s.out_chunks * s.steps * lane_rows * 4 * 4 * 32
  end
  s.x_words = s.in_chunks * s.steps * lane_rows * product.of(op, p).words
  s.x_kept = (p.stage_x == 0 and s.x_words <= 48) and 1 or 0
  s.out_words = op.kind == "mlp" and p.hidden_shared == 0 and s.out_chunks * s.steps * lane_rows * 4 or 0
  s.sum_words = s.steps * lane_rows * 4
  -- products that the longest loop unrolls: 4 chunks of k, or all where x is kept; and all outputs where they are in registers
  s.unrolled = (s.x_kept == 1 and s.in_chunks or 4) + (s.out_words > 0 and s.out_chunks or 0)
  s.unrolled = s.unrolled * s.steps * s.steps * lane_rows * product.of(op, p).products
  s.slot_bytes = s.x_bytes + s.hidden_bytes + s.partial_bytes
  s.shared_bytes = s.slots * s.slot_bytes
  return s
end

return { sizes = sizes }
