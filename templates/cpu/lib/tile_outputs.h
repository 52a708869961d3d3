/* tile_outputs.h -- register tiles whose lanes are outputs: a few rows share each vector of weights; x is broadcast from where
 * it lies. Needs vec.h, shuffle.h, act.h, tile.h; VECTORS (of outputs) and BLOCK (rows) are constants.
 *
 * Weights are read as panels of PANEL = VECTORS * LANES outputs: value (k, n) of a panel at [k * ld + n]. A kn matrix is that
 * as it lies; outputs_pack makes it from either layout. Each sum starts at its bias and is a chain over k: class seq. */
enum { PANEL = VECTORS * LANES };

/* Floats of a packed matrix: whole panels. */
VEC_INLINE rgt_int64 outputs_packed_size(rgt_int64 n_k, rgt_int64 n_n) {
  return (n_n + PANEL - 1) / PANEL * PANEL * n_k;
}

/* LANES outputs, k by k, to `to` with a pitch of PANEL; past n_outputs the last one again. */
VEC_INLINE void outputs_pack_nk(const float *w, rgt_int64 ld, rgt_int64 n_k, rgt_int64 n_outputs, float *to) {
  const float *row[LANES];
  UNROLL
  for (int i = 0; i < LANES; i++) row[i] = w + (i < n_outputs ? i : n_outputs - 1) * ld;
  vf_rows_to_columns(row, n_k, to, PANEL);
}

/* One panel of n_n outputs from column or row 0 of w; what it holds past them is not used. */
static __attribute__((noinline, unused)) void outputs_pack_panel(int layout_kn, const float *w, rgt_int64 ld, rgt_int64 n_k,
                                                                 rgt_int64 n_n, float *to) {
  if (!layout_kn) {
    for (rgt_int64 n = 0; n < PANEL && n < n_n; n += LANES) outputs_pack_nk(w + n * ld, ld, n_k, n_n - n, to + n);
    return;
  }
  for (rgt_int64 k = 0; k < n_k; k++, w += ld, to += PANEL) {
    for (rgt_int64 n = 0; n < PANEL && n < n_n; n += LANES) {
      __builtin_prefetch(w + 8 * ld + n);
      vf_store(to + n, n_n - n >= LANES ? vf_load(w + n) : vf_load_part(w + n, n_n - n));
    }
  }
}

VEC_INLINE void outputs_pack(int layout_kn, const float *w, rgt_int64 ld, rgt_int64 n_k, rgt_int64 n_n, float *to) {
  for (rgt_int64 n = 0; n < n_n; n += PANEL)
    outputs_pack_panel(layout_kn, w + (layout_kn ? n : n * ld), ld, n_k, n_n - n, to + n * n_k);
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
    if (!padded && n_k >= 64) { /* as w lies, every k may be a page of its own, which the processor does not foresee */
      UNROLL
      for (int v = 0; v < vectors; v++) __builtin_prefetch(w + 8 * ld + v * LANES);
    }
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

/* A layer for n_rows rows, x[i] to y[i]; n_k and n_n are constants. packed 0: w is a kn matrix as it lies; 1: outputs_pack made
 * it; 2: w is as it lies in either layout, and each panel is packed here, into `panel`, for the rows at hand. */
VEC_INLINE void outputs_layer(int packed, int layout_kn, const float *w, rgt_int64 ld, const float *b, const float *const *x,
                              rgt_int64 n_k, rgt_int64 n_n, rgt_int64 n_rows, int act, float *panel, float *const *y) {
  rgt_int64 n = 0;
  for (; n < n_n; n += PANEL) {
    const float *from = packed == 1 ? w + n * n_k : w + (layout_kn ? n : n * ld);
    const rgt_int64 ld_panel = packed ? PANEL : ld;
    if (packed == 2) {
      outputs_pack_panel(layout_kn, from, ld, n_k, n_n - n, panel);
      from = panel;
    }
    const float *bias = b ? b + n : b;
    if (n + PANEL <= n_n) {
      outputs_panel(from, ld_panel, packed != 0, bias, x, n_k, n_rows, VECTORS, LANES, act, y, n);
      continue;
    }
    const rgt_int64 left = n_n % PANEL; /* a constant decides which of these */
    UNROLL
    for (int v = 1; v <= VECTORS; v++) {
      const rgt_int64 last = left - (v - 1) * LANES;
      if (last >= 1 && last <= LANES) outputs_panel(from, ld_panel, packed != 0, bias, x, n_k, n_rows, v, last, act, y, n);
    }
  }
}
