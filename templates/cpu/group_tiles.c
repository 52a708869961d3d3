/* group_tiles.c -- rows sorted by group, then tiles of rows of one group through both layers.
 *
 *     step 0, 1   a stable counting sort of row numbers (lib/group_sort.h); masked rows are done with there
 *     step 2      parts take tiles, so that one large group is shared by threads like many small ones
 *
 * Where the caller's rows are sorted, or come with offsets, step 2 is the only one: parts take shares of the rows, and a tile is
 * what of a run of one group's rows lies in the share (lib/group_runs.h).
 *
 * over=0  lanes are rows (lib/tile_rows.h): weights as they lie, in either layout
 * over=1  lanes are outputs (lib/tile_outputs.h); packed=0: weights as they lie, kn only; packed=1: packed once for each group that a
 *         part meets; packed=2: panel by panel for each tile
 * over=2  lanes run along k (lib/tile_dots.h): nk weights as they lie
 * With over=0 and over=1 every sum is one chain over k from its bias: all of them have the same bits, class seq. over=2 has
 * those of row_gather, class dot<LANES>. Which rows share a tile makes no difference to either. */
//% include("lib/kargs.h")

//% include("cpu/lib/vec.h")
//% include("cpu/lib/elem.h")
//% include("cpu/lib/shuffle.h")
//% include("cpu/lib/act.h")
//% include("cpu/lib/call.h")
//% include("cpu/lib/groups.h")
//% include("cpu/lib/group_sort.h")
//% include("cpu/lib/group_runs.h")
enum {
  TILE_SUMS = BLOCK * VECTORS,
  CHUNK = BLOCK == 6 ? 48 : 32, /* over=0: outputs between two transposes; a multiple of BLOCK and LANES */
};
//% include("cpu/lib/tile.h")
//% include("cpu/lib/tile_rows.h")
//% include("cpu/lib/tile_outputs.h")
//% include("cpu/lib/tile_dots.h")

/* The spec's workspace formula knows these. */
enum {
  KN = LAYOUT == LAYOUT_KN,
  HIDDEN_PITCH = (N_HIDDEN + 15) / 16 * 16 + 16, /* never a multiple of 4096 bytes: rows would meet in one set of the cache */
  BLOCKS_FIT = 65536 / (BLOCK * HIDDEN_PITCH),
  BLOCKS = BLOCKS_FIT < 1 ? 1 : BLOCKS_FIT > 8 ? 8 : BLOCKS_FIT,
  TILE_ROWS = OVER ? BLOCK * BLOCKS : TILE,
  X_PITCH = (N_IN + 15) / 16 * 16 + 16,
  WIDEN_X = OVER && DTYPE != DTYPE_F32,
};

/* What a part keeps for itself, as floats: over=0 x and hidden, transposed; else x (of 16 bits), hidden, the packed weights. */
typedef struct part_memory {
  float *hidden, *x;
  float *packed1, *packed2, *panel;
  rgt_int64 packed_group; /* whose weights are packed, or -1 */
} part_memory;

VEC_INLINE rgt_int64 part_memory_size(void) {
  if (!OVER) return TILE * ((rgt_int64)N_IN + N_HIDDEN);
  const rgt_int64 rows = (IS_MLP ? TILE_ROWS * (rgt_int64)HIDDEN_PITCH : 0) + (WIDEN_X ? TILE_ROWS * (rgt_int64)X_PITCH : 0);
  if (PACKED == 2) return rows + PANEL * (rgt_int64)(N_IN > N_HIDDEN ? N_IN : N_HIDDEN);
  if (PACKED == 0) return rows;
  return rows + outputs_packed_size(N_IN, IS_MLP ? N_HIDDEN : N_OUT) + (IS_MLP ? outputs_packed_size(N_HIDDEN, N_OUT) : 0);
}

VEC_INLINE part_memory part_memory_at(float *base) {
  part_memory m;
  m.hidden = base;
  m.x = base + (OVER ? IS_MLP ? TILE_ROWS * (rgt_int64)HIDDEN_PITCH : 0 : TILE * (rgt_int64)N_HIDDEN);
  m.packed1 = m.panel = m.x + (WIDEN_X ? TILE_ROWS * (rgt_int64)X_PITCH : 0);
  m.packed2 = m.packed1 + outputs_packed_size(N_IN, N_HIDDEN);
  m.packed_group = -1;
  return m;
}

