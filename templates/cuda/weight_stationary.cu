/* weight_stationary.cu -- a team of threads keeps the weights of one group and walks rows of it; both layers in one kernel.
 *
 * Rows come in tiles of one group: from the plan, of which a block has a share that is as much work as any other block's; or,
 * without one, from ballots over the index, a bucket for a warp or a block. The weights stay in registers (HELD) or in the
 * block's shared memory, from tile to tile while the group does.
 */
//% include("cuda/lib/base.cuh")
//% include("cuda/lib/ptx.cuh")
//% include("cuda/lib/number.cuh")
//% include("cuda/lib/act.cuh")
//% include("cuda/lib/layer.cuh")
//% include("cuda/lib/rows.cuh")
//% if p.plan == 1 then
enum : int { PLAN_TILE = TILE, SHARE_TILE = 2 * AT_ONCE };
//% include("cuda/lib/plan.cuh")
//% include("cuda/lib/plan_share.cuh")
//% else
//% include("cuda/lib/plan_ballot.cuh")
//% end
//% include("cuda/lib/walk.cuh")
//% if p.held == 1 then
//% include("cuda/lib/held.cuh")
//% else
//% include("cuda/lib/staged.cuh")
//% end

static_assert(THREADS % TEAM == 0 && THREADS >= 64 && (TEAM <= 32 || TEAM == THREADS), "teams of a warp, or a block");

//% if p.plan == 0 then
/* Rows without a group; one warp. */
DEV void zero_rows(const rgt_kargs &k, int n, u32 row) {
  if (adds(k)) return;
#pragma unroll 1
  for (int r = 0; r < n; r++) {
    elem *to = y_of(k, (i64)__shfl_sync(0xffffffffu, row, r));
#pragma unroll 1
    for (int o = threadIdx.x % 32; o < N_OUT; o += 32) store(to + o, 0.0f);
    __syncwarp();
  }
}

/* Every bucket for a slot: a warp, or the block where its threads work together. body(group, n, row) for its tiles. */
template <class BODY> DEV void each_tile(const rgt_kargs &k, ballot_room<TILE> *rooms, BODY body) {
  enum : int { SLOTS = TEAM <= 32 ? THREADS / 32 : 1 };
  const int warp = threadIdx.x / 32, slot = SLOTS > 1 ? warp : 0;
  const i64 buckets = k.groups + 1, slots = (i64)gridDim.x * SLOTS;
  const int parts = slots < 2 * buckets ? 1 : (int)(slots / buckets);
#pragma unroll 1
  for (i64 i = (i64)blockIdx.x * SLOTS + slot; i < buckets * parts; i += slots) {
    const int part = (int)(i / buckets);
    const bool first = SLOTS > 1 || warp == 0;
    ballot_tiles<TILE>(k, rooms[warp], i - part * buckets, part, parts, part == 0 && first, [&](i64 group, int n, u32 row) {
      if (group >= 0)
        body(group, n, row);
      else if (first)
        zero_rows(k, n, row);
    });
  }
}
//% end

