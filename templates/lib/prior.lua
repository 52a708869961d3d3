-- prior.lua -- what a call is expected to cost, in nanoseconds of a machine that nobody has: good enough to say what to try first.
-- launches, warps (that work) and instructions (of one warp) are formulas. A launch costs 1.5 us; a multiprocessor issues four
-- instructions a cycle, a warp alone one in about 4.5, at 1.7 GHz.
return function(launches, warps, instructions)
  return string.format("1500 * (%s) + 10 * max(9 * (%s) / 2, ceil_div((%s) * (%s), 4 * sm_count)) / 17", launches, instructions,
    warps, instructions)
end
