/* arithmetic.h -- one instruction over many arguments: makes the kernel from the instruction's signature, runs it, and
 * compares.
 *
 * A signature is that of sim_alu_row: destinations ':' sources; p predicate, h 16 bits, w and f 32, d and g 64. Every argument
 * and result travels as 64 bits. */
#ifndef SIM_TESTS_ARITHMETIC_H
#define SIM_TESTS_ARITHMETIC_H

#include "lab.h"

typedef uint64_t (*reference)(const uint64_t *a); /* of the sources, zero-extended */

static inline char kind_of(char letter) {
  return letter == 'f' ? 'w' : letter == 'g' ? 'd' : letter;
}
static inline const char *reg_of(char letter) {
  return letter == 'p' ? "%p" : letter == 'h' ? "%h" : kind_of(letter) == 'd' ? "%d" : "%w";
}

/* The kernel k: out, then an array for each source; argument i of source s is at array s, 8 i. Runs `n` threads. */
static inline void operation_text(char *out, size_t room, const char *instruction, const char *signature, const char *suffix) {
  const char *colon = strchr(signature, ':');
  const int n_src = (int)strlen(colon + 1);
  size_t n = (size_t)snprintf(
      out, room,
      ".visible .entry k(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3, .param .u64 p4, .param .u64 p5)\n{\n"
      ".reg .pred %%p<20>; .reg .b16 %%h<20>; .reg .b32 %%w<20>; .reg .b64 %%d<20>; .reg .b64 %%a<20>; .reg .b32 %%t<8>; .reg "
      ".pred %%q<4>;\n"
      "mov.u32 %%t0, %%tid.x; mov.u32 %%t1, %%ctaid.x; mad.lo.u32 %%t0, %%t1, 128, %%t0;\n"
      "cvt.u64.u32 %%a0, %%t0; ld.param.u64 %%a1, [p5]; setp.ge.u64 %%q0, %%a0, %%a1; @%%q0 bra DONE;\n"
      "mul.lo.u64 %%a0, %%a0, 8; ld.param.u64 %%a9, [p0]; add.u64 %%a9, %%a9, %%a0;\n");
  for (int s = 0; s < n_src; s++) {
    const char letter = colon[1 + s];
    n += (size_t)snprintf(out + n, room - n, "ld.param.u64 %%a%d, [p%d]; add.u64 %%a%d, %%a%d, %%a0;\n", 10 + s, 1 + s, 10 + s,
                          10 + s);
    if (letter == 'p')
      n += (size_t)snprintf(out + n, room - n, "ld.global.u32 %%t3, [%%a%d]; setp.ne.u32 %%p%d, %%t3, 0;\n", 10 + s, 10 + s);
    else
      n += (size_t)snprintf(out + n, room - n, "ld.global.b%d %s%d, [%%a%d];\n",
                            letter == 'h'            ? 16
                            : kind_of(letter) == 'd' ? 64
                                                     : 32,
                            reg_of(letter), 10 + s, 10 + s);
  }
  n += (size_t)snprintf(out + n, room - n, "%s %s1", instruction, reg_of(*signature));
  for (int s = 0; s < n_src; s++) n += (size_t)snprintf(out + n, room - n, ", %s%d", reg_of(colon[1 + s]), 10 + s);
  n += (size_t)snprintf(out + n, room - n, "%s;\n", suffix ? suffix : "");
  switch (kind_of(*signature)) {
  case 'p':
    n += (size_t)snprintf(out + n, room - n, "selp.u64 %%d2, 1, 0, %%p1;\n");
    break;
  case 'h':
    n += (size_t)snprintf(out + n, room - n, "cvt.u64.u16 %%d2, %%h1;\n");
    break;
  case 'w':
    n += (size_t)snprintf(out + n, room - n, "cvt.u64.u32 %%d2, %%w1;\n");
    break;
  default:
    n += (size_t)snprintf(out + n, room - n, "mov.u64 %%d2, %%d1;\n");
    break;
  }
  snprintf(out + n, room - n, "st.global.u64 [%%a9], %%d2;\nDONE:\nret;\n}\n");
}

