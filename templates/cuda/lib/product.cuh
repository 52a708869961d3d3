/* product.cuh -- one step of 16 k of a 16 x 8 tile, in the type that products are computed in.
 *
 * Lane (g, t) owns 4 k of a step, of rows g and g + 8 of A and of column g of B: a quad, as it lies in memory (2 words of a
 * 16-bit type, 4 of f32). Which 4 of the real k is the caller's choice, the same for A and B. Sums are c as in mma.cuh.
 *
 *   make_a(quad of row g, quad of row g + 8), make_b(quad of column g)      fragments
 *   add_product(c, a, b)                                                    c += a b
 *
 * f16 and bf16 are multiplied as they are. f32 values become tf32, or sums of narrower ones, PRODUCT says which:
 *
 *   OWN (f32)  3xtf32   a = h + l         h hb + (h lb + l hb)
 *   TF32                a = h             h hb
 *   BF16X3              a = h + m         h hb + (h mb + m hb)
 *   BF16X6              a = h + m + l     h hb + (h mb + m hb) + (m mb + h lb + l hb)
 *
 * templates/lib/product.lua derives what each loses. How the parts are made:
 * - Lower parts are kept times powers of two, so that they are there where a value is near or below the normal range, and their
 *   products are summed apart from the high ones, small to large: adders that cut lose of a small sum, not of c. A power is
 *   small enough that such a sum is no larger than that of the |a b| themselves.
 * - h is finite where the value is: rounding up past the largest would make Inf of it.
 * - Of an Inf or NaN, h is 1 of its sign and the next part is the value, which meets hb alone (3xtf32, BF16X3). Or h is the
 *   value (TF32, BF16X6); then the sum of lower products, where Inf - Inf stands, is not finite, is dropped, and h hb says what
 *   becomes of c.
 *
 * Before it come the prelude with PRODUCT (a family's param), base.cuh, ptx.cuh, number.cuh, mma.cuh. */
enum : int { PRODUCT_OWN, PRODUCT_TF32, PRODUCT_BF16X3, PRODUCT_BF16X6 };
enum : int { QUAD_WORDS = (int)sizeof(elem) }; /* words of 4 elements */
static_assert(DTYPE == DTYPE_F32 || PRODUCT == PRODUCT_OWN, "16-bit types are multiplied as they are");

/* A fragment, of A (N = 4) or B (N = 2): word i is of row g or column g, 4 k of f32 in two halves, or pairs of k. */
template <int N> struct pairs { u32 w[N]; };
template <int N, int PARTS> struct split_pairs { pairs<N> part[PARTS]; };
template <int N, int PARTS> struct split_f32 { /* [half of the step] */
  float part[PARTS][2][N];
};

/* c += t * 2^-DOWN; FINITE: where t is finite. */
template <int DOWN, bool FINITE> DEV void add_lower(float (&c)[4], const float (&t)[4]) {
  const float scale = 1.0f / (float)(1 << DOWN);
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const bool dropped = FINITE && !(fabsf(t[i]) < f32_of_bits(0x7f800000u));
    c[i] = __fmaf_rn(dropped ? 0.0f : t[i], scale, c[i]);
  }
}
DEV void scale_down(float (&t)[4], float scale) {
#pragma unroll
  for (int i = 0; i < 4; i++) t[i] = __fmul_rn(t[i], scale);
}

DEV u32 at_most(u32 v, u32 limit) { return v < limit ? v : limit; }

/* To the nearest multiple of 2^CUT last places of an f32, ties away from 0, as cvt.rna does for tf32; but what is finite stays
 * so. Inf and NaN become themselves where KEPT, else 1, and what is left of them is they. */
