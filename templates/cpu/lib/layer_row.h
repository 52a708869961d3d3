/* layer_row.h -- one layer of one row: y[n] = act( w[n] . x + b[n] ). Needs vec.h, elem.h, shuffle.h and act.h.
 * LANES and VECTORS are constants. Shared by row_gather and by the built-in kernel, whose dims are run-time values, so that
 * both have the same bits.
 *
 *   w    nk: [n_n, n_k], kn: [n_k, n_n], rows ld elements apart      b  [n_n] or NULL
 *   x    [n_k]                                                      y  [n_n]
 *
 * nk: lanes run along k, LANES outputs at a time, so their sums cost one tree. Bits: class dot<LANES>.
 * kn: lanes run along n, each a chain over k that starts at the bias. Bits: class seq, whatever LANES and VECTORS are.
 *
 * ours: which of x and y are our own floats, not the caller's values; and which of those are buffers of whole vectors, zeros
 * past the end (PAD). A masked load just after a masked store of the same place waits for the store to leave the core; whole
 * vectors are passed on at once.
 *
 * add: the caller's y is added to (elem.h); of no account where y is ours. */
enum { OURS_NONE = 0, OURS_X = 1, OURS_Y = 2, PAD_X = 4, PAD_Y = 8 };

VEC_INLINE void layer_store(void *y, rgt_int64 at, vf v, rgt_int64 n, int ours, int add) {
  if (n >= LANES)
    val_store(y, at, v, ours & OURS_Y, add);
  else if (ours & PAD_Y)
    vf_store((float *)y + at, vf_first(v, n));
  else
    val_store_part(y, at, v, n, ours & OURS_Y, add);
}

/* Sums of n <= LANES outputs, one a lane. Past n: 0 if n is a constant, else the last row's sum again. */
VEC_INLINE vf layer_dots(const elem *w, rgt_int64 ld, const void *x, rgt_int64 n_k, rgt_int64 n, int ours) {
  vf sum[LANES];
  const elem *row[LANES];
  UNROLL
  for (int i = 0; i < LANES; i++) {
    sum[i] = vf_zero();
    row[i] = w + (i < n ? i : n - 1) * ld;
  }
  rgt_int64 k = 0;
  for (; k + LANES <= n_k; k += LANES) {
    vf xk = val_load(x, k, ours & OURS_X);
    UNROLL
    for (int i = 0; i < LANES; i++)
      if (!(__builtin_constant_p(n) && i >= n)) sum[i] = vf_fma(ve_load(row[i] + k), xk, sum[i]);
  }
  if (k < n_k) {
    vf xk = ours & PAD_X ? vf_load((const float *)x + k) : val_load_part(x, k, n_k - k, ours & OURS_X);
    UNROLL
    for (int i = 0; i < LANES; i++)
      if (!(__builtin_constant_p(n) && i >= n)) sum[i] = vf_fma(ve_load_part(row[i] + k, n_k - k), xk, sum[i]);
  }
  return vf_sums(sum);
}

VEC_INLINE void layer_row_nk(const elem *w, rgt_int64 ld, const elem *b, const void *x, rgt_int64 n_k, rgt_int64 n_n, int act,
                             void *y, int ours, int add) {
  rgt_int64 n = 0;
  for (; n + LANES <= n_n; n += LANES) {
    vf z = layer_dots(w + n * ld, ld, x, n_k, LANES, ours);
    if (b) z += ve_load(b + n);
    val_store(y, n, act_select(act, z), ours & OURS_Y, add);
  }
  if (n < n_n) {
    vf z = layer_dots(w + n * ld, ld, x, n_k, n_n - n, ours);
    if (b) z += ve_load_part(b + n, n_n - n);
    layer_store(y, n, act_select(act, z), n_n - n, ours, add);
  }
}

/* vectors * LANES outputs in registers, the last vector holding `last` <= LANES of them; vectors is a constant. */
VEC_INLINE void layer_columns(const elem *w, rgt_int64 ld, const elem *b, const void *x, rgt_int64 n_k, int vectors,
                              rgt_int64 last, int act, void *y, int ours, int add) {
  vf sum[VECTORS];
  UNROLL
  for (int v = 0; v < vectors; v++) {
    rgt_int64 n = v + 1 < vectors ? LANES : last;
    sum[v] = !b ? vf_zero() : n == LANES ? ve_load(b + v * LANES) : ve_load_part(b + v * LANES, n);
  }
  for (rgt_int64 k = 0; k < n_k; k++, w += ld) {
    vf xk = val_set1(x, k, ours & OURS_X);
    UNROLL
    for (int v = 0; v < vectors; v++) {
      int whole = v + 1 < vectors || (__builtin_constant_p(last) && last == LANES);
      sum[v] = vf_fma(whole ? ve_load(w + v * LANES) : ve_load_part(w + v * LANES, last), xk, sum[v]);
    }
  }
  UNROLL
  for (int v = 0; v < vectors; v++) layer_store(y, v * LANES, act_select(act, sum[v]), v + 1 < vectors ? LANES : last, ours, add);
}

