/* pad8.cu -- tiles of SUB_TILES times 8 (or 16) rows of one group, both layers fused, on tensor cores.
 *
 * Rows are padded to 8 (16), k and outputs to 16, by zeros and repeats that are made on the chip; memory holds none. A warp, or
 * the warps of a block together (SHARE), make a tile. Rows without a group are tiles too: of zeros. */
//% include("cuda/lib/base.cuh")
//% include("cuda/lib/ptx.cuh")
//% include("cuda/lib/mma.cuh")
//% include("cuda/lib/number.cuh")
//% include("cuda/lib/product.cuh")
//% include("cuda/lib/act.cuh")
//% include("cuda/lib/rows.cuh")
//% include("cuda/lib/layer.cuh")
//% include("cuda/lib/pad8_shape.cuh")
//% if p.plan == 1 then
enum : int { PLAN_TILE = TILE_ROWS };
//% include("cuda/lib/plan.cuh")
//% else
//% include("cuda/lib/plan_ballot.cuh")
//% end
//% include("cuda/lib/pad8_turn.cuh")
//% if p.tokens == 0 then
//% include("cuda/lib/pad8_tokens_n.cuh")
//% else
//% include("cuda/lib/pad8_tokens_m.cuh")
//% end
//% include("cuda/lib/pad8_load.cuh")
//% include("cuda/lib/pad8_layers.cuh")

template <int D> struct is_promised {
  enum : int { value = (int)piece<D>::wide == (int)piece<D>::promised };
};

/* Whether an address, and the stride from line to line, are multiples of what a load of a line of D takes. */
template <int D> DEV bool allows(const void *p, i64 ld) {
  enum : int { BYTES = piece<D>::wide * (int)sizeof(elem) };
  if constexpr (is_promised<D>::value) return true;
  return (((u64)p | (u64)ld * sizeof(elem)) & (BYTES - 1)) == 0;
}
template <int LAYER> DEV bool weights_allow(const rgt_kargs &k, i64 group) {
  return allows<shape<LAYER>::LINE>(weights_of<LAYER>(k, group), layer<LAYER>::ld(k));
}
enum : int {
  PROMISED = is_promised<N_IN>::value && is_promised<N_OUT>::value && is_promised<shape<1>::LINE>::value &&
             (!IS_MLP || is_promised<shape<2>::LINE>::value)
};
DEV bool all_allow(const rgt_kargs &k, i64 group) { /* uniform */
  bool wide = allows<N_IN>(k.x, k.ld_x) && allows<N_OUT>(k.y, k.ld_y) && weights_allow<1>(k, group);
  if constexpr (IS_MLP) wide = wide && weights_allow<2>(k, group);
  return wide;
}

/* A tile that has a group. */
DEV void do_tile(const rgt_kargs &k, const tile &at, unsigned char *shared) {
  if constexpr (PROMISED) {
    tile_body<true>(k, at, shared);
  } else {
    if (all_allow(k, at.group))
      tile_body<true>(k, at, shared);
    else
      tile_body<false>(k, at, shared);
  }
}

extern __shared__ __align__(16) unsigned char shared_bytes[];

//% if p.plan == 1 then
/* The plan's tiles, a slot each; neighbouring ones, which are of one group mostly, side by side. */
ENTRY __launch_bounds__(WARPS * 32, 1) KERNEL(pad8)(const __grid_constant__ rgt_kargs k, void *workspace) {
  const int slot = SHARERS > 1 ? 0 : (int)threadIdx.x >> 5;
  const u32 n_tiles = plan_n_tiles(k, workspace);
  unsigned char *shared = shared_bytes + slot * SLOT_BYTES;
#pragma unroll 1
  for (u32 i = blockIdx.x * SLOTS + slot; i < n_tiles; i += gridDim.x * SLOTS) {
    const plan_tile t = plan_tile_at(k, workspace, i);
    const int lane = lane_id();
    do_tile(k, {t.group, t.n, (u32)plan_row(k, workspace, t.first + (lane < t.n ? lane : t.n - 1))}, shared);
  }
}
//% else

/* Rows without a group. */
DEV void zero_tile(const rgt_kargs &k, const tile &at) {
  if (adds(k)) return;
#pragma unroll 1
  for (int r = sharer(); r < at.n; r += SHARERS) {
    elem *to = y_of(k, (i64)__shfl_sync(0xffffffffu, at.row, r));
#pragma unroll 1
    for (int c = lane_id(); c < N_OUT; c += 32) store(to + c, 0.0f);
    __syncwarp();
  }
}

/* Without a plan: a bucket (a group, or the rows that have none) for each slot, or several for one where there are many. */
ENTRY __launch_bounds__(WARPS * 32, 1) KERNEL(pad8)(const __grid_constant__ rgt_kargs k, void *) {
  __shared__ ballot_room<TILE_ROWS> rooms[WARPS];
  const int warp = (int)threadIdx.x >> 5, slot = SHARERS > 1 ? 0 : warp;
  const u32 buckets = (u32)k.groups + 1, slots = gridDim.x * SLOTS, parts = slots < buckets ? 1 : slots / buckets;
  unsigned char *shared = shared_bytes + slot * SLOT_BYTES;
#pragma unroll 1
  for (u32 i = blockIdx.x * SLOTS + slot; i < buckets * parts; i += slots) {
    const u32 part = i / buckets, bucket = i - part * buckets;
    ballot_tiles<TILE_ROWS>(k, rooms[warp], bucket, (int)part, (int)parts, part == 0 && sharer() == 0,
                            [&](i64 group, int n, u32 row) {
                              if (group >= 0)
                                do_tile(k, {group, n, row}, shared);
                              else
                                zero_tile(k, {group, n, row});
                            });
  }
}
//% end
