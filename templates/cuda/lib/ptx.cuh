/* ptx.cuh -- the PTX of memory and conversions that the templates name, each instruction a function: with mma.cuh, which has that
 * of whole warps and of copies that do not wait, this alone is not C++. */

DEV u64 global_address(const void *p) { return (u64)__cvta_generic_to_global(p); }

/* Global memory that stays as it is while the kernel runs, through the read-only path: N words at an address of N * 4 bytes. */
template <int N> DEV void load_words(const void *p, u32 (&w)[N]);
template <> __device__ __forceinline__ void load_words<1>(const void *p, u32 (&w)[1]) {
  asm("ld.global.nc.b32 %0, [%1];" : "=r"(w[0]) : "l"(global_address(p)));
}
template <> __device__ __forceinline__ void load_words<2>(const void *p, u32 (&w)[2]) {
  asm("ld.global.nc.v2.b32 {%0, %1}, [%2];" : "=r"(w[0]), "=r"(w[1]) : "l"(global_address(p)));
}
template <> __device__ __forceinline__ void load_words<4>(const void *p, u32 (&w)[4]) {
  asm("ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];"
      : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
      : "l"(global_address(p)));
}
DEV u16 load_half_word(const void *p) {
  u16 v;
  asm("ld.global.nc.b16 %0, [%1];" : "=h"(v) : "l"(global_address(p)));
  return v;
}
DEV i64 load_i64(const void *p) {
  i64 v;
  asm("ld.global.nc.b64 %0, [%1];" : "=l"(v) : "l"(global_address(p)));
  return v;
}

/* The same where `ok`, else zeros from no memory; without a branch. */
template <int N> DEV void load_words_if(bool ok, const void *p, u32 (&w)[N]);
template <> __device__ __forceinline__ void load_words_if<1>(bool ok, const void *p, u32 (&w)[1]) {
  asm("{.reg .pred p; setp.ne.s32 p, %2, 0; mov.b32 %0, 0; @p ld.global.nc.b32 %0, [%1];}"
      : "=r"(w[0])
      : "l"(global_address(p)), "r"((int)ok));
}
template <> __device__ __forceinline__ void load_words_if<2>(bool ok, const void *p, u32 (&w)[2]) {
  asm("{.reg .pred p; setp.ne.s32 p, %3, 0; mov.b32 %0, 0; mov.b32 %1, 0; @p ld.global.nc.v2.b32 {%0, %1}, [%2];}"
      : "=r"(w[0]), "=r"(w[1])
      : "l"(global_address(p)), "r"((int)ok));
}
template <> __device__ __forceinline__ void load_words_if<4>(bool ok, const void *p, u32 (&w)[4]) {
  asm("{.reg .pred p; setp.ne.s32 p, %5, 0; mov.b32 %0, 0; mov.b32 %1, 0; mov.b32 %2, 0; mov.b32 %3, 0; "
      "@p ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];}"
      : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
      : "l"(global_address(p)), "r"((int)ok));
}
DEV u16 load_half_word_if(bool ok, const void *p) {
  u16 v;
  asm("{.reg .pred p; setp.ne.s32 p, %2, 0; mov.b16 %0, 0; @p ld.global.nc.b16 %0, [%1];}"
      : "=h"(v)
      : "l"(global_address(p)), "r"((int)ok));
  return v;
}

/* Two neighbours of 16 bits at an address of 2 bytes, as one word; of the second form, those of them that are `left` or more from
 * the first are 0, from no memory. */
DEV u32 load_pair(const void *p) {
  u32 w;
  asm("{.reg .b16 a, b; ld.global.nc.b16 a, [%1]; ld.global.nc.b16 b, [%1+2]; mov.b32 %0, {a, b};}"
      : "=r"(w)
      : "l"(global_address(p)));
  return w;
}
DEV u32 load_pair_if(int left, const void *p) {
  u32 w;
  asm("{.reg .b16 a, b; .reg .pred p, q; setp.gt.s32 p, %2, 0; setp.gt.s32 q, %2, 1; mov.b16 a, 0; mov.b16 b, 0; "
      "@p ld.global.nc.b16 a, [%1]; @q ld.global.nc.b16 b, [%1+2]; mov.b32 %0, {a, b};}"
      : "=r"(w)
      : "l"(global_address(p)), "r"(left));
  return w;
}

