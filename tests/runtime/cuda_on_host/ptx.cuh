/* ptx.cuh -- what templates/cuda/lib/ptx.cuh does, in C++ for the host, with every read of global memory checked. */

template <int N> DEV void load_words(const void *p, u32 (&w)[N]) {
  static_assert(N == 1 || N == 2 || N == 4, "widths of a load");
  for (int i = 0; i < N; i++) w[i] = 0;
  if (host::readable(p, sizeof w)) memcpy(w, p, sizeof w);
}
DEV u16 load_half_word(const void *p) { return host::read<u16>(p); }
DEV i64 load_i64(const void *p) { return host::read<i64>(p); }

template <int N> DEV void store_words(void *p, const u32 (&w)[N]) { memcpy(p, w, sizeof w); }
template <int N> DEV void load_words_back(const void *p, u32 (&w)[N]) { memcpy(w, p, sizeof w); }

DEV float f32_of_bits(u32 bits) { return __uint_as_float(bits); }
DEV u32 bits_of_f32(float v) { return __float_as_uint(v); }
DEV float f32_of_f16(u16 v) {
  u32 sign = (u32)(v & 0x8000u) << 16, e = v >> 10 & 31u, m = v & 0x3ffu;
  if (e == 0) return f32_of_bits(sign | bits_of_f32((float)m * 0x1p-24f));
  if (e == 31) return f32_of_bits(sign | 0x7f800000u | m << 13);
  return f32_of_bits(sign | (e + 112) << 23 | m << 13);
}
DEV u16 f16_of_f32(float f) {
  u32 b = bits_of_f32(f), sign = b >> 16 & 0x8000u, size = b & 0x7fffffffu;
  if (size > 0x7f800000u) return (u16)0x7fff;
  if (size >= 0x477ff000u) return (u16)(sign | 0x7c00u);                                            /* 65520 and up */
  if (size < 0x38800000u) return (u16)(sign | (u32)__builtin_nearbyintf(f32_of_bits(size) * 0x1p24f)); /* below 2^-14 */
  return (u16)(sign | (((size + 0xfffu + (size >> 13 & 1u)) >> 13) - (112u << 10)));
}
template <int SM> DEV u16 bf16_of_f32(float f) {
  u32 b = bits_of_f32(f);
  if ((b & 0x7fffffffu) > 0x7f800000u) return (u16)0x7fff; /* as the instruction: one NaN */
  return (u16)((b + 0x7fffu + (b >> 16 & 1u)) >> 16);
}
template <int SM> DEV u32 f16x2_of_f32(float low, float high) { return (u32)f16_of_f32(low) | (u32)f16_of_f32(high) << 16; }
template <int SM> DEV u32 bf16x2_of_f32(float low, float high) {
  return (u32)bf16_of_f32<SM>(low) | (u32)bf16_of_f32<SM>(high) << 16;
}
