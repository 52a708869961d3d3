/* plan_tiles.cuh -- tiles of positions that are in the order of their groups: a run of one group is cut every PLAN_TILE rows.
 *
 * A warp takes `steps` times 32 positions in turn. A tile is written by the lane of its last position, which knows where the run
 * began. Nothing here trusts that a sorted call is sorted: every tile is of one group, whatever stands beside it.
 */

struct tiles_space { /* shared */
  u32 last_head[PLAN_WARPS], sums[PLAN_WARPS], before, ticket;
};

/* The keys of the positions from `first` on, and their rows. */
struct sorted_by_plan {
  const u32 *keys, *rows; /* global */
  __device__ __forceinline__ u32 key(const rgt_kargs &, u32 at) {
    u32 w[1];
    load_words<1>(keys + at, w);
    return w[0];
  }
  __device__ __forceinline__ i64 row(u32 at) const {
    u32 w[1];
    load_words<1>(rows + at, w);
    return w[0];
  }
};
struct sorted_in_block {
  const u32 *keys, *rows; /* shared */
  __device__ __forceinline__ u32 key(const rgt_kargs &, u32 at) { return keys[at]; }
  __device__ __forceinline__ i64 row(u32 at) const { return rows[at]; }
};
struct sorted_by_caller { /* a lane asks for rising positions: it searches again only where the group ends that it is in */
  i64 first, group, end;
  __device__ __forceinline__ u32 key(const rgt_kargs &k, u32 at) {
    const i64 p = first + at;
    if (ORDER == ORDER_OFFSETS && p < end) return (u32)group;
    group = group_of(k, p, false);
    if (ORDER == ORDER_OFFSETS && group >= 0) end = index_value(k, group + 1);
    return group >= 0 ? (u32)group : (u32)k.groups;
  }
  __device__ __forceinline__ i64 row(u32 at) const { return first + at; }
};

/* 32 positions from `at` on: bit i of `dead` says that position at + i has no group. Whole warps. */
template <class Sorted> DEV void set_zeros(const rgt_kargs &k, const Sorted &sorted, u32 at, u32 dead) {
  const int lane = threadIdx.x % 32;
  const i64 own = dead >> lane & 1 ? sorted.row(at + lane) : 0;
  if constexpr (ORDER != ORDER_RAW)
    if (dead >> lane & 1) group_of(k, own, true);
  if (adds(k)) return;
#pragma unroll 1
  for (int i = lane; i < 32 * N_OUT; i += 32) {
    const i64 row = __shfl_sync(0xffffffffu, own, i / N_OUT);
    if (dead >> i / N_OUT & 1) put_none<1>(k, y_of(k, row) + i % N_OUT, 1);
  }
}

/* Which lanes of step i begin a run: bits of a word a step. `key` is left in the registers; returns that of the warp's last
 * position. The first position of all begins a run. */
template <int STEPS, class Sorted>
DEV u32 find_heads(const rgt_kargs &k, Sorted &sorted, u32 n, u32 at, int steps, u32 (&key)[STEPS], u32 (&heads)[STEPS]) {
  const int lane = threadIdx.x % 32;
  u32 last = at > 0 && at <= n ? sorted.key(k, at - 1) : 0; /* of the position before the step */
#pragma unroll
  for (int i = 0; i < STEPS; i++) {
    const u32 p = at + 32 * i + lane;
    key[i] = i < steps && p < n ? sorted.key(k, p) : 0;
    u32 before = __shfl_up_sync(0xffffffffu, key[i], 1);
    if (lane == 0) before = last;
    heads[i] = __ballot_sync(0xffffffffu, i < steps && p < n && (p == 0 || key[i] != before));
    const u32 end = __shfl_sync(0xffffffffu, key[i], 31);
    last = i < steps ? end : last;
  }
  return last;
}

/* The lanes of a step whose positions end a tile; *run is where the run began that each is in. */
DEV u32 tile_ends(const rgt_kargs &k, u32 n, u32 step, u32 key, u32 heads, bool next_begins, u32 carried, u32 *run) {
  const int lane = threadIdx.x % 32;
  const u32 p = step + lane, mine = heads & (lanes_below() << 1 | 1);
  *run = mine ? step + 31 - __clz(mine) : carried;
  const bool next = lane < 31 ? heads >> lane >> 1 & 1 : next_begins;
  const bool ends = p < n && key < (u32)k.groups && (p + 1 == n || next || (p + 1 - *run) % PLAN_TILE == 0);
  return __ballot_sync(0xffffffffu, ends);
}