//% if p.held == 1 and p.plan == 1 then
ENTRY __launch_bounds__(THREADS, 1) KERNEL(weight_stationary)(const __grid_constant__ rgt_kargs k, void *workspace) {
  enum : int { TEAMS = THREADS / TEAM, ABREAST = TEAM < 32 ? 32 / TEAM : 1 };
  __shared__ float hidden[TEAMS * HIDDEN_FLOATS];
  const u32 team = threadIdx.x / TEAM, lane = threadIdx.x % TEAM;
//% if p.tile <= 4 then
  const tile_turns turns = even_turns_of_block(k, workspace, ABREAST);
//% else
  __shared__ u32 ends[2];
  const tile_turns turns = full_turns(share_of_block(k, workspace, ends), ABREAST);
//% end
  held_weights w;
  w.group = -1;
#pragma unroll 1
  for (u32 i = team / ABREAST; i < turns.n; i += TEAMS / ABREAST) {
    const tile_share turn = turns.at(i);
    const u32 t = turn.begin + team % ABREAST;
    plan_tile tile = {0, 0, 0};
    if (t < turn.end) tile = plan_tile_at(k, workspace, t);
    if (tile.n > 0) take_weights(k, tile.group, lane, w);
#pragma unroll 1
    for (int r = 0; any_left(r < tile.n); r += AT_ONCE) {
      i64 row[AT_ONCE];
#pragma unroll
      for (int i = 0; i < AT_ONCE; i++)
        row[i] = r < tile.n ? plan_row(k, workspace, tile.first + (r + i < tile.n ? r + i : tile.n - 1)) : 0;
      do_rows(k, w, row, tile.n - r, lane, hidden + team * HIDDEN_FLOATS);
    }
  }
}
//% elseif p.held == 1 then
/* The teams of a warp share its tile's rows. */
ENTRY __launch_bounds__(THREADS, 1) KERNEL(weight_stationary)(const __grid_constant__ rgt_kargs k, void *) {
  enum : int { ABREAST = TEAM < 32 ? 32 / TEAM * AT_ONCE : AT_ONCE };
  __shared__ ballot_room<TILE> rooms[THREADS / 32];
  __shared__ float hidden[THREADS / TEAM * HIDDEN_FLOATS];
  const u32 team = threadIdx.x / TEAM, lane = threadIdx.x % TEAM;
  const int own = TEAM < 32 ? (int)(threadIdx.x % 32 / TEAM) * AT_ONCE : 0;
  held_weights w;
  w.group = -1;
  each_tile(k, rooms, [&](i64 group, int n, u32 found) {
    take_weights(k, group, lane, w);
#pragma unroll 1
    for (int r = 0; r < n; r += ABREAST) {
      i64 row[AT_ONCE];
#pragma unroll
      for (int i = 0; i < AT_ONCE; i++)
        row[i] = __shfl_sync(0xffffffffu, found, r + own + i < n ? r + own + i : n - 1);
      do_rows(k, w, row, n - r - own, lane, hidden + team * HIDDEN_FLOATS);
    }
  });
}
//% else
/* Hidden values, then the weights of both layers. */
extern __shared__ __align__(16) unsigned char shared_bytes[];

struct staged_group {
  float *hidden;
  elem *one, *two;
  i64 group; /* -1: none yet */
};
DEV staged_group no_group() {
  float *hidden = (float *)shared_bytes;
  elem *one = (elem *)(hidden + (IS_MLP ? TILE * HIDDEN_PITCH : 0));
  return {hidden, one, one + STAGED_ONE, -1};
}

/* A tile of the block; each thread brings the row with its number. */
DEV void do_tile(const rgt_kargs &k, staged_group &s, i64 group, int n, i64 row, u32 *rows) {
  __syncthreads(); /* the tile before is done with what is written now */
  if ((int)threadIdx.x < n) rows[threadIdx.x] = (u32)row;
  if (s.group != group) {
    stage<1>(k, group, s.one);
    if constexpr (IS_MLP) stage<LAST>(k, group, s.two);
    s.group = group;
  }
  __syncthreads();
  do_staged(k, group, s.one, s.two, s.hidden, rows, n);
}

ENTRY __launch_bounds__(THREADS, 1) KERNEL(weight_stationary)(const __grid_constant__ rgt_kargs k, void *workspace) {
  __shared__ u32 rows[TILE];
  staged_group s = no_group();
//% if p.plan == 1 then
  __shared__ u32 ends[2];
  const tile_share share = share_of_block(k, workspace, ends);
#pragma unroll 1
  for (u32 t = share.begin; t < share.end; t++) {
    const plan_tile tile = plan_tile_at(k, workspace, t);
    const i64 row = (int)threadIdx.x < tile.n ? plan_row(k, workspace, tile.first + threadIdx.x) : 0;
    do_tile(k, s, tile.group, tile.n, row, rows);
  }
//% else
  (void)workspace;
  __shared__ ballot_room<TILE> rooms[THREADS / 32];
  each_tile(k, rooms, [&](i64 group, int n, u32 found) { do_tile(k, s, group, n, found, rows); });
//% end
}
//% end
