-- work.lua -- what an op costs at least, whatever does it: operations, and bytes with each used group's weights read once.
return function(op)
  local weights = op.kind == "linear" and "n_in * n_out" or "n_hidden * (n_in + n_out)"
  return {
    flops = "2 * rows * " .. weights,
    bytes = "elem_bytes * (rows * (n_in + n_out) + min(rows, groups) * " .. weights .. ")",
  }
end
