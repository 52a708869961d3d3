/* plan_share.cuh -- a block's share of the tiles: neighbouring ones, of about the same work for every block, however the rows
 * are spread. Tile t begins after SHARE_TILE * t + first(t) of work: SHARE_TILE is what a tile costs beside its rows, in rows. */

DEV u64 work_before(const rgt_kargs &k, void *workspace, u32 t) {
  return (u64)SHARE_TILE * t + plan_tile_at(k, workspace, t).first;
}

/* The first of n tiles before which there is `work` or more, n if there is none: by whole warps, 32 probes a step. */
DEV u32 tile_after(const rgt_kargs &k, void *workspace, u32 n, u64 work) {
  const u32 lane = threadIdx.x % 32;
  u32 low = 0, high = n;
#pragma unroll 1
  while (low < high) {
    const u32 step = (high - low + 31) / 32, probe = low + lane * step;
    const bool less = probe < high && work_before(k, workspace, probe) < work;
    const u32 n_less = __popc(__ballot_sync(0xffffffffu, less));
    if (n_less == 0) return low;
    const u32 past = low + n_less * step;
    low += (n_less - 1) * step + 1;
    high = past < high ? past : high;
  }
  return low;
}

struct tile_share {
  u32 begin, end;
};

/* Called by all threads of a block of two or more warps; `ends` is shared. */
DEV tile_share share_of_block(const rgt_kargs &k, void *workspace, u32 (&ends)[2]) {
  const u32 warp = threadIdx.x / 32, n = plan_n_tiles(k, workspace);
  if (n == 0) return {0, 0};
  if (warp < 2) {
    const plan_tile last = plan_tile_at(k, workspace, n - 1);
    const u64 all = (u64)SHARE_TILE * n + last.first + (u32)last.n;
    const u32 at = tile_after(k, workspace, n, (all * (blockIdx.x + warp) + gridDim.x - 1) / gridDim.x);
    if (threadIdx.x % 32 == 0) ends[warp] = at;
  }
  __syncthreads();
  return {ends[0], ends[1]};
}

/* ---- a share in turns: what a warp has abreast ---- */

struct tile_turns {
  u32 n, begin, end, each, more; /* `each` tiles a turn, one more in the first `more` turns */
  __device__ __forceinline__ tile_share at(u32 i) const {
    const u32 from = begin + each * i + (i < more ? i : more), to = from + each + (i < more);
    return {from, to < end ? to : end};
  }
};

/* Turns of as many tiles as fit, but for the last. */
DEV tile_turns full_turns(const tile_share &share, u32 abreast) {
  return {(share.end - share.begin + abreast - 1) / abreast, share.begin, share.end, abreast, 0};
}

/* For tiles that cost about the same whatever they hold: every block has the same number of tiles to within one, and as many
 * turns as any other, evenly filled: a turn costs what its fullest tile does, not what its tiles do. */
DEV tile_turns even_turns_of_block(const rgt_kargs &k, void *workspace, u32 abreast) {
  const u32 n = plan_n_tiles(k, workspace), least = n / gridDim.x, left = n % gridDim.x, block = blockIdx.x;
  if (n == 0) return {0, 0, 0, 1, 0};
  const u32 begin = least * block + (block < left ? block : left), count = least + (block < left);
  const u32 turns = (least + (left > 0) + abreast - 1) / abreast;
  return {turns, begin, begin + count, count / turns, count % turns};
}
