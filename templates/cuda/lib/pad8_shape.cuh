/* pad8_shape.cuh -- the sizes of a tile, and which matrix index a lane's registers stand for.
 *
 * The order of k within a product is free while both operands agree. A warp takes k in chunks of CHUNK, of which lane (g, t)
 * owns the RUN neighbours from RUN * t on, 4 for each of STEPS steps of 16: a run is then one load, and needs no exchange. The
 * rows of the A operand have the same order, so that the D of a product, turned, is a run again: the next layer's B, or a piece
 * of y. */
//% local size = shared("lib/pad8.lua").sizes(op, p)
enum : int {
  ROW_PARTS = $(size.row_parts), /* rows that a lane has of a sub-tile */
  SUB_ROWS = 8 * ROW_PARTS,
  TILE_ROWS = SUB_ROWS * SUB_TILES,
  CHUNK = $(size.chunk),
  STEPS = $(size.steps),
  SHARERS = $(size.sharers), /* warps that work on one tile */
  SLOTS = $(size.slots),     /* tiles that a block works on at a time */
  RUN_WORDS = RUN * ELEM_BYTES / 4,
  X_KEPT = $(size.x_kept),   /* x in registers from the begin of a tile to its end */
  X_PITCH = $(size.x_pitch), /* bytes from row to row in shared memory */
  HIDDEN_PITCH = $(size.hidden_pitch),
  HIDDEN_AT = $(size.x_bytes), /* bytes from a slot's begin */
  PARTIALS_AT = $(size.x_bytes + size.hidden_bytes),
  SLOT_BYTES = $(size.slot_bytes)
};
static_assert(RUN % 4 == 0 && CHUNK == 4 * RUN && STEPS * 16 == CHUNK, "shapes that the loads know");

/* A layer's weights are [N, K] (nk) or [K, N] (kn); LINE is what lies together. */
template <int LAYER> struct shape {
  enum : int {
    K = layer<LAYER>::K,
    N = layer<LAYER>::N,
    K_CHUNKS = (K + CHUNK - 1) / CHUNK,
    N_CHUNKS = (N + CHUNK - 1) / CHUNK,
    K_TAIL = K % CHUNK != 0,
    N_TAIL = N % CHUNK != 0,
    LINE = LAYOUT == LAYOUT_NK ? K : N
  };
};

/* Elements that a load takes of a line of D of them, whose pieces then all lie inside or all outside of it. */
template <int D> struct piece {
  enum : int {
    wide = least<least<RUN, 16 / (int)sizeof(elem)>::value, power_of_two_in<D>::value>::value, /* where addresses allow it */
    promised = least<wide, ALIGNED / (int)sizeof(elem)>::value
  };
};
template <bool WIDE, int D> struct load_piece {
  enum : int { value = WIDE ? (int)piece<D>::wide : (int)piece<D>::promised };
};

DEV int lane_id() {
  return (int)threadIdx.x & 31;
}
DEV int lane_g() {
  return lane_id() >> 2;
}
DEV int lane_t() {
  return lane_id() & 3;
}
DEV int sharer() {
  return SHARERS > 1 ? (int)threadIdx.x >> 5 : 0;
}

/* Row r (0 .. 15) of step s, as an index into its chunk. */
DEV int in_chunk(int r, int s) {
  return RUN * ((r & 7) >> 1) + 4 * s + 2 * (r >> 3) + (r & 1);
}

/* The warps of a tile wait for each other. */
DEV void tile_barrier() {
  if constexpr (SHARERS > 1)
    __syncthreads();
  else
    __syncwarp();
}

/* The rows of a tile. */
struct tile {
  i64 group; /* -1: rows that have none */
  int n;     /* 1 .. TILE_ROWS */
  u32 row;   /* lane i: row i of the tile, the last one from n on */
};

/* Row h (of ROW_PARTS) that this lane has of sub-tile n, as a place in the tile, and as a row. Places past the last row repeat
 * it, and nobody looks at what they give. */
DEV int place_of(int n, int h) {
  return n * SUB_ROWS + 8 * h + lane_g();
}
DEV i64 row_of(const tile &at, int n, int h) {
  return __shfl_sync(0xffffffffu, at.row, place_of(n, h));
}
DEV bool sub_tile_live(const tile &at, int n) {
  return SUB_TILES == 1 || n == 0 || n * SUB_ROWS < at.n;
} /* uniform */
