-- act_error.lua -- the error of our own activations: |act - act64| <= alpha * |act64| + beta * |z| + 2^-150 for every f32 z.
-- (The last term is the one rounding of a subnormal result, and stands in the bound already: templates/cpu/lib/act.h.)
-- What was measured on every f32, with and without FMA (tests/bench/activations_all.c), rounded up. u is half an ulp of 1.
-- gelu's beta is an error of Phi next to 1; silu's is for z < -88.37, where the result is -0.
local u = 2^-24
return {
  none = { alpha = 0, beta = 0 },
  relu = { alpha = 0, beta = 0 },
  gelu = { alpha = 2.5 * u, beta = 0.875 * u },
  gelu_tanh = { alpha = 2.25 * u, beta = 0.5 * u },
  silu = { alpha = 3 * u, beta = 2^-127 },
  tanh = { alpha = 3 * u, beta = 0 },
}
