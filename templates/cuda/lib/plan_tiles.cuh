/* plan_tiles.cuh -- tiles of positions that are in the order of their groups: a run of one group is cut every PLAN_TILE rows.
 *
 * A warp takes up to 32 steps of 32 positions in turn, and lane i keeps what was found out about step i: no loop is unrolled for
 * an array's sake. A tile is written by the lane of its last position, which knows where the run began. Nothing here trusts that
 * a sorted call is sorted: every tile is of one group, whatever stands beside it.
 */

struct tiles_space { /* shared */
  u32 last_head[PLAN_WARPS], sums[PLAN_WARPS], before;
};

/* A chunk of positions, in shared memory. */
struct sorted_rows {
  const u32 *keys, *rows;
  i64 first; /* position */
  __device__ __forceinline__ i64 row(u32 at) const {
    if constexpr (ORDER != ORDER_RAW) return first + at;
    return rows[at];
  }
};

/* The positions from `at` on whose bits are set in `dead` have no group. Whole warps. */
DEV void set_zeros(const rgt_kargs &k, const sorted_rows &sorted, u32 at, u32 dead) {
  const int lane = threadIdx.x % 32;
  const i64 own = dead >> lane & 1 ? sorted.row(at + lane) : 0;
  if (adds(k)) return;
#pragma unroll 1
  for (int i = lane; i < 32 * N_OUT; i += 32) {
    const i64 row = __shfl_sync(0xffffffffu, own, i / N_OUT);
    if (dead >> i / N_OUT & 1) put_none<1>(k, y_of(k, row) + i % N_OUT, 1);
  }
}

/* A warp's steps: the lanes that begin a run, and those that have a group. In lane i for step i; whole warps read them. */
struct warp_runs {
  u32 at, n; /* the warp's first position, and the end of all */
  int steps;
  u32 heads_of, live_of;
  __device__ __forceinline__ u32 heads(int i) const { return __shfl_sync(0xffffffffu, heads_of, i); }
  __device__ __forceinline__ u32 live(int i) const { return __shfl_sync(0xffffffffu, live_of, i); }
};

/* The first position of the chunk begins a run. After the last step comes what begins behind the warp's positions: a bit. */
DEV void find_runs(const rgt_kargs &k, const sorted_rows &sorted, warp_runs &w) {
  const int lane = threadIdx.x % 32;
  w.heads_of = 0, w.live_of = 0;
#pragma unroll 1
  for (int i = 0; i <= w.steps; i++) {
    const u32 p = w.at + 32 * i + lane, key = p < w.n ? sorted.keys[p] : 0;
    const u32 heads = __ballot_sync(0xffffffffu, p < w.n && (p == 0 || key != sorted.keys[p - 1]));
    const u32 live = __ballot_sync(0xffffffffu, p < w.n && key < (u32)k.groups);
    if (lane == i) w.heads_of = heads, w.live_of = live;
  }
}

/* Where the run began that the positions after step i are in; `run` is the same for those before it. */
DEV u32 run_after(const warp_runs &w, int i, u32 run) {
  const u32 heads = w.heads(i);
  return heads ? w.at + 32 * i + 31 - __clz(heads) : run;
}

/* The lanes of step i whose positions end a tile; *own is where the lane's run began. */
DEV u32 tile_ends(const warp_runs &w, int i, u32 run, u32 *own) {
  const int lane = threadIdx.x % 32;
  const u32 p = w.at + 32 * i + lane, heads = w.heads(i), next = w.heads(i + 1), live = w.live(i);
  const u32 mine = heads & (lanes_below() << 1 | 1);
  *own = mine ? p - lane + 31 - __clz(mine) : run;
  const bool begins = (lane < 31 ? heads >> lane >> 1 : next) & 1;
  return __ballot_sync(0xffffffffu, live >> lane & 1 && (p + 1 == w.n || begins || (p + 1 - *own) % PLAN_TILE == 0));
}

/* The tiles of a chunk of n positions, one of `chunks`. */
DEV void make_tiles(const rgt_kargs &k, void *workspace, tiles_space &s, const sorted_rows &sorted, u32 n, i64 chunk) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int steps = (int)((n + PLAN_THREADS - 1) / PLAN_THREADS);
  warp_runs w = {(u32)(warp * steps * 32), n, steps};
  u32 begin = 0, count = 0, total, own;
  find_runs(k, sorted, w);
#pragma unroll 1
  for (int i = 0; i < steps; i++) begin = run_after(w, i, begin);
  if (lane == 0) s.last_head[warp] = begin;
  __syncthreads();
  begin = 0; /* of the run that the warp's first position is in */
#pragma unroll 1
  for (int i = 0; i < warp; i++) begin = s.last_head[i] > begin ? s.last_head[i] : begin;

  u32 run = begin;
#pragma unroll 1
  for (int i = 0; i < steps; i++) {
    count += __popc(tile_ends(w, i, run, &own));
    run = run_after(w, i, run);
  }
  u32 to = __shfl_sync(0xffffffffu, block_scan(lane == 0 ? count : 0, s.sums, &total), 0);
  if (threadIdx.x == 0) {
    u64 *state = plan_tile_states(workspace) + 2 * chunk;
    publish(state, chunk, 1, total);
    s.before = look_back(state, chunk, 2, 1, total);
    if (chunk + 1 == plan_chunks(k)) plan_header_of(workspace)->n_tiles = s.before + total;
  }
  __syncthreads();

  to += s.before;
  run = begin;
#pragma unroll 1
  for (int i = 0; i < steps; i++) {
    const u32 p = w.at + 32 * i + lane, ends = tile_ends(w, i, run, &own);
    if (ends >> lane & 1) {
      const u32 at = own + (p - own) / PLAN_TILE * PLAN_TILE;
      plan_tiles(k, workspace)[to + __popc(ends & lanes_below())] =
          make_uint4(sorted.keys[p], (u32)sorted.first + at, p + 1 - at, 0);
    }
    to += __popc(ends);
    run = run_after(w, i, run);
    const u32 dead = __ballot_sync(0xffffffffu, p < n) & ~w.live(i);
    if (dead) set_zeros(k, sorted, w.at + 32 * i, dead);
  }
}

/* Which chunk of which launch a block works on, and how many positions it has; `ticket` is shared. */
struct plan_work {
  int launch;
  i64 chunk, first;
  u32 n;
};
DEV plan_work take_work(const rgt_kargs &k, void *workspace, u32 *ticket) {
  plan_work work = {0, 0, 0, (u32)k.rows};
  if (k.rows <= PLAN_CHUNK) return work;
  const u32 taken = take_ticket(&plan_header_of(workspace)->ticket, ticket);
  work.launch = (int)(taken / gridDim.x);
  work.chunk = taken % gridDim.x;
  work.first = work.chunk * PLAN_CHUNK;
  work.n = (u32)(k.rows - work.first < PLAN_CHUNK ? k.rows - work.first : PLAN_CHUNK);
  return work;
}
