/* plan.cuh -- the rows of a call put in the order of their groups, and cut into tiles: what the kernel after the plan reads.
 *
 * Before it come base.cuh, ptx.cuh, number.cuh, rows.cuh and a constant PLAN_TILE, the most rows of a tile. A spec puts the
 * plan's launches before its own by templates/lib/plan.lua. The plan's kernels leave in the workspace
 *
 *   tiles    tile t is rows at `n` neighbouring positions from `first` on, all of one group; every live row is in one tile
 *   list     the row at each position: by group, rows of a group ascending, then the rows without a group. Where the call is
 *            in order already there is none: a position is its row
 *
 * and have counted rows with a wrong index and set rows without a group to 0 (where y is set), so that the kernel after them has
 * nothing to do with either. All of it has the same bits in whatever order blocks run, and the host reads nothing.
 * A tile is cut at a multiple of PLAN_CHUNK positions too, and so may be shorter than PLAN_TILE within its group.
 *
 *   plan_block.cuh    what a block does together
 *   plan_tiles.cuh    a chunk of sorted positions to tiles
 *   plan_sort.cuh     sorts: one block where one can hold the rows; else a radix sort, each digit in one launch with look-back
 *   plan_ordered.cuh  the same for calls in order, which have only tiles to make
 */
enum : int {
  PLAN_THREADS = 512,
  PLAN_WARPS = PLAN_THREADS / 32,
  PLAN_CHUNK = 2048, /* rows that a block sorts, positions that it makes tiles of */
  PLAN_DIGITS = 256, /* of a pass; a thread each, of those that come first */
  PLAN_PASSES = 3,   /* at most: groups below 2^24 */
};
static_assert(PLAN_DIGITS <= PLAN_THREADS, "a thread a digit");

/* The workspace: this header; 16 bytes for each chunk; where the plan sorts, the states of the passes, and two lists (keys, rows)
 * or, with more than one pass, four; the tiles. plan.lua has the same sums. */
struct plan_header {
  u32 ticket, n_tiles, unused[14];
  u32 digits[PLAN_PASSES][PLAN_DIGITS]; /* rows that have a digit */
};
static_assert(sizeof(plan_header) == 3136, "plan.lua knows it");

DEV i64 plan_chunks(const rgt_kargs &k) { return (k.rows + PLAN_CHUNK - 1) / PLAN_CHUNK; }
DEV i64 plan_pitch(const rgt_kargs &k) { return ORDER == ORDER_RAW ? (k.rows + 3) / 4 * 4 : 0; } /* of a list */
/* What rows are sorted by: the group; a row without one has the key k.groups. */
DEV u32 plan_key(const rgt_kargs &k, i64 group) { return group >= 0 ? (u32)group : (u32)k.groups; }
DEV int plan_passes(const rgt_kargs &k) { return 1 + (k.groups > 255) + (k.groups > 65535); }
DEV int plan_lists(const rgt_kargs &k) { return k.groups > 255 ? 4 : 2; }

DEV plan_header *plan_header_of(void *workspace) { return (plan_header *)workspace; }
DEV u64 *plan_tile_states(void *workspace) { return (u64 *)((char *)workspace + sizeof(plan_header)); }
DEV u64 *plan_states(const rgt_kargs &k, void *workspace) {
  return (u64 *)((char *)workspace + sizeof(plan_header) + 16 * plan_chunks(k));
}
/* Lists 0 and 1 are the keys and rows of the first and third pass, 2 and 3 those of the second. */
DEV u32 *plan_list(const rgt_kargs &k, void *workspace, int which) {
  const i64 n_states = ORDER == ORDER_RAW ? plan_chunks(k) * PLAN_DIGITS : 0;
  return (u32 *)(plan_states(k, workspace) + n_states) + which * plan_pitch(k);
}
DEV u32 *plan_rows(const rgt_kargs &k, void *workspace) { return plan_list(k, workspace, plan_passes(k) == 2 ? 3 : 1); }
DEV uint4 *plan_tiles(const rgt_kargs &k, void *workspace) { return (uint4 *)plan_list(k, workspace, plan_lists(k)); }

struct plan_tile {
  i64 group;
  u32 first; /* position */
  int n;     /* rows, 1 .. PLAN_TILE */
};

DEV u32 plan_n_tiles(const rgt_kargs &k, void *workspace) {
  u32 n[1];
  load_words<1>(&plan_header_of(workspace)->n_tiles, n);
  return n[0];
}

DEV plan_tile plan_tile_at(const rgt_kargs &k, void *workspace, u32 t) {
  u32 w[4];
  load_words<4>(plan_tiles(k, workspace) + t, w);
  return {(i64)w[0], w[1], (int)w[2]};
}

DEV i64 plan_row(const rgt_kargs &k, void *workspace, u32 position) {
  if constexpr (ORDER != ORDER_RAW) return position;
  u32 row[1];
  load_words<1>(plan_rows(k, workspace) + position, row);
  return row[0];
}

//% include("cuda/lib/plan_block.cuh")
//% include("cuda/lib/plan_tiles.cuh")
//% if op.order == "raw" then
//% include("cuda/lib/plan_sort.cuh")
//% else
//% include("cuda/lib/plan_ordered.cuh")
//% end
