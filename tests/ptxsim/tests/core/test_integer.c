/* test_integer.c -- every whole-number, bit and selection instruction against a plain reference, on edge values and random
 * ones. */
#include "arithmetic.h"

typedef __int128 wide;
typedef unsigned __int128 uwide;

static const uint64_t edges[] = {0,
                                 1,
                                 2,
                                 3,
                                 7,
                                 8,
                                 15,
                                 16,
                                 17,
                                 31,
                                 32,
                                 33,
                                 63,
                                 64,
                                 65,
                                 127,
                                 128,
                                 255,
                                 256,
                                 0x7FFF,
                                 0x8000,
                                 0xFFFF,
                                 0x10000,
                                 0x7FFFFFFF,
                                 0x80000000,
                                 0x80000001,
                                 0xFFFFFFFE,
                                 0xFFFFFFFF,
                                 0x100000000,
                                 0x7FFFFFFFFFFFFFFF,
                                 0x8000000000000000,
                                 0x8000000000000001,
                                 0xFFFFFFFFFFFFFFFE,
                                 0xFFFFFFFFFFFFFFFF,
                                 0x0123456789ABCDEF,
                                 0xFEDCBA9876543210};
enum { N_EDGES = sizeof edges / sizeof *edges };

static void check(const char *instruction, const char *signature, const char *suffix, reference f) {
  const uint64_t *e[4] = {edges, edges, edges, edges};
  const size_t n[4] = {N_EDGES, N_EDGES, N_EDGES, N_EDGES};
  arguments g = arguments_make(strchr(signature, ':') + 1, e, n, 5);
  operation_check(instruction, signature, suffix, &g, f);
  arguments_free(&g);
}

#define S(w, x) ((wide)(int##w##_t)(x))
#define U(w, x) ((uwide)(uint##w##_t)(x))
#define R(name, expr)                                               \
  __attribute__((unused)) static uint64_t name(const uint64_t *a) { \
    return (uint64_t)(expr);                                        \
  }
#define A a[0]
#define B a[1]
#define C a[2]

