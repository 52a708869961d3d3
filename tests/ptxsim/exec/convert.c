/* convert.c -- cvt. Whole numbers and the common conversions of floats have loops of their own; the rest is done a lane at a
 * time. */
#include "exec/convert.h"
#include "exec/alu.h"

static int is_whole(int t) {
  return t <= SIM_V_S64;
}
static int is_signed(int t) {
  return t == SIM_V_S8 || t == SIM_V_S16 || t == SIM_V_S32 || t == SIM_V_S64;
}
static int bits_of(int t) {
  static const int bits[] = {8, 8, 16, 16, 32, 32, 64, 64, 16, 16, 32, 64, 32, 32, 32};
  return bits[t];
}
static int digits_of(int t) {
  return t == SIM_V_F16 || t == SIM_V_F16X2 ? 11 : t == SIM_V_BF16 || t == SIM_V_BF16X2 ? 8 : t == SIM_V_F32 ? 24 : 53;
}

const char *sim__convert_allowed(int to, int from, int rounding, int ftz, int sat, int relu, int finite) {
  const int directed = rounding <= SIM_R_RP, integral = rounding >= SIM_R_RNI && rounding <= SIM_R_RPI;
  if (to == SIM_V_TF32) {
    if (from != SIM_V_F32 || ftz || sat) return "tf32 is made from f32";
    return rounding == SIM_R_RNA || rounding == SIM_R_RN || rounding == SIM_R_RZ ? NULL : "cvt to tf32 needs .rna, .rn or .rz";
  }
  if (rounding == SIM_R_RNA) return ".rna is for tf32";
  if ((relu || finite) && !(from == SIM_V_F32 && (to == SIM_V_F16 || to >= SIM_V_F16X2 || to == SIM_V_BF16)))
    return ".relu and .satfinite are for f16 and bf16 from f32";
  if (to >= SIM_V_F16X2)
    return from == SIM_V_F32 && (rounding == SIM_R_RN || rounding == SIM_R_RZ) ? NULL : "a pair needs f32 and .rn or .rz";
  if (is_whole(to) && is_whole(from)) return rounding == SIM_R_NONE && !ftz ? NULL : "whole numbers do not round";
  if (is_whole(to)) return integral ? NULL : "a float to a whole number needs .rni, .rzi, .rmi or .rpi";
  if (is_whole(from)) return directed ? NULL : "a whole number to a float needs .rn, .rz, .rm or .rp";
  if (to == from) return directed ? "the same type rounds to whole values only (.rni ...)" : NULL;
  if (digits_of(to) < digits_of(from) || (to == SIM_V_BF16 && from == SIM_V_F16) || (to == SIM_V_F16 && from == SIM_V_BF16))
    return directed ? NULL : "a narrower float needs .rn, .rz, .rm or .rp";
  (void)sat;
  return rounding == SIM_R_NONE ? NULL : "a wider float does not round";
}

/* ---- one value
 * ------------------------------------------------------------------------------------------------------------------------ */

typedef struct real { /* exactly (-1)^negative * mantissa * 2^exponent; or not finite */
  int negative, exponent, is_nan, is_inf;
  u64 mantissa;
} real;

static real real_of_f64(f64 x) {
  const u64 u = sim__bits_of_f64(x);
  const int e = (int)(u >> 52 & 0x7FF);
  const u64 m = u & (((u64)1 << 52) - 1);
  real r = {.negative = (int)(u >> 63)};
  if (e == 0x7FF) {
    r.is_nan = m != 0;
    r.is_inf = m == 0;
  } else {
    r.mantissa = e ? m | (u64)1 << 52 : m;
    r.exponent = (e ? e : 1) - 1075;
  }
  return r;
}

/* The mantissa shifted right by n >= 0, rounded. */
static u64 shift_rounded(u64 m, int n, int rounding, int negative) {
  if (n == 0) return m;
  const u64 kept = n >= 64 ? 0 : m >> n;
  const u64 half = n > 64 ? 0 : (u64)1 << (n - 1), rest = n >= 64 ? m : m & (((u64)1 << n) - 1);
  if (rest == 0) return kept;
  switch (rounding & 3) {
  case SIM_R_RN:
    return kept + (n <= 64 && (rest > half || (rest == half && (kept & 1))));
  case SIM_R_RZ:
    return kept;
  case SIM_R_RM:
    return kept + (negative != 0);
  default:
    return kept + (negative == 0);
  }
}

