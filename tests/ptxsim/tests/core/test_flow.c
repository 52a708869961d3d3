/* test_flow.c -- control flow: every lane gets what it would get alone, whatever the order; and lanes meet where they should.
 */
#include "lab.h"

#define HEAD                                                                                      \
  ".visible .entry k(.param .u64 p0)\n{\n.reg .pred %p<12>; .reg .b32 %r<24>; .reg .b64 %d<8>;\n" \
  "ld.param.u64 %d1, [p0]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.s64 %d3, %d1, %d2;\n"
#define TAIL "st.global.u32 [%d3], %r2;\nret;\n}\n"

typedef uint32_t (*alone)(uint32_t thread);

/* Each thread's word is what the function says of it; `meets`: all lanes are together at the end. */
static void flows(const char *outside, const char *body, alone f, int meets) {
  char text[8192];
  snprintf(text, sizeof text, "%s%s%s%s%s", outside, HEAD, body, meets ? "shfl.sync.idx.b32 %r23, %r1, 0, 31, -1;\n" : "",
           TAIL);
  for (uint64_t seed = 0; seed < 8; seed++) {
    lab x;
    uint32_t got[96];
    lab_open(&x);
    lab_load(&x, text);
    x.block = 96;
    x.seed = seed;
    const uint64_t at = lab_buffer(&x, sizeof got);
    LAB_RUN(&x, "k", at);
    lab_download(&x, got, at, sizeof got);
    for (uint32_t t = 0; t < 96; t++)
      if (got[t] != f(t)) fail_msg("thread %u: %u, not %u, of\n%s", t, got[t], f(t), body);
    lab_close(&x);
  }
}

static uint32_t nested(uint32_t t) {
  return t & 1 ? (t & 2 ? 1 : t & 4 ? 2 : 3) : (t & 8 ? 4 : 5);
}
static uint32_t looped(uint32_t t) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < t % 13; i++) {
    if (i == 7 && t & 1) break;
    if (i % 3 == 1) continue;
    for (uint32_t k = 0; k <= i % (t + 1); k++) sum += k + 1;
  }
  return sum;
}
static uint32_t switched(uint32_t t) {
  static const uint32_t value[] = {10, 21, 33, 33};
  return value[t % 4];
}
static uint32_t either(uint32_t t) {
  return (t & 1 || t & 2) ? 7 : 9;
}
static uint32_t irreducible(uint32_t t) {
  uint32_t a = 0, i = 0;
  if (t & 1) goto second;
first:
  a += 3;
second:
  a += 5;
  if (++i < t % 5 + 1) goto first;
  return a;
}
static uint32_t collatz(uint32_t t) {
  uint32_t n = 0;
  for (uint32_t x = t + 1; x != 1; n++) x = x & 1 ? 3 * x + 1 : x / 2;
  return n;
}