template <int CUT, bool KEPT> DEV float cut_to_nearest(float v) {
  enum : u32 { INFINITE = 0x7f800000u, HALF = 1u << (CUT - 1), LOW = (1u << CUT) - 1 };
  const u32 bits = bits_of_f32(v), size = bits & 0x7fffffffu, sign = bits & 0x80000000u;
  const u32 special = !KEPT ? 0x3f800000u : size > INFINITE ? 0x7fffffffu : INFINITE;
  return f32_of_bits((size < INFINITE ? at_most(size + HALF, INFINITE - 1) & ~LOW : special) | sign);
}
template <int CUT> DEV float cut(float v) {
  return f32_of_bits(bits_of_f32(v) & ~((1u << CUT) - 1));
}

/* ---- tf32: 11 significant bits ---- */

enum : int { TF32_CUT = 13, TF32_LOWER = 10 };

template <int PART, bool KEPT> DEV float tf32_part(u32 word) {
  const float v = f32_of_bits(word), h = cut_to_nearest<TF32_CUT, KEPT>(v);
  if constexpr (PART == 0)
    return h;
  else
    return cut<TF32_CUT>(__fmul_rn(__fsub_rn(v, h), (float)(1 << TF32_LOWER)));
}

/* k 2h and 2h + 1 of a quad are the k t and t + 4 of product h. */
template <int PARTS> struct product_of_tf32 {
  typedef split_f32<4, PARTS> a;
  typedef split_f32<2, PARTS> b;
  template <int PART, class F> static __device__ __forceinline__ void make_part(const u32 *const *rows, int n_rows, F &f) {
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
      for (int r = 0; r < n_rows; r++) f.part[PART][i / 2][n_rows * (i % 2) + r] = tf32_part<PART, PARTS == 1>(rows[r][i]);
  }
  template <class F> static __device__ __forceinline__ F make(const u32 *const *rows, int n_rows) {
    F f;
    make_part<0>(rows, n_rows, f);
    if constexpr (PARTS == 2) make_part<1>(rows, n_rows, f);
    return f;
  }
  static __device__ __forceinline__ a make_a(const u32 *row_g, const u32 *row_g8) {
    const u32 *const rows[2] = {row_g, row_g8};
    return make<a>(rows, 2);
  }
  static __device__ __forceinline__ b make_b(const u32 *column) {
    return make<b>(&column, 1);
  }
  static __device__ __forceinline__ void add(float (&c)[4], const a &x, const b &y) {
    if constexpr (PARTS == 2) {
      float t[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
      for (int h = 0; h < 2; h++) {
        mma_tf32(t, x.part[0][h], y.part[1][h]);
        mma_tf32(t, x.part[1][h], y.part[0][h]);
      }
      add_lower<TF32_LOWER, false>(c, t);
    }
#pragma unroll
    for (int h = 0; h < 2; h++) mma_tf32(c, x.part[0][h], y.part[0][h]);
  }
};

/* ---- bf16: 8 significant bits ---- */

DEV float f32_of_low(u32 pair) {
  return f32_of_bits(pair << 16);
}
DEV float f32_of_high(u32 pair) {
  return f32_of_bits(pair & 0xffff0000u);
}

/* Two values to words of pairs. Of two parts h is the nearest, of three it is cut: then m and l hold all that is left. */
template <int N, int PARTS> DEV void split_bf16(const u32 *words, split_pairs<N, PARTS> &f, int at) {
  enum : int { MIDDLE = PARTS == 2 ? 7 : 5, LOWER = 15 };
  float v0 = f32_of_bits(words[0]), v1 = f32_of_bits(words[1]);
  u32 w;
  if constexpr (PARTS == 2)
    w = __byte_perm(bits_of_f32(cut_to_nearest<16, false>(v0)), bits_of_f32(cut_to_nearest<16, false>(v1)), 0x7632);
  else
    w = bf16x2_cut<DEVICE_SM>(v0, v1);
  f.part[0].w[at] = w;
  v0 = __fmul_rn(__fsub_rn(v0, f32_of_low(w)), (float)(1 << MIDDLE));
  v1 = __fmul_rn(__fsub_rn(v1, f32_of_high(w)), (float)(1 << MIDDLE));
  f.part[1].w[at] = w = bf16x2_of_f32<DEVICE_SM>(v0, v1);
  if constexpr (PARTS == 3) {
    v0 = __fmul_rn(__fsub_rn(v0, f32_of_low(w)), (float)(1 << (LOWER - MIDDLE)));
    v1 = __fmul_rn(__fsub_rn(v1, f32_of_high(w)), (float)(1 << (LOWER - MIDDLE)));
    f.part[2].w[at] = bf16x2_of_f32<DEVICE_SM>(v0, v1);
  }
}

template <int PARTS> struct product_of_bf16 {
  typedef split_pairs<4, PARTS> a;
  typedef split_pairs<2, PARTS> b;
  static __device__ __forceinline__ a make_a(const u32 *row_g, const u32 *row_g8) {
    a f;
#pragma unroll
    for (int h = 0; h < 2; h++) {
      split_bf16(row_g + 2 * h, f, 2 * h);
      split_bf16(row_g8 + 2 * h, f, 2 * h + 1);
    }
    return f;
  }
  static __device__ __forceinline__ b make_b(const u32 *column) {
    b f;
#pragma unroll
    for (int h = 0; h < 2; h++) split_bf16(column + 2 * h, f, h);
    return f;
  }
  static __device__ __forceinline__ void add(float (&c)[4], const a &x, const b &y) {
    float t[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    if constexpr (PARTS == 3) {
      mma_bf16(t, x.part[0].w, y.part[2].w); /* 2^15 times what it stands for */
      mma_bf16(t, x.part[2].w, y.part[0].w);
      scale_down(t, 0x1p-5f);
      mma_bf16(t, x.part[1].w, y.part[1].w); /* 2^10 */
      scale_down(t, 0x1p-5f);
    }
    mma_bf16(t, x.part[0].w, y.part[1].w); /* 2^5, or 2^7 */
    mma_bf16(t, x.part[1].w, y.part[0].w);
    add_lower<PARTS == 3 ? 5 : 7, PARTS == 3>(c, t);
    mma_bf16(c, x.part[0].w, y.part[0].w);
  }
};

/* ---- 16-bit storage ---- */

struct product_of_stored {
  typedef pairs<4> a;
  typedef pairs<2> b;
  static __device__ __forceinline__ a make_a(const u32 *row_g, const u32 *row_g8) {
    return {{row_g[0], row_g8[0], row_g[1], row_g8[1]}};
  }
  static __device__ __forceinline__ b make_b(const u32 *column) { return {{column[0], column[1]}}; }
  static __device__ __forceinline__ void add(float (&c)[4], const a &x, const b &y) {
    if constexpr (DTYPE == DTYPE_F16)
      mma_f16(c, x.w, y.w);
    else
      mma_bf16(c, x.w, y.w);
  }
};

/* ---- the one that this variant has ---- */

template <bool F32, int P> struct product_choice { typedef product_of_stored type; };
template <> struct product_choice<true, PRODUCT_OWN> { typedef product_of_tf32<2> type; };
template <> struct product_choice<true, PRODUCT_TF32> { typedef product_of_tf32<1> type; };
template <> struct product_choice<true, PRODUCT_BF16X3> { typedef product_of_bf16<2> type; };
template <> struct product_choice<true, PRODUCT_BF16X6> { typedef product_of_bf16<3> type; };
typedef product_choice<DTYPE == DTYPE_F32, PRODUCT>::type product;

typedef product::a frag_a;
typedef product::b frag_b;
DEV frag_a make_a(const u32 *row_g, const u32 *row_g8) {
  return product::make_a(row_g, row_g8);
}
DEV frag_b make_b(const u32 *column) {
  return product::make_b(column);
}
DEV void add_product(float (&c)[4], const frag_a &a, const frag_b &b) {
  product::add(c, a, b);
}