/* The last layer of a tile whose lanes are rows: CHUNK outputs, then back to rows. */
VEC_INLINE void last_layer_chunk(const elem *w, rgt_int64 ld, const elem *b, const float *from, rgt_int64 n_k, rgt_int64 first,
                                 rgt_int64 n_n, int vectors, int act, rgt_int64 n_rows, elem *const *y, int add) {
  float yt[CHUNK * TILE] __attribute__((aligned(64)));
  rows_layer(KN, w, ld, b, from, n_k, first, n_n, vectors, act, yt);
  rows_unpack(yt, n_n, n_rows, y, first, add);
}

VEC_INLINE void last_layer(const elem *w, rgt_int64 ld, const elem *b, const float *from, rgt_int64 n_k, int vectors, int act,
                           rgt_int64 n_rows, elem *const *y, int add) {
  rgt_int64 n = 0;
  for (; n + CHUNK <= N_OUT; n += CHUNK) last_layer_chunk(w, ld, b, from, n_k, n, CHUNK, vectors, act, n_rows, y, add);
  if (N_OUT % CHUNK) last_layer_chunk(w, ld, b, from, n_k, n, N_OUT % CHUNK, vectors, act, n_rows, y, add);
}

/* Lanes are rows; vectors of them, a constant. */
VEC_INLINE void tile_over_rows(const rgt_kargs *k, rgt_int64 g, const part_memory *m, int vectors, rgt_int64 n_rows,
                               const elem *const *x, elem *const *y) {
  const int add = call_adds(k);
  rows_pack(x, vectors, N_IN, m->x);
  if (IS_MLP) {
    rows_layer(KN, weights1(k, g), k->ld_w1, bias1(k, g), m->x, N_IN, 0, N_HIDDEN, vectors, ACT, m->hidden);
    last_layer(weights2(k, g), k->ld_w2, bias2(k, g), m->hidden, N_HIDDEN, vectors, ACT_NONE, n_rows, y, add);
  } else {
    last_layer(weights1(k, g), k->ld_w1, bias1(k, g), m->x, N_IN, vectors, ACT, n_rows, y, add);
  }
}

/* Lanes are outputs. */
VEC_INLINE void tile_over_outputs(const rgt_kargs *k, rgt_int64 g, part_memory *m, rgt_int64 n_rows, const elem *const *x,
                                  elem *const *y) {
  const void *w1 = weights1(k, g), *w2 = IS_MLP ? weights2(k, g) : w1;
  const elem *wide[TILE_ROWS];
  if (PACKED == 1 && m->packed_group != g) {
    outputs_pack(KN, w1, k->ld_w1, N_IN, IS_MLP ? N_HIDDEN : N_OUT, m->packed1);
    if (IS_MLP) outputs_pack(KN, w2, k->ld_w2, N_HIDDEN, N_OUT, m->packed2);
    m->packed_group = g;
  }
  if (PACKED == 1) {
    w1 = m->packed1;
    w2 = m->packed2;
  }
  if (WIDEN_X) {
    outputs_widen(x, N_IN, n_rows, X_PITCH, m->x, wide);
    x = wide;
  }
  if (!IS_MLP) {
    outputs_layer(PACKED, KN, w1, k->ld_w1, bias1(k, g), x, N_IN, N_OUT, n_rows, ACT, m->panel, y, 0, call_adds(k));
    return;
  }
  elem *h[TILE_ROWS];
  for (rgt_int64 i = 0; i < n_rows; i++) h[i] = (elem *)(m->hidden + i * HIDDEN_PITCH);
  outputs_layer(PACKED, KN, w1, k->ld_w1, bias1(k, g), x, N_IN, N_HIDDEN, n_rows, ACT, m->panel, h, 1, 0);
  outputs_layer(PACKED, KN, w2, k->ld_w2, bias2(k, g), (const elem *const *)h, N_HIDDEN, N_OUT, n_rows, ACT_NONE, m->panel, y,
                0, call_adds(k));
}