static void branches(void **state) {
  (void)state;
  flows("",
        "and.b32 %r3, %r1, 1; and.b32 %r4, %r1, 2; and.b32 %r5, %r1, 4; and.b32 %r6, %r1, 8; setp.ne.u32 %p1, %r3, 0; "
        "setp.ne.u32 %p2, %r4, 0; setp.ne.u32 %p3, %r5, 0; setp.ne.u32 %p4, %r6, 0;\n"
        "@%p1 bra ODD; @%p4 bra E4; mov.u32 %r2, 5; bra DONE; E4: mov.u32 %r2, 4; bra DONE; ODD: @%p2 bra O1; @%p3 bra O2; "
        "mov.u32 %r2, 3; bra DONE; O2: mov.u32 %r2, 2; bra DONE; O1: mov.u32 %r2, 1; DONE:\n",
        nested, 1);
  flows("",
        "mov.u32 %r2, 0; rem.u32 %r3, %r1, 13; mov.u32 %r4, 0; and.b32 %r5, %r1, 1; setp.ne.u32 %p1, %r5, 0; add.u32 %r6, %r1, "
        "1;\n"
        "NEXT: setp.ge.u32 %p2, %r4, %r3; @%p2 bra OUT; setp.eq.and.u32 %p3, %r4, 7, %p1; @%p3 bra OUT; rem.u32 %r7, %r4, 3; "
        "setp.eq.u32 %p4, %r7, 1; @%p4 bra STEP; rem.u32 %r8, %r4, %r6; mov.u32 %r9, 0;\n"
        "INNER: add.u32 %r2, %r2, %r9; add.u32 %r2, %r2, 1; add.u32 %r9, %r9, 1; setp.le.u32 %p5, %r9, %r8; @%p5 bra "
        "INNER;\nSTEP: add.u32 %r4, %r4, 1; bra NEXT;\nOUT:\n",
        looped, 1);
  flows("",
        "rem.u32 %r3, %r1, 4; T: .branchtargets A, B, C, C;\nbrx.idx %r3, T;\nA: mov.u32 %r2, 10; bra DONE; B: mov.u32 %r2, "
        "21; bra DONE; C: mov.u32 %r2, 33; DONE:\n",
        switched, 1);
  /* both ways into the same block: lanes that came apart are one again where an instruction wants all of them */
  flows("",
        "and.b32 %r3, %r1, 1; and.b32 %r4, %r1, 2; setp.ne.u32 %p1, %r3, 0; setp.ne.u32 %p2, %r4, 0; @%p1 bra YES; @%p2 bra "
        "YES; mov.u32 %r2, 9; bra DONE; YES: mov.u32 %r2, 7; DONE:\n",
        either, 1);
  flows("",
        "mov.u32 %r2, 0; mov.u32 %r4, 0; rem.u32 %r5, %r1, 5; add.u32 %r5, %r5, 1; and.b32 %r3, %r1, 1; setp.ne.u32 %p1, %r3, "
        "0; @%p1 bra SECOND;\nFIRST: add.u32 %r2, %r2, 3;\nSECOND: add.u32 %r2, %r2, 5; add.u32 %r4, %r4, 1; "
        "setp.lt.u32 %p2, %r4, %r5; @%p2 bra FIRST;\n",
        irreducible, 1);
  flows("",
        "mov.u32 %r2, 0; add.u32 %r3, %r1, 1;\nL: setp.eq.u32 %p1, %r3, 1; @%p1 bra OUT; and.b32 %r4, %r3, 1; setp.ne.u32 %p2, "
        "%r4, 0; add.u32 %r2, %r2, 1; @%p2 bra ODD; shr.u32 %r3, %r3, 1; bra L; ODD: mad.lo.u32 %r3, %r3, 3, 1; bra L;\nOUT:\n",
        collatz, 1);
}

static uint32_t gone(uint32_t t) {
  return t < 40 ? t + 1 : 0;
}
static uint32_t factorial(uint32_t t) {
  uint32_t f = 1;
  for (uint32_t i = 2; i <= t % 8; i++) f *= i;
  return f;
}
static uint32_t by_pointer(uint32_t t) {
  return t % 3 == 0 ? t + 1 : t % 3 == 1 ? t * 2 : 77;
}
static uint32_t early(uint32_t t) {
  return t & 1 ? 5 : t > 50 ? 6 : t;
}

static void exits(void **state) {
  (void)state;
  /* lanes that exit early are waited for by nobody: not at joins, not at barriers */
  flows("",
        "mov.u32 %r2, 0; setp.ge.u32 %p1, %r1, 40; @%p1 st.global.u32 [%d3], %r2; @%p1 exit; bar.sync 0; add.u32 %r2, %r1, 1; "
        "bar.sync 0;\n",
        gone, 0);
  flows("",
        "mov.u32 %r2, 0; setp.ge.u32 %p1, %r1, 40; @!%p1 bra STAY; st.global.u32 [%d3], %r2; ret; STAY: add.u32 %r2, %r1, 1; "
        "bar.sync 0;\n",
        gone, 0);
}

