/* test_wide.c -- registers of 128 bits: packed, unpacked, copied, loaded and stored, in whole warps and in some of their lanes.
 */
#include "lab.h"

#define BEGIN                                                                                                               \
  ".const .align 16 .b8 c[32] = {1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0, 7, 0, 0, 0, 8};\n" \
  ".visible .entry k(.param .u64 p0, .param .u64 p1, .param .b128 p2)\n{\n.reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 "   \
  "%d<12>; .reg .b128 %q<4>;\nld.param.u64 %d1, [p0]; ld.param.u64 %d2, [p1]; mov.u32 %r1, %tid.x; mul.wide.u32 %d3, %r1, " \
  "16;\nadd.s64 %d1, %d1, %d3; add.s64 %d2, %d2, %d3; and.b32 %r2, %r1, 3; setp.ne.u32 %p1, %r2, 1;\n"
#define END "\nst.global.b128 [%d2], %q1;\nret;\n}\n"

typedef struct wide {
  uint32_t w[4];
} wide;
enum { THREADS = 43 }; /* the second warp has 11 lanes */

static const wide param = {{0xA0A1A2A3, 0xB0B1B2B3, 0xC0C1C2C3, 0xD0D1D2D3}};

/* Thread t stores what `f` makes of the words that it loaded. */
static void gives(const char *body, wide (*f)(uint32_t t, wide in)) {
  char text[4096];
  wide in[THREADS], got[THREADS];
  uint64_t seed = 3, params[4];
  lab x;
  for (int t = 0; t < THREADS; t++)
    for (int k = 0; k < 4; k++) in[t].w[k] = (uint32_t)lab_random(&seed);
  lab_open(&x);
  snprintf(text, sizeof text, "%s%s%s", BEGIN, body, END);
  lab_load(&x, text);
  params[0] = lab_upload(&x, in, sizeof in);
  params[1] = lab_buffer(&x, sizeof got);
  memcpy(params + 2, &param, 16);
  x.block = THREADS;
  if (lab_try(&x, "k", params, 4) != SIM_FAULT_NONE) fail_msg("%s", x.fault.text);
  lab_download(&x, got, params[1], sizeof got);
  for (uint32_t t = 0; t < THREADS; t++) {
    const wide wanted = f(t, in[t]);
    for (int k = 0; k < 4; k++)
      if (got[t].w[k] != wanted.w[k])
        fail_msg("%s: word %d of thread %u is 0x%x, not 0x%x", body, k, t, got[t].w[k], wanted.w[k]);
  }
  lab_close(&x);
}

static int some(uint32_t t) {
  return (t & 3) != 1;
}
static wide same(uint32_t t, wide in) {
  (void)t;
  return in;
}
static wide reversed(uint32_t t, wide in) {
  (void)t;
  return (wide){{in.w[3], in.w[2], in.w[1], in.w[0]}};
}
static wide swapped(uint32_t t, wide in) {
  (void)t;
  return (wide){{in.w[2], in.w[3], in.w[0], in.w[1]}};
}
static wide mixed(uint32_t t, wide in) {
  return (wide){{in.w[1], t, 7, 0}};
}
static wide swapped_in_some(uint32_t t, wide in) {
  return some(t) ? swapped(t, in) : in;
}
static wide counted_in_some(uint32_t t, wide in) {
  return some(t) ? (wide){{t, 0, in.w[0], in.w[1]}} : in;
}
static wide of_the_parameter(uint32_t t, wide in) {
  (void)in;
  return some(t) ? param : (wide){{5, 6, 7, 8}};
}
static wide of_the_neighbour(uint32_t t, wide in) {
  (void)in;
  uint64_t seed = 3;
  wide all[THREADS];
  for (int n = 0; n < THREADS; n++)
    for (int k = 0; k < 4; k++) all[n].w[k] = (uint32_t)lab_random(&seed);
  return all[t == 0 ? THREADS - 1 : t - 1];
}

#define LOAD "ld.global.b128 %q1, [%d1];\n"
static void moves(void **state) {
  (void)state;
  gives(LOAD, same);
  gives("ld.global.nc.b128 %q1, [%d1];", same);
  gives("ld.b128 %q2, [%d1]; mov.b128 %q1, %q2;", same);
  gives(LOAD "mov.b128 {%d4, %d5}, %q1; mov.b128 %q1, {%d5, %d4};", swapped);
  gives(LOAD "mov.b128 {%r3, %r4, %r5, %r6}, %q1; mov.b128 %q1, {%r6, %r5, %r4, %r3};", reversed);
  gives(LOAD "mov.b128 {_, %r4, _, _}, %q1; mov.b128 %q1, {%r4, %r1, 7, 0};", mixed);
  gives(LOAD "mov.b128 {%d4, _}, %q1; mov.b128 {_, %d5}, %q1; mov.b128 %q1, {%d5, %d4};", swapped);
  /* lanes apart: the others keep both halves */
  gives(LOAD "mov.b128 {%d4, %d5}, %q1; @%p1 mov.b128 %q1, {%d5, %d4};", swapped_in_some);
  gives(LOAD "mov.b128 {%d4, %d5}, %q1; mov.b128 %q2, {%d5, %d4}; @%p1 mov.b128 %q1, %q2;", swapped_in_some);
  gives(LOAD "mov.b128 {%d4, %d5}, %q1; cvt.u64.u32 %d6, %r1; @!%p1 bra L; mov.b128 %q1, {%d6, %d4}; L:", counted_in_some);
}

