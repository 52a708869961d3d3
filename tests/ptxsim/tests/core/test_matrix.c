/* test_matrix.c -- mma in every shape against sums by the ISA's own tables of fragments; ldmatrix, stmatrix, movmatrix;
 * cp.async. */
#include "lab.h"

#include <math.h>

typedef struct shape {
  const char *name; /* of the instruction, behind mma.sync.aligned. */
  int k, bits;      /* bits of an element of A and B */
  int a, b, c;      /* registers */
  int kind;         /* 0 f16, 1 bf16, 2 tf32, 3 s8, 4 u8 */
  int half_sum;     /* C and D in f16 */
} shape;

static const shape shapes[] = {{"m16n8k16.row.col.f32.f16.f16.f32", 16, 16, 4, 2, 4, 0, 0},
                               {"m16n8k16.row.col.f16.f16.f16.f16", 16, 16, 4, 2, 2, 0, 1},
                               {"m16n8k8.row.col.f32.f16.f16.f32", 8, 16, 2, 1, 4, 0, 0},
                               {"m16n8k8.row.col.f16.f16.f16.f16", 8, 16, 2, 1, 2, 0, 1},
                               {"m16n8k16.row.col.f32.bf16.bf16.f32", 16, 16, 4, 2, 4, 1, 0},
                               {"m16n8k8.row.col.f32.bf16.bf16.f32", 8, 16, 2, 1, 4, 1, 0},
                               {"m16n8k8.row.col.f32.tf32.tf32.f32", 8, 32, 4, 2, 4, 2, 0},
                               {"m16n8k4.row.col.f32.tf32.tf32.f32", 4, 32, 2, 1, 4, 2, 0},
                               {"m16n8k32.row.col.s32.s8.s8.s32", 32, 8, 4, 2, 4, 3, 0},
                               {"m16n8k16.row.col.s32.s8.s8.s32", 16, 8, 2, 1, 4, 3, 0},
                               {"m16n8k32.row.col.s32.u8.u8.s32", 32, 8, 4, 2, 4, 4, 0},
                               {"m16n8k16.row.col.satfinite.s32.u8.u8.s32", 16, 8, 2, 1, 4, 4, 0}};

/* Small whole numbers, so that all sums are exact in any order. */
static uint32_t encode(int v, int kind) {
  const float f = (float)v;
  uint32_t u;
  memcpy(&u, &f, 4);
  if (kind == 0) { /* f16 of a small whole number: the f32 with another bias */
    if (v == 0) return 0;
    return (u >> 16 & 0x8000) | ((u >> 23 & 255) - 112) << 10 | (u >> 13 & 0x3FF);
  }
  if (kind == 1) return u >> 16;
  if (kind == 2) return u;
  return (uint32_t)v & 255;
}

/* Row and column of element e of register r of a lane, straight from the ISA's formulas. */
static void place_a(const shape *s, int lane, int r, int e, int *row, int *column) {
  const int g = lane >> 2, t = lane & 3, per = 32 / s->bits, i = r * per + e;
  if (s->bits == 16) {
    *row = (i % 4 < 2) ? g : g + 8;
    *column = t * 2 + (i & 1) + (i >= 4 ? 8 : 0);
  } else if (s->bits == 32) {
    *row = i % 2 ? g + 8 : g;
    *column = i >= 2 ? t + 4 : t;
  } else {
    *row = (i < 4 || (i >= 8 && i < 12)) ? g : g + 8;
    *column = t * 4 + (i & 3) + (i >= 8 ? 16 : 0);
  }
}
static void place_b(const shape *s, int lane, int r, int e, int *row, int *column) {
  const int g = lane >> 2, t = lane & 3, per = 32 / s->bits, i = r * per + e;
  *column = g;
  if (s->bits == 16)
    *row = t * 2 + (i & 1) + (i >= 2 ? 8 : 0);
  else if (s->bits == 32)
    *row = i ? t + 4 : t;
  else
    *row = t * 4 + (i & 3) + (i >= 4 ? 16 : 0);
}
static void place_c(int lane, int i, int *row, int *column) {
  *row = i < 2 ? lane >> 2 : (lane >> 2) + 8;
  *column = (lane & 3) * 2 + (i & 1);
}

