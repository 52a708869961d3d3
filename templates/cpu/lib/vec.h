/* vec.h -- LANES floats at a time: loads that touch nothing past n, and one multiply-add for every width.
 * The file that includes it defines LANES (4, 8 or 16) as a macro. Nothing here depends on the order of lanes, and
 * f_fma and vf_fma round alike, so a result has the same bits in a lane of any width and in a scalar. */

#ifndef __clang__
#pragma GCC diagnostic ignored "-Wpsabi" /* no vector is passed in a call: everything here is inlined */
#endif

typedef float vf __attribute__((vector_size(4 * LANES)));
typedef int vi __attribute__((vector_size(4 * LANES)));
typedef float vf_mem __attribute__((vector_size(4 * LANES), aligned(4), may_alias)); /* in memory: any float's address */
typedef int vi_mem __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

#define VEC_INLINE static inline __attribute__((always_inline, unused))

/* Full unrolling of the loop that follows; its bounds are constants. */
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#define NO_UNROLL _Pragma("clang loop unroll(disable)")
#else
#define UNROLL _Pragma("GCC unroll 64")
#define NO_UNROLL _Pragma("GCC unroll 1")
#endif

VEC_INLINE vf vf_load(const float *p) {
  return *(const vf_mem *)p;
}
VEC_INLINE void vf_store(float *p, vf v) {
  *(vf_mem *)p = v;
}
VEC_INLINE vi vi_load(const int *p) {
  return *(const vi_mem *)p;
}
VEC_INLINE void vi_store(int *p, vi v) {
  *(vi_mem *)p = v;
}
VEC_INLINE vf vf_zero(void) {
  return (vf){0};
}
VEC_INLINE vi vi_zero(void) {
  return (vi){0};
}
/* x - 0 is x for every x, -0 and NaN among them (x + 0 is not). */
VEC_INLINE vf vf_set1(float x) {
  return x - (vf){0};
}
VEC_INLINE vi vi_set1(int x) {
  return x - (vi){0};
}
VEC_INLINE vi vf_bits(vf v) {
  return (vi)v;
}
VEC_INLINE vf vi_bits(vi v) {
  return (vf)v;
}
VEC_INLINE vf vf_from_vi(vi v) {
  return __builtin_convertvector(v, vf);
}
/* mask: lanes of -1 (take a) or 0 (take b), as a comparison of vectors gives it. */
VEC_INLINE vf vf_select(vi mask, vf a, vf b) {
  return (vf)(((vi)a & mask) | ((vi)b & ~mask));
}
VEC_INLINE vi vi_select(vi mask, vi a, vi b) {
  return (a & mask) | (b & ~mask);
}

/* Lanes 0 .. n-1 of v, the rest 0. */
VEC_INLINE vf vf_first(vf v, long long n) {
#if LANES == 16
  const vi lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
#elif LANES == 8
  const vi lane = {0, 1, 2, 3, 4, 5, 6, 7};
#else
  const vi lane = {0, 1, 2, 3};
#endif
  return (vf)((vi)v & (lane < (int)n));
}

/* a * b + c with one rounding where the processor can, with two where it cannot: never a choice of the compiler
 * (-ffp-contract=off), so the bits are the target's. */
VEC_INLINE float f_fma(float a, float b, float c) {
#ifdef __FMA__
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

VEC_INLINE vf vf_fma(vf a, vf b, vf c) {
#if !defined __FMA__
  return a * b + c;
#elif LANES == 4
  return __builtin_ia32_vfmaddps(a, b, c);
#elif LANES == 8
  return __builtin_ia32_vfmaddps256(a, b, c);
#elif LANES == 16 && defined __AVX512F__
  return __builtin_ia32_vfmaddps512_mask(a, b, c, (short)-1, 4); /* every lane; 4: the current rounding mode */
#else
  UNROLL
  for (int i = 0; i < LANES; i++) c[i] = __builtin_fmaf(a[i], b[i], c[i]);
  return c;
#endif
}

/* Lanes 0 .. n-1 from p, the rest 0; n in [0, LANES]. No byte past p + n is touched. */
VEC_INLINE vf vf_load_part(const float *p, long long n) {
#if LANES == 16 && defined __AVX512F__
  return __builtin_ia32_loadups512_mask((const void *)p, (vf){0}, (unsigned short)((1u << n) - 1u));
#elif LANES == 8 && defined __AVX512VL__
  return __builtin_ia32_loadups256_mask((const void *)p, (vf){0}, (unsigned char)((1u << n) - 1u));
#elif LANES == 8 && defined __AVX__
  const vi lane = {0, 1, 2, 3, 4, 5, 6, 7};
  return __builtin_ia32_maskloadps256((const vf *)p, lane < (int)n);
#elif LANES == 4 && defined __AVX__
  const vi lane = {0, 1, 2, 3};
  return __builtin_ia32_maskloadps((const vf *)p, lane < (int)n);
#else
  vf v = {0};
  for (int i = 0; i < LANES; i++)
    if (i < n) v[i] = p[i];
  return v;
#endif
}

/* Lanes 0 .. n-1 to p; nothing past p + n is touched. */
VEC_INLINE void vf_store_part(float *p, vf v, long long n) {
#if LANES == 16 && defined __AVX512F__
  __builtin_ia32_storeups512_mask((void *)p, v, (unsigned short)((1u << n) - 1u));
#elif LANES == 8 && defined __AVX512VL__
  __builtin_ia32_storeups256_mask((void *)p, v, (unsigned char)((1u << n) - 1u));
#elif LANES == 8 && defined __AVX__
  const vi lane = {0, 1, 2, 3, 4, 5, 6, 7};
  __builtin_ia32_maskstoreps256((vf *)p, lane < (int)n, v);
#elif LANES == 4 && defined __AVX__
  const vi lane = {0, 1, 2, 3};
  __builtin_ia32_maskstoreps((vf *)p, lane < (int)n, v);
#else
  for (int i = 0; i < LANES; i++)
    if (i < n) p[i] = v[i];
#endif
}
