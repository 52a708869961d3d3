/* test_exchange.c -- shuffles in all modes and segments, votes, matches, reductions, barriers that reduce, atomics. */
#include "lab.h"

#define HEAD                                                                                                               \
  ".visible .entry k(.param .u64 p0, .param .u64 p1)\n{\n.reg .pred %p<12>; .reg .b16 %h<4>; .reg .b32 %r<24>; .reg .f32 " \
  "%f<4>; .reg .b64 %d<16>; .reg .f64 %g<4>;\n"                                                                            \
  "ld.param.u64 %d1, [p0]; ld.param.u64 %d9, [p1]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.s64 %d3, %d1, %d2; " \
  "add.s64 %d4, %d9, %d2; ld.global.u32 %r3, [%d4];\n"
#define TAIL "st.global.u32 [%d3], %r2;\nret;\n}\n"

static uint32_t in[128];

/* Each thread has a word of `in`, and leaves one. */
static void run(const char *body, unsigned block, uint32_t *out) {
  char text[8192];
  lab x;
  lab_open(&x);
  snprintf(text, sizeof text, "%s%s%s", HEAD, body, TAIL);
  lab_load(&x, text);
  x.block = block;
  const uint64_t to = lab_buffer(&x, block * 4), from = lab_upload(&x, in, sizeof in);
  LAB_RUN(&x, "k", to, from);
  lab_download(&x, out, to, block * 4);
  lab_close(&x);
}

static void fill(uint32_t modulus) {
  uint64_t seed = modulus + 1;
  for (int i = 0; i < 128; i++) in[i] = (uint32_t)(lab_random(&seed) % modulus);
}

static void shuffles(void **state) {
  (void)state;
  static const char *const modes[] = {"up", "down", "bfly", "idx"};
  fill(1000);
  for (int mode = 0; mode < 4; mode++)
    for (int width = 1; width <= 32; width *= 2)
      for (int b = 0; b < 32; b += b < 4 ? 1 : 5) {
        /* as CUDA's intrinsics make it */
        const int c = mode == 0 ? (32 - width) << 8 : (32 - width) << 8 | 31;
        char body[256];
        uint32_t out[32];
        snprintf(body, sizeof body, "shfl.sync.%s.b32 %%r2|%%p1, %%r3, %d, %d, -1;\n@!%%p1 add.u32 %%r2, %%r2, 5000;\n",
                 modes[mode], b, c);
        run(body, 32, out);
        for (int l = 0; l < 32; l++) {
          const int first = l / width * width, last = first + width - 1;
          int j = mode == 0 ? l - b : mode == 1 ? l + b : mode == 2 ? l ^ b : first + (b & (width - 1));
          const int inside = mode == 0 ? j >= first : j <= last;
          if (!inside) j = l;
          const uint32_t wanted = in[j] + (inside ? 0 : 5000);
          if (out[l] != wanted) fail_msg("%s lane %d: %u, not %u", body, l, out[l], wanted);
        }
      }
}

static void votes(void **state) {
  (void)state;
  uint32_t out[64];
  for (uint32_t limit = 0; limit < 3; limit++) {
    fill(2);
    for (int l = 0; l < 64; l++) in[l] = limit == 0 ? 0 : limit == 1 ? 1 : in[l];
    run("setp.ne.u32 %p1, %r3, 0; vote.sync.all.pred %p2, %p1, -1; vote.sync.any.pred %p3, %p1, -1; vote.sync.uni.pred %p4, "
        "%p1, -1; vote.sync.ballot.b32 %r4, %p1, -1; vote.sync.any.pred %p5, !%p1, -1;\n"
        "selp.u32 %r5, 1, 0, %p2; selp.u32 %r6, 2, 0, %p3; selp.u32 %r7, 4, 0, %p4; selp.u32 %r8, 8, 0, %p5; or.b32 %r5, %r5, "
        "%r6; or.b32 %r5, %r5, %r7; or.b32 %r5, %r5, %r8; shl.b32 %r4, %r4, 4; or.b32 %r2, %r4, %r5;\n",
        64, out);
    for (int l = 0; l < 64; l++) {
      uint32_t ballot = 0;
      for (int k = 0; k < 32; k++) ballot |= in[l / 32 * 32 + k] << k;
      const uint32_t wanted = ballot << 4 | (ballot == 0xFFFFFFFF) | (ballot != 0) * 2u |
                              (ballot == 0 || ballot == 0xFFFFFFFF) * 4u | (ballot != 0xFFFFFFFF) * 8u;
      assert_int_equal(out[l], wanted);
    }
  }
}

