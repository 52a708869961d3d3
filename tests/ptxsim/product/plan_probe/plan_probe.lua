-- plan_probe.lua -- a family whose result is the plan itself.
local plan = shared "lib/plan.lua"

return family {
  about = "writes what the plan says", source = "tests", revision = 1, device = "cuda",
  ops = { "linear" }, dtypes = { "f32", "f16", "bf16" },
  params = { { "tile", { 1, 8, 48, 256 }, default = 8, about = "PLAN_TILE" } },
  numeric = { p1 = 0, p2 = 0, hidden = "f32", class = "none" },
  work = { flops = "0", bytes = "0" },
  valid = plan.valid(),
  workspace = function(op, p) return plan.workspace(op, p.tile) end,
  steps = function(op)
    local steps = plan.steps(op)
    steps[#steps + 1] = { kernel = "plan_probe", grid = "1", block = "256", shared = "0" }
    return steps
  end,
}