/* Bits of the number in a float of that many digits and exponent bits. */
static u64 to_bits(real r, int digits, int exponent_bits, int rounding, int finite) {
  const int bias = (1 << (exponent_bits - 1)) - 1, lowest = 1 - bias - (digits - 1);
  const u64 top = ((u64)1 << exponent_bits) - 1, inf = top << (digits - 1),
            sign = (u64)r.negative << (digits - 1 + exponent_bits);
  if (r.is_nan) return inf | (((u64)1 << (digits - 1)) - 1);
  if (r.is_inf) return sign | (finite ? inf - 1 : inf);
  if (r.mantissa == 0) return sign;
  int length = 64 - __builtin_clzll(r.mantissa), e = r.exponent + length - digits;
  if (e < lowest) e = lowest;
  u64 m = e >= r.exponent ? shift_rounded(r.mantissa, e - r.exponent, rounding, r.negative) : r.mantissa << (r.exponent - e);
  if (m >> digits) {
    m >>= 1;
    e++;
  }
  if (m >> (digits - 1) == 0) return sign | m; /* subnormal */
  const s64 biased = (s64)e - lowest + 1;
  if (biased >= (s64)top) {
    const int away =
        (rounding & 3) == SIM_R_RN || ((rounding & 3) == SIM_R_RM && r.negative) || ((rounding & 3) == SIM_R_RP && !r.negative);
    return sign | (away && !finite ? inf : inf - 1);
  }
  return sign | (u64)biased << (digits - 1) | (m & (((u64)1 << (digits - 1)) - 1));
}

static real real_of(u64 raw, int type, int ftz) {
  f64 x;
  switch (type) {
  case SIM_V_F16:
    x = sim__f16_to_f32((u16)raw);
    break;
  case SIM_V_BF16:
    x = sim__bf16_to_f32((u16)raw);
    break;
  case SIM_V_F32: {
    f32 f = sim__f32_of_bits((u32)raw);
    if (ftz && fabsf(f) < 0x1p-126f) f = copysignf(0, f);
    x = f;
    break;
  }
  case SIM_V_F64:
    x = sim__f64_of_bits(raw);
    break;
  default: {
    real r = {.negative = is_signed(type) && (s64)raw < 0};
    r.mantissa = r.negative ? 0 - raw : raw;
    return r;
  }
  }
  return real_of_f64(x);
}

/* Whole numbers arrive extended to 64 bits. */
static u64 extended(u64 raw, int type) {
  const int shift = 64 - bits_of(type);
  if (shift == 0) return raw;
  return is_signed(type) ? (u64)((s64)(raw << shift) >> shift) : raw << shift >> shift;
}

static u64 clamp(real r, u64 magnitude, int too_large, int to) {
  const int bits = bits_of(to);
  if (is_signed(to)) {
    const u64 limit = (u64)1 << (bits - 1);
    if (r.negative) return too_large || magnitude > limit ? 0 - limit : 0 - magnitude;
    return too_large || magnitude > limit - 1 ? limit - 1 : magnitude;
  }
  const u64 most = bits == 64 ? UINT64_MAX : ((u64)1 << bits) - 1;
  if (r.negative) return 0;
  return too_large || magnitude > most ? most : magnitude;
}

static u64 whole_of(real r, int rounding, int to) {
  if (r.is_inf) return clamp(r, 0, 1, to);
  if (r.exponent >= 0) {
    const int length = r.mantissa ? 64 - __builtin_clzll(r.mantissa) : 0;
    if (length + r.exponent > 64) return clamp(r, 0, 1, to);
    return clamp(r, r.mantissa << r.exponent, 0, to);
  }
  return clamp(r, shift_rounded(r.mantissa, -r.exponent, rounding, r.negative), 0, to);
}

static u64 float_bits(real r, int to, int rounding, int finite) {
  switch (to) {
  case SIM_V_F16:
  case SIM_V_F16X2:
    return to_bits(r, 11, 5, rounding, finite);
  case SIM_V_BF16:
  case SIM_V_BF16X2:
    return to_bits(r, 8, 8, rounding, finite);
  case SIM_V_F32:
    return to_bits(r, 24, 8, rounding, finite);
  default:
    return to_bits(r, 53, 11, rounding, finite);
  }
}

static f64 as_f64(u64 bits, int type) {
  switch (type) {
  case SIM_V_F16:
    return sim__f16_to_f32((u16)bits);
  case SIM_V_BF16:
    return sim__bf16_to_f32((u16)bits);
  case SIM_V_F32:
    return sim__f32_of_bits((u32)bits);
  default:
    return sim__f64_of_bits(bits);
  }
}