static void spaces(void **state) {
  (void)state;
  gives("ld.const.b128 %q1, [c+16]; @%p1 ld.param.b128 %q1, [p2];", of_the_parameter);
  gives(".local .align 16 .b8 l[32]; " LOAD
        "st.local.b128 [l+16], %q1; ld.local.v4.u32 {%r3, %r4, %r5, %r6}, [l+16]; mov.b128 %q1, "
        "{%r6, %r5, %r4, %r3};",
        reversed);
  gives(
      ".shared .align 16 .b128 s[64]; " LOAD
      "mov.u32 %r3, s; mad.lo.u32 %r4, %r1, 16, %r3; st.shared.b128 [%r4], %q1; bar.sync 0; "
      "setp.eq.u32 %p2, %r1, 0; selp.u32 %r5, 42, -1, %p2; add.u32 %r6, %r1, %r5; mad.lo.u32 %r6, %r6, 16, %r3; ld.shared.b128 "
      "%q1, [%r6];",
      of_the_neighbour);
  gives("ld.global.v2.b64 {%d4, %d5}, [%d1]; mov.b128 %q1, {%d4, %d5};", same);
  gives(LOAD "st.volatile.global.b128 [%d2], %q1; ld.volatile.global.b128 %q1, [%d2];", same);
}

/* One of 128 bits is 16 bytes at once: where they lie, whether they are there, and which of them were written. */
static void faults(void **state) {
  (void)state;
  static const struct {
    const char *body;
    sim_fault_kind kind;
  } all[] = {
      {"ld.global.b128 %q1, [%d1+16];", SIM_FAULT_NONE},
      {"ld.global.b128 %q1, [%d1+8];", SIM_FAULT_MISALIGNED},
      {"ld.global.b128 %q1, [%d1+32];", SIM_FAULT_BOUNDS},
      {"mov.b128 %q1, {%d1, %d1}; st.global.b128 [%d2+8], %q1;", SIM_FAULT_MISALIGNED},
      {"mov.b128 %q1, {%d1, %d1}; st.global.b128 [%d2+32], %q1;", SIM_FAULT_BOUNDS},
      {"mov.b128 %q1, {%d1, %d9};", SIM_FAULT_UNDEFINED_STORE},
      {"mov.b128 %q1, {%d9, %d1};", SIM_FAULT_UNDEFINED_STORE},
      {"mov.b128 %q1, {%r1, %r1, %r9, %r1};", SIM_FAULT_UNDEFINED_STORE},
      {"mov.b128 %q1, {%r1, %r1, %r9, %r1}; mov.b128 {%r3, %r4, _, %r5}, %q1; mov.b128 %q1, {%r3, %r4, %r5, %r5};",
       SIM_FAULT_NONE},
      {"mov.b128 %q2, {%d1, %d9}; mov.b128 {%d4, _}, %q2; mov.b128 %q1, {%d4, %d4};", SIM_FAULT_NONE},
      {"mov.b128 %q2, {%d1, %d9}; mov.b128 %q3, %q2; mov.b128 {_, %d4}, %q3; mov.b128 %q1, {%d4, %d4};",
       SIM_FAULT_UNDEFINED_STORE},
      {"setp.ne.u32 %p1, %r1, 0; @%p1 mov.b128 %q1, {%d1, %d1};", SIM_FAULT_UNDEFINED_STORE},
  };
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
    char text[4096];
    const wide in[2] = {{{1, 2, 3, 4}}, {{5, 6, 7, 8}}};
    lab x;
    lab_open(&x);
    snprintf(text, sizeof text, "%s%s%s", BEGIN, all[k].body, END);
    lab_load(&x, text);
    const uint64_t from = lab_upload(&x, in, sizeof in), to = lab_buffer(&x, sizeof in);
    x.block = 1;
    const sim_fault_kind kind = LAB_TRY(&x, "k", from, to, 0, 0);
    if (kind != all[k].kind) fail_msg("%s gives %s %s", all[k].body, sim_fault_name(kind), x.fault.text);
    lab_close(&x);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(moves), cmocka_unit_test(spaces), cmocka_unit_test(faults)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