static void matches(void **state) {
  (void)state;
  uint32_t out[32];
  fill(5);
  run("match.any.sync.b32 %r2, %r3, -1;\n", 32, out);
  for (int l = 0; l < 32; l++) {
    uint32_t wanted = 0;
    for (int k = 0; k < 32; k++) wanted |= (uint32_t)(in[k] == in[l]) << k;
    assert_int_equal(out[l], wanted);
  }
  run("cvt.u64.u32 %d5, %r3; shl.b64 %d5, %d5, 40; match.any.sync.b64 %r2, %d5, -1;\n", 32, out);
  for (int l = 0; l < 32; l++) assert_int_equal(out[l] >> l & 1, 1);
  run("match.all.sync.b32 %r2|%p1, %r3, -1; @%p1 mov.u32 %r2, 9;\n", 32, out);
  assert_int_equal(out[0], 0);
  run("match.all.sync.b32 %r2|%p1, 4, -1; @!%p1 mov.u32 %r2, 9;\n", 32, out);
  assert_int_equal(out[7], 0xFFFFFFFF);
}

static void reductions(void **state) {
  (void)state;
  static const char *const names[] = {"add.s32", "min.s32", "max.s32", "add.u32", "min.u32",
                                      "max.u32", "and.b32", "or.b32",  "xor.b32"};
  uint32_t out[32];
  fill(0xFFFFFFFF);
  for (int k = 0; k < 9; k++) {
    char body[256];
    /* odd lanes alone, so that the mask counts */
    snprintf(body, sizeof body,
             "mov.u32 %%r2, 0; and.b32 %%r4, %%r1, 1; setp.ne.u32 %%p1, %%r4, 0; @!%%p1 bra L; redux.sync.%s %%r2, %%r3, "
             "0xAAAAAAAA;\nL:\n",
             names[k]);
    run(body, 32, out);
    uint32_t wanted = in[1];
    for (int l = 3; l < 32; l += 2) {
      const uint32_t v = in[l];
      const int less = (int32_t)v < (int32_t)wanted, below = v < wanted;
      const uint32_t results[] = {wanted + v,         less ? v : wanted, less ? wanted : v, wanted + v, below ? v : wanted,
                                  below ? wanted : v, wanted & v,        wanted | v,        wanted ^ v};
      wanted = results[k];
    }
    for (int l = 0; l < 32; l++) assert_int_equal(out[l], l & 1 ? wanted : 0);
  }
}

/* Groups of lanes with masks of their own at one instruction. */
static void groups(void **state) {
  (void)state;
  uint32_t out[32];
  fill(5);
  run("match.any.sync.b32 %r4, %r3, -1; redux.sync.add.u32 %r2, %r1, %r4; shfl.sync.idx.b32 %r5, %r2, 0, 31, -1;\n", 32, out);
  for (int l = 0; l < 32; l++) {
    uint32_t sum = 0;
    for (uint32_t k = 0; k < 32; k++) sum += in[k] == in[l] ? k : 0;
    assert_int_equal(out[l], sum);
  }
  run("shr.u32 %r4, %r1, 4; setp.eq.u32 %p1, %r4, 0; selp.b32 %r5, 0xFFFF, 0xFFFF0000, %p1; shfl.sync.down.b32 %r2, %r1, 1, "
      "0x101f, %r5;\n",
      32, out);
  for (uint32_t l = 0; l < 32; l++) assert_int_equal(out[l], l % 16 == 15 ? l : l + 1);
}

static void barriers(void **state) {
  (void)state;
  uint32_t out[96], count = 0;
  fill(2);
  for (int l = 0; l < 96; l++) count += in[l];
  run("setp.ne.u32 %p1, %r3, 0; bar.red.popc.u32 %r4, 1, %p1; bar.red.and.pred %p2, 0, %p1; bar.red.or.pred %p3, 2, 96, !%p1; "
      "selp.u32 %r5, 1000, 0, %p2; selp.u32 %r6, 2000, 0, %p3; add.u32 %r2, %r4, %r5; add.u32 %r2, %r2, %r6;\n",
      96, out);
  for (int l = 0; l < 96; l++) assert_int_equal(out[l], count + 2000);
  /* barrier.sync of lanes that stand at unlike places */
  run("mov.u32 %r2, 3; and.b32 %r4, %r1, 1; setp.ne.u32 %p1, %r4, 0; @%p1 bra ODD; barrier.sync 0; bra DONE; ODD: barrier.sync "
      "0; mov.u32 %r2, 4; DONE:\n",
      64, out);
  for (int l = 0; l < 64; l++) assert_int_equal(out[l], 3 + (l & 1));
}

/* ---- atomics
 * -----------------------------------------------------------------------------------------------------------------------------
 */

static uint64_t atomics(const char *body, uint64_t start) { /* on 8 bytes at p0, by 64 threads; r3 is the thread's word */
  char text[4096];
  lab x;
  lab_open(&x);
  snprintf(text, sizeof text, "%s%s\nret;\n}\n", HEAD, body);
  lab_load(&x, text);
  x.block = 64;
  x.seed = start & 7;
  const uint64_t at = lab_upload(&x, &start, 8), from = lab_upload(&x, in, sizeof in);
  LAB_RUN(&x, "k", at, from);
  lab_download(&x, &start, at, 8);
  lab_close(&x);
  return start;
}

