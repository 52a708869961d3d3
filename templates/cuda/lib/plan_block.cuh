/* plan_block.cuh -- what the threads of a block of the plan do together, and the blocks of a launch through states in memory. */

DEV u32 lanes_below() { return (1u << threadIdx.x % 32) - 1; }

/* The sum of v over the threads before this one, and that of all in *total. `sums` has a word for each warp, and may be used
 * again at once. */
DEV u32 block_scan(u32 v, u32 *sums, u32 *total) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  u32 upto = v, before = 0, all = 0;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const u32 other = __shfl_up_sync(0xffffffffu, upto, d);
    if (lane >= d) upto += other;
  }
  if (lane == 31) sums[warp] = upto;
  __syncthreads();
#pragma unroll
  for (int w = 0; w < PLAN_WARPS; w++) {
    const u32 s = sums[w];
    before += w < warp ? s : 0;
    all += s;
  }
  __syncthreads();
  *total = all;
  return before + upto - v;
}

/* Blocks that add up along their order, each number in its place: a block publishes its own sum, as early as it can, later looks
 * back over the blocks before it until it meets one that knows the sum of all up to itself, and publishes that. A state is a tag
 * and a sum, written and read as one; tags differ between passes, so states are emptied once. `at` is this block's state; those
 * before it lie `stride` apart. A block's number comes from a counter, so those before it run already. */
DEV void publish(u64 *at, i64 n_before, u32 tag, u32 sum) {
  *(volatile u64 *)at = (u64)(n_before > 0 ? tag : tag + 1) << 32 | sum;
}

/* The sum before this block. */
DEV u32 look_back(u64 *at, i64 n_before, i64 stride, u32 tag, u32 sum) {
  if (n_before == 0) return 0;
  volatile u64 *other = at - stride;
  u32 before = 0;
  for (;;) {
    const u64 state = *other;
    const u32 seen = (u32)(state >> 32);
    if (seen != tag && seen != tag + 1) continue;
    before += (u32)state;
    if (seen == tag + 1) break;
    other -= stride;
  }
  *(volatile u64 *)at = (u64)(tag + 1) << 32 | (before + sum);
  return before;
}

/* A number that is this block's alone, 0 for the first block that asks. */
DEV u32 take_ticket(u32 *counter, u32 *shared) {
  if (threadIdx.x == 0) *shared = atomicAdd(counter, 1u);
  __syncthreads();
  const u32 ticket = *shared;
  __syncthreads();
  return ticket;
}
