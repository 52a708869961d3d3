/* shuffle.h -- sums across lanes, and rows to columns and back. Needs vec.h, elem.h and kargs.h. */

/* Lanes of a (0 .. LANES-1) and b (LANES .. 2 LANES-1) by number. */
#ifdef __clang__
#define VF_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define VF_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (vi){__VA_ARGS__})
#endif

/* unpack: a and b interleaved, the low or the high half of each 4 lanes; pair: the low or the high two of each 4 lanes. */
#if LANES == 4
#define VF_UNPACK_LOW(a, b) VF_SHUFFLE(a, b, 0, 4, 1, 5)
#define VF_UNPACK_HIGH(a, b) VF_SHUFFLE(a, b, 2, 6, 3, 7)
#define VF_PAIR_LOW(a, b) VF_SHUFFLE(a, b, 0, 1, 4, 5)
#define VF_PAIR_HIGH(a, b) VF_SHUFFLE(a, b, 2, 3, 6, 7)
#elif LANES == 8
#define VF_UNPACK_LOW(a, b) VF_SHUFFLE(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define VF_UNPACK_HIGH(a, b) VF_SHUFFLE(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define VF_PAIR_LOW(a, b) VF_SHUFFLE(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define VF_PAIR_HIGH(a, b) VF_SHUFFLE(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#define VF_HALF_LOW(a, b) VF_SHUFFLE(a, b, 0, 1, 2, 3, 8, 9, 10, 11)
#define VF_HALF_HIGH(a, b) VF_SHUFFLE(a, b, 4, 5, 6, 7, 12, 13, 14, 15)
#else
#define VF_UNPACK_LOW(a, b) VF_SHUFFLE(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29)
#define VF_UNPACK_HIGH(a, b) VF_SHUFFLE(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31)
#define VF_PAIR_LOW(a, b) VF_SHUFFLE(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29)
#define VF_PAIR_HIGH(a, b) VF_SHUFFLE(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31)
/* even or odd quarters of a, then of b */
#define VF_QUARTER_EVEN(a, b) VF_SHUFFLE(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27)
#define VF_QUARTER_ODD(a, b) VF_SHUFFLE(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31)
#endif

/* Lane i of the result is the sum of a[i]'s lanes, each by the same tree: ((l0 + l2) + (l1 + l3)) of every 4 lanes, then those
 * pairwise. LANES - 1 additions do what one at a time would take LANES * log2(LANES). */
VEC_INLINE vf vf_sums(const vf a[LANES]) {
  vf quad[LANES / 4];
  UNROLL
  for (int i = 0; i < LANES / 4; i++) {
    const vf *p = a + 4 * i;
    vf ab = VF_UNPACK_LOW(p[0], p[1]) + VF_UNPACK_HIGH(p[0], p[1]);
    vf cd = VF_UNPACK_LOW(p[2], p[3]) + VF_UNPACK_HIGH(p[2], p[3]);
    quad[i] = VF_PAIR_LOW(ab, cd) + VF_PAIR_HIGH(ab, cd);
  }
#if LANES == 4
  return quad[0];
#elif LANES == 8
  return VF_HALF_LOW(quad[0], quad[1]) + VF_HALF_HIGH(quad[0], quad[1]);
#else
  vf low = VF_QUARTER_EVEN(quad[0], quad[1]) + VF_QUARTER_ODD(quad[0], quad[1]);
  vf high = VF_QUARTER_EVEN(quad[2], quad[3]) + VF_QUARTER_ODD(quad[2], quad[3]);
  return VF_QUARTER_EVEN(low, high) + VF_QUARTER_ODD(low, high);
#endif
}

typedef float v4 __attribute__((vector_size(16)));
typedef float v4_mem __attribute__((vector_size(16), aligned(4), may_alias));

