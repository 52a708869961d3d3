/* shuffle.h -- sums across lanes and transposes, as fixed trees of two-vector shuffles. Needs vec.h. */

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

/* a[i] lane j <-> a[j] lane i */
VEC_INLINE void vf_transpose(vf a[LANES]) {
  vf t[LANES];
  UNROLL
  for (int i = 0; i < LANES; i += 4) { /* 4 x 4 blocks */
    vf ab_low = VF_UNPACK_LOW(a[i], a[i + 1]), ab_high = VF_UNPACK_HIGH(a[i], a[i + 1]);
    vf cd_low = VF_UNPACK_LOW(a[i + 2], a[i + 3]), cd_high = VF_UNPACK_HIGH(a[i + 2], a[i + 3]);
    t[i] = VF_PAIR_LOW(ab_low, cd_low);
    t[i + 1] = VF_PAIR_HIGH(ab_low, cd_low);
    t[i + 2] = VF_PAIR_LOW(ab_high, cd_high);
    t[i + 3] = VF_PAIR_HIGH(ab_high, cd_high);
  }
  UNROLL
  for (int i = 0; i < 4; i++) { /* lane blocks of 4 to their places */
#if LANES == 4
    a[i] = t[i];
#elif LANES == 8
    a[i] = VF_HALF_LOW(t[i], t[4 + i]);
    a[4 + i] = VF_HALF_HIGH(t[i], t[4 + i]);
#else
    vf even_low = VF_QUARTER_EVEN(t[i], t[4 + i]), even_high = VF_QUARTER_EVEN(t[8 + i], t[12 + i]);
    vf odd_low = VF_QUARTER_ODD(t[i], t[4 + i]), odd_high = VF_QUARTER_ODD(t[8 + i], t[12 + i]);
    a[i] = VF_QUARTER_EVEN(even_low, even_high);
    a[4 + i] = VF_QUARTER_EVEN(odd_low, odd_high);
    a[8 + i] = VF_QUARTER_ODD(even_low, even_high);
    a[12 + i] = VF_QUARTER_ODD(odd_low, odd_high);
#endif
  }
}
