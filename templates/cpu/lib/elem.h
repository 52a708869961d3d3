/* elem.h -- values in memory as the op stores them, f32, f16 or bf16; in registers always f32. Needs vec.h, and DTYPE with its
 * choices (the prelude).
 *
 * f16 and bf16 are widened exactly (a signalling NaN becomes a quiet one), and rounded once to nearest even: what passes the
 * range gives Inf, what lies below it a subnormal or 0, and NaN stays NaN. Compilers make a conversion of one value at a time
 * of either, so they are spelled out: bf16 by shifts, f16 by F16C's instructions, else by whole-number arithmetic of the same
 * bits. Addresses need two bytes of alignment, and no byte past a part is touched.
 *
 * A layer's x and y are the caller's (elem), or floats of our own: what val_ functions take says which, a constant. */
#if DTYPE == DTYPE_F32

typedef float elem;

VEC_INLINE vf ve_load(const elem *p) {
  return vf_load(p);
}
VEC_INLINE vf ve_load_part(const elem *p, long long n) {
  return vf_load_part(p, n);
}
VEC_INLINE vf ve_set1(const elem *p) {
  return vf_set1(*p);
}
VEC_INLINE void ve_store(elem *p, vf v) {
  vf_store(p, v);
}
VEC_INLINE void ve_store_part(elem *p, vf v, long long n) {
  vf_store_part(p, v, n);
}

#else

typedef unsigned short elem;

/* ELEM_LANES values are converted at a time: all lanes where the processor can, else four. v8h holds four in its low half. */
#if LANES == 16 && defined __AVX512F__
#define ELEM_LANES 16
#elif LANES == 8 && defined __AVX2__ && defined __F16C__
#define ELEM_LANES 8
#else
#define ELEM_LANES 4
#endif

typedef short v8h __attribute__((vector_size(16)));
typedef long long v2q __attribute__((vector_size(16)));
typedef float vs __attribute__((vector_size(4 * ELEM_LANES)));
typedef int vsi __attribute__((vector_size(4 * ELEM_LANES)));
typedef unsigned vsu __attribute__((vector_size(4 * ELEM_LANES)));
typedef unsigned long long four_mem __attribute__((aligned(2), may_alias)); /* four values, wherever they lie */
typedef unsigned two_mem __attribute__((aligned(2), may_alias));
#if ELEM_LANES == 16
typedef short vh __attribute__((vector_size(32)));
#else
typedef v8h vh;
#endif
typedef short vh_mem __attribute__((vector_size(ELEM_LANES == 16 ? 32 : 16), aligned(2), may_alias));

#ifdef __clang__
#define V8H_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define V8H_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (v8h){__VA_ARGS__})
#endif

/* ---- values to and from registers of halves ---- */

VEC_INLINE vh halves_of_fours(const unsigned long long *four) {
#if ELEM_LANES == 16
  typedef long long v4q __attribute__((vector_size(32)));
  return (vh)(v4q){(long long)four[0], (long long)four[1], (long long)four[2], (long long)four[3]};
#elif ELEM_LANES == 8
  return (vh)(v2q){(long long)four[0], (long long)four[1]};
#else
  return (vh)(v2q){(long long)four[0], 0};
#endif
}

VEC_INLINE unsigned long long four_load_part(const elem *p, long long n) {
  if (n >= 4) return *(const four_mem *)p;
  unsigned long long v = n & 2 ? *(const two_mem *)p : 0;
  return n & 1 ? v | (unsigned long long)p[n - 1] << 16 * (n - 1) : v;
}

VEC_INLINE void four_store_part(elem *p, unsigned long long v, long long n) {
  if (n >= 4) {
    *(four_mem *)p = v;
    return;
  }
  if (n & 2) *(two_mem *)p = (unsigned)v;
  if (n & 1) p[n - 1] = (elem)(v >> 16 * (n - 1));
}

VEC_INLINE long long part_of(long long n, int from) { /* how many of the four from `from` on are among n */
  return n - from < 0 ? 0 : n - from > 4 ? 4 : n - from;
}

VEC_INLINE vh vh_load(const elem *p) {
#if ELEM_LANES == 4
  return (vh)(v2q){(long long)*(const four_mem *)p, 0};
#else
  return *(const vh_mem *)p;
#endif
}

VEC_INLINE vh vh_load_part(const elem *p, long long n) {
#if ELEM_LANES == 16 && defined __AVX512BW__ && defined __AVX512VL__
  return __builtin_ia32_loaddquhi256_mask((const void *)p, (vh){0}, (unsigned short)((1u << n) - 1u));
#elif ELEM_LANES == 8 && defined __AVX512BW__ && defined __AVX512VL__
  return __builtin_ia32_loaddquhi128_mask((const void *)p, (vh){0}, (unsigned char)((1u << n) - 1u));
#else
  unsigned long long four[ELEM_LANES / 4];
  for (int i = 0; i < ELEM_LANES / 4; i++) four[i] = four_load_part(p + 4 * i, part_of(n, 4 * i));
  return halves_of_fours(four);
#endif
}