static u64 tf32(u32 u, int rounding) {
  if ((u & 0x7FFFFFFF) > 0x7F800000) return 0x7FFFFFFF;
  if ((u & 0x7FFFFFFF) == 0x7F800000) return u;
  if (rounding == SIM_R_RZ) return u & ~0x1FFFu;
  if (rounding == SIM_R_RNA) return (u + 0x1000) & ~0x1FFFu;
  return (u + 0xFFF + (u >> 13 & 1)) & ~0x1FFFu;
}

static u64 convert_one(const sim_insn *i, u64 raw) {
  const int to = i->type, from = i->op, rounding = i->order, flags = i->sign;
  if (to == SIM_V_TF32) {
    const u64 r = tf32((u32)raw, rounding);
    return flags & SIM_V_RELU && r >> 31 ? 0 : r;
  }
  if (is_whole(from)) raw = extended(raw, from);
  if (is_whole(to) && is_whole(from)) {
    if (!(flags & SIM_V_SAT)) return extended(raw, to);
    return clamp(real_of(raw, from, 0), is_signed(from) && (s64)raw < 0 ? 0 - raw : raw, 0, to);
  }
  real r = real_of(raw, from, flags & SIM_V_FTZ);
  if (is_whole(to)) {
    if (r.is_nan) { /* as the ISA has it: 0, or the top bit alone where either type has 64 bits */
      const u64 top = (u64)1 << (bits_of(to) - 1);
      return from != SIM_V_F64 && bits_of(to) < 64 ? 0 : is_signed(to) ? 0 - top : top;
    }
    return whole_of(r, rounding, to);
  }
  if (to == from && rounding >= SIM_R_RNI && rounding <= SIM_R_RPI && !r.is_nan && !r.is_inf && r.exponent < 0) {
    r.mantissa = shift_rounded(r.mantissa, -r.exponent, rounding, r.negative);
    r.exponent = 0;
  }
  const int round = rounding == SIM_R_NONE ? SIM_R_RN : rounding;
  u64 bits = float_bits(r, to, round, flags & SIM_V_FINITE);
  const int narrow = bits_of(to) == 16 || to >= SIM_V_F16X2;
  if (flags & SIM_V_FTZ && to == SIM_V_F32 && (bits & 0x7FFFFFFF) < 0x00800000) bits &= 0x80000000;
  if (flags & SIM_V_SAT) {
    const f64 x = as_f64(bits, to);
    const real limit = real_of_f64(x > 0 ? (x < 1 ? x : 1) : 0);
    bits = float_bits(limit, to, SIM_R_RN, 0);
  }
  if (flags & SIM_V_RELU && narrow && !r.is_nan && bits >> 15 & 1) bits = 0;
  return bits;
}

SIM_HEAD(convert_any) {
  const int a_wide = i->src_wide & 1, d_wide = i->dst_wide & 1;
  for (int l = 0; l < SIM_LANES; l++) {
    if (!(mask >> l & 1)) continue;
    u64 v = convert_one(i, a_wide ? SIM_PLACE(u64, 2)[l] : SIM_PLACE(u32, 2)[l]);
    if (i->type >= SIM_V_F16X2)
      v = v << 16 | convert_one(i, i->src_wide >> 1 & 1 ? SIM_PLACE(u64, 3)[l] : SIM_PLACE(u32, 3)[l]);
    if (d_wide)
      SIM_PLACE(u64, 0)[l] = v;
    else
      SIM_PLACE(u32, 0)[l] = i->bits == 16 ? (u32)(v & 0xFFFF) : (u32)v;
  }
}

/* ---- the common ones
 * ------------------------------------------------------------------------------------------------------------------- */