static void multiply(const shape *s, uint64_t seed) {
  int a[16][32], b[32][8], c[16][8];
  uint32_t ra[4][32] = {{0}}, rb[4][32] = {{0}}, rc[4][32] = {{0}}, got[4][32];
  const int low = s->kind == 4 ? 0 : -7;
  for (int m = 0; m < 16; m++)
    for (int k = 0; k < 32; k++) a[m][k] = low + (int)(lab_random(&seed) % 15);
  for (int k = 0; k < 32; k++)
    for (int n = 0; n < 8; n++) b[k][n] = low + (int)(lab_random(&seed) % 15);
  for (int m = 0; m < 16; m++)
    for (int n = 0; n < 8; n++) c[m][n] = -50 + (int)(lab_random(&seed) % 100);
  for (int l = 0; l < 32; l++) {
    int row, column;
    for (int r = 0; r < s->a; r++)
      for (int e = 0; e < 32 / s->bits; e++) {
        place_a(s, l, r, e, &row, &column);
        ra[r][l] |= encode(a[row][column], s->kind) << (e * s->bits % 32);
      }
    for (int r = 0; r < s->b; r++)
      for (int e = 0; e < 32 / s->bits; e++) {
        place_b(s, l, r, e, &row, &column);
        rb[r][l] |= encode(b[row][column], s->kind) << (e * s->bits % 32);
      }
    for (int i = 0; i < 4; i++) {
      place_c(l, i, &row, &column);
      if (s->half_sum)
        rc[i / 2][l] |= encode(c[row][column], 0) << (16 * (i & 1));
      else
        rc[i][l] = s->kind >= 3 ? (uint32_t)c[row][column] : encode(c[row][column], 2);
    }
  }
  char text[4096], lists[3][64] = {"", "", ""};
  size_t n = (size_t)snprintf(
      text, sizeof text,
      ".visible .entry k(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3)\n{\n.reg .b32 %%r<20>; .reg .b64 "
      "%%d<12>;\nmov.u32 %%r0, %%laneid; mul.wide.u32 %%d5, %%r0, 4;\n"
      "ld.param.u64 %%d1, [p0]; ld.param.u64 %%d2, [p1]; ld.param.u64 %%d3, [p2]; ld.param.u64 %%d4, [p3]; add.u64 %%d1, %%d1, "
      "%%d5; add.u64 %%d2, %%d2, %%d5; add.u64 %%d3, %%d3, %%d5; add.u64 %%d4, %%d4, %%d5;\n");
  const int counts[3] = {s->a, s->b, s->c};
  for (int o = 0; o < 3; o++)
    for (int r = 0; r < counts[o]; r++) {
      n += (size_t)snprintf(text + n, sizeof text - n, "ld.global.u32 %%r%d, [%%d%d+%d];\n", 1 + 4 * o + r, 2 + o, 128 * r);
      snprintf(lists[o] + strlen(lists[o]), sizeof lists[o] - strlen(lists[o]), "%s%%r%d", r ? ", " : "", 1 + 4 * o + r);
    }
  n += (size_t)snprintf(text + n, sizeof text - n, "mma.sync.aligned.%s {%s}, {%s}, {%s}, {%s};\n", s->name, lists[2], lists[0],
                        lists[1], lists[2]);
  for (int r = 0; r < s->c; r++)
    n += (size_t)snprintf(text + n, sizeof text - n, "st.global.u32 [%%d1+%d], %%r%d;\n", 128 * r, 9 + r);
  snprintf(text + n, sizeof text - n, "ret;\n}\n");
  lab x;
  lab_open(&x);
  lab_load(&x, text);
  const uint64_t d = lab_buffer(&x, sizeof got), pa = lab_upload(&x, ra, sizeof ra), pb = lab_upload(&x, rb, sizeof rb),
                 pc = lab_upload(&x, rc, sizeof rc);
  LAB_RUN(&x, "k", d, pa, pb, pc);
  assert_int_equal(x.counters.inst_mma, 1);
  assert_int_equal(x.counters.flop_mma, 2 * 16 * 8 * s->k);
  lab_download(&x, got, d, (size_t)s->c * 128);
  for (int l = 0; l < 32; l++)
    for (int i = 0; i < 4; i++) {
      int row, column;
      place_c(l, i, &row, &column);
      int sum = c[row][column];
      for (int k = 0; k < s->k; k++) sum += a[row][k] * b[k][column];
      const uint32_t wanted = s->half_sum ? encode(sum, 0) : s->kind >= 3 ? (uint32_t)sum : encode(sum, 2);
      const uint32_t have = s->half_sum ? got[i / 2][l] >> (16 * (i & 1)) & 0xFFFF : got[i][l];
      if (have != wanted) fail_msg("%s: (%d, %d) is 0x%x, not 0x%x", s->name, row, column, have, wanted);
    }
  lab_close(&x);
}

static void products(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
    for (uint64_t seed = 0; seed < 3; seed++) multiply(&shapes[k], seed);
}

