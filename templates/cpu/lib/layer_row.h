/* layer_row.h -- one layer of one row: y[n] = act( w[n] . x + b[n] ). Needs vec.h, shuffle.h and act.h.
 * LANES and VECTORS (kn: vectors of outputs summed together) are constants. Shared by row_gather and by the built-in kernel, whose dims are run-time values, so that both have the same bits.
 *
 *   w    nk: [n_n, n_k], kn: [n_k, n_n], rows ld elements apart      b  [n_n] or NULL
 *   x    [n_k]                                                      y  [n_n], written in full vectors where they fit
 *
 * nk: lanes run along k, LANES outputs at a time, so their sums cost one tree. Bits: class dot<LANES>.
 * kn: lanes run along n, each a chain over k that starts at the bias. Bits: class seq, whatever LANES is. */

VEC_INLINE void layer_store(float *y, vf v, rgt_int64 n) {
  if (n >= LANES)
    vf_store(y, v);
  else
    vf_store_part(y, v, n);
}

/* Sums of n <= LANES outputs, one a lane. Past n the last row is read again: its sums are not stored. */
VEC_INLINE vf layer_dots(const float *w, rgt_int64 ld, const float *x, rgt_int64 n_k, rgt_int64 n) {
  vf sum[LANES];
  const float *row[LANES];
  UNROLL
  for (int i = 0; i < LANES; i++) {
    sum[i] = vf_zero();
    row[i] = w + (i < n ? i : n - 1) * ld;
  }
  rgt_int64 k = 0;
  for (; k + LANES <= n_k; k += LANES) {
    vf xk = vf_load(x + k);
    UNROLL
    for (int i = 0; i < LANES; i++)
      if (!(__builtin_constant_p(n) && i >= n)) sum[i] = vf_fma(vf_load(row[i] + k), xk, sum[i]);
  }
  if (k < n_k) {
    vf xk = vf_load_part(x + k, n_k - k);
    UNROLL
    for (int i = 0; i < LANES; i++)
      if (!(__builtin_constant_p(n) && i >= n)) sum[i] = vf_fma(vf_load_part(row[i] + k, n_k - k), xk, sum[i]);
  }
  return vf_sums(sum);
}

VEC_INLINE void layer_row_nk(const float *w, rgt_int64 ld, const float *b, const float *x, rgt_int64 n_k, rgt_int64 n_n, int act,
                             float *y) {
  rgt_int64 n = 0;
  for (; n + LANES <= n_n; n += LANES) {
    vf z = layer_dots(w + n * ld, ld, x, n_k, LANES);
    if (b) z += vf_load(b + n);
    vf_store(y + n, act_select(act, z));
  }
  if (n < n_n) {
    vf z = layer_dots(w + n * ld, ld, x, n_k, n_n - n);
    if (b) z += vf_load_part(b + n, n_n - n);
    vf_store_part(y + n, act_select(act, z), n_n - n);
  }
}

/* vectors * LANES outputs, the last vector holding `last` <= LANES of them; vectors is a constant. */
VEC_INLINE void layer_columns(const float *w, rgt_int64 ld, const float *b, const float *x, rgt_int64 n_k, int vectors,
                              rgt_int64 last, int act, float *y) {
  vf sum[VECTORS];
  UNROLL
  for (int v = 0; v < vectors; v++) {
    rgt_int64 n = v + 1 < vectors ? LANES : last;
    sum[v] = !b ? vf_zero() : n == LANES ? vf_load(b + v * LANES) : vf_load_part(b + v * LANES, n);
  }
  for (rgt_int64 k = 0; k < n_k; k++, w += ld) {
    vf xk = vf_set1(x[k]);
    UNROLL
    for (int v = 0; v < vectors; v++) {
      int whole = v + 1 < vectors || (__builtin_constant_p(last) && last == LANES);
      sum[v] = vf_fma(whole ? vf_load(w + v * LANES) : vf_load_part(w + v * LANES, last), xk, sum[v]);
    }
  }
  UNROLL
  for (int v = 0; v < vectors; v++) layer_store(y + v * LANES, act_select(act, sum[v]), v + 1 < vectors ? LANES : last);
}

VEC_INLINE void layer_row_kn(const float *w, rgt_int64 ld, const float *b, const float *x, rgt_int64 n_k, rgt_int64 n_n, int act,
                             float *y) {
  rgt_int64 n = 0;
  for (; n + VECTORS * LANES <= n_n; n += VECTORS * LANES)
    layer_columns(w + n, ld, b ? b + n : b, x, n_k, VECTORS, LANES, act, y + n);
  UNROLL
  for (int v = VECTORS; v >= 1; v--) { /* what is left takes exactly one of these */
    rgt_int64 left = n_n - n - (v - 1) * LANES;
    if (left >= 1 && left <= LANES) layer_columns(w + n, ld, b ? b + n : b, x, n_k, v, left, act, y + n);
  }
}

VEC_INLINE void layer_row(int layout_kn, const float *w, rgt_int64 ld, const float *b, const float *x, rgt_int64 n_k,
                          rgt_int64 n_n, int act, float *y) {
  if (layout_kn)
    layer_row_kn(w, ld, b, x, n_k, n_n, act, y);
  else
    layer_row_nk(w, ld, b, x, n_k, n_n, act, y);
}