/* Many outputs: WIDE sums wait in the first-level cache while 2 * VECTORS rows of w at a time stream through. Reading w a few
 * columns at a time would jump a page for every k. */
enum { WIDE = 512, WIDE_FROM = 129 };

VEC_INLINE void layer_wide_rows(const elem *w, rgt_int64 ld, const void *x, int ours, int n_k, rgt_int64 n_n, float *sums) {
  vf xk[2 * VECTORS];
  UNROLL
  for (int i = 0; i < n_k; i++) xk[i] = val_set1(x, i, ours & OURS_X);
  rgt_int64 n = 0;
  for (; n + LANES <= n_n; n += LANES) {
    vf sum = vf_load(sums + n);
    UNROLL
    for (int i = 0; i < n_k; i++) sum = vf_fma(ve_load(w + i * ld + n), xk[i], sum);
    vf_store(sums + n, sum);
  }
  if (n < n_n) {
    vf sum = vf_load(sums + n);
    UNROLL
    for (int i = 0; i < n_k; i++) sum = vf_fma(ve_load_part(w + i * ld + n, n_n - n), xk[i], sum);
    vf_store(sums + n, sum);
  }
}

VEC_INLINE void layer_wide(const elem *w, rgt_int64 ld, const elem *b, const void *x, rgt_int64 n_k, rgt_int64 n_n, int act,
                           void *y, int ours, int add) {
  float sums[WIDE] __attribute__((aligned(64)));
  for (rgt_int64 n = 0; n < n_n; n += LANES)
    vf_store(sums + n, !b ? vf_zero() : n + LANES <= n_n ? ve_load(b + n) : ve_load_part(b + n, n_n - n));
  rgt_int64 k = 0;
  for (; k + 2 * VECTORS <= n_k; k += 2 * VECTORS)
    layer_wide_rows(w + k * ld, ld, val_at(x, k, ours & OURS_X), ours, 2 * VECTORS, n_n, sums);
  for (; k < n_k; k++) layer_wide_rows(w + k * ld, ld, val_at(x, k, ours & OURS_X), ours, 1, n_n, sums);
  for (rgt_int64 n = 0; n < n_n; n += LANES) layer_store(y, n, act_select(act, vf_load(sums + n)), n_n - n, ours, add);
}

VEC_INLINE void layer_row_kn(const elem *w, rgt_int64 ld, const elem *b, const void *x, rgt_int64 n_k, rgt_int64 n_n, int act,
                             void *y, int ours, int add) {
  rgt_int64 n = 0;
  if (n_n >= WIDE_FROM) {
    for (; n + WIDE <= n_n; n += WIDE)
      layer_wide(w + n, ld, b ? b + n : b, x, n_k, WIDE, act, val_to(y, n, ours & OURS_Y), ours, add);
    if (n < n_n) layer_wide(w + n, ld, b ? b + n : b, x, n_k, n_n - n, act, val_to(y, n, ours & OURS_Y), ours, add);
    return;
  }
  for (; n + VECTORS * LANES <= n_n; n += VECTORS * LANES)
    layer_columns(w + n, ld, b ? b + n : b, x, n_k, VECTORS, LANES, act, val_to(y, n, ours & OURS_Y), ours, add);
  UNROLL
  for (int v = VECTORS; v >= 1; v--) { /* what is left takes exactly one of these */
    rgt_int64 left = n_n - n - (v - 1) * LANES;
    if (left >= 1 && left <= LANES)
      layer_columns(w + n, ld, b ? b + n : b, x, n_k, v, left, act, val_to(y, n, ours & OURS_Y), ours, add);
  }
}

VEC_INLINE void layer_row(int layout_kn, const elem *w, rgt_int64 ld, const elem *b, const void *x, rgt_int64 n_k,
                          rgt_int64 n_n, int act, void *y, int ours, int add) {
  if (layout_kn)
    layer_row_kn(w, ld, b, x, n_k, n_n, act, y, ours, add);
  else
    layer_row_nk(w, ld, b, x, n_k, n_n, act, y, ours, add);
}
