/* tile_dots.h -- register tiles whose lanes run along k, for nk weights as they lie: a vector of weights is read, and widened,
 * once for up to DOT_ROWS rows. What is bound by the weights' bytes, few rows on large matrices, does best so. Needs vec.h,
 * elem.h, shuffle.h, act.h.
 *
 * Four outputs at a time. Each sum is one of vectors over k, added up by one tree, and the bias comes last: class dot<LANES>,
 * the bits of layer_row.h. x is f32, as in tile_outputs.h; y_ours says that y's are floats of our own. add: elem.h. */
enum {
  DOT_ROWS = DEVICE_LANES_MAX == 16 ? 4 : 2, /* four sums each: as many as the registers hold */
  DOT_ROWS_SUMMED = LANES / 4,               /* whose four sums a tree takes */
};

/* b[0 .. n) for n <= 4, the same in every four lanes. Of floats exactly those are read: gcc takes a masked load of which only the
 * low lanes are used for a whole one, which may reach past the bias. */
VEC_INLINE vf dots_bias(const elem *b, rgt_int64 n) {
  float t[LANES], all[LANES];
  if (DTYPE != DTYPE_F32)
    vf_store(t, ve_load_part(b, n));
  else if (n == 4)
    *(v4_mem *)t = *(const v4_mem *)b;
  else
    for (rgt_int64 o = 0; o < 4; o++) t[o] = o < n ? ((const float *)b)[o] : 0.0f;
  for (int i = 0; i < LANES; i += 4) *(v4_mem *)(all + i) = *(const v4_mem *)t;
  return vf_load(all);
}

/* n <= 4 sums, added to y. */
static __attribute__((noinline, unused)) void dots_added(elem *y, const float *sum, rgt_int64 n) {
  elem t[LANES] = {0};
  float v[LANES] = {0};
  for (rgt_int64 o = 0; o < n; o++) {
    t[o] = y[o];
    v[o] = sum[o];
  }
  ve_store(t, ve_load(t) + vf_load(v));
  for (rgt_int64 o = 0; o < n; o++) y[o] = t[o];
}

/* Four lanes from 4 * i on of v, rounded, to the first n <= 4 of y. */
VEC_INLINE void dots_store(void *y, const vf *v, int i, rgt_int64 n, int y_ours, int add) {
  if (!y_ours && add) {
    float sums[LANES];
    vf_store(sums, *v);
    dots_added(y, sums + 4 * i, n);
    return;
  }
  if (!y_ours && DTYPE != DTYPE_F32) {
    elem t[LANES];
    ve_store(t, *v);
    for (rgt_int64 o = 0; o < n; o++) ((elem *)y)[o] = t[4 * i + o];
    return;
  }
  float t[LANES];
  vf_store(t, *v);
  if (n == 4)
    *(v4_mem *)y = *(const v4_mem *)(t + 4 * i);
  else
    for (rgt_int64 o = 0; o < n; o++) ((float *)y)[o] = t[4 * i + o];
}

/* n_outputs <= 4 outputs from row 0 of w on, for n_rows <= rows rows; rows is a constant. */
VEC_INLINE void dots_block(const elem *w, rgt_int64 ld, const elem *b, const elem *const *x, rgt_int64 n_k, int rows,
                           rgt_int64 n_rows, rgt_int64 n_outputs, int act, elem *const *y, int y_ours, int add,
                           rgt_int64 column) {
  vf sum[DOT_ROWS][4];
  const float *xi[DOT_ROWS];
  const elem *wo[4];
  UNROLL
  for (int o = 0; o < 4; o++) wo[o] = w + (o < n_outputs ? o : n_outputs - 1) * ld;
  UNROLL
  for (int i = 0; i < rows; i++) {
    xi[i] = (const float *)x[i < n_rows ? i : n_rows - 1];
    UNROLL
    for (int o = 0; o < 4; o++) sum[i][o] = vf_zero();
  }
  rgt_int64 k = 0;
  for (; k + LANES <= n_k; k += LANES) {
    if (n_k >= 64 && k % (64 / ELEM_BYTES) == 0) { /* the next four rows of weights */
      UNROLL
      for (int o = 0; o < 4; o++) __builtin_prefetch(wo[o] + 4 * ld + k, 0, 2);
    }
    vf wk[4];
    UNROLL
    for (int o = 0; o < 4; o++) wk[o] = ve_load(wo[o] + k);
    UNROLL
    for (int i = 0; i < rows; i++) {
      const vf xk = vf_load(xi[i] + k);
      UNROLL
      for (int o = 0; o < 4; o++) sum[i][o] = vf_fma(wk[o], xk, sum[i][o]);
    }
  }
  if (k < n_k) {
    UNROLL
    for (int i = 0; i < rows; i++) {
      const vf xk = vf_load_part(xi[i] + k, n_k - k);
      UNROLL
      for (int o = 0; o < 4; o++) sum[i][o] = vf_fma(ve_load_part(wo[o] + k, n_k - k), xk, sum[i][o]);
    }
  }
  const vf bias = b ? dots_bias(b, n_outputs) : vf_zero();
  UNROLL
  for (int first = 0; first < rows; first += DOT_ROWS_SUMMED) {
    vf parts[LANES];
    UNROLL
    for (int j = 0; j < LANES; j++) parts[j] = first + j / 4 < rows ? sum[first + j / 4][j % 4] : vf_zero();
    vf z = vf_sums(parts);
    if (b) z += bias;
    z = act_select(act, z);
    UNROLL
    for (int j = 0; j < DOT_ROWS_SUMMED && first + j < rows; j++)
      if (first + j < n_rows) dots_store(val_to(y[first + j], column, y_ours), &z, j, n_outputs, y_ours, add);
  }
}

/* A layer for n_rows rows, x[i] to y[i]; n_k and n_n are constants. */
VEC_INLINE void dots_layer(const elem *w, rgt_int64 ld, const elem *b, const elem *const *x, rgt_int64 n_k, rgt_int64 n_n,
                           rgt_int64 n_rows, int act, elem *const *y, int y_ours, int add) {
  for (rgt_int64 n = 0; n < n_n; n += 4, w += 4 * ld, b = b ? b + 4 : b) {
    const rgt_int64 n_outputs = n_n - n < 4 ? n_n - n : 4;
    rgt_int64 r = 0;
    for (; n_rows - r > DOT_ROWS / 2; r += DOT_ROWS)
      dots_block(w, ld, b, x + r, n_k, DOT_ROWS, n_rows - r, n_outputs, act, y + r, y_ours, add, n);
    if (DOT_ROWS == 4 && n_rows - r == 2) {
      dots_block(w, ld, b, x + r, n_k, 2, 2, n_outputs, act, y + r, y_ours, add, n);
      r += 2;
    }
    if (n_rows - r > 0) dots_block(w, ld, b, x + r, n_k, 1, 1, n_outputs, act, y + r, y_ours, add, n);
  }
}
