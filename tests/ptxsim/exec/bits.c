/* bits.c -- moves, logic, shifts, fields of bits, selections. */
#include "exec/alu.h"

#define LOGIC(w)                         \
  ALU2(and_##w, u##w, u##w, u##w, a &b)  \
  ALU2(or_##w, u##w, u##w, u##w, a | b)  \
  ALU2(xor_##w, u##w, u##w, u##w, a ^ b) \
  ALU1(not_##w, u##w, u##w, ~a)          \
  ALU1(cnot_##w, u##w, u##w, a == 0)     \
  ALU1(mov_##w, u##w, u##w, a)
LOGIC(32)
LOGIC(64)
ALU1(not_16, u32, u32, (u16)~a)
ALU1(mov_16, u32, u32, a & 0xFFFF)

/* Predicates are one word for all lanes. */
#define PRED(name, EXPR)                                      \
  SIM_HEAD(name) {                                            \
    u32 *d = SIM_PLACE(u32, 0);                               \
    const u32 a = *SIM_PLACE(u32, 2), b = *SIM_PLACE(u32, 3); \
    (void)b;                                                  \
    *d = (*d & ~mask) | ((EXPR)&mask);                        \
  }
PRED(and_pred, a &b)
PRED(or_pred, a | b)
PRED(xor_pred, a ^ b)
PRED(not_pred, ~a)
PRED(mov_pred, a)

/* Shifts by the width or more leave nothing, or the sign. */
#define SHIFT(w, S)                                    \
  ALU2(shl_##w, u##w, u##w, u32, b >= w ? 0 : a << b)  \
  ALU2(shr_u##w, u##w, u##w, u32, b >= w ? 0 : a >> b) \
  ALU2(shr_s##w, S, S, u32, a >> (b >= w ? w - 1 : b))
SHIFT(32, s32)
SHIFT(64, s64)
ALU2(shl_16, u32, u32, u32, b >= 16 ? 0 : (u16)(a << b))
ALU2(shr_u16, u32, u32, u32, b >= 16 ? 0 : a >> b)
ALU2(shr_s16, u32, u32, u32, (u16)((s16)a >> (b >= 16 ? 15 : b)))

static inline u32 funnel_left(u32 low, u32 high, u32 n) {
  return (u32)(((u64)high << 32 | low) << n >> 32);
}
static inline u32 funnel_right(u32 low, u32 high, u32 n) {
  return (u32)(((u64)high << 32 | low) >> n);
}
ALU3(shf_l_wrap, u32, u32, u32, u32, funnel_left(a, b, c & 31))
ALU3(shf_r_wrap, u32, u32, u32, u32, funnel_right(a, b, c & 31))
ALU3(shf_l_clamp, u32, u32, u32, u32, c >= 32 ? a : funnel_left(a, b, c))
ALU3(shf_r_clamp, u32, u32, u32, u32, c >= 32 ? b : funnel_right(a, b, c))

ALU1(popc_32, u32, u32, __builtin_popcount(a))
ALU1(popc_64, u32, u64, __builtin_popcountll(a))
ALU1(clz_32, u32, u32, a ? __builtin_clz(a) : 32)
ALU1(clz_64, u32, u64, a ? __builtin_clzll(a) : 64)

static inline u32 reverse32(u32 x) {
  x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
  x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
  x = (x >> 4 & 0x0F0F0F0F) | (x & 0x0F0F0F0F) << 4;
  return __builtin_bswap32(x);
}
ALU1(brev_32, u32, u32, reverse32(a))
ALU1(brev_64, u64, u64, (u64)reverse32((u32)a) << 32 | reverse32((u32)(a >> 32)))

/* The highest bit that differs from the sign; all ones where there is none. */
static inline u32 find_u32(u32 a) {
  return a ? 31 - (u32)__builtin_clz(a) : 0xFFFFFFFF;
}
static inline u32 find_u64(u64 a) {
  return a ? 63 - (u32)__builtin_clzll(a) : 0xFFFFFFFF;
}
static inline u32 shift_of(u32 at, u32 top) {
  return at == 0xFFFFFFFF ? at : top - at;
}
ALU1(bfind_u32, u32, u32, find_u32(a))
ALU1(bfind_s32, u32, u32, find_u32((s32)a < 0 ? ~a : a))
ALU1(bfind_u64, u32, u64, find_u64(a))
ALU1(bfind_s64, u32, u64, find_u64((s64)a < 0 ? ~a : a))
ALU1(bfind_shift_u32, u32, u32, shift_of(find_u32(a), 31))
ALU1(bfind_shift_s32, u32, u32, shift_of(find_u32((s32)a < 0 ? ~a : a), 31))
ALU1(bfind_shift_u64, u32, u64, shift_of(find_u64(a), 63))
ALU1(bfind_shift_s64, u32, u64, shift_of(find_u64((s64)a < 0 ? ~a : a), 63))

/* bfe: position and length are bytes; what lies beyond the top is zero, or the sign where the number has one. */
static inline u64 field(u64 a, u32 at, u32 length, int top, int sign) {
  at &= 255;
  length &= 255;
  const u32 last = at + length > (u32)top + 1 ? (u32)top : at + length - 1;
  const u64 fill = sign && length && a >> (at > (u32)top ? (u32)top : last) & 1 ? UINT64_MAX : 0;
  if (length == 0) return 0;
  const u64 shifted = at > 63 ? 0 : a >> at;
  const u32 have = at > (u32)top ? 0 : last - at + 1;
  const u64 mask = have >= 64 ? UINT64_MAX : ((u64)1 << have) - 1;
  return (shifted & mask) | (fill & ~mask);
}
ALU3(bfe_u32, u32, u32, u32, u32, field(a, b, c, 31, 0))
ALU3(bfe_s32, u32, u32, u32, u32, field(a, b, c, 31, 1))
ALU3(bfe_u64, u64, u64, u32, u32, field(a, b, c, 63, 0))
ALU3(bfe_s64, u64, u64, u32, u32, field(a, b, c, 63, 1))

static inline u64 insert(u64 a, u64 b, u32 at, u32 length) {
  at &= 255;
  length &= 255;
  const u64 ones = length >= 64 ? UINT64_MAX : ((u64)1 << length) - 1, mask = at >= 64 ? 0 : ones << at;
  return (b & ~mask) | (at >= 64 ? 0 : a << at & mask);
}
ALU4(bfi_32, u32, u32, u32, u32, u32, insert(a, b, c, e))
ALU4(bfi_64, u64, u64, u64, u32, u32, insert(a, b, c, e))
static inline u32 make_mask(u32 at, u32 length, int clamp) {
  if (!clamp) at &= 31, length &= 31;
  if (at >= 32 || length == 0) return 0;
  return (length >= 32 ? 0xFFFFFFFF : (1u << length) - 1) << at;
}
ALU2(bmsk_clamp, u32, u32, u32, make_mask(a, b, 1))
ALU2(bmsk_wrap, u32, u32, u32, make_mask(a, b, 0))
static inline u32 size_extend(u32 a, u32 n, int sign) {
  if (n >= 32) return a;
  if (n == 0) return 0;
  const u32 mask = (1u << n) - 1, low = a & mask;
  return sign && a >> (n - 1) & 1 ? low | ~mask : low;
}
ALU2(szext_clamp_u32, u32, u32, u32, size_extend(a, b, 0))
ALU2(szext_clamp_s32, u32, u32, u32, size_extend(a, b, 1))
ALU2(szext_wrap_u32, u32, u32, u32, size_extend(a, b & 31, 0))
ALU2(szext_wrap_s32, u32, u32, u32, size_extend(a, b & 31, 1))

static inline u32 permute(u32 a, u32 b, u32 how) {
  const u64 both = a | (u64)b << 32;
  u32 out = 0;
  for (int k = 0; k < 4; k++) {
    const u32 selector = how >> (4 * k) & 15;
    const u32 byte = (u32)(both >> (8 * (selector & 7))) & 255;
    out |= (selector & 8 ? (byte & 128 ? 255u : 0u) : byte) << (8 * k);
  }
  return out;
}
/* The named modes are permutations that the low two bits of the selector choose. */
static inline u32 mode_f4e(u32 k) {
  return (u32)(0x6543543243213210ull >> (16 * k));
}
static inline u32 mode_b4e(u32 k) {
  return (const u32[]){0x5670, 0x6701, 0x7012, 0x0123}[k];
}
static inline u32 mode_rc8(u32 k) {
  return k * 0x1111;
}
static inline u32 mode_ecl(u32 k) {
  return (const u32[]){0x3210, 0x3211, 0x3222, 0x3333}[k];
}
static inline u32 mode_ecr(u32 k) {
  return (const u32[]){0x0000, 0x1110, 0x2210, 0x3210}[k];
}
static inline u32 mode_rc16(u32 k) {
  return k & 1 ? 0x3232 : 0x1010;
}
ALU3(prmt, u32, u32, u32, u32, permute(a, b, c))
ALU3(prmt_f4e, u32, u32, u32, u32, permute(a, b, mode_f4e(c & 3) & 0xFFFF))
ALU3(prmt_b4e, u32, u32, u32, u32, permute(a, b, mode_b4e(c & 3)))
ALU3(prmt_rc8, u32, u32, u32, u32, permute(a, b, mode_rc8(c & 3)))
ALU3(prmt_ecl, u32, u32, u32, u32, permute(a, b, mode_ecl(c & 3)))
ALU3(prmt_ecr, u32, u32, u32, u32, permute(a, b, mode_ecr(c & 3)))
ALU3(prmt_rc16, u32, u32, u32, u32, permute(a, b, mode_rc16(c & 3)))

/* The table has a bit for each of the eight combinations of a, b and c (c counts one). */
SIM_HEAD(lop3) {
  const u32 *pa = SIM_PLACE(u32, 2), *pb = SIM_PLACE(u32, 3), *pc = SIM_PLACE(u32, 4);
  u32 on[8];
  for (int k = 0; k < 8; k++) on[k] = i->offset >> k & 1 ? 0xFFFFFFFF : 0;
  SIM_BODY(u32, const u32 a = pa[l]; const u32 b = pb[l]; const u32 c = pc[l];
           , (~a & ~b & ~c & on[0]) | (~a & ~b & c & on[1]) | (~a & b & ~c & on[2]) | (~a & b & c & on[3]) |
                 (a & ~b & ~c & on[4]) | (a & ~b & c & on[5]) | (a & b & ~c & on[6]) | (a & b & c & on[7]))
}

#define SELECT(w)                                                                   \
  SIM_HEAD(selp_##w) {                                                              \
    const u##w *pa = SIM_PLACE(u##w, 2), *pb = SIM_PLACE(u##w, 3);                  \
    const u32 p = *SIM_PLACE(u32, 4);                                               \
    SIM_BODY(u##w, const u##w a = pa[l]; const u##w b = pb[l];, p >> l & 1 ? a : b) \
  }
SELECT(32)
SELECT(64)
ALU3(slct_s32_32, u32, u32, u32, s32, c >= 0 ? a : b)
ALU3(slct_s32_64, u64, u64, u64, s32, c >= 0 ? a : b)
ALU3(slct_f32_32, u32, u32, u32, f32, c >= 0 ? a : b)
ALU3(slct_f32_64, u64, u64, u64, f32, c >= 0 ? a : b)
static inline f32 flushed(f32 x) {
  return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}
ALU3(slct_ftz_f32_32, u32, u32, u32, f32, flushed(c) >= 0 ? a : b)

/* Parts side by side, and one part of many. */
ALU2(pack2x16, u32, u32, u32, (a & 0xFFFF) | b << 16)
ALU2(pack2x32, u64, u32, u32, a | (u64)b << 32)
ALU4(pack4x16, u64, u32, u32, u32, u32,
     (u64)(a & 0xFFFF) | (u64)(b & 0xFFFF) << 16 | (u64)(c & 0xFFFF) << 32 | (u64)(e & 0xFFFF) << 48)
SIM_HEAD(part16of32) {
  const u32 *pa = SIM_PLACE(u32, 2);
  const int by = (int)i->offset;
  SIM_BODY(u32, const u32 a = pa[l];, a >> by & 0xFFFF)
}
SIM_HEAD(part16of64) {
  const u64 *pa = SIM_PLACE(u64, 2);
  const int by = (int)i->offset;
  SIM_BODY(u32, const u64 a = pa[l];, a >> by & 0xFFFF)
}
SIM_HEAD(part32of64) {
  const u64 *pa = SIM_PLACE(u64, 2);
  const int by = (int)i->offset;
  SIM_BODY(u32, const u64 a = pa[l];, a >> by)
}

/* Is a generic address within the window that b begins; outside of all windows. */
ALUP(inwindow, u64, u64, a - b < (u64)1 << 48)
ALUP(outofwindow, u64, u64, (a - 0x00F1000000000000ull >= 3ull << 48) | (b & 0))

#define I SIM_C_INTEGER
#define LOGIC_ROWS(op, flow)                                                            \
  {#op ".b16", "h:hh", op##_32, I, flow, 0}, {#op ".b32", "w:ww", op##_32, I, flow, 0}, \
      {#op ".b64", "d:dd", op##_64, I, flow, 0}, {                                      \
#op ".pred", "p:pp", op##_pred, I, SIM_F_ALL, 0                                     \
  }
#define SELP(t, sig, w) \
  { "selp." t, sig, selp_##w, I, SIM_F_SELECT, 0 }
#define SLCT(t, sig, sigf, w)                               \
  {"slct." t ".s32", sig, slct_s32_##w, I, SIM_F_ALL, 0}, { \
    "slct." t ".f32", sigf, slct_f32_##w, I, SIM_F_ALL, 0   \
  }

static const sim_alu_row rows[] = {
    LOGIC_ROWS(and, SIM_F_AND),
    LOGIC_ROWS(or, SIM_F_OR),
    LOGIC_ROWS(xor, SIM_F_XOR),
    {"not.b16", "h:h", not_16, I, SIM_F_MOVE, 0},
    {"not.b32", "w:w", not_32, I, SIM_F_MOVE, 0},
    {"not.b64", "d:d", not_64, I, SIM_F_MOVE, 0},
    {"not.pred", "p:p", not_pred, I, SIM_F_ALL, 0},
    {"cnot.b16", "h:h", cnot_32, I, SIM_F_ALL, 0},
    {"cnot.b32", "w:w", cnot_32, I, SIM_F_ALL, 0},
    {"cnot.b64", "d:d", cnot_64, I, SIM_F_ALL, 0},
    {"mov.p1", "p:p", mov_pred, I, SIM_F_ALL, 0},
    {"mov.b16", "h:h", mov_16, I, SIM_F_MOVE, 0},
    {"mov.b32", "w:w", mov_32, I, SIM_F_MOVE, 0},
    {"mov.b64", "d:d", mov_64, I, SIM_F_MOVE, 0},
    {"shl.b16", "h:hw", shl_16, I, SIM_F_SHL, 0},
    {"shl.b32", "w:ww", shl_32, I, SIM_F_SHL, 0},
    {"shl.b64", "d:dw", shl_64, I, SIM_F_SHL, 0},
    {"shr.b16", "h:hw", shr_u16, I, SIM_F_SHR, 0},
    {"shr.b32", "w:ww", shr_u32, I, SIM_F_SHR, 0},
    {"shr.b64", "d:dw", shr_u64, I, SIM_F_SHR, 0},
    {"shr.u16", "h:hw", shr_u16, I, SIM_F_SHR, 0},
    {"shr.u32", "w:ww", shr_u32, I, SIM_F_SHR, 0},
    {"shr.u64", "d:dw", shr_u64, I, SIM_F_SHR, 0},
    {"shr.s16", "h:hw", shr_s16, I, SIM_F_SAR, 0},
    {"shr.s32", "w:ww", shr_s32, I, SIM_F_SAR, 0},
    {"shr.s64", "d:dw", shr_s64, I, SIM_F_SAR, 0},
    {"shf.l.wrap.b32", "w:www", shf_l_wrap, I, SIM_F_ALL, 0},
    {"shf.r.wrap.b32", "w:www", shf_r_wrap, I, SIM_F_ALL, 0},
    {"shf.l.clamp.b32", "w:www", shf_l_clamp, I, SIM_F_ALL, 0},
    {"shf.r.clamp.b32", "w:www", shf_r_clamp, I, SIM_F_ALL, 0},
    {"popc.b32", "w:w", popc_32, I, SIM_F_ALL, 0},
    {"popc.b64", "w:d", popc_64, I, SIM_F_ALL, 0},
    {"clz.b32", "w:w", clz_32, I, SIM_F_ALL, 0},
    {"clz.b64", "w:d", clz_64, I, SIM_F_ALL, 0},
    {"brev.b32", "w:w", brev_32, I, SIM_F_ALL, 0},
    {"brev.b64", "d:d", brev_64, I, SIM_F_ALL, 0},
    {"bfind.u32", "w:w", bfind_u32, I, SIM_F_ALL, 0},
    {"bfind.s32", "w:w", bfind_s32, I, SIM_F_ALL, 0},
    {"bfind.u64", "w:d", bfind_u64, I, SIM_F_ALL, 0},
    {"bfind.s64", "w:d", bfind_s64, I, SIM_F_ALL, 0},
    {"bfind.shiftamt.u32", "w:w", bfind_shift_u32, I, SIM_F_ALL, 0},
    {"bfind.shiftamt.s32", "w:w", bfind_shift_s32, I, SIM_F_ALL, 0},
    {"bfind.shiftamt.u64", "w:d", bfind_shift_u64, I, SIM_F_ALL, 0},
    {"bfind.shiftamt.s64", "w:d", bfind_shift_s64, I, SIM_F_ALL, 0},
    {"bfe.u32", "w:www", bfe_u32, I, SIM_F_ALL, 0},
    {"bfe.s32", "w:www", bfe_s32, I, SIM_F_ALL, 0},
    {"bfe.u64", "d:dww", bfe_u64, I, SIM_F_ALL, 0},
    {"bfe.s64", "d:dww", bfe_s64, I, SIM_F_ALL, 0},
    {"bfi.b32", "w:wwww", bfi_32, I, SIM_F_ALL, 0},
    {"bfi.b64", "d:ddww", bfi_64, I, SIM_F_ALL, 0},
    {"bmsk.clamp.b32", "w:ww", bmsk_clamp, I, SIM_F_ALL, 0},
    {"bmsk.wrap.b32", "w:ww", bmsk_wrap, I, SIM_F_ALL, 0},
    {"szext.clamp.u32", "w:ww", szext_clamp_u32, I, SIM_F_ALL, 0},
    {"szext.clamp.s32", "w:ww", szext_clamp_s32, I, SIM_F_ALL, 0},
    {"szext.wrap.u32", "w:ww", szext_wrap_u32, I, SIM_F_ALL, 0},
    {"szext.wrap.s32", "w:ww", szext_wrap_s32, I, SIM_F_ALL, 0},
    {"prmt.b32", "w:www", prmt, I, SIM_F_PRMT, 0},
    {"prmt.b32.f4e", "w:www", prmt_f4e, I, SIM_F_ALL, 0},
    {"prmt.b32.b4e", "w:www", prmt_b4e, I, SIM_F_ALL, 0},
    {"prmt.b32.rc8", "w:www", prmt_rc8, I, SIM_F_ALL, 0},
    {"prmt.b32.ecl", "w:www", prmt_ecl, I, SIM_F_ALL, 0},
    {"prmt.b32.ecr", "w:www", prmt_ecr, I, SIM_F_ALL, 0},
    {"prmt.b32.rc16", "w:www", prmt_rc16, I, SIM_F_ALL, 0},
    {"lop3.b32", "w:www", lop3, I, SIM_F_LOP3, 0},
    SELP("b16", "h:hhp", 32),
    SELP("u16", "h:hhp", 32),
    SELP("s16", "h:hhp", 32),
    SELP("f16", "h:hhp", 32),
    SELP("b32", "w:wwp", 32),
    SELP("u32", "w:wwp", 32),
    SELP("s32", "w:wwp", 32),
    SELP("f32", "f:ffp", 32),
    SELP("b64", "d:ddp", 64),
    SELP("u64", "d:ddp", 64),
    SELP("s64", "d:ddp", 64),
    SELP("f64", "g:ggp", 64),
    SLCT("b32", "w:www", "w:wwf", 32),
    SLCT("u32", "w:www", "w:wwf", 32),
    SLCT("s32", "w:www", "w:wwf", 32),
    SLCT("f32", "f:ffw", "f:fff", 32),
    SLCT("b64", "d:ddw", "d:ddf", 64),
    SLCT("u64", "d:ddw", "d:ddf", 64),
    SLCT("s64", "d:ddw", "d:ddf", 64),
    SLCT("f64", "g:ggw", "g:ggf", 64),
    {"slct.ftz.f32.f32", "f:fff", slct_ftz_f32_32, I, SIM_F_ALL, 0},
    {"pack2x16", "w:hh", pack2x16, I, SIM_F_PACK, 0},
    {"pack2x32", "d:ww", pack2x32, I, SIM_F_PACK, 0},
    {"pack4x16", "d:hhhh", pack4x16, I, SIM_F_PACK, 0},
    {"part16of32", "h:w", part16of32, I, SIM_F_UNPACK, 0},
    {"part16of64", "h:d", part16of64, I, SIM_F_UNPACK, 0},
    {"part32of64", "w:d", part32of64, I, SIM_F_UNPACK, 0},
    {"inwindow", "p:dd", inwindow, I, SIM_F_ALL, 0},
    {"outofwindow", "p:dd", outofwindow, I, SIM_F_ALL, 0},
};
SIM_TABLE(sim__bits_table, rows);