/* ---- matrices of 8x8
 * ------------------------------------------------------------------------------------------------------------------------ */

static void loads(void **state) {
  (void)state;
  for (int n = 1; n <= 4; n *= 2)
    for (int trans = 0; trans < 2; trans++) {
      char text[4096];
      static const char *const registers[] = {"", "%r10", "%r10, %r11", "", "%r10, %r11, %r12, %r13"};
      snprintf(
          text, sizeof text,
          ".visible .entry k(.param .u64 p0, .param .u64 p1)\n{\n.reg .b32 %%r<20>; .reg .b64 %%d<8>; .reg .pred "
          "%%p<2>;\n.shared .align 16 .b8 s[640];\n.shared .align 16 .b8 t[512];\nld.param.u64 %%d1, [p0]; ld.param.u64 %%d2, "
          "[p1]; mov.u32 %%r0, %%laneid;\n"
          "mul.wide.u32 %%d3, %%r0, 16; add.u64 %%d4, %%d2, %%d3; ld.global.v4.u32 {%%r1, %%r2, %%r3, %%r4}, [%%d4]; mov.u32 "
          "%%r5, s; mad.lo.u32 %%r6, %%r0, 16, %%r5; shr.u32 %%r7, %%r0, 3; mad.lo.u32 %%r6, %%r7, 16, %%r6;\n" /* matrices 144
                                                                                                                   bytes apart
                                                                                                                 */
          "st.shared.v4.u32 [%%r6], {%%r1, %%r2, %%r3, %%r4}; bar.warp.sync -1;\nldmatrix.sync.aligned.m8n8.x%d%s.shared.b16 "
          "{%s}, [%%r6];\nmov.u32 %%r8, t; mad.lo.u32 %%r9, %%r0, 16, %%r8;\n"
          "stmatrix.sync.aligned.m8n8.x%d%s.shared.b16 [%%r9], {%s};\nbar.warp.sync -1; setp.ge.u32 %%p1, %%r0, %d; @%%p1 bra "
          "DONE; ld.shared.v4.u32 {%%r1, %%r2, %%r3, %%r4}, [%%r9]; add.u64 %%d5, %%d1, %%d3; st.global.v4.u32 [%%d5+512], "
          "{%%r1, %%r2, %%r3, %%r4};\nDONE:\n"
          "mul.wide.u32 %%d6, %%r0, 4; add.u64 %%d1, %%d1, %%d6;\n",
          n, trans ? ".trans" : "", registers[n], n, trans ? ".trans" : "", registers[n], 8 * n);
      for (int m = 0; m < n; m++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "st.global.u32 [%%d1+%d], %%r%d;\n", 128 * m, 10 + m);
      strcat(text, "ret;\n}\n");
      uint16_t in[32][8];
      uint32_t out[256];
      for (int r = 0; r < 32; r++)
        for (int c = 0; c < 8; c++) in[r][c] = (uint16_t)(r * 8 + c);
      lab x;
      lab_open(&x);
      lab_load(&x, text);
      const uint64_t to = lab_buffer(&x, sizeof out), from = lab_upload(&x, in, sizeof in);
      LAB_RUN(&x, "k", to, from);
      lab_download(&x, out, to, sizeof out);
      for (int m = 0; m < n; m++)
        for (int l = 0; l < 32; l++)
          for (int h = 0; h < 2; h++) {
            const int row = trans ? 2 * (l & 3) + h : l >> 2, column = trans ? l >> 2 : 2 * (l & 3) + h;
            assert_int_equal(out[32 * m + l] >> (16 * h) & 0xFFFF, in[8 * m + row][column]);
          }
      assert_memory_equal(out + 128, in, (size_t)n * 128); /* stmatrix undoes it */
      lab_close(&x);
    }
}

static void transposes(void **state) {
  (void)state;
  lab x;
  uint32_t out[32];
  lab_open(&x);
  lab_load(
      &x,
      ".visible .entry k(.param .u64 p0)\n{\n.reg .b32 %r<8>; .reg .b64 %d<4>;\nld.param.u64 %d1, [p0]; mov.u32 %r0, %laneid; "
      "mul.wide.u32 %d2, %r0, 4; add.u64 %d1, %d1, %d2;\nmul.lo.u32 %r1, %r0, 0x20002; add.u32 %r1, %r1, 0x10000;\n"
      "movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r1;\nst.global.u32 [%d1], %r1;\nret;\n}\n");
  const uint64_t to = lab_buffer(&x, sizeof out);
  LAB_RUN(&x, "k", to);
  lab_download(&x, out, to, sizeof out);
  for (int l = 0; l < 32; l++)
    for (int h = 0; h < 2; h++) /* element (row, column) was 8 row + column */
      assert_int_equal(out[l] >> (16 * h) & 0xFFFF, 8 * (2 * (l & 3) + h) + (l >> 2));
  lab_close(&x);
}