VEC_INLINE unsigned long long vh_four(vh v, int i) {
#if ELEM_LANES == 16
  typedef long long v4q __attribute__((vector_size(32)));
  return (unsigned long long)((v4q)v)[i];
#else
  return (unsigned long long)((v2q)v)[i];
#endif
}

VEC_INLINE void vh_store(elem *p, vh v) {
#if ELEM_LANES == 4
  *(four_mem *)p = vh_four(v, 0);
#else
  *(vh_mem *)p = v;
#endif
}

VEC_INLINE void vh_store_part(elem *p, vh v, long long n) {
#if ELEM_LANES == 16 && defined __AVX512BW__ && defined __AVX512VL__
  __builtin_ia32_storedquhi256_mask((void *)p, v, (unsigned short)((1u << n) - 1u));
#elif ELEM_LANES == 8 && defined __AVX512BW__ && defined __AVX512VL__
  __builtin_ia32_storedquhi128_mask((void *)p, v, (unsigned char)((1u << n) - 1u));
#else
  for (int i = 0; i < ELEM_LANES / 4; i++) four_store_part(p + 4 * i, vh_four(v, i), part_of(n, 4 * i));
#endif
}

/* Each half below 16 zero bits. */
VEC_INLINE vsu vh_high(vh h) {
#if ELEM_LANES == 4
  return (vsu)V8H_SHUFFLE((v8h){0}, h, 0, 8, 1, 9, 2, 10, 3, 11);
#elif defined __clang__
  typedef unsigned short vhu __attribute__((vector_size(2 * ELEM_LANES)));
  return __builtin_convertvector((vhu)h, vsu) << 16;
#elif ELEM_LANES == 8
  return (vsu)__builtin_ia32_pmovzxwd256(h) << 16;
#else
  return (vsu)__builtin_ia32_pmovzxwd512_mask(h, (vsi){0}, (unsigned short)-1) << 16;
#endif
}

/* The low 16 bits of each; the rest of them is 0, or 16 times the highest of the 16. */
VEC_INLINE vh vh_low(vsi v) {
#if ELEM_LANES == 4
  return __builtin_ia32_packssdw128(v, v);
#else
  return __builtin_convertvector(v, vh);
#endif
}

VEC_INLINE vsi vs_choose(vsi mask, vsi a, vsi b) {
  return (a & mask) | (b & ~mask);
}

/* ---- the conversions ---- */

#if DTYPE == DTYPE_BF16

VEC_INLINE vs vh_widen(vh h) {
  return (vs)vh_high(h);
}

/* Half of the last kept bit is added, less a little where that bit is even; a carry runs into the exponent, which is the right
 * next number, Inf among them. NaN is cut, and its quiet bit set lest nothing be left of it. */
VEC_INLINE vh vs_narrow(vs v) {
  const vsu bits = (vsu)v, rounded = bits + 0x7fff + (bits >> 16 & 1);
  const vsi nan = (vsi)(bits & 0x7fffffff) > 0x7f800000;
  return vh_low(vs_choose(nan, (vsi)(bits | 0x400000), (vsi)rounded) >> 16);
}

#elif defined __F16C__

VEC_INLINE vs vh_widen(vh h) {
#if ELEM_LANES == 16
  return __builtin_ia32_vcvtph2ps512_mask(h, (vs){0}, (short)-1, 4);
#elif ELEM_LANES == 8
  return __builtin_ia32_vcvtph2ps256(h);
#else
  return __builtin_ia32_vcvtph2ps(h);
#endif
}

/* 0: to nearest even, whatever the current rounding mode is. */
VEC_INLINE vh vs_narrow(vs v) {
#if ELEM_LANES == 16
  return __builtin_ia32_vcvtps2ph512_mask(v, 0, (vh){0}, (unsigned short)-1);
#elif ELEM_LANES == 8
  return __builtin_ia32_vcvtps2ph256(v, 0);
#else
  return __builtin_ia32_vcvtps2ph(v, 0);
#endif
}

#else

/* The exponents differ by 112. An exponent of 31 moves as far again, to 255; one of 0 is a fraction of 2^-24, put below the
 * leading one of 2^-14, which is then taken away. No f32 subnormal comes up, so a host that flushes them is no trouble. */
VEC_INLINE vs vh_widen(vh h) {
  const vsi bits = (vsi)vh_high(h), sign = bits & (-0x7fffffff - 1), a = (vsi)((vsu)(bits ^ sign) >> 3);
  const vsi least = vs_choose(a > 0x0f800000, a | 0x400000, a); /* a NaN turns quiet */
  const vsi normal = least + (112 << 23) + ((a >= 0x0f800000) & (112 << 23));
  const vs subnormal = (vs)(a + (113 << 23)) - 0x1p-14f;
  return (vs)(vs_choose(a < 0x00800000, (vsi)subnormal, normal) | sign);
}