/* Shared memory, N words at an address of N * 4 bytes: one access each, which the compiler does not split. */
DEV u32 shared_address(const void *p) { return (u32)__cvta_generic_to_shared(p); }
template <int N> DEV void load_shared(const void *p, u32 (&w)[N]);
template <> __device__ __forceinline__ void load_shared<2>(const void *p, u32 (&w)[2]) {
  asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(w[0]), "=r"(w[1]) : "r"(shared_address(p)) : "memory");
}
template <> __device__ __forceinline__ void load_shared<4>(const void *p, u32 (&w)[4]) {
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
               : "r"(shared_address(p))
               : "memory");
}
template <int N> DEV void store_shared(void *p, const u32 (&w)[N]);
template <> __device__ __forceinline__ void store_shared<2>(void *p, const u32 (&w)[2]) {
  asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(shared_address(p)), "r"(w[0]), "r"(w[1]) : "memory");
}
template <> __device__ __forceinline__ void store_shared<4>(void *p, const u32 (&w)[4]) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(p)), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3])
               : "memory");
}

/* Global memory that the kernel writes: in order with each other, and with what C++ reads and writes. */
template <int N> DEV void store_words(void *p, const u32 (&w)[N]);
template <> __device__ __forceinline__ void store_words<1>(void *p, const u32 (&w)[1]) {
  asm volatile("st.global.b32 [%0], %1;" ::"l"(global_address(p)), "r"(w[0]) : "memory");
}
template <> __device__ __forceinline__ void store_words<2>(void *p, const u32 (&w)[2]) {
  asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(global_address(p)), "r"(w[0]), "r"(w[1]) : "memory");
}
template <> __device__ __forceinline__ void store_words<4>(void *p, const u32 (&w)[4]) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(global_address(p)), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3])
               : "memory");
}
template <int N> DEV void load_words_back(const void *p, u32 (&w)[N]);
template <> __device__ __forceinline__ void load_words_back<1>(const void *p, u32 (&w)[1]) {
  asm volatile("ld.global.b32 %0, [%1];" : "=r"(w[0]) : "l"(global_address(p)) : "memory");
}
template <> __device__ __forceinline__ void load_words_back<2>(const void *p, u32 (&w)[2]) {
  asm volatile("ld.global.v2.b32 {%0, %1}, [%2];" : "=r"(w[0]), "=r"(w[1]) : "l"(global_address(p)) : "memory");
}
template <> __device__ __forceinline__ void load_words_back<4>(const void *p, u32 (&w)[4]) {
  asm volatile("ld.global.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
               : "l"(global_address(p))
               : "memory");
}

DEV float f32_of_bits(u32 bits) { return __uint_as_float(bits); }
DEV u32 bits_of_f32(float v) { return __float_as_uint(v); }
DEV float f32_of_f16(u16 v) {
  float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(v));
  return f;
}
DEV u16 f16_of_f32(float f) { /* to nearest even; NaN stays NaN */
  u16 v;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(v) : "f"(f));
  return v;
}
template <int SM> DEV u16 bf16_of_f32(float f) { /* to nearest even; NaN stays NaN */
  if constexpr (SM >= 80) {
    u16 v;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(v) : "f"(f));
    return v;
  } else {
    u32 b = bits_of_f32(f);
    if ((b & 0x7fffffffu) > 0x7f800000u) return (u16)(b >> 16 | 0x40u);
    return (u16)((b + 0x7fffu + (b >> 16 & 1u)) >> 16);
  }
}

/* Two values to one word, the first in the low half. */
template <int SM> DEV u32 f16x2_of_f32(float low, float high) {
  if constexpr (SM >= 80) {
    u32 w;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(w) : "f"(high), "f"(low));
    return w;
  } else {
    return (u32)f16_of_f32(low) | (u32)f16_of_f32(high) << 16;
  }
}
template <int SM> DEV u32 bf16x2_of_f32(float low, float high) {
  if constexpr (SM >= 80) {
    u32 w;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(w) : "f"(high), "f"(low));
    return w;
  } else {
    return (u32)bf16_of_f32<SM>(low) | (u32)bf16_of_f32<SM>(high) << 16;
  }
}
template <int SM> DEV u32 bf16x2_cut(float low, float high) { /* towards 0; NaN stays NaN */
  if constexpr (SM >= 80) {
    u32 w;
    asm("cvt.rz.bf16x2.f32 %0, %1, %2;" : "=r"(w) : "f"(high), "f"(low));
    return w;
  } else {
    const u32 l = bits_of_f32(low), h = bits_of_f32(high);
    return ((l & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : l >> 16) | ((h & 0x7fffffffu) > 0x7f800000u ? 0x7fff0000u : h & 0xffff0000u);
  }
}