/* name_w for 16, 32 and 64 bits, signed and not. */
#define WIDTHS(name, EXPR_S, EXPR_U) \
  R(name##_s16, EXPR_S(16))          \
  R(name##_u16, EXPR_U(16))          \
  R(name##_s32, EXPR_S(32)) R(name##_u32, EXPR_U(32)) R(name##_s64, EXPR_S(64)) R(name##_u64, EXPR_U(64))
#define ADD(w) A + B
#define SUB(w) A - B
#define MULLO(w) A *B
#define MADLO(w) A *B + C
#define MULHI_S(w) (S(w, A) * S(w, B)) >> w
#define MULHI_U(w) (U(w, A) * U(w, B)) >> w
#define MADHI_S(w) ((S(w, A) * S(w, B)) >> w) + S(w, C)
#define MADHI_U(w) ((U(w, A) * U(w, B)) >> w) + U(w, C)
#define DIV_S(w) (int##w##_t) B == 0 ? (wide)-1 : S(w, A) / S(w, B)
#define DIV_U(w) (uint##w##_t) B == 0 ? ~(uwide)0 : U(w, A) / U(w, B)
#define REM_S(w) (int##w##_t) B == 0 ? S(w, A) : S(w, A) % S(w, B)
#define REM_U(w) (uint##w##_t) B == 0 ? U(w, A) : U(w, A) % U(w, B)
#define MIN_S(w) S(w, A) < S(w, B) ? A : B
#define MIN_U(w) U(w, A) < U(w, B) ? A : B
#define MAX_S(w) S(w, A) > S(w, B) ? A : B
#define MAX_U(w) U(w, A) > U(w, B) ? A : B
#define SAD_S(w) C + (uint64_t)(S(w, A) < S(w, B) ? S(w, B) - S(w, A) : S(w, A) - S(w, B))
#define SAD_U(w) C + (uint64_t)(U(w, A) < U(w, B) ? U(w, B) - U(w, A) : U(w, A) - U(w, B))
#define ABS_S(w) S(w, A) < 0 ? -S(w, A) : S(w, A)
#define NEG_S(w) -S(w, A)
WIDTHS(add, ADD, ADD)
WIDTHS(sub, SUB, SUB)
WIDTHS(mullo, MULLO, MULLO)
WIDTHS(madlo, MADLO, MADLO)
WIDTHS(mulhi, MULHI_S, MULHI_U)
WIDTHS(madhi, MADHI_S, MADHI_U)
WIDTHS(div_, DIV_S, DIV_U)
WIDTHS(rem, REM_S, REM_U)
WIDTHS(min_, MIN_S, MIN_U)
WIDTHS(max_, MAX_S, MAX_U)
WIDTHS(sad, SAD_S, SAD_U)
WIDTHS(abs_, ABS_S, ABS_S)
WIDTHS(neg, NEG_S, NEG_S)
R(wide_s16, S(16, A) * S(16, B))
R(wide_u16, U(16, A) * U(16, B))
R(wide_s32, S(32, A) * S(32, B))
R(wide_u32, U(32, A) * U(32, B))
R(madwide_s16, S(16, A) * S(16, B) + (wide)C)
R(madwide_u16, U(16, A) * U(16, B) + C)
R(madwide_s32, S(32, A) * S(32, B) + (wide)C)
R(madwide_u32, U(32, A) * U(32, B) + C)
static wide clamp32(wide x) {
  return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : x;
}
R(add_sat, clamp32(S(32, A) + S(32, B)))
R(sub_sat, clamp32(S(32, A) - S(32, B)))
R(madhi_sat, clamp32(((S(32, A) * S(32, B)) >> 32) + S(32, C)))
static wide s24(uint64_t x) {
  return (wide)((int32_t)(x << 8) >> 8);
}
R(mul24lo_s, s24(A) * s24(B))
R(mul24lo_u, (A & 0xFFFFFF) * (B & 0xFFFFFF))
R(mul24hi_s, (s24(A) * s24(B)) >> 16)
R(mul24hi_u, ((A & 0xFFFFFF) * (B & 0xFFFFFF)) >> 16)
R(mad24lo_s, s24(A) * s24(B) + (wide)C)
R(mad24lo_u, (A & 0xFFFFFF) * (B & 0xFFFFFF) + C)
R(min_relu, (MIN_S(32)) & 0x80000000 ? 0 : (MIN_S(32)))
R(max_relu, (MAX_S(32)) & 0x80000000 ? 0 : (MAX_S(32)))
static uint64_t halves(uint64_t lo, uint64_t hi) {
  return (lo & 0xFFFF) | (hi & 0xFFFF) << 16;
}
R(add16x2, halves(A + B, (A >> 16) + (B >> 16)))
R(min_s16x2, halves(S(16, A) < S(16, B) ? A : B, S(16, A >> 16) < S(16, B >> 16) ? A >> 16 : B >> 16))
R(min_u16x2, halves(U(16, A) < U(16, B) ? A : B, U(16, A >> 16) < U(16, B >> 16) ? A >> 16 : B >> 16))
R(max_s16x2, halves(S(16, A) > S(16, B) ? A : B, S(16, A >> 16) > S(16, B >> 16) ? A >> 16 : B >> 16))
R(max_u16x2, halves(U(16, A) > U(16, B) ? A : B, U(16, A >> 16) > U(16, B >> 16) ? A >> 16 : B >> 16))

static void sums(void **state) {
  (void)state;
#define EACH(text, fn, n)                                                                           \
  check(text ".s16", "h:" n(h), NULL, fn##_s16), check(text ".u16", "h:" n(h), NULL, fn##_u16),     \
      check(text ".s32", "w:" n(w), NULL, fn##_s32), check(text ".u32", "w:" n(w), NULL, fn##_u32), \
      check(text ".s64", "d:" n(d), NULL, fn##_s64), check(text ".u64", "d:" n(d), NULL, fn##_u64)
#define TWO(l) #l #l
#define THREE(l) #l #l #l
  EACH("add", add, TWO);
  EACH("sub", sub, TWO);
  EACH("mul.lo", mullo, TWO);
  EACH("mad.lo", madlo, THREE);
  EACH("mul.hi", mulhi, TWO);
  EACH("div", div_, TWO);
  EACH("rem", rem, TWO);
  EACH("min", min_, TWO);
  EACH("max", max_, TWO);
  EACH("sad", sad, THREE);
  check("mad.hi.s32", "w:www", NULL, madhi_s32);
  check("mad.hi.u32", "w:www", NULL, madhi_u32);
  check("mad.hi.s64", "d:ddd", NULL, madhi_s64);
  check("mad.hi.u64", "d:ddd", NULL, madhi_u64);
  check("mad.hi.sat.s32", "w:www", NULL, madhi_sat);
  check("abs.s16", "h:h", NULL, abs__s16);
  check("abs.s32", "w:w", NULL, abs__s32);
  check("abs.s64", "d:d", NULL, abs__s64);
  check("neg.s16", "h:h", NULL, neg_s16);
  check("neg.s32", "w:w", NULL, neg_s32);
  check("neg.s64", "d:d", NULL, neg_s64);
  check("mul.wide.s16", "w:hh", NULL, wide_s16);
  check("mul.wide.u16", "w:hh", NULL, wide_u16);
  check("mul.wide.s32", "d:ww", NULL, wide_s32);
  check("mul.wide.u32", "d:ww", NULL, wide_u32);
  check("mad.wide.s16", "w:hhw", NULL, madwide_s16);
  check("mad.wide.u16", "w:hhw", NULL, madwide_u16);
  check("mad.wide.s32", "d:wwd", NULL, madwide_s32);
  check("mad.wide.u32", "d:wwd", NULL, madwide_u32);
  check("add.sat.s32", "w:ww", NULL, add_sat);
  check("sub.sat.s32", "w:ww", NULL, sub_sat);
  check("mul24.lo.s32", "w:ww", NULL, mul24lo_s);
  check("mul24.lo.u32", "w:ww", NULL, mul24lo_u);
  check("mul24.hi.s32", "w:ww", NULL, mul24hi_s);
  check("mul24.hi.u32", "w:ww", NULL, mul24hi_u);
  check("mad24.lo.s32", "w:www", NULL, mad24lo_s);
  check("mad24.lo.u32", "w:www", NULL, mad24lo_u);
  check("min.relu.s32", "w:ww", NULL, min_relu);
  check("max.relu.s32", "w:ww", NULL, max_relu);
  check("add.s16x2", "w:ww", NULL, add16x2);
  check("add.u16x2", "w:ww", NULL, add16x2);
  check("min.s16x2", "w:ww", NULL, min_s16x2);
  check("min.u16x2", "w:ww", NULL, min_u16x2);
  check("max.s16x2", "w:ww", NULL, max_s16x2);
  check("max.u16x2", "w:ww", NULL, max_u16x2);
}

/* ---- bits
 * ------------------------------------------------------------------------------------------------------------------------------
 */

R(and_, A &B)
R(or_, A | B)
R(xor_, A ^ B)
R(not_, ~A)
R(cnot16, (uint16_t)A == 0)
R(cnot32, (uint32_t)A == 0)
R(cnot64, A == 0)
R(notp, !A)
/* The amount of a shift is 32 bits, and not taken modulo anything. */
#define SHL_(w) (uint32_t) B >= w ? 0 : (uint##w##_t)A << (uint32_t)B
#define SHR_(w) (uint32_t) B >= w ? 0 : (uint##w##_t)A >> (uint32_t)B
#define SAR_(w) (int##w##_t) A >> ((uint32_t)B >= w ? w - 1 : (uint32_t)B)
R(shl16, SHL_(16))
R(shl32, SHL_(32))
R(shl64, SHL_(64))
R(shr16, SHR_(16))
R(shr32, SHR_(32)) R(shr64, SHR_(64)) R(sar16, SAR_(16)) R(sar32, SAR_(32)) R(sar64, SAR_(64)) static uint64_t
    count(uint64_t x) {
  uint64_t n = 0;
  for (; x; x &= x - 1) n++;
  return n;
}
static uint64_t leading(uint64_t x, int w) {
  uint64_t n = 0;
  for (int k = w - 1; k >= 0 && !(x >> k & 1); k--) n++;
  return n;
}
static uint64_t reversed(uint64_t x, int w) {
  uint64_t y = 0;
  for (int k = 0; k < w; k++) y |= (x >> k & 1) << (w - 1 - k);
  return y;
}
R(popc32, count(A))
R(popc64, count(A))
R(clz32, leading(A, 32))
R(clz64, leading(A, 64))
R(brev32, reversed(A, 32)) R(brev64, reversed(A, 64)) static uint64_t bfind(uint64_t x, int w, int is_signed, int shift) {
  if (is_signed && x >> (w - 1) & 1) x = ~x;
  for (int k = w - 1; k >= 0; k--)
    if (x >> k & 1) return (uint64_t)(shift ? w - 1 - k : k);
  return 0xFFFFFFFF;
}
R(bfind_u32, bfind(A, 32, 0, 0))
R(bfind_s32, bfind(A, 32, 1, 0))
R(bfind_u64, bfind(A, 64, 0, 0))
R(bfind_s64, bfind(A, 64, 1, 0))
R(bfinds_u32, bfind(A, 32, 0, 1)) R(bfinds_s32, bfind(A, 32, 1, 1)) R(bfinds_u64, bfind(A, 64, 0, 1))
    R(bfinds_s64, bfind(A, 64, 1, 1))
    /* Word for word as the PTX ISA has it. */
    static uint64_t bfe(uint64_t x, uint64_t b, uint64_t c, int w, int is_signed) {
  const int msb = w - 1, pos = (int)(b & 0xFF), len = (int)(c & 0xFF);
  uint64_t sbit, d = 0;
  if (!is_signed || len == 0)
    sbit = 0;
  else
    sbit = x >> (pos + len - 1 < msb ? pos + len - 1 : msb) & 1;
  for (int i = 0; i <= msb; i++) d |= (i < len && pos + i <= msb ? x >> (pos + i) & 1 : sbit) << i;
  return d;
}
R(bfe_u32, bfe(A, B, C, 32, 0))
R(bfe_s32, bfe(A, B, C, 32, 1))
R(bfe_u64, bfe(A, B, C, 64, 0))
R(bfe_s64, bfe(A, B, C, 64, 1)) static uint64_t bfi(uint64_t x, uint64_t y, uint64_t c, uint64_t e, int w) {
  const int msb = w - 1, pos = (int)(c & 0xFF), len = (int)(e & 0xFF);
  for (int i = 0; i < len && pos + i <= msb; i++) y = (y & ~((uint64_t)1 << (pos + i))) | (x >> i & 1) << (pos + i);
  return y;
}
R(bfi32, bfi(A, B, C, a[3], 32)) R(bfi64, bfi(A, B, C, a[3], 64)) static uint64_t prmt(uint64_t x, uint64_t y, uint64_t how) {
  const uint64_t both = (x & 0xFFFFFFFF) | y << 32;
  uint64_t d = 0;
  for (int k = 0; k < 4; k++) {
    const int nibble = (int)(how >> (4 * k) & 15), byte = (int)(both >> (8 * (nibble & 7)) & 255);
    d |= (uint64_t)(nibble & 8 ? (byte >> 7 ? 255 : 0) : byte) << (8 * k);
  }
  return d;
}
static uint64_t prmt_mode(const uint64_t *a,
                          const int *table) { /* four selectors for each value of the mode, highest byte first */
  const int *t = table + 4 * (int)(C & 3);
  return prmt(A, B, (uint64_t)(t[0] << 12 | t[1] << 8 | t[2] << 4 | t[3]));
}
#define MODE(name, ...)                         \
  static uint64_t name(const uint64_t *a) {     \
    static const int table[16] = {__VA_ARGS__}; \
    return prmt_mode(a, table);                 \
  }
R(prmt_, prmt(A, B, C))
MODE(f4e, 3, 2, 1, 0, 4, 3, 2, 1, 5, 4, 3, 2, 6, 5, 4, 3)
MODE(b4e, 5, 6, 7, 0, 6, 7, 0, 1, 7, 0, 1, 2, 0, 1, 2, 3)
MODE(rc8, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3)
MODE(ecl, 3, 2, 1, 0, 3, 2, 1, 1, 3, 2, 2, 2, 3, 3, 3, 3)
MODE(ecr, 0, 0, 0, 0, 1, 1, 1, 0, 2, 2, 1, 0, 3, 2, 1, 0)
MODE(rc16, 1, 0, 1, 0, 3, 2, 3, 2, 1, 0, 1, 0, 3, 2, 3, 2)
R(shfl_w, ((B << 32 | A) << (C & 31)) >> 32)
R(shfr_w, (B << 32 | A) >> (C & 31))
R(shfl_c, C > 32 ? A : C == 32 ? A : ((B << 32 | A) << C) >> 32)
R(shfr_c, C >= 32 ? B : (B << 32 | A) >> C)
static uint64_t bmsk(uint64_t at, uint64_t n) {
  uint64_t d = 0;
  for (uint64_t k = at; k < 32 && k < at + n; k++) d |= (uint64_t)1 << k;
  return d;
}
R(bmsk_c, bmsk(A, B)) R(bmsk_w, bmsk(A & 31, B & 31)) static uint64_t szext(uint64_t x, uint64_t n, int is_signed) {
  if (n >= 32) return x;
  uint64_t d = 0;
  for (uint64_t k = 0; k < 32; k++) d |= (k < n ? x >> k & 1 : is_signed && n ? x >> (n - 1) & 1 : 0) << k;
  return d;
}
R(szext_cu, szext(A, B, 0))
R(szext_cs, szext(A, B, 1))
R(szext_wu, szext(A, B & 31, 0))
R(szext_ws, szext(A, B & 31, 1))
R(select_, C ? A : B) R(slct_s, (int32_t)C >= 0 ? A : B) static uint64_t slct_f(const uint64_t *a) {
  const uint32_t u = (uint32_t)C;
  const int is_nan = (u & 0x7FFFFFFF) > 0x7F800000, negative = u >> 31 && (u & 0x7FFFFFFF);
  return !is_nan && !negative ? A : B;
}
static uint64_t slct_ftz(const uint64_t *a) {
  const uint32_t u = (uint32_t)C & 0x7FFFFFFF;
  return u < 0x00800000 ? A : slct_f(a);
}

static void bits(void **state) {
  (void)state;
#define LOGIC(op, fn)                                                                                         \
  check(op ".b16", "h:hh", NULL, fn), check(op ".b32", "w:ww", NULL, fn), check(op ".b64", "d:dd", NULL, fn), \
      check(op ".pred", "p:pp", NULL, fn)
  LOGIC("and", and_);
  LOGIC("or", or_);
  LOGIC("xor", xor_);
  check("not.b16", "h:h", NULL, not_), check("not.b32", "w:w", NULL, not_), check("not.b64", "d:d", NULL, not_),
      check("not.pred", "p:p", NULL, notp);
  check("cnot.b16", "h:h", NULL, cnot16), check("cnot.b32", "w:w", NULL, cnot32), check("cnot.b64", "d:d", NULL, cnot64);
  check("shl.b16", "h:hw", NULL, shl16), check("shl.b32", "w:ww", NULL, shl32), check("shl.b64", "d:dw", NULL, shl64);
  check("shr.u16", "h:hw", NULL, shr16), check("shr.u32", "w:ww", NULL, shr32), check("shr.u64", "d:dw", NULL, shr64);
  check("shr.b16", "h:hw", NULL, shr16), check("shr.b32", "w:ww", NULL, shr32), check("shr.b64", "d:dw", NULL, shr64);
  check("shr.s16", "h:hw", NULL, sar16), check("shr.s32", "w:ww", NULL, sar32), check("shr.s64", "d:dw", NULL, sar64);
  check("shf.l.wrap.b32", "w:www", NULL, shfl_w), check("shf.r.wrap.b32", "w:www", NULL, shfr_w);
  check("shf.l.clamp.b32", "w:www", NULL, shfl_c), check("shf.r.clamp.b32", "w:www", NULL, shfr_c);
  check("popc.b32", "w:w", NULL, popc32), check("popc.b64", "w:d", NULL, popc64);
  check("clz.b32", "w:w", NULL, clz32), check("clz.b64", "w:d", NULL, clz64);
  check("brev.b32", "w:w", NULL, brev32), check("brev.b64", "d:d", NULL, brev64);
  check("bfind.u32", "w:w", NULL, bfind_u32), check("bfind.s32", "w:w", NULL, bfind_s32),
      check("bfind.u64", "w:d", NULL, bfind_u64), check("bfind.s64", "w:d", NULL, bfind_s64);
  check("bfind.shiftamt.u32", "w:w", NULL, bfinds_u32), check("bfind.shiftamt.s32", "w:w", NULL, bfinds_s32);
  check("bfind.shiftamt.u64", "w:d", NULL, bfinds_u64), check("bfind.shiftamt.s64", "w:d", NULL, bfinds_s64);
  check("bfe.u32", "w:www", NULL, bfe_u32), check("bfe.s32", "w:www", NULL, bfe_s32), check("bfe.u64", "d:dww", NULL, bfe_u64),
      check("bfe.s64", "d:dww", NULL, bfe_s64);
  check("bfi.b32", "w:wwww", NULL, bfi32), check("bfi.b64", "d:ddww", NULL, bfi64);
  check("prmt.b32", "w:www", NULL, prmt_), check("prmt.b32.f4e", "w:www", NULL, f4e), check("prmt.b32.b4e", "w:www", NULL, b4e),
      check("prmt.b32.rc8", "w:www", NULL, rc8);
  check("prmt.b32.ecl", "w:www", NULL, ecl), check("prmt.b32.ecr", "w:www", NULL, ecr),
      check("prmt.b32.rc16", "w:www", NULL, rc16);
  check("bmsk.clamp.b32", "w:ww", NULL, bmsk_c), check("bmsk.wrap.b32", "w:ww", NULL, bmsk_w);
  check("szext.clamp.u32", "w:ww", NULL, szext_cu), check("szext.clamp.s32", "w:ww", NULL, szext_cs),
      check("szext.wrap.u32", "w:ww", NULL, szext_wu), check("szext.wrap.s32", "w:ww", NULL, szext_ws);
}

static void selections(void **state) {
  (void)state;
  static const char *const h[] = {"selp.b16", "selp.u16", "selp.s16", "selp.f16"},
                           *const w[] = {"selp.b32", "selp.u32", "selp.s32", "selp.f32"},
                           *const d[] = {"selp.b64", "selp.u64", "selp.s64", "selp.f64"};
  for (int k = 0; k < 4; k++)
    check(h[k], "h:hhp", NULL, select_), check(w[k], "w:wwp", NULL, select_), check(d[k], "d:ddp", NULL, select_);
  check("slct.b32.s32", "w:www", NULL, slct_s), check("slct.u32.s32", "w:www", NULL, slct_s),
      check("slct.s32.s32", "w:www", NULL, slct_s), check("slct.f32.s32", "w:www", NULL, slct_s);
  check("slct.b64.s32", "d:ddw", NULL, slct_s), check("slct.u64.s32", "d:ddw", NULL, slct_s),
      check("slct.s64.s32", "d:ddw", NULL, slct_s), check("slct.f64.s32", "d:ddw", NULL, slct_s);
  check("slct.b32.f32", "w:www", NULL, slct_f), check("slct.u32.f32", "w:www", NULL, slct_f),
      check("slct.s32.f32", "w:www", NULL, slct_f), check("slct.f32.f32", "w:www", NULL, slct_f);
  check("slct.b64.f32", "d:ddw", NULL, slct_f), check("slct.u64.f32", "d:ddw", NULL, slct_f),
      check("slct.s64.f32", "d:ddw", NULL, slct_f), check("slct.f64.f32", "d:ddw", NULL, slct_f);
  check("slct.ftz.f32.f32", "w:www", NULL, slct_ftz);
}

static int table_of_lop3;
static uint64_t lop3(const uint64_t *a) {
  uint64_t d = 0;
  for (int k = 0; k < 32; k++)
    d |= (uint64_t)(table_of_lop3 >> ((A >> k & 1) << 2 | (B >> k & 1) << 1 | (C >> k & 1)) & 1) << k;
  return d;
}
static void lop3s(void **state) {
  (void)state;
  for (table_of_lop3 = 0; table_of_lop3 < 256; table_of_lop3 += 5) {
    char suffix[16];
    snprintf(suffix, sizeof suffix, ", %d", table_of_lop3);
    check("lop3.b32", "w:www", suffix, lop3);
  }
}

/* ---- dot products
 * ------------------------------------------------------------------------------------------------------------------------ */

static int dp_a, dp_b, dp_high;
static wide byte_of(uint64_t x, int k, int is_signed) {
  return is_signed ? (wide)(int8_t)(x >> (8 * k)) : (wide)(uint8_t)(x >> (8 * k));
}
static uint64_t dp4a(const uint64_t *a) {
  wide d = (wide)C;
  for (int k = 0; k < 4; k++) d += byte_of(A, k, dp_a) * byte_of(B, k, dp_b);
  return (uint64_t)d;
}
static uint64_t dp2a(const uint64_t *a) {
  wide d = (wide)C;
  for (int k = 0; k < 2; k++)
    d += (dp_a ? (wide)(int16_t)(A >> (16 * k)) : (wide)(uint16_t)(A >> (16 * k))) * byte_of(B, k + 2 * dp_high, dp_b);
  return (uint64_t)d;
}
static void dots(void **state) {
  (void)state;
  for (dp_a = 0; dp_a < 2; dp_a++)
    for (dp_b = 0; dp_b < 2; dp_b++) {
      char name[64];
      snprintf(name, sizeof name, "dp4a.%c32.%c32", dp_a ? 's' : 'u', dp_b ? 's' : 'u');
      check(name, "w:www", NULL, dp4a);
      for (dp_high = 0; dp_high < 2; dp_high++) {
        snprintf(name, sizeof name, "dp2a.%s.%c32.%c32", dp_high ? "hi" : "lo", dp_a ? 's' : 'u', dp_b ? 's' : 'u');
        check(name, "w:www", NULL, dp2a);
      }
    }
}

/* ---- comparisons
 * -------------------------------------------------------------------------------------------------------------------------- */

static int compared_signed, compared_bits, compared_how;
static uint64_t compare(const uint64_t *a) {
  wide x, y;
  if (compared_signed)
    x = (wide)((int64_t)(A << (64 - compared_bits)) >> (64 - compared_bits)),
    y = (wide)((int64_t)(B << (64 - compared_bits)) >> (64 - compared_bits));
  else
    x = (wide)A, y = (wide)B;
  const int r[] = {x == y, x != y, x<y, x <= y, x> y, x >= y};
  return (uint64_t)r[compared_how];
}
static void comparisons(void **state) {
  (void)state;
  static const char *const names[] = {"eq", "ne", "lt", "le", "gt", "ge"}, *const unsigned_names[] = {"",   "",   "lo",
                                                                                                      "ls", "hi", "hs"};
  static const char *const signatures[] = {"p:hh", "p:ww", "p:dd"};
  for (int w = 0; w < 3; w++)
    for (compared_how = 0; compared_how < 6; compared_how++)
      for (compared_signed = 0; compared_signed < 2; compared_signed++) {
        char name[32];
        compared_bits = 16 << w;
        snprintf(name, sizeof name, "setp.%s.%c%d", names[compared_how], compared_signed ? 's' : 'u', compared_bits);
        check(name, signatures[w], NULL, compare);
        if (compared_how < 2) {
          snprintf(name, sizeof name, "setp.%s.b%d", names[compared_how], compared_bits);
          check(name, signatures[w], NULL, compare);
        } else if (!compared_signed) {
          snprintf(name, sizeof name, "setp.%s.u%d", unsigned_names[compared_how], compared_bits);
          check(name, signatures[w], NULL, compare);
        }
      }
}

/* setp with a second predicate and a combination; set; lop3 with a predicate. */
static void combinations(void **state) {
  (void)state;
  lab x;
  lab_open(&x);
  lab_load(
      &x,
      ".visible .entry k(.param .u64 p0)\n{\n.reg .pred %p<12>; .reg .b32 %r<12>; .reg .b64 %d<6>;\n"
      "ld.param.u64 %d1, [p0]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.s64 %d3, %d1, %d2;\n"
      "and.b32 %r2, %r1, 1; setp.ne.u32 %p1, %r2, 0;\n"
      "setp.lt.and.u32 %p2|%p3, %r1, 10, %p1;\nsetp.lt.or.u32 %p4|%p5, %r1, 10, !%p1;\nsetp.lt.xor.u32 %p6|%p7, %r1, 10, %p1;\n"
      "mov.pred %p8, %p1;\nsetp.ge.and.u32 %p8|%p9, %r1, 4, %p8;\n"
      "selp.u32 %r3, 1, 0, %p2; selp.u32 %r4, 2, 0, %p3; or.b32 %r3, %r3, %r4; selp.u32 %r4, 4, 0, %p4; or.b32 %r3, %r3, %r4; "
      "selp.u32 %r4, 8, 0, %p5; or.b32 %r3, %r3, %r4;\n"
      "selp.u32 %r4, 16, 0, %p6; or.b32 %r3, %r3, %r4; selp.u32 %r4, 32, 0, %p7; or.b32 %r3, %r3, %r4; selp.u32 %r4, 64, 0, "
      "%p8; or.b32 %r3, %r3, %r4; selp.u32 %r4, 128, 0, %p9; or.b32 %r3, %r3, %r4;\n"
      "set.lt.u32.u32 %r5, %r1, 7; and.b32 %r5, %r5, 256; or.b32 %r3, %r3, %r5;\n"
      "set.lt.and.f32.u32 %r5, %r1, 7, %p1; setp.eq.u32 %p10, %r5, 0x3F800000; selp.u32 %r4, 512, 0, %p10; or.b32 %r3, %r3, "
      "%r4;\n"
      "lop3.or.b32 %r6|%p11, %r1, 3, 0, 0xC0, %p1; selp.u32 %r4, 1024, 0, %p11; or.b32 %r3, %r3, %r4;\n"
      "st.global.u32 [%d3], %r3;\nret;\n}\n");
  const uint64_t out = lab_buffer(&x, 128);
  LAB_RUN(&x, "k", out);
  uint32_t got[32];
  lab_download(&x, got, out, 128);
  for (uint32_t t = 0; t < 32; t++) {
    const int odd = t & 1, less = t < 10, ge = t >= 4;
    const uint32_t wanted = (uint32_t)((less && odd) | (!less && odd) << 1 | (less || !odd) << 2 | (!less || !odd) << 3 |
                                       (less ^ odd) << 4 | (!less ^ odd) << 5 | (ge && odd) << 6 | (!ge && odd) << 7 |
                                       (t < 7) << 8 | (t < 7 && odd) << 9 | ((t & 3) != 0 || odd) << 10);
    assert_int_equal(got[t], wanted);
  }
  lab_close(&x);
}

/* 128-bit sums and differences, and a 64 x 64 -> 128 product, by carries. */
static void carries(void **state) {
  (void)state;
  lab x;
  lab_open(&x);
  lab_load(&x, ".visible .entry k(.param .u64 p0, .param .u64 p1)\n{\n.reg .b32 %r<40>; .reg .b64 %d<20>;\n"
               "ld.param.u64 %d1, [p0]; ld.param.u64 %d2, [p1]; mov.u32 %r1, %tid.x; mul.wide.u32 %d3, %r1, 32; add.s64 %d1, "
               "%d1, %d3; mul.wide.u32 %d3, %r1, 48; add.s64 %d2, %d2, %d3;\n"
               "ld.global.v2.u64 {%d4, %d5}, [%d1]; ld.global.v2.u64 {%d6, %d7}, [%d1+16];\n"
               "add.cc.u64 %d8, %d4, %d6; addc.u64 %d9, %d5, %d7;\nst.global.v2.u64 [%d2], {%d8, %d9};\n"
               "sub.cc.u64 %d8, %d4, %d6; subc.u64 %d9, %d5, %d7;\nst.global.v2.u64 [%d2+16], {%d8, %d9};\n"
               "mov.b64 {%r2, %r3}, %d4; mov.b64 {%r4, %r5}, %d6;\n"
               "mul.lo.u32 %r10, %r2, %r4; mul.hi.u32 %r11, %r2, %r4; mad.lo.cc.u32 %r11, %r3, %r4, %r11; madc.hi.u32 %r12, "
               "%r3, %r4, 0;\n"
               "mad.lo.cc.u32 %r11, %r2, %r5, %r11; madc.hi.cc.u32 %r12, %r2, %r5, %r12; addc.u32 %r13, 0, 0; mad.lo.cc.u32 "
               "%r12, %r3, %r5, %r12; madc.hi.u32 %r13, %r3, %r5, %r13;\n"
               "st.global.v4.u32 [%d2+32], {%r10, %r11, %r12, %r13};\nret;\n}\n");
  uint64_t in[32][4], out[32][6], seed = 3;
  static const uint64_t e[] = {0, 1, UINT64_MAX, 0x8000000000000000, 0xFFFFFFFF, 0x100000000};
  for (int t = 0; t < 32; t++)
    for (int k = 0; k < 4; k++) in[t][k] = lab_random(&seed) & 1 ? lab_random(&seed) : e[lab_random(&seed) % 6];
  const uint64_t a = lab_upload(&x, in, sizeof in), b = lab_buffer(&x, sizeof out);
  LAB_RUN(&x, "k", a, b);
  lab_download(&x, out, b, sizeof out);
  for (int t = 0; t < 32; t++) {
    const uwide p = (uwide)in[t][1] << 64 | in[t][0], q = (uwide)in[t][3] << 64 | in[t][2],
                product = (uwide)in[t][0] * in[t][2];
    assert_true(((uwide)out[t][1] << 64 | out[t][0]) == p + q);
    assert_true(((uwide)out[t][3] << 64 | out[t][2]) == p - q);
    assert_true(((uwide)out[t][5] << 64 | out[t][4]) == product);
  }
  lab_close(&x);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(sums),         cmocka_unit_test(bits),   cmocka_unit_test(selections),
                                     cmocka_unit_test(lop3s),        cmocka_unit_test(dots),   cmocka_unit_test(comparisons),
                                     cmocka_unit_test(combinations), cmocka_unit_test(carries)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