DEV u32 run_after(u32 heads, u32 step, u32 carried) { return heads ? step + 31 - __clz(heads) : carried; }

/* The tiles of n positions, the first of which is position `first` of the call. `cut` of `cuts` such stretches. */
template <int STEPS, class Sorted>
DEV void make_tiles(const rgt_kargs &k, void *workspace, tiles_space &s, Sorted sorted, i64 first, u32 n, i64 cut, i64 cuts) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int steps = (n + PLAN_THREADS - 1) / PLAN_THREADS;
  const u32 at = warp * steps * 32;
  u32 key[STEPS], heads[STEPS], carried = 0, count = 0, total;

  const u32 last = find_heads<STEPS>(k, sorted, n, at, steps, key, heads);
#pragma unroll
  for (int i = 0; i < STEPS; i++) carried = run_after(heads[i], at + 32 * i, carried);
  const u32 past = at + 32 * steps; /* the position after the warp's */
  const bool past_begins = past < n && sorted.key(k, past) != last;
  if (lane == 0) s.last_head[warp] = carried;
  __syncthreads();
  carried = 0;
#pragma unroll
  for (int w = 0; w < PLAN_WARPS; w++)
    if (w < warp && s.last_head[w] > carried) carried = s.last_head[w];

  u32 run, into = carried;
#pragma unroll
  for (int i = 0; i < STEPS; i++) {
    const u32 step = at + 32 * i;
    const bool next = i + 1 < STEPS && i + 1 < steps ? heads[i + 1 < STEPS ? i + 1 : i] & 1 : past_begins;
    const u32 ends = i < steps ? tile_ends(k, n, step, key[i], heads[i], next, into, &run) : 0;
    into = run_after(heads[i], step, into);
    count += __popc(ends);
  }
  u32 mine = block_scan(lane == 0 ? count : 0, s.sums, &total);
  mine = __shfl_sync(0xffffffffu, mine, 0);
  if (threadIdx.x == 0) {
    s.before = look_back(plan_tile_states(workspace) + 2 * cut, cut, 2, 1, total);
    if (cut + 1 == cuts) plan_header_of(workspace)->n_tiles = s.before + total;
  }
  __syncthreads();

  mine += s.before;
  into = carried;
#pragma unroll
  for (int i = 0; i < STEPS; i++) {
    const u32 step = at + 32 * i, p = step + lane;
    if (i >= steps || step >= n) break;
    const bool next = i + 1 < STEPS && i + 1 < steps ? heads[i + 1 < STEPS ? i + 1 : i] & 1 : past_begins;
    const u32 ends = tile_ends(k, n, step, key[i], heads[i], next, into, &run);
    into = run_after(heads[i], step, into);
    if (ends >> lane & 1) {
      const u32 begin = run + (p - run) / PLAN_TILE * PLAN_TILE;
      plan_tiles(k, workspace)[mine + __popc(ends & lanes_below())] = make_uint4(key[i], (u32)first + begin, p + 1 - begin, 0);
    }
    mine += __popc(ends);
    const u32 dead = __ballot_sync(0xffffffffu, p < n && key[i] >= (u32)k.groups);
    if (dead) set_zeros(k, sorted, step, dead);
  }
}

ENTRY __launch_bounds__(PLAN_THREADS, 1) KERNEL(plan_tiles)(const __grid_constant__ rgt_kargs k, void *workspace) {
  __shared__ tiles_space s;
  const i64 cuts = plan_cuts(k), cut = cuts == 1 ? 0 : take_ticket(&plan_header_of(workspace)->tile_ticket, &s.ticket);
  const i64 first = cut * PLAN_CUT;
  const u32 n = (u32)(k.rows - first < PLAN_CUT ? k.rows - first : PLAN_CUT);
  if constexpr (ORDER == ORDER_RAW) {
    const sorted_by_plan sorted = {plan_keys(k, workspace) + first, plan_rows(k, workspace) + first};
    make_tiles<PLAN_CUT_STEPS>(k, workspace, s, sorted, first, n, cut, cuts);
  } else {
    const sorted_by_caller sorted = {first, 0, -1};
    make_tiles<PLAN_CUT_STEPS>(k, workspace, s, sorted, first, n, cut, cuts);
  }
}