/* Lanes run along k. */
VEC_INLINE void tile_over_k(const rgt_kargs *k, rgt_int64 g, const part_memory *m, rgt_int64 n_rows, const elem *const *x,
                            elem *const *y) {
  const elem *wide[TILE_ROWS];
  if (WIDEN_X) {
    outputs_widen(x, N_IN, n_rows, X_PITCH, m->x, wide);
    x = wide;
  }
  if (!IS_MLP) {
    dots_layer(weights1(k, g), k->ld_w1, bias1(k, g), x, N_IN, N_OUT, n_rows, ACT, y, 0, call_adds(k));
    return;
  }
  elem *h[TILE_ROWS];
  for (rgt_int64 i = 0; i < n_rows; i++) h[i] = (elem *)(m->hidden + i * HIDDEN_PITCH);
  dots_layer(weights1(k, g), k->ld_w1, bias1(k, g), x, N_IN, N_HIDDEN, n_rows, ACT, h, 1, 0);
  dots_layer(weights2(k, g), k->ld_w2, bias2(k, g), (const elem *const *)h, N_HIDDEN, N_OUT, n_rows, ACT_NONE, y, 0,
             call_adds(k));
}

/* n_rows >= 1 rows of group g, whose numbers are at `numbers`, or run from `first` on where that is NULL, a constant. */
static inline void tile(const rgt_kargs *k, rgt_int64 g, part_memory *m, const int *numbers, rgt_int64 first,
                        rgt_int64 n_rows) {
  const elem *x[TILE_ROWS];
  elem *y[TILE_ROWS];
  for (rgt_int64 i = 0; i < TILE_ROWS; i++) {
    const rgt_int64 at = i < n_rows ? i : n_rows - 1, r = numbers ? numbers[at] : first + at;
    x[i] = call_x(k, r);
    y[i] = call_y(k, r);
  }
  if (OVER == 2)
    tile_over_k(k, g, m, n_rows, x, y);
  else if (OVER)
    tile_over_outputs(k, g, m, n_rows, x, y);
  else if (VECTORS > 1 && n_rows <= LANES)
    tile_over_rows(k, g, m, 1, n_rows, x, y);
  else
    tile_over_rows(k, g, m, VECTORS, n_rows, x, y);
}

#if ORDER == ORDER_RAW

static void compute(const rgt_kargs *k, const group_sort *s, float *memory, rgt_int64 part, rgt_int64 n_parts) {
  const rgt_int64 n_tiles = s->tile_first[k->groups], end = call_share(n_tiles, part + 1, n_parts);
  rgt_int64 t = call_share(n_tiles, part, n_parts);
  if (t == end) return;
  part_memory m = part_memory_at(memory + sort_aligned(part_memory_size()) * part);
  for (rgt_int64 g = sort_group_of_tile(k, s, t); t < end; t++) {
    while (t >= s->tile_first[g + 1]) g++;
    const rgt_int64 first = s->row_first[g] + (t - s->tile_first[g]) * TILE_ROWS;
    const rgt_int64 left = s->row_first[g + 1] - first;
    tile(k, g, &m, s->rows_of_groups + first, 0, left < TILE_ROWS ? left : TILE_ROWS);
  }
}

#else

/* The rows as they come: runs of one group. */
static void compute_runs(const rgt_kargs *k, float *memory, rgt_int64 part, rgt_int64 n_parts) {
  const rgt_int64 end = call_share(k->rows, part + 1, n_parts);
  rgt_int64 walk = 0, n, g;
  part_memory m = part_memory_at(memory + sort_aligned(part_memory_size()) * part);
  for (rgt_int64 r = call_share(k->rows, part, n_parts); r < end; r += n) {
    n = run_rows(k, ORDER, INDEX_BITS, r, end - r < TILE_ROWS ? end - r : TILE_ROWS, &walk, &g);
    if (call_live(k, g)) {
      tile(k, g, &m, 0, r, n);
      continue;
    }
    call_report(k, g, r);
    call_none(k, r, N_OUT);
  }
}

#endif

__attribute__((visibility("default"))) void KERNEL(group_tiles)(const rgt_kargs *k, void *workspace, int step, rgt_int64 part,
                                                                rgt_int64 n_parts) {
#if ORDER != ORDER_RAW
  (void)step;
  compute_runs(k, workspace, part, n_parts);
#else
  const group_sort s = sort_layout(k, workspace);
  if (step == 0)
    sort_count(k, &s, INDEX_BITS, part, n_parts);
  else if (step == 1)
    sort_place(k, &s, INDEX_BITS, TILE_ROWS, N_OUT, part, n_parts);
  else
    compute(k, &s, (float *)s.counts, part, n_parts);
#endif
}
