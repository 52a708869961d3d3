/* tile_rows.h -- register tiles whose lanes are rows. Weights are broadcast from where they lie, in either layout, so nothing
 * is packed but x; of 16 bits they are widened first, some at a time. Needs vec.h, elem.h, shuffle.h, act.h, tile.h; VECTORS
 * (of rows), BLOCK (outputs) and CHUNK, a multiple of BLOCK, are constants.
 *
 * Inside a tile everything is transposed: value i of tile row j lies at [i * TILE + j], TILE = VECTORS * LANES.
 * Each sum starts at its bias and is a chain over k: class seq. Lanes past the last row hold that row once more: no sum of
 * one row ever meets another row's. */
enum { TILE = VECTORS * LANES };

/* x of the tile's rows, transposed. row[j] for j < vectors * LANES; vectors is a constant. */
VEC_INLINE void rows_pack(const elem *const *row, int vectors, rgt_int64 n_k, float *xt) {
  for (int v = 0; v < vectors; v++) vf_rows_to_columns(row + v * LANES, n_k, xt + v * LANES, TILE);
}

/* yt[n_n][TILE] to columns from `at` on of the first n_rows rows, or added to them. */
VEC_INLINE void rows_unpack(const float *yt, rgt_int64 n_n, rgt_int64 n_rows, elem *const *row, rgt_int64 at, int add) {
  rgt_int64 i = 0;
  if (add) {
    for (; i < n_rows; i += LANES)
      vf_columns_added(yt + i, TILE, n_n, n_rows - i < LANES ? n_rows - i : LANES, row + i, at);
    return;
  }
  for (; i + LANES <= n_rows; i += LANES) vf_columns_to_rows(yt + i, TILE, n_n, LANES, row + i, at);
  if (i < n_rows) vf_columns_to_rows(yt + i, TILE, n_n, n_rows - i, row + i, at);
}

/* n <= BLOCK outputs for vectors * LANES rows over n_k values; vectors and n are constants. Weight (n, k) is at w[n * ld_n + k
 * * ld_k]. Sums begin at the bias, or where `yt` has them from the values before (not `first`); `act` is for the last values
 * only. */
VEC_INLINE void rows_block(const float *w, rgt_int64 ld_n, rgt_int64 ld_k, int first, int last, const elem *b, const float *xt,
                           rgt_int64 n_k, int vectors, int n, int act, float *yt) {
  vf sum[BLOCK * VECTORS];
  UNROLL
  for (int i = 0; i < n; i++) {
    UNROLL
    for (int v = 0; v < vectors; v++)
      sum[i * vectors + v] = !first ? vf_load(yt + i * TILE + v * LANES) : b ? ve_set1(b + i) : vf_zero();
  }
  for (rgt_int64 k = 0; k < n_k; k++, w += ld_k, xt += TILE) {
    if (DTYPE == DTYPE_F32 && n_k >= 64 && ld_k == 1 && k % 16 == 0) {
      UNROLL
      for (int i = 0; i < n; i++) __builtin_prefetch(w + (i + BLOCK) * ld_n, 0, 2);
    }
    vf x[VECTORS];
    UNROLL
    for (int v = 0; v < vectors; v++) x[v] = vf_load(xt + v * LANES);
    UNROLL
    for (int i = 0; i < n; i++) {
      const vf wi = vf_set1(w[i * ld_n]);
      UNROLL
      for (int v = 0; v < vectors; v++) sum[i * vectors + v] = vf_fma(x[v], wi, sum[i * vectors + v]);
    }
  }
  if (last) tile_act(act, sum, n * vectors);
  UNROLL
  for (int i = 0; i < n; i++) {
    UNROLL
    for (int v = 0; v < vectors; v++) vf_store(yt + i * TILE + v * LANES, sum[i * vectors + v]);
  }
}

/* n_n outputs over n_k values: BLOCK outputs at a time, then the rest, whose number a constant decides. */
VEC_INLINE void rows_outputs(const float *w, rgt_int64 ld_n, rgt_int64 ld_k, int first, int last, const elem *b,
                             const float *xt, rgt_int64 n_k, rgt_int64 n_n, int vectors, int act, float *yt) {
  rgt_int64 n = 0;
  for (; n + BLOCK <= n_n; n += BLOCK)
    rows_block(w + n * ld_n, ld_n, ld_k, first, last, b ? b + n : b, xt, n_k, vectors, BLOCK, act, yt + n * TILE);
  UNROLL
  for (int left = 1; left < BLOCK; left++)
    if (n_n - n == left)
      rows_block(w + n * ld_n, ld_n, ld_k, first, last, b ? b + n : b, xt, n_k, vectors, left, act, yt + n * TILE);
}

