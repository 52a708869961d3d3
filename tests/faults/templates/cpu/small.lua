-- small.lua -- a family of two variants for tests that break things: the machine of machine.h runs it without compiling.
return family {
  about = "two variants of one loop",
  source = "tests",
  revision = 1,
  rank = 0,
  device = "cpu",
  ops = { "linear", "mlp" },
  dtypes = { "f32" },
  params = { { "turn", { 1, 2 }, default = 1, about = "how the sums run" } },
  constraints = { { "a turn there is", function(op, p) return p.turn <= 2 end } },
  numeric = function(op, p) return { p1 = 0, p2 = 0, hidden = "f32", alpha = 2.0 ^ -22, beta = 2.0 ^ -22, class = "turn" .. p.turn } end,
  work = { flops = "2 * rows * n_in * n_out", bytes = "4 * rows * (n_in + n_out)" },
  valid = "rows <= 1000000",
  workspace = "64",
  steps = { { memset = { offset = 0, bytes = 64, value = 0 } }, { kernel = "small", grid = 1 } },
}