/* Runs over n argument tuples (args[s][i]); results in `out`. */
static inline void operation_run(const char *instruction, const char *signature, const char *suffix, uint64_t *const *args,
                                 size_t n, uint64_t *out, uint64_t seed) {
  char text[8192];
  lab x;
  lab_open(&x);
  operation_text(text, sizeof text, instruction, signature, suffix);
  lab_load(&x, text);
  const size_t n_src = strlen(strchr(signature, ':') + 1);
  uint64_t params[6] = {lab_buffer(&x, n * 8), 0, 0, 0, 0, n};
  for (size_t s = 0; s < n_src; s++) params[1 + s] = lab_upload(&x, args[s], n * 8);
  x.block = 128;
  x.grid = (unsigned)((n + 127) / 128);
  x.seed = seed;
  x.checks = SIM_CHECK_DEFINED;
  x.limit = 1000000000;
  if (lab_try(&x, "k", params, 6) != SIM_FAULT_NONE) fail_msg("%s", x.fault.text);
  lab_download(&x, out, params[0], n * 8);
  lab_close(&x);
}

/* All tuples of the edge values of each source, or as many random ones as there is room for, and random bits. */
typedef struct arguments {
  uint64_t *a[4];
  size_t n;
} arguments;

enum { MOST_ARGUMENTS = 6000 };

static inline uint64_t mask_of(char letter) {
  return letter == 'p' ? 1 : letter == 'h' ? 0xFFFF : kind_of(letter) == 'd' ? UINT64_MAX : 0xFFFFFFFF;
}

static inline arguments arguments_make(const char *sources, const uint64_t *const *edges, const size_t *n_edges,
                                       uint64_t seed) {
  arguments g = {{NULL}, 0};
  const size_t n_src = strlen(sources);
  size_t product = 1;
  for (size_t s = 0; s < n_src; s++) {
    g.a[s] = malloc(MOST_ARGUMENTS * 8);
    assert_non_null(g.a[s]);
    product *= n_edges[s];
  }
  for (size_t i = 0; i < MOST_ARGUMENTS; i++) {
    size_t at = product <= MOST_ARGUMENTS - 1000 ? i : (size_t)(lab_random(&seed) % product);
    const int random = product <= MOST_ARGUMENTS - 1000 ? i >= product : i >= MOST_ARGUMENTS - 1000;
    for (size_t s = 0; s < n_src; s++) {
      const uint64_t pick = lab_random(&seed);
      g.a[s][i] = (random && (pick & 3) ? lab_random(&seed) : edges[s][at % n_edges[s]]) & mask_of(sources[s]);
      if (random && !(pick & 3)) g.a[s][i] = edges[s][(pick >> 8) % n_edges[s]] & mask_of(sources[s]);
      at /= n_edges[s];
    }
  }
  g.n = MOST_ARGUMENTS;
  return g;
}

static inline void arguments_free(arguments *g) {
  for (int s = 0; s < 4; s++) free(g->a[s]);
}

static inline void operation_check(const char *instruction, const char *signature, const char *suffix, const arguments *g,
                                   reference f) {
  uint64_t *out = malloc(g->n * 8);
  assert_non_null(out);
  operation_run(instruction, signature, suffix, g->a, g->n, out, 1);
  for (size_t i = 0; i < g->n; i++) {
    uint64_t a[4] = {0};
    for (size_t s = 0; s < strlen(strchr(signature, ':') + 1); s++) a[s] = g->a[s][i];
    const uint64_t wanted = f(a) & mask_of(*signature);
    if (out[i] != wanted)
      fail_msg("%s of 0x%llx 0x%llx 0x%llx 0x%llx is 0x%llx, not 0x%llx", instruction, (unsigned long long)a[0],
               (unsigned long long)a[1], (unsigned long long)a[2], (unsigned long long)a[3], (unsigned long long)wanted,
               (unsigned long long)out[i]);
  }
  free(out);
}

#endif