#if DTYPE == DTYPE_F32

/* x is taken ROWS_K values at a time, 64 KiB of a tile: what all outputs share stays near. */
enum { ROWS_K = 16384 / TILE };

/* Some values of a layer's outputs [0, n_n). */
VEC_INLINE void rows_part(int layout_kn, const elem *w, rgt_int64 ld, int first, int last, const elem *b, const float *xt,
                          rgt_int64 n_k, rgt_int64 n_n, int vectors, int act, float *yt) {
  rows_outputs(w, layout_kn ? 1 : ld, layout_kn ? ld : 1, first, last, b, xt, n_k, n_n, vectors, act, yt);
}

#else

/* 16-bit weights are widened as they lie, CHUNK outputs over ROWS_K values at a time: whole vectors of them, once for all rows
 * of the tile. */
enum { ROWS_K = 128 };

/* n rows of n_values each, ld apart, to floats with a pitch of whole vectors, which is returned. */
VEC_INLINE rgt_int64 rows_widen(const elem *w, rgt_int64 ld, rgt_int64 n, rgt_int64 n_values, float *wide) {
  const rgt_int64 pitch = (n_values + LANES - 1) / LANES * LANES;
  for (rgt_int64 i = 0; i < n; i++, w += ld, wide += pitch) {
    rgt_int64 v = 0;
    for (; v + LANES <= n_values; v += LANES) vf_store(wide + v, ve_load(w + v));
    if (v < n_values) vf_store(wide + v, ve_load_part(w + v, n_values - v));
  }
  return pitch;
}

VEC_INLINE void rows_chunk(int layout_kn, const elem *w, rgt_int64 ld, int first, int last, const elem *b, const float *xt,
                           rgt_int64 n_k, rgt_int64 n_n, int vectors, int act, float *yt) {
  float wide[ROWS_K * CHUNK] __attribute__((aligned(64)));
  const rgt_int64 pitch = layout_kn ? rows_widen(w, ld, n_k, n_n, wide) : rows_widen(w, ld, n_n, n_k, wide);
  rows_outputs(wide, layout_kn ? 1 : pitch, layout_kn ? pitch : 1, first, last, b, xt, n_k, n_n, vectors, act, yt);
}

VEC_INLINE void rows_part(int layout_kn, const elem *w, rgt_int64 ld, int first, int last, const elem *b, const float *xt,
                          rgt_int64 n_k, rgt_int64 n_n, int vectors, int act, float *yt) {
  const rgt_int64 ld_n = layout_kn ? 1 : ld, whole = n_n / CHUNK * CHUNK;
  for (rgt_int64 n = 0; n < whole; n += CHUNK)
    rows_chunk(layout_kn, w + n * ld_n, ld, first, last, b ? b + n : b, xt, n_k, CHUNK, vectors, act, yt + n * TILE);
  if (whole < n_n)
    rows_chunk(layout_kn, w + whole * ld_n, ld, first, last, b ? b + whole : b, xt, n_k, n_n - whole, vectors, act,
               yt + whole * TILE);
}

#endif

/* A layer's outputs [from, from + n_n) into yt, output `from` at yt[0]; vectors and n_n are constants. */
VEC_INLINE void rows_layer(int layout_kn, const elem *w, rgt_int64 ld, const elem *b, const float *xt, rgt_int64 n_k,
                           rgt_int64 from, rgt_int64 n_n, int vectors, int act, float *yt) {
  const rgt_int64 ld_k = layout_kn ? ld : 1;
  w += from * (layout_kn ? 1 : ld);
  b = b ? b + from : b;
  if (n_k <= ROWS_K) {
    rows_part(layout_kn, w, ld, 1, 1, b, xt, n_k, n_n, vectors, act, yt);
    return;
  }
  rgt_int64 k = 0;
  for (; k + ROWS_K < n_k; k += ROWS_K)
    rows_part(layout_kn, w + k * ld_k, ld, k == 0, 0, b, xt + k * TILE, ROWS_K, n_n, vectors, act, yt);
  rows_part(layout_kn, w + k * ld_k, ld, 0, 1, b, xt + k * TILE, n_k - k, n_n, vectors, act, yt);
}