/* ---- copies
 * -----------------------------------------------------------------------------------------------------------------------------------
 */

/* Three stages of copies with ragged ends; each lane waits for its own, then all for all. */
static void copies(void **state) {
  (void)state;
  lab x;
  uint32_t in[100], out[128];
  lab_open(&x);
  lab_load(&x, ".visible .entry k(.param .u64 p0, .param .u64 p1)\n{\n.reg .b32 %r<20>; .reg .b64 %d<12>; .reg .pred "
               "%p<4>;\n.shared .align 16 .b8 s[2048];\nld.param.u64 %d1, [p0]; ld.param.u64 %d2, [p1]; mov.u32 %r0, %laneid; "
               "mov.u32 %r1, s; mad.lo.u32 %r2, %r0, 16, %r1;\n"
               "mul.wide.u32 %d3, %r0, 16; add.u64 %d4, %d2, %d3;\n" /* 400 bytes: lanes 0 to 24 have 16 */
               "setp.lt.u32 %p1, %r0, 25; selp.u32 %r3, 16, 0, %p1;\n"
               "cp.async.cg.shared.global.L2::128B [%r2], [%d4], 16, %r3;\ncp.async.commit_group;\n"
               "add.u64 %d5, %d2, 392; cp.async.ca.shared.global [%r2+512], [%d2], 8;\ncp.async.ca.shared.global [%r2+520], "
               "[%d5], 8, 6;\ncp.async.commit_group;\n"
               "cp.async.ca.shared.global [%r2+1024], [%d4], 4, %p1;\n" /* ignored where the predicate holds */
               "cp.async.wait_group 1;\nbar.warp.sync -1;\nxor.b32 %r4, %r0, 31; mad.lo.u32 %r5, %r4, 16, %r1; "
               "ld.shared.v4.u32 {%r6, %r7, %r8, %r9}, [%r5];\n"
               "add.u32 %r6, %r6, %r7; add.u32 %r6, %r6, %r8; add.u32 %r6, %r6, %r9; mul.wide.u32 %d6, %r0, 16; add.u64 %d7, "
               "%d1, %d6; st.global.u32 [%d7], %r6;\n"
               "cp.async.commit_group; cp.async.wait_group 0; ld.shared.v4.u32 {%r6, %r7, %r8, %r9}, [%r2+512]; add.u32 %r6, "
               "%r6, %r7; st.global.u32 [%d7+4], %r6; st.global.u32 [%d7+8], %r9;\n"
               "ld.shared.u32 %r10, [%r2+1024]; st.global.u32 [%d7+12], %r10;\nret;\n}\n");
  for (uint32_t i = 0; i < 100; i++) in[i] = 0x01010101u * i;
  const uint64_t to = lab_buffer(&x, sizeof out), from = lab_upload(&x, in, sizeof in);
  /* lanes 25 to 31 do copy their four bytes of the third stage, which lie outside */
  assert_int_equal(LAB_TRY(&x, "k", to, from), SIM_FAULT_BOUNDS);
  const uint64_t larger = lab_buffer(&x, 512);
  assert_int_equal(sim_memory_copy(x.memory, larger, from, 400), 0);
  uint32_t tail[28];
  for (uint32_t i = 0; i < 28; i++) tail[i] = 7000 + i;
  assert_int_equal(sim_memory_write(x.memory, larger + 400, tail, sizeof tail), 0);
  LAB_RUN(&x, "k", to, larger);
  lab_download(&x, out, to, sizeof out);
  for (uint32_t l = 0; l < 32; l++) {
    const uint32_t o = 31 - l;
    assert_int_equal(out[4 * l], o < 25 ? 0x01010101u * (16 * o + 6) : 0);
    assert_int_equal(out[4 * l + 1], 0x01010101u);
    assert_int_equal(out[4 * l + 2], (0x01010101u * 99) & 0xFFFF); /* six of eight bytes */
    assert_int_equal(out[4 * l + 3], l < 25 ? 0 : tail[4 * (l - 25)]);
  }
  assert_true(x.counters.cp_async_requests == 4);
  lab_close(&x);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(products), cmocka_unit_test(loads), cmocka_unit_test(transposes),
                                     cmocka_unit_test(copies)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