static void atomic_results(void **state) {
  (void)state;
  fill(1000);
  uint32_t sum = 0, least = 5000, most = 0, all = 0xFFFF, any = 0, parity = 0;
  for (int l = 0; l < 64; l++)
    sum += in[l], least = in[l] < least ? in[l] : least, most = in[l] > most ? in[l] : most, all &= in[l], any |= in[l],
                  parity ^= in[l];
  assert_int_equal(atomics("atom.global.add.u32 %r2, [%d1], %r3;", 0), sum);
  assert_int_equal(atomics("red.global.add.s32 [%d1], %r3;", 0), sum);
  assert_int_equal(atomics("red.global.min.s32 [%d1], %r3;", 5000), least);
  assert_int_equal(atomics("red.global.max.u32 [%d1], %r3;", 0), most);
  assert_int_equal(atomics("red.global.and.b32 [%d1], %r3;", 0xFFFF), all);
  assert_int_equal(atomics("red.global.or.b32 [%d1], %r3;", 0), any);
  assert_int_equal(atomics("red.global.xor.b32 [%d1], %r3;", 0), parity);
  assert_int_equal(atomics("atom.global.inc.u32 %r2, [%d1], 20;", 3), (3 + 64) % 21);
  assert_int_equal(atomics("atom.global.dec.u32 %r2, [%d1], 20;", 3), (3 + 21 * 4 - 64) % 21);
  assert_int_equal(atomics("cvt.u64.u32 %d5, %r3; shl.b64 %d5, %d5, 32; atom.global.add.u64 %d6, [%d1], %d5;", 7),
                   (uint64_t)sum << 32 | 7);
  assert_int_equal(atomics("cvt.s64.s32 %d5, %r3; neg.s64 %d5, %d5; atom.global.min.s64 %d6, [%d1], %d5;", 0),
                   0 - (uint64_t)most);
  assert_int_equal(atomics("cvt.u64.u32 %d5, %r3; atom.max.u64 %d6, [%d1], %d5;", 0), most);
  assert_int_equal(atomics("cvt.rn.f32.u32 %f1, %r3; atom.global.add.f32 %f2, [%d1], %f1;", 0), ((union {
                                                                                                  float f;
                                                                                                  uint32_t u;
                                                                                                }){.f = (float)sum})
                                                                                                    .u);
  assert_int_equal(atomics("cvt.rn.f64.u32 %g1, %r3; red.global.add.f64 [%d1], %g1;", 0), ((union {
                                                                                            double f;
                                                                                            uint64_t u;
                                                                                          }){.f = (double)sum})
                                                                                              .u);
  /* 64 times one half and two: 32 and 128; and in bf16 */
  assert_int_equal(atomics("red.global.add.noftz.f16x2 [%d1], 0x40003800;", 0), 0x58005000);
  assert_int_equal(atomics("mov.b32 %r4, 0x40003F00; red.global.add.noftz.bf16x2 [%d1], %r4;", 0), 0x43004200);
  assert_int_equal(atomics("mov.b16 %h1, 0x3C00; red.global.add.noftz.f16 [%d1+2], %h1;", 0), 0x54000000);
  /* exactly one of 64 swaps in; a loop of swaps loses no addition */
  assert_int_equal(
      atomics("atom.global.cas.b32 %r2, [%d1], 0, 1; setp.eq.u32 %p1, %r2, 0; @%p1 red.global.add.u32 [%d1+4], 1;", 0),
      (uint64_t)1 << 32 | 1);
  assert_int_equal(atomics("cvt.u64.u32 %d8, %r3; ld.volatile.global.u64 %d5, [%d1];\nL: add.u64 %d6, %d5, %d8; "
                           "atom.global.cas.b64 %d7, [%d1], %d5, %d6; setp.ne.u64 %p1, %d7, %d5; mov.u64 %d5, %d7; @%p1 bra L;",
                           0),
                   sum);
  assert_int_equal(atomics("mov.b16 %h1, 0; mov.b16 %h2, 9; atom.global.cas.b16 %h3, [%d1+2], %h1, %h2;", 0), 9u << 16);
  const uint64_t last =
      atomics("add.u32 %r3, %r3, 1; atom.global.exch.b32 %r2, [%d1], %r3; red.global.add.u32 [%d1+4], %r2;", 0);
  assert_int_equal((uint32_t)last + (last >> 32), sum + 64);
  /* in shared memory */
  assert_int_equal(
      atomics(".shared .u32 s; setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [s], 0; bar.sync 0; atom.shared.add.u32 %r2, [s], "
              "%r3; bar.sync 0; ld.shared.u32 %r5, [s]; @%p1 st.global.u32 [%d1], %r5;",
              0),
      sum);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(shuffles),      cmocka_unit_test(votes),  cmocka_unit_test(matches),
                                     cmocka_unit_test(reductions),    cmocka_unit_test(groups), cmocka_unit_test(barriers),
                                     cmocka_unit_test(atomic_results)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
