/* tile_outputs.h -- register tiles whose lanes are outputs: a few rows share each vector of weights; x is broadcast from where
 * it lies. Needs vec.h, shuffle.h, act.h, tile.h; VECTORS (of outputs) and BLOCK (rows) are constants.
 *
 * Weights are read as panels of PANEL = VECTORS * LANES outputs: value (k, n) of a panel at [k * ld + n]. A kn matrix is that
 * as it lies; outputs_pack makes it from either layout. Each sum starts at its bias and is a chain over k: class seq. */
enum { PANEL = VECTORS * LANES };

/* Floats of a packed matrix: whole panels, zeros where there is no output. */
VEC_INLINE rgt_int64 outputs_packed_size(rgt_int64 n_k, rgt_int64 n_n) {
  return (n_n + PANEL - 1) / PANEL * PANEL * n_k;
}

/* LANES outputs from n on, k by k, to `to` with a pitch of PANEL. */
VEC_INLINE void outputs_pack_nk(const float *w, rgt_int64 ld, rgt_int64 n_k, rgt_int64 n_outputs, float *to) {
  vf a[LANES];
  for (rgt_int64 k = 0; k < n_k; k += LANES) {
    const rgt_int64 left = n_k - k < LANES ? n_k - k : LANES;
    UNROLL
    for (int i = 0; i < LANES; i++)
      a[i] = i >= n_outputs ? vf_zero() : left == LANES ? vf_load(w + i * ld + k) : vf_load_part(w + i * ld + k, left);
    vf_transpose(a);
    UNROLL
    for (int i = 0; i < LANES; i++)
      if (i < left) vf_store(to + (k + i) * PANEL, a[i]);
  }
}

static __attribute__((noinline, unused)) void outputs_pack(int layout_kn, const float *w, rgt_int64 ld, rgt_int64 n_k,
                                                           rgt_int64 n_n, float *to) {
  if (!layout_kn) {
    for (rgt_int64 n = 0; n < n_n; n += LANES)
      outputs_pack_nk(w + n * ld, ld, n_k, n_n - n, to + n / PANEL * PANEL * n_k + n % PANEL);
    return;
  }
  for (rgt_int64 k = 0; k < n_k; k++, w += ld)
    for (rgt_int64 n = 0; n < n_n; n += LANES)
      vf_store(to + n / PANEL * PANEL * n_k + k * PANEL + n % PANEL,
               n_n - n >= LANES ? vf_load(w + n) : vf_load_part(w + n, n_n - n));
}

/* `rows` rows times `vectors` vectors of outputs, the last of which has `last` outputs; rows and vectors are constants.
 * padded: whole vectors can be read even past `last`. */
VEC_INLINE void outputs_block(const float *w, rgt_int64 ld, int padded, const float *b, const float *const *x, rgt_int64 n_k,
                              int rows, int vectors, rgt_int64 last, int act, float *const *y, rgt_int64 column) {
  vf sum[BLOCK * VECTORS];
  const float *xi[BLOCK];
  UNROLL
  for (int v = 0; v < vectors; v++) {
    const rgt_int64 n = v + 1 < vectors ? LANES : last;
    const vf start = !b ? vf_zero() : n == LANES ? vf_load(b + v * LANES) : vf_load_part(b + v * LANES, n);
    UNROLL
    for (int i = 0; i < rows; i++) sum[i * vectors + v] = start;
  }
  UNROLL
  for (int i = 0; i < rows; i++) xi[i] = x[i];
  for (rgt_int64 k = 0; k < n_k; k++, w += ld) {
    vf wv[VECTORS];
    UNROLL
    for (int v = 0; v < vectors; v++)
      wv[v] = v + 1 < vectors || padded || last == LANES ? vf_load(w + v * LANES) : vf_load_part(w + v * LANES, last);
    UNROLL
    for (int i = 0; i < rows; i++) {
      const vf xk = vf_set1(xi[i][k]);
      UNROLL
      for (int v = 0; v < vectors; v++) sum[i * vectors + v] = vf_fma(wv[v], xk, sum[i * vectors + v]);
    }
  }
  tile_act(act, sum, rows * vectors);
  UNROLL
  for (int i = 0; i < rows; i++) {
    UNROLL
    for (int v = 0; v < vectors; v++) {
      float *to = y[i] + column + v * LANES;
      if (v + 1 < vectors || last == LANES)
        vf_store(to, sum[i * vectors + v]);
      else
        vf_store_part(to, sum[i * vectors + v], last);
    }
  }
}

/* One panel for all rows of a tile: BLOCK at a time, then 4, 2 and 1. */
VEC_INLINE void outputs_panel(const float *w, rgt_int64 ld, int padded, const float *b, const float *const *x, rgt_int64 n_k,
                              rgt_int64 n_rows, int vectors, rgt_int64 last, int act, float *const *y, rgt_int64 column) {
  rgt_int64 r = 0;
  for (; r + BLOCK <= n_rows; r += BLOCK) outputs_block(w, ld, padded, b, x + r, n_k, BLOCK, vectors, last, act, y + r, column);
  if (BLOCK > 4 && n_rows - r >= 4) {
    outputs_block(w, ld, padded, b, x + r, n_k, 4, vectors, last, act, y + r, column);
    r += 4;
  }
  if (n_rows - r >= 2) {
    outputs_block(w, ld, padded, b, x + r, n_k, 2, vectors, last, act, y + r, column);
    r += 2;
  }
  if (n_rows - r >= 1) outputs_block(w, ld, padded, b, x + r, n_k, 1, vectors, last, act, y + r, column);
}

/* A layer for n_rows rows, x[i] to y[i]. w: as packed (ld is PANEL then), or a kn matrix as it lies. n_k and n_n are constants.
 */
VEC_INLINE void outputs_layer(int packed, const float *w, rgt_int64 ld, const float *b, const float *const *x, rgt_int64 n_k,
                              rgt_int64 n_n, rgt_int64 n_rows, int act, float *const *y) {
  rgt_int64 n = 0;
  for (; n + PANEL <= n_n; n += PANEL)
    outputs_panel(packed ? w + n * n_k : w + n, ld, packed, b ? b + n : b, x, n_k, n_rows, VECTORS, LANES, act, y, n);
  UNROLL
  for (int v = 1; v <= VECTORS; v++) { /* what is left takes one of these; a constant decides which */
    const rgt_int64 last = n_n - n - (v - 1) * LANES;
    if (last >= 1 && last <= LANES && n_n - n < PANEL)
      outputs_panel(packed ? w + n * n_k : w + n, ld, packed, b ? b + n : b, x, n_k, n_rows, v, last, act, y, n);
  }
}
