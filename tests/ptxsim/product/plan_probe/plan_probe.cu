/* plan_probe.cu -- the plan, read through plan.cuh, to where w3 points: the number of tiles; group, first, n of each; the list. */
//% include("cuda/lib/base.cuh")
//% include("cuda/lib/ptx.cuh")
//% include("cuda/lib/number.cuh")
//% include("cuda/lib/rows.cuh")
enum : int { PLAN_TILE = TILE };
//% include("cuda/lib/plan.cuh")

ENTRY __launch_bounds__(256, 1) KERNEL(plan_probe)(const __grid_constant__ rgt_kargs k, void *workspace) {
  u32 *out = (u32 *)k.w3, n = plan_n_tiles(k, workspace);
  if (threadIdx.x == 0) out[0] = n;
  for (u32 t = threadIdx.x; t < n; t += 256) {
    const plan_tile tile = plan_tile_at(k, workspace, t);
    out[1 + 3 * t] = (u32)tile.group;
    out[2 + 3 * t] = tile.first;
    out[3 + 3 * t] = tile.n;
  }
  for (u32 p = threadIdx.x; p < (u32)k.rows; p += 256) out[1 + 3 * n + p] = (u32)plan_row(k, workspace, p);
}
