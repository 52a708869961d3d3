/* tile_rows.h -- register tiles whose lanes are rows. Weights are broadcast from where they lie, in either layout, so nothing
 * is packed but x. Needs vec.h, shuffle.h, act.h, tile.h; VECTORS (of rows) and BLOCK (outputs) are constants.
 *
 * Inside a tile everything is transposed: value i of tile row j lies at [i * TILE + j], TILE = VECTORS * LANES.
 * Each sum starts at its bias and is a chain over k: class seq. Lanes past the last row hold that row once more: no sum of
 * one row ever meets another row's. */
enum { TILE = VECTORS * LANES };

/* x of the tile's rows, transposed. row[j] for j < vectors * LANES; vectors is a constant. */
VEC_INLINE void rows_pack(const float *const *row, int vectors, rgt_int64 n_k, float *xt) {
  for (int v = 0; v < vectors; v++) vf_rows_to_columns(row + v * LANES, n_k, xt + v * LANES, TILE);
}

/* yt[n_n][TILE] to columns from `at` on of the first n_rows rows. */
VEC_INLINE void rows_unpack(const float *yt, rgt_int64 n_n, rgt_int64 n_rows, float *const *row, rgt_int64 at) {
  rgt_int64 i = 0;
  for (; i + LANES <= n_rows; i += LANES) vf_columns_to_rows(yt + i, TILE, n_n, LANES, row + i, at);
  if (i < n_rows) vf_columns_to_rows(yt + i, TILE, n_n, n_rows - i, row + i, at);
}

/* n <= BLOCK outputs for vectors * LANES rows over n_k values; vectors and n are constants. Weight (n, k) is at w[n * ld_n + k
 * * ld_k]. Sums begin at the bias, or where `yt` has them from the values before (not `first`); `act` is for the last values
 * only. */
VEC_INLINE void rows_block(const float *w, rgt_int64 ld_n, rgt_int64 ld_k, int first, const float *b, const float *xt,
                           rgt_int64 n_k, int vectors, int n, int act, float *yt) {
  vf sum[BLOCK * VECTORS];
  UNROLL
  for (int i = 0; i < n; i++) {
    UNROLL
    for (int v = 0; v < vectors; v++)
      sum[i * vectors + v] = !first ? vf_load(yt + i * TILE + v * LANES) : b ? vf_set1(b[i]) : vf_zero();
  }
  for (rgt_int64 k = 0; k < n_k; k++, w += ld_k, xt += TILE) {
    if (n_k >= 64 && ld_k == 1 && k % 16 == 0) {
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
  tile_act(act, sum, n * vectors);
  UNROLL
  for (int i = 0; i < n; i++) {
    UNROLL
    for (int v = 0; v < vectors; v++) vf_store(yt + i * TILE + v * LANES, sum[i * vectors + v]);
  }
}

/* n_n outputs over n_k values: BLOCK outputs at a time, then the rest, whose number a constant decides. */
VEC_INLINE void rows_outputs(const float *w, rgt_int64 ld_n, rgt_int64 ld_k, int first, const float *b, const float *xt,
                             rgt_int64 n_k, rgt_int64 n_n, int vectors, int act, float *yt) {
  rgt_int64 n = 0;
  for (; n + BLOCK <= n_n; n += BLOCK)
    rows_block(w + n * ld_n, ld_n, ld_k, first, b ? b + n : b, xt, n_k, vectors, BLOCK, act, yt + n * TILE);
  UNROLL
  for (int left = 1; left < BLOCK; left++)
    if (n_n - n == left) rows_block(w + n * ld_n, ld_n, ld_k, first, b ? b + n : b, xt, n_k, vectors, left, act, yt + n * TILE);
}

/* x is taken ROWS_K values at a time, 64 KiB of a tile: what all outputs share stays near. */
enum { ROWS_K = 16384 / TILE };

/* A layer's outputs [from, from + n_n) into yt, output `from` at yt[0]; vectors and n_n are constants. */
VEC_INLINE void rows_layer(int layout_kn, const float *w, rgt_int64 ld, const float *b, const float *xt, rgt_int64 n_k,
                           rgt_int64 from, rgt_int64 n_n, int vectors, int act, float *yt) {
  const rgt_int64 ld_n = layout_kn ? 1 : ld, ld_k = layout_kn ? ld : 1;
  w += from * ld_n;
  b = b ? b + from : b;
  if (n_k <= ROWS_K) {
    rows_outputs(w, ld_n, ld_k, 1, b, xt, n_k, n_n, vectors, act, yt);
    return;
  }
  rgt_int64 k = 0;
  for (; k + ROWS_K < n_k; k += ROWS_K)
    rows_outputs(w + k * ld_k, ld_n, ld_k, k == 0, b, xt + k * TILE, ROWS_K, n_n, vectors, ACT_NONE, yt);
  rows_outputs(w + k * ld_k, ld_n, ld_k, 0, b, xt + k * TILE, n_k - k, n_n, vectors, act, yt);
}