/* Four lanes as one, by number (a constant): taken out into memory, or put in from memory, neither costs a shuffle. */
#if LANES == 4
#define VF_WIDEN(q) (q)
#define VF_GET(v, i) (v)
#define VF_PUT(v, q, i) (q)
#elif defined __clang__ && LANES == 8
#define VF_WIDEN(q) __builtin_shufflevector(q, q, 0, 1, 2, 3, -1, -1, -1, -1)
#define VF_GET(v, i) __builtin_shufflevector(v, v, 4 * (i), 4 * (i) + 1, 4 * (i) + 2, 4 * (i) + 3)
#define VF_PUT(v, q, i) __builtin_shufflevector(v, VF_WIDEN(q), 0, 1, 2, 3, 8, 9, 10, 11) /* i is 1 */
#elif defined __AVX__ && LANES == 8
#define VF_WIDEN(q) __builtin_ia32_ps256_ps(q)
#define VF_GET(v, i) __builtin_ia32_vextractf128_ps256(v, i)
#define VF_PUT(v, q, i) __builtin_ia32_vinsertf128_ps256(v, q, i)
#elif defined __AVX512F__ && LANES == 16 && !defined __clang__
#define VF_WIDEN(q) __builtin_ia32_ps512_ps(q)
#define VF_GET(v, i) __builtin_ia32_extractf32x4_mask(v, i, (v4){0}, -1)
#define VF_PUT(v, q, i) __builtin_ia32_insertf32x4_mask(v, q, i, v, -1)
#elif defined __AVX512F__ && LANES == 16
#define VF_WIDEN(q) __builtin_shufflevector(q, q, 0, 1, 2, 3, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1)
#define VF_GET(v, i) __builtin_shufflevector(v, v, 4 * (i), 4 * (i) + 1, 4 * (i) + 2, 4 * (i) + 3)
#define VF_PUT(v, q, i) __builtin_ia32_insertf32x4(v, q, i)
#endif

#if DTYPE == DTYPE_F32

VEC_INLINE void vf_store_four(float *p, vf v, int i) {
#ifdef VF_GET
  switch (i) {
  case 0:
    *(v4_mem *)p = VF_GET(v, 0);
    break;
#if LANES >= 8
  case 1:
    *(v4_mem *)p = VF_GET(v, 1);
    break;
#endif
#if LANES == 16
  case 2:
    *(v4_mem *)p = VF_GET(v, 2);
    break;
  case 3:
    *(v4_mem *)p = VF_GET(v, 3);
    break;
#endif
  }
#else
  float t[LANES];
  vf_store(t, v);
  *(v4_mem *)p = *(const v4_mem *)(t + 4 * i);
#endif
}

/* Lanes 4 i .. 4 i + 3 from place[4 * i] + at. */
VEC_INLINE vf vf_load_fours(const float *const *place, rgt_int64 at) {
#ifdef VF_PUT
  v4 four = *(const v4_mem *)(place[0] + at);
  vf v = VF_WIDEN(four);
#if LANES >= 8
  four = *(const v4_mem *)(place[4] + at);
  v = VF_PUT(v, four, 1);
#endif
#if LANES == 16
  four = *(const v4_mem *)(place[8] + at);
  v = VF_PUT(v, four, 2);
  four = *(const v4_mem *)(place[12] + at);
  v = VF_PUT(v, four, 3);
#endif
  return v;
#else
  float t[LANES];
  for (int i = 0; i < LANES; i += 4) *(v4_mem *)(t + i) = *(const v4_mem *)(place[i] + at);
  return vf_load(t);
#endif
}

/* row[i][at .. at + 3] = lanes of a[0 .. 3], transposed in fours, for n_rows <= LANES rows. */
VEC_INLINE void vf_store_fours(const vf a[4], elem *const *row, rgt_int64 at, rgt_int64 n_rows) {
  UNROLL
  for (int i = 0; i < LANES; i++)
    if (i < n_rows) vf_store_four(row[i] + at, a[i % 4], i / 4);
}

#else

VEC_INLINE vf vf_load_fours(const elem *const *place, rgt_int64 at) {
  vs v[LANES / ELEM_LANES];
  unsigned long long four[LANES / 4];
  UNROLL
  for (int i = 0; i < LANES / 4; i++) four[i] = *(const four_mem *)(place[4 * i] + at);
  UNROLL
  for (int i = 0; i < LANES / ELEM_LANES; i++) v[i] = vh_widen(halves_of_fours(four + i * (ELEM_LANES / 4)));
  return vf_load((const float *)v);
}