/* As bf16 is rounded. Below 2^-14 the sum with 1/2 rounds to a multiple of 2^-24, and leaves it in the low bits. */
VEC_INLINE vh vs_narrow(vs v) {
  const vsi bits = (vsi)v, a = bits & 0x7fffffff;
  const vsi sign = bits >> 16 & ~0x7fff;
  const vsi rounded = (vsi)(((vsu)a + 0xfff + (vsu)(a >> 13 & 1)) >> 13) - (112 << 10);
  const vsi subnormal = (vsi)((vs)a + 0.5f) - 0x3f000000;
  const vsi nan = (a >> 13 & 0x3ff) | 0x7e00;
  vsi h = vs_choose(a < 0x38800000, subnormal, rounded);
  h = vs_choose(a >= 0x47800000, vs_choose(a > 0x7f800000, nan, (vsi){0} + 0x7c00), h);
  return vh_low(h | sign);
}

#endif

/* ---- LANES values ---- */

#if ELEM_LANES == LANES

VEC_INLINE vf ve_load(const elem *p) {
  return vh_widen(vh_load(p));
}
VEC_INLINE vf ve_load_part(const elem *p, long long n) {
  return vh_widen(vh_load_part(p, n));
}
VEC_INLINE void ve_store(elem *p, vf v) {
  vh_store(p, vs_narrow(v));
}
VEC_INLINE void ve_store_part(elem *p, vf v, long long n) {
  vh_store_part(p, vs_narrow(v), n);
}

#else /* more lanes than the processor has: in fours, through memory */

VEC_INLINE vf ve_load(const elem *p) {
  vs v[LANES / ELEM_LANES];
  UNROLL
  for (int i = 0; i < LANES / ELEM_LANES; i++) v[i] = vh_widen(vh_load(p + i * ELEM_LANES));
  return vf_load((const float *)v);
}
VEC_INLINE vf ve_load_part(const elem *p, long long n) {
  vs v[LANES / ELEM_LANES];
  UNROLL
  for (int i = 0; i < LANES / ELEM_LANES; i++) v[i] = vh_widen(vh_load_part(p + i * ELEM_LANES, part_of(n, i * ELEM_LANES)));
  return vf_load((const float *)v);
}
VEC_INLINE void ve_store(elem *p, vf v) {
  vs part[LANES / ELEM_LANES];
  vf_store((float *)part, v);
  UNROLL
  for (int i = 0; i < LANES / ELEM_LANES; i++) vh_store(p + i * ELEM_LANES, vs_narrow(part[i]));
}
VEC_INLINE void ve_store_part(elem *p, vf v, long long n) {
  vs part[LANES / ELEM_LANES];
  vf_store((float *)part, v);
  UNROLL
  for (int i = 0; i < LANES / ELEM_LANES; i++)
    vh_store_part(p + i * ELEM_LANES, vs_narrow(part[i]), part_of(n, i * ELEM_LANES));
}

#endif

VEC_INLINE vf ve_set1(const elem *p) {
#if DTYPE == DTYPE_BF16
  return vi_bits(vi_set1((int)((unsigned)*p << 16)));
#elif defined __F16C__
  return vf_set1(__builtin_ia32_vcvtph2ps((v8h){(short)*p})[0]);
#else
  return vf_set1(vh_widen((vh){(short)*p})[0]);
#endif
}

#endif

/* ---- the caller's values, or floats of our own ---- */

VEC_INLINE const void *val_at(const void *p, long long i, int floats) {
  return floats ? (const void *)((const float *)p + i) : (const void *)((const elem *)p + i);
}
VEC_INLINE void *val_to(void *p, long long i, int floats) {
  return floats ? (void *)((float *)p + i) : (void *)((elem *)p + i);
}
VEC_INLINE vf val_load(const void *p, long long i, int floats) {
  return floats ? vf_load((const float *)p + i) : ve_load((const elem *)p + i);
}
VEC_INLINE vf val_load_part(const void *p, long long i, long long n, int floats) {
  return floats ? vf_load_part((const float *)p + i, n) : ve_load_part((const elem *)p + i, n);
}
VEC_INLINE vf val_set1(const void *p, long long i, int floats) {
  return floats ? vf_set1(((const float *)p)[i]) : ve_set1((const elem *)p + i);
}
/* add, known when it runs: what the caller's values were is added first, in f32, and rounded with them once. */
VEC_INLINE void val_store(void *p, long long i, vf v, int floats, int add) {
  elem *to = (elem *)p + i;
  if (floats) {
    vf_store((float *)p + i, v);
    return;
  }
  if (add) v = ve_load(to) + v;
  ve_store(to, v);
}
VEC_INLINE void val_store_part(void *p, long long i, vf v, long long n, int floats, int add) {
  elem *to = (elem *)p + i;
  if (floats) {
    vf_store_part((float *)p + i, v, n);
    return;
  }
  if (add) v = ve_load_part(to, n) + v;
  ve_store_part(to, v, n);
}
