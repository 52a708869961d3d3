/* plan_ordered.cuh -- the plan of a call that comes in order: tiles alone, in one launch. */

/* A thread's positions rise, so that offsets are searched again only where it leaves the group that it was in. */
DEV void load_ordered_keys(const rgt_kargs &k, const plan_work &work, u32 *keys) {
  i64 group = 0, end = 0;
#pragma unroll 1
  for (u32 at = threadIdx.x; at < work.n; at += PLAN_THREADS) {
    const i64 p = work.first + at;
    if (ORDER == ORDER_SORTED || p >= end) {
      group = group_of(k, p, true);
      if (ORDER == ORDER_OFFSETS && group >= 0) end = index_value(k, group + 1);
    }
    keys[at] = plan_key(k, group);
  }
}

ENTRY __launch_bounds__(PLAN_THREADS, 1) KERNEL(plan_tiles)(const __grid_constant__ rgt_kargs k, void *workspace) {
  __shared__ tiles_space s;
  __shared__ u32 keys[PLAN_CHUNK], ticket;
  const plan_work work = take_work(k, workspace, &ticket);
  load_ordered_keys(k, work, keys);
  __syncthreads();
  make_tiles(k, workspace, s, {keys, nullptr, work.first}, work.n, work.chunk);
}