VEC_INLINE void vf_store_fours(const vf a[4], elem *const *row, rgt_int64 at, rgt_int64 n_rows) {
  elem t[4][LANES] __attribute__((aligned(32)));
  UNROLL
  for (int i = 0; i < 4; i++) ve_store(t[i], a[i]);
  UNROLL
  for (int i = 0; i < LANES; i++)
    if (i < n_rows) *(four_mem *)(row[i] + at) = *(const four_mem *)(t[i % 4] + i / 4 * 4);
}

#endif

/* Four lanes of each of a[0 .. 3] are a 4 x 4 block: each is transposed. */
VEC_INLINE void vf_transpose_fours(vf a[4]) {
  vf low01 = VF_UNPACK_LOW(a[0], a[1]), high01 = VF_UNPACK_HIGH(a[0], a[1]);
  vf low23 = VF_UNPACK_LOW(a[2], a[3]), high23 = VF_UNPACK_HIGH(a[2], a[3]);
  a[0] = VF_PAIR_LOW(low01, low23);
  a[1] = VF_PAIR_HIGH(low01, low23);
  a[2] = VF_PAIR_LOW(high01, high23);
  a[3] = VF_PAIR_HIGH(high01, high23);
}

/* to[k * pitch + i] = row[i][k] for LANES rows and n_k values. Four values at a time, the last four of them again where n_k is
 * no multiple of 4, so that nothing past a row is read. */
VEC_INLINE void vf_rows_to_columns(const elem *const *row, rgt_int64 n_k, float *to, rgt_int64 pitch) {
  if (n_k < 4) {
    for (rgt_int64 k = 0; k < n_k; k++) {
      elem t[LANES];
      UNROLL
      for (int i = 0; i < LANES; i++) t[i] = row[i][k];
      vf_store(to + k * pitch, ve_load(t));
    }
    return;
  }
  for (rgt_int64 next = 0; next < n_k; next += 4) {
    const rgt_int64 k = next + 4 <= n_k ? next : n_k - 4;
    vf a[4];
    UNROLL
    for (int i = 0; i < 4; i++) a[i] = vf_load_fours(row + i, k);
    vf_transpose_fours(a);
    UNROLL
    for (int i = 0; i < 4; i++) vf_store(to + (k + i) * pitch, a[i]);
  }
}

/* row[i][at + n] += from[n * pitch + i]: one output after the other, since none may be met twice. */
static __attribute__((noinline, unused)) void vf_columns_added(const float *from, rgt_int64 pitch, rgt_int64 n_n,
                                                               rgt_int64 n_rows, elem *const *row, rgt_int64 at) {
  for (rgt_int64 n = 0; n < n_n; n++) {
    elem t[LANES] = {0};
    for (rgt_int64 i = 0; i < n_rows; i++) t[i] = row[i][at + n];
    ve_store(t, ve_load(t) + vf_load(from + n * pitch));
    for (rgt_int64 i = 0; i < n_rows; i++) row[i][at + n] = t[i];
  }
}

/* row[i][at + n] = from[n * pitch + i] for n_rows <= LANES rows and n_n values: the way back. */
VEC_INLINE void vf_columns_to_rows(const float *from, rgt_int64 pitch, rgt_int64 n_n, rgt_int64 n_rows, elem *const *row,
                                   rgt_int64 at) {
  if (n_n < 4) {
    for (rgt_int64 n = 0; n < n_n; n++) {
      elem t[LANES];
      ve_store(t, vf_load(from + n * pitch));
      for (rgt_int64 i = 0; i < n_rows; i++) row[i][at + n] = t[i];
    }
    return;
  }
  for (rgt_int64 next = 0; next < n_n; next += 4) {
    const rgt_int64 n = next + 4 <= n_n ? next : n_n - 4;
    vf a[4];
    UNROLL
    for (int i = 0; i < 4; i++) a[i] = vf_load(from + (n + i) * pitch);
    vf_transpose_fours(a);
    vf_store_fours(a, row, at + n, n_rows);
  }
}
