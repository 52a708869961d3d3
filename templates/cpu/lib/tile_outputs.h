/* tile_outputs.h -- register tiles whose lanes are outputs: a few rows share each vector of weights; x is broadcast from where
 * it lies. Needs vec.h, elem.h, shuffle.h, act.h, tile.h; VECTORS (of outputs) and BLOCK (rows) are constants.
 *
 * Weights are read as panels of PANEL = VECTORS * LANES outputs: value (k, n) of a panel at [k * ld + n]. A kn matrix is that
 * as it lies; outputs_pack makes it from either layout. Each sum starts at its bias and is a chain over k: class seq.
 *
 * x is always f32: with 16-bit storage rows are widened to floats of our own first, and panels are packed as floats. Arrays of
 * rows are of elem * all the same; y_ours says of y's that floats lie there. add: elem.h. */
enum { PANEL = VECTORS * LANES };

/* Floats of a packed matrix: whole panels. */
VEC_INLINE rgt_int64 outputs_packed_size(rgt_int64 n_k, rgt_int64 n_n) {
  return (n_n + PANEL - 1) / PANEL * PANEL * n_k;
}

/* LANES outputs, k by k, to `to` with a pitch of PANEL; past n_outputs the last one again. */
VEC_INLINE void outputs_pack_nk(const elem *w, rgt_int64 ld, rgt_int64 n_k, rgt_int64 n_outputs, float *to) {
  const elem *row[LANES];
  UNROLL
  for (int i = 0; i < LANES; i++) row[i] = w + (i < n_outputs ? i : n_outputs - 1) * ld;
  vf_rows_to_columns(row, n_k, to, PANEL);
}

/* One panel of n_n outputs from column or row 0 of w; what it holds past them is not used. */
static __attribute__((noinline, unused)) void outputs_pack_panel(int layout_kn, const elem *w, rgt_int64 ld, rgt_int64 n_k,
                                                                 rgt_int64 n_n, float *to) {
  if (!layout_kn) {
    for (rgt_int64 n = 0; n < PANEL && n < n_n; n += LANES) outputs_pack_nk(w + n * ld, ld, n_k, n_n - n, to + n);
    return;
  }
  for (rgt_int64 k = 0; k < n_k; k++, w += ld, to += PANEL) {
    for (rgt_int64 n = 0; n < PANEL && n < n_n; n += LANES) {
      __builtin_prefetch(w + 8 * ld + n);
      vf_store(to + n, n_n - n >= LANES ? ve_load(w + n) : ve_load_part(w + n, n_n - n));
    }
  }
}

VEC_INLINE void outputs_pack(int layout_kn, const elem *w, rgt_int64 ld, rgt_int64 n_k, rgt_int64 n_n, float *to) {
  for (rgt_int64 n = 0; n < n_n; n += PANEL)
    outputs_pack_panel(layout_kn, w + (layout_kn ? n : n * ld), ld, n_k, n_n - n, to + n * n_k);
}

/* x of a tile's rows as floats, `pitch` apart from `to` on; wide: where each of them lies. */
VEC_INLINE void outputs_widen(const elem *const *x, rgt_int64 n_k, rgt_int64 n_rows, rgt_int64 pitch, float *to,
                              const elem **wide) {
  for (rgt_int64 i = 0; i < n_rows; i++, to += pitch) {
    rgt_int64 k = 0;
    for (; k + LANES <= n_k; k += LANES) vf_store(to + k, ve_load(x[i] + k));
    if (k < n_k) vf_store(to + k, ve_load_part(x[i] + k, n_k - k));
    wide[i] = (const elem *)to;
  }
}

/* `rows` rows times `vectors` vectors of outputs, the last of which has `last` outputs; rows and vectors are constants.
 * packed: w is a panel of ours, whose vectors are whole even past `last`. */
