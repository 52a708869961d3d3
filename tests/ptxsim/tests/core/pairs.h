/* pairs.h -- kernels in pairs: one is right, the other has one planted bug, which must be reported as its kind at its line.
 *
 * Every kernel k takes four buffers: d1 `in` (256 words, all written: word i holds i), d2 `out` (256 words, never written),
 * d3 `flags` (64 words of 0), d4 a buffer that was freed. r1 is the thread, r2 the block, d5 and d6 the thread's words of in
 * and out. */
#ifndef SIM_TESTS_PAIRS_H
#define SIM_TESTS_PAIRS_H

#include "lab.h"

typedef struct pair {
  const char *name;
  const char *outside;    /* what stands before the kernel */
  const char *body;       /* of k, with $ where the two differ */
  const char *good, *bad; /* what stands there */
  sim_fault_kind kind;
  const char *at; /* text of the line that is reported */
  unsigned grid, block, shared;
} pair;

#define PAIR_HEAD                                                                                     \
  ".visible .entry k(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3)\n{\n"            \
  ".reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<32>; .reg .f32 %f<32>; .reg .b64 %d<32>;\n"        \
  "ld.param.u64 %d1, [p0]; ld.param.u64 %d2, [p1]; ld.param.u64 %d3, [p2]; ld.param.u64 %d4, [p3];\n" \
  "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mul.wide.u32 %d7, %r1, 4;\n"                           \
  "add.s64 %d5, %d1, %d7; add.s64 %d6, %d2, %d7; mul.lo.u32 %r3, %r1, 4;\n"

static inline void pair_text(const pair *p, const char *part, char *out, size_t room) {
  const char *mark = strchr(p->body, '$');
  assert_non_null(mark);
  snprintf(out, room, "%s%s%.*s%s%s\nret;\n}\n", p->outside ? p->outside : "", PAIR_HEAD, (int)(mark - p->body), p->body, part,
           mark + 1);
}

static inline void pair_run(const pair *p, const char *part, uint64_t seed, int is_bad) {
  char text[16384];
  lab x;
  uint32_t in[256], zero[64] = {0};
  lab_open(&x);
  pair_text(p, part, text, sizeof text);
  lab_load(&x, text);
  for (uint32_t i = 0; i < 256; i++) in[i] = i;
  const uint64_t gone = lab_upload(&x, in, sizeof in);
  sim_memory_release(x.memory, gone);
  const uint64_t a = lab_upload(&x, in, sizeof in), b = lab_buffer(&x, sizeof in), c = lab_upload(&x, zero, sizeof zero);
  x.grid = p->grid ? p->grid : 1;
  x.block = p->block ? p->block : 32;
  x.shared = p->shared;
  x.seed = seed;
  x.limit = 3000000;
  if (is_bad)
    LAB_FAULT(&x, text, p->at, p->kind, "k", a, b, c, gone);
  else
    LAB_RUN(&x, "k", a, b, c, gone);
  lab_close(&x);
}

/* As a cmocka test: both, for some orders of warps and blocks. */
static inline void pair_test(void **state) {
  const pair *p = *state;
  for (uint64_t seed = 0; seed < 6; seed++) {
    pair_run(p, p->good, seed, 0);
    pair_run(p, p->bad, seed, 1);
  }
}

#define PAIRS_MAIN(list)                                                                                \
  int main(void) {                                                                                      \
    enum { N = sizeof list / sizeof *list };                                                            \
    struct CMUnitTest tests[N];                                                                         \
    for (int i = 0; i < N; i++)                                                                         \
      tests[i] = (struct CMUnitTest){list[i].name, pair_test, NULL, NULL, (void *)(uintptr_t)&list[i]}; \
    return cmocka_run_group_tests(tests, NULL, NULL);                                                   \
  }

#endif