static void calls(void **state) {
  (void)state;
  flows(
      ".func (.param .b32 r) fact(.param .b32 n)\n{\n.reg .pred %p; .reg .b32 %r<6>;\nld.param.u32 %r1, [n];\nmov.u32 %r2, "
      "1;\nsetp.lt.u32 %p, %r1, 2;\n@%p bra OUT;\nsub.u32 %r3, %r1, 1;\n{\n.param .b32 a; .param .b32 b;\nst.param.b32 [a], "
      "%r3;\n"
      "call.uni (b), fact, (a);\nld.param.b32 %r4, [b];\n}\nmul.lo.u32 %r2, %r1, %r4;\nOUT:\nst.param.b32 [r], %r2;\nret;\n}\n",
      "rem.u32 %r3, %r1, 8;\n{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r3; call (b), fact, (a); ld.param.b32 %r2, "
      "[b]; }\n",
      factorial, 1);
  flows(".func (.param .b32 r) plus(.param .b32 n)\n{\n.reg .b32 %r<4>;\nld.param.u32 %r1, [n];\nadd.u32 %r2, %r1, "
        "1;\nst.param.b32 [r], %r2;\nret;\n}\n"
        ".func (.param .b32 r) twice(.param .b32 n)\n{\n.reg .b32 %r<4>;\nld.param.u32 %r1, [n];\nshl.b32 %r2, %r1, "
        "1;\nst.param.b32 [r], %r2;\nret;\n}\n"
        ".func (.param .b32 r) const77(.param .b32 n)\n{\nst.param.b32 [r], 77;\nret;\n}\n",
        "rem.u32 %r3, %r1, 3; setp.eq.u32 %p1, %r3, 0; setp.eq.u32 %p2, %r3, 1; mov.u64 %d4, plus; mov.u64 %d5, twice; mov.u64 "
        "%d6, const77; selp.b64 %d5, %d5, %d6, %p2; selp.b64 %d4, %d4, %d5, %p1;\n"
        "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; P: .callprototype (.param .b32 _) _ (.param .b32 _); call (b), "
        "%d4, (a), P; ld.param.b32 %r2, [b]; }\n",
        by_pointer, 1);
  flows(".func (.param .b32 r) f(.param .b32 n)\n{\n.reg .pred %p<3>; .reg .b32 %r<6>;\nld.param.u32 %r1, [n];\nand.b32 %r2, "
        "%r1, 1;\nsetp.ne.u32 %p0, %r2, 0;\nst.param.b32 [r], 5;\n@%p0 ret;\nsetp.gt.u32 %p1, %r1, 50;\nst.param.b32 [r], "
        "6;\n@%p1 ret;\n"
        "st.param.b32 [r], %r1;\nret;\n}\n",
        "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call (b), f, (a); ld.param.b32 %r2, [b]; }\n", early, 1);
  /* a pointer to the caller's local memory, written through in the callee; structures by value */
  flows(".func put(.param .b64 to, .param .align 8 .b8 s[12])\n{\n.reg .b64 %d<3>; .reg .b32 %r<4>;\nld.param.u64 %d1, "
        "[to];\nld.param.u32 %r1, [s+4];\nld.param.u32 %r2, [s+8];\nadd.u32 %r1, %r1, %r2;\nst.u32 [%d1], %r1;\nret;\n}\n",
        ".local .align 4 .b8 l[8]; mov.u64 %d4, l; cvta.local.u64 %d5, %d4; { .param .b64 a; .param .align 8 .b8 b[12]; "
        "st.param.b64 [a], %d5; st.param.b32 [b], 0; st.param.b32 [b+4], %r1; st.param.b32 [b+8], 1; call put, (a, b); "
        "}\nld.local.u32 %r2, [l];\n"
        "setp.ge.u32 %p1, %r1, 40; @%p1 mov.u32 %r2, 0;\n",
        gone, 1);
}

/* Lanes of one warp hand a token on: nobody may starve. */
static void turns(void **state) {
  (void)state;
  static const char text[] = ".visible .entry k(.param .u64 p0)\n{\n.reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 "
                             "%d<4>;\nld.param.u64 %d1, [p0]; mov.u32 %r1, %tid.x;\n"
                             "WAIT: ld.volatile.global.u32 %r2, [%d1]; setp.ne.u32 %p1, %r2, %r1; @%p1 bra WAIT;\nadd.u32 %r2, "
                             "%r2, 1; st.volatile.global.u32 [%d1], %r2;\nret;\n}\n";
  for (uint64_t seed = 0; seed < 2; seed++) {
    lab x;
    uint32_t token = 0;
    lab_open(&x);
    lab_load(&x, text);
    x.block = 40;
    x.seed = seed;
    const uint64_t at = lab_upload(&x, &token, 4);
    LAB_RUN(&x, "k", at);
    lab_download(&x, &token, at, 4);
    assert_int_equal(token, 40);
    lab_close(&x);
  }
}

/* A barrier of the whole grid works while all blocks are resident, and is a time limit where they are not. */
static void grid_barrier(void **state) {
  (void)state;
  static const char text[] = ".visible .entry k(.param .u64 p0)\n{\n.reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 "
                             "%d<4>;\nld.param.u64 %d1, [p0]; mov.u32 %r3, %nctaid.x;\nred.global.add.u32 [%d1], 1;\n"
                             "WAIT: ld.volatile.global.u32 %r2, [%d1]; setp.lt.u32 %p1, %r2, %r3; @%p1 bra WAIT;\nret;\n}\n";
  for (int fits = 0; fits < 2; fits++) {
    lab x;
    const uint32_t zero = 0;
    lab_open(&x);
    lab_load(&x, text);
    x.block = 1;
    x.grid = 20;
    x.resident = fits ? 20 : 19;
    x.limit = 20000000;
    const uint64_t at = lab_upload(&x, &zero, 4);
    assert_int_equal(LAB_TRY(&x, "k", at), fits ? SIM_FAULT_NONE : SIM_FAULT_TIME_LIMIT);
    lab_close(&x);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(branches), cmocka_unit_test(exits), cmocka_unit_test(calls),
                                     cmocka_unit_test(turns), cmocka_unit_test(grid_barrier)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