VEC_INLINE void outputs_block(const void *w, rgt_int64 ld, int packed, const elem *b, const elem *const *x, rgt_int64 n_k,
                              int rows, int vectors, rgt_int64 last, int act, elem *const *y, int y_ours, int add,
                              rgt_int64 column) {
  vf sum[BLOCK * VECTORS];
  const float *xi[BLOCK];
  UNROLL
  for (int v = 0; v < vectors; v++) {
    const rgt_int64 n = v + 1 < vectors ? LANES : last;
    const vf start = !b ? vf_zero() : n == LANES ? ve_load(b + v * LANES) : ve_load_part(b + v * LANES, n);
    UNROLL
    for (int i = 0; i < rows; i++) sum[i * vectors + v] = start;
  }
  UNROLL
  for (int i = 0; i < rows; i++) xi[i] = (const float *)x[i];
  for (rgt_int64 k = 0; k < n_k; k++, w = val_at(w, ld, packed)) {
    vf wv[VECTORS];
    if (!packed && n_k >= 64) { /* as w lies, every k may be a page of its own, which the processor does not foresee */
      UNROLL
      for (int v = 0; v < vectors; v++) __builtin_prefetch(val_at(w, 8 * ld + v * LANES, packed));
    }
    UNROLL
    for (int v = 0; v < vectors; v++)
      wv[v] = v + 1 < vectors || packed || last == LANES ? val_load(w, v * LANES, packed)
                                                         : val_load_part(w, v * LANES, last, packed);
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
      if (v + 1 < vectors || last == LANES)
        val_store(y[i], column + v * LANES, sum[i * vectors + v], y_ours, add);
      else
        val_store_part(y[i], column + v * LANES, sum[i * vectors + v], last, y_ours, add);
    }
  }
}

/* One panel for all rows of a tile: BLOCK at a time, then 4, 2 and 1. */
VEC_INLINE void outputs_panel(const void *w, rgt_int64 ld, int packed, const elem *b, const elem *const *x, rgt_int64 n_k,
                              rgt_int64 n_rows, int vectors, rgt_int64 last, int act, elem *const *y, int y_ours, int add,
                              rgt_int64 column) {
  rgt_int64 r = 0;
  for (; r + BLOCK <= n_rows; r += BLOCK)
    outputs_block(w, ld, packed, b, x + r, n_k, BLOCK, vectors, last, act, y + r, y_ours, add, column);
  if (BLOCK > 4 && n_rows - r >= 4) {
    outputs_block(w, ld, packed, b, x + r, n_k, 4, vectors, last, act, y + r, y_ours, add, column);
    r += 4;
  }
  if (n_rows - r >= 2) {
    outputs_block(w, ld, packed, b, x + r, n_k, 2, vectors, last, act, y + r, y_ours, add, column);
    r += 2;
  }
  if (n_rows - r >= 1) outputs_block(w, ld, packed, b, x + r, n_k, 1, vectors, last, act, y + r, y_ours, add, column);
}

/* A layer for n_rows rows, x[i] to y[i]; n_k and n_n are constants. packed 0: w is a kn matrix as it lies; 1: outputs_pack made
 * it; 2: w is as it lies in either layout, and each panel is packed here, into `panel`, for the rows at hand. */
VEC_INLINE void outputs_layer(int packed, int layout_kn, const void *w, rgt_int64 ld, const elem *b, const elem *const *x,
                              rgt_int64 n_k, rgt_int64 n_n, rgt_int64 n_rows, int act, float *panel, elem *const *y,
                              int y_ours, int add) {
  rgt_int64 n = 0;
  for (; n < n_n; n += PANEL) {
    const void *from = packed == 1 ? val_at(w, n * n_k, 1) : val_at(w, layout_kn ? n : n * ld, 0);
    const rgt_int64 ld_panel = packed ? PANEL : ld;
    if (packed == 2) {
      outputs_pack_panel(layout_kn, from, ld, n_k, n_n - n, panel);
      from = panel;
    }
    const elem *bias = b ? b + n : b;
    if (n + PANEL <= n_n) {
      outputs_panel(from, ld_panel, packed != 0, bias, x, n_k, n_rows, VECTORS, LANES, act, y, y_ours, add, n);
      continue;
    }
    const rgt_int64 left = n_n % PANEL; /* a constant decides which of these */
    UNROLL
    for (int v = 1; v <= VECTORS; v++) {
      const rgt_int64 last = left - (v - 1) * LANES;
      if (last >= 1 && last <= LANES)
        outputs_panel(from, ld_panel, packed != 0, bias, x, n_k, n_rows, v, last, act, y, y_ours, add, n);
    }
  }
}