/* Whole numbers: what is read, as what, and how wide the destination's register is. */
#define WHOLE(S, name, T)                          \
  ALU1(name##_from32_to16, u32, u32, (u16)(S)(T)a) \
  ALU1(name##_from32_to32, u32, u32, (S)(T)a)      \
  ALU1(name##_from32_to64, u64, u32, (S)(T)a)      \
  ALU1(name##_from64_to16, u32, u64, (u16)(S)(T)a) \
  ALU1(name##_from64_to32, u32, u64, (S)(T)a)      \
  ALU1(name##_from64_to64, u64, u64, (S)(T)a)
WHOLE(u64, u8, u8)
WHOLE(s64, s8, s8)
WHOLE(u64, u16, u16)
WHOLE(s64, s16, s16)
WHOLE(u64, u32, u32)
WHOLE(s64, s32, s32)
WHOLE(u64, u64, u64)
#define WHOLE_ROW(t) \
  { t##_from32_to16, t##_from32_to32, t##_from32_to64, t##_from64_to16, t##_from64_to32, t##_from64_to64 }
static const sim_alu whole[][6] = {WHOLE_ROW(u8),  WHOLE_ROW(s8),  WHOLE_ROW(u16), WHOLE_ROW(s16),
                                   WHOLE_ROW(u32), WHOLE_ROW(s32), WHOLE_ROW(u64), WHOLE_ROW(u64)};

ALU1(f16_to_f32, f32, u32, sim__canonical_f32(sim__f16_to_f32((u16)a)))
ALU1(bf16_to_f32, f32, u32, sim__canonical_f32(sim__bf16_to_f32((u16)a)))
ALU1(f32_to_f16, u32, f32, sim__f32_to_f16(a))
ALU1(f32_to_bf16, u32, f32, sim__f32_to_bf16(a))
ALU2(f32_to_f16x2, u32, f32, f32, (u32)sim__f32_to_f16(b) | (u32)sim__f32_to_f16(a) << 16)
ALU2(f32_to_bf16x2, u32, f32, f32, (u32)sim__f32_to_bf16(b) | (u32)sim__f32_to_bf16(a) << 16)
ALU1(f32_to_tf32_rna, u32, u32, tf32(a, SIM_R_RNA))
ALU1(s32_to_f32, f32, s32, (f32)a)
ALU1(u32_to_f32, f32, u32, (f32)a)
ALU1(f32_to_f64, f64, f32, a != a ? sim__f64_of_bits(UINT64_MAX >> 1) : (f64)a)
ALU1(f64_to_f32, f32, f64, sim__canonical_f32((f32)a))

static const struct {
  int to, from, rounding;
  sim_alu alu;
} common[] = {{SIM_V_F32, SIM_V_F16, SIM_R_NONE, f16_to_f32},      {SIM_V_F32, SIM_V_BF16, SIM_R_NONE, bf16_to_f32},
              {SIM_V_F16, SIM_V_F32, SIM_R_RN, f32_to_f16},        {SIM_V_BF16, SIM_V_F32, SIM_R_RN, f32_to_bf16},
              {SIM_V_F16X2, SIM_V_F32, SIM_R_RN, f32_to_f16x2},    {SIM_V_BF16X2, SIM_V_F32, SIM_R_RN, f32_to_bf16x2},
              {SIM_V_TF32, SIM_V_F32, SIM_R_RNA, f32_to_tf32_rna}, {SIM_V_F32, SIM_V_S32, SIM_R_RN, s32_to_f32},
              {SIM_V_F32, SIM_V_U32, SIM_R_RN, u32_to_f32},        {SIM_V_F64, SIM_V_F32, SIM_R_NONE, f32_to_f64},
              {SIM_V_F32, SIM_V_F64, SIM_R_RN, f64_to_f32}};

/* Registers as wide as the types, and nothing but the conversion itself. */
static sim_alu find_common(const sim_insn *i) {
  if (i->sign || i->bits != bits_of(i->type) || (i->src_wide & 1) != (bits_of(i->op) == 64)) return NULL;
  if (i->type >= SIM_V_F16X2 && i->src_wide) return NULL;
  for (size_t k = 0; k < sizeof common / sizeof *common; k++)
    if (common[k].to == i->type && common[k].from == i->op && common[k].rounding == i->order) return common[k].alu;
  return NULL;
}

/* Of two whole types without saturation, what is extended is the narrower one: the wider one's bits beyond it do not matter. */
void sim__convert_choose(sim_insn *i) {
  const int to = i->type, from = i->op;
  i->flow = i->type >= SIM_V_F16X2 ? SIM_F_CVT_PAIR : SIM_F_ALL;
  i->alu = find_common(i);
  const int reaches_past = !is_signed(to) && is_signed(from) && bits_of(to) > bits_of(from) && i->bits > bits_of(to);
  if (!i->alu && is_whole(to) && is_whole(from) && !i->sign && !reaches_past) {
    const int t = bits_of(to) <= bits_of(from) ? to : from;
    const int d = i->dst_wide & 1 ? 2 : i->bits == 16 ? 0 : 1;
    i->alu = whole[t][(i->src_wide & 1 ? 3 : 0) + d];
    i->flow = is_signed(t) ? SIM_F_SEXT : SIM_F_ZEXT;
    i->from_bits = (uint8_t)bits_of(t);
  }
  if (!i->alu) i->alu = convert_any;
}
