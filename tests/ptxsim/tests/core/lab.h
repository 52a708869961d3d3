/* lab.h -- what tests of the executing half share: a module, memory, launches, and what went wrong. */
#ifndef SIM_TESTS_LAB_H
#define SIM_TESTS_LAB_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

typedef struct lab {
  sim_memory *memory;
  sim_module *module;
  sim_counters counters;
  sim_fault fault;
  unsigned checks;
  uint64_t seed, limit;
  unsigned grid, block;
  uint32_t shared;
  int resident;
  char log[1024];
} lab;

static const sim_profile lab_profile = {.name = "lab",
                                        .cc_major = 8,
                                        .sm_count = 8,
                                        .warp_size = 32,
                                        .max_threads_per_block = 1024,
                                        .max_threads_per_sm = 2048,
                                        .max_blocks_per_sm = 16,
                                        .registers_per_block = 65536,
                                        .registers_per_sm = 65536,
                                        .shared_static_max = 49152,
                                        .shared_optin_max = 101376,
                                        .shared_per_sm = 102400,
                                        .max_grid = {2147483647, 65535, 65535},
                                        .max_block = {1024, 1024, 64},
                                        .max_param_bytes = 4096,
                                        .l2_bytes = 1 << 20,
                                        .global_bytes = (int64_t)1 << 32};

#define LAB_HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"

static inline void lab_open(lab *x) {
  memset(x, 0, sizeof *x);
  x->memory = sim_memory_new((int64_t)1 << 32);
  assert_non_null(x->memory);
  x->checks = SIM_CHECK_ALL;
  x->grid = 1;
  x->block = 32;
  x->seed = 1;
  x->limit = 10000000;
}

static inline void lab_unload(lab *x) {
  if (!x->module) return;
  sim_module_remove(x->module, x->memory);
  sim_module_free(x->module);
  x->module = NULL;
}

static inline void lab_close(lab *x) {
  lab_unload(x);
  sim_memory_free(x->memory);
}

/* Parses the text behind the usual head; the test fails where it does not parse. */
static inline void lab_load(lab *x, const char *text) {
  char *all = malloc(strlen(LAB_HEAD) + strlen(text) + 1);
  assert_non_null(all);
  strcpy(all, LAB_HEAD);
  strcat(all, text);
  lab_unload(x);
  const int bad = sim_module_parse(all, strlen(all), &x->module, x->log, sizeof x->log);
  free(all);
  if (bad) fail_msg("%s", x->log);
  assert_int_equal(sim_module_place(x->module, x->memory), 0);
}

static inline uint64_t lab_buffer(lab *x, size_t bytes) { /* undefined */
  const uint64_t at = sim_memory_alloc(x->memory, bytes);
  assert_true(at != 0);
  return at;
}

static inline uint64_t lab_upload(lab *x, const void *data, size_t bytes) {
  const uint64_t at = lab_buffer(x, bytes);
  assert_int_equal(sim_memory_write(x->memory, at, data, bytes), 0);
  return at;
}

static inline void lab_download(lab *x, void *to, uint64_t from, size_t bytes) {
  assert_int_equal(sim_memory_read(x->memory, to, from, bytes), 0);
}

/* Runs the kernel with 64-bit parameters; returns the kind of fault. */
static inline sim_fault_kind lab_try(lab *x, const char *kernel, const uint64_t *params, size_t n) {
  sim_launch l = {.function = sim_module_function(x->module, kernel), .profile = &lab_profile, .memory = x->memory};
  assert_non_null(l.function);
  l.grid[0] = x->grid;
  l.grid[1] = l.grid[2] = l.block[1] = l.block[2] = 1;
  l.block[0] = x->block;
  l.dynamic_shared = x->shared;
  l.params = params;
  l.param_bytes = n * 8;
  l.seed = x->seed;
  l.checks = x->checks;
  l.instruction_limit = x->limit;
  l.resident_blocks = x->resident;
  return sim_launch_run(&l, &x->counters, &x->fault) == 0 ? SIM_FAULT_NONE : x->fault.kind;
}

#define LAB_TRY(x, kernel, ...) lab_try(x, kernel, (const uint64_t[]){__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / 8)
#define LAB_RUN(x, kernel, ...)                                                                                        \
  do {                                                                                                                 \
    if (LAB_TRY(x, kernel, __VA_ARGS__) != SIM_FAULT_NONE) fail_msg("a fault in what is right:\n%s", (x)->fault.text); \
  } while (0)

/* The line, from 1, of the first line of the module that has the text: head and all. */
static inline int lab_line(const char *text, const char *part) {
  const char *at = strstr(text, part);
  assert_non_null(at);
  int line = 4;
  for (const char *p = text; p < at; p++) line += *p == '\n';
  return line;
}

/* Fails with this kind at the line that holds `part`. */
#define LAB_FAULT(x, text, part, wanted, kernel, ...)                                                        \
  do {                                                                                                       \
    const sim_fault_kind kind_ = LAB_TRY(x, kernel, __VA_ARGS__);                                            \
    if (kind_ != (wanted))                                                                                   \
      fail_msg("%s was wanted, not: %s %s", sim_fault_name(wanted), sim_fault_name(kind_), (x)->fault.text); \
    if ((x)->fault.ptx_line != lab_line(text, part))                                                         \
      fail_msg("line %d was wanted:\n%s", lab_line(text, part), (x)->fault.text);                            \
    assert_non_null(strstr((x)->fault.text, part));                                                          \
  } while (0)

static inline uint64_t lab_random(uint64_t *state) {
  uint64_t z = (*state += 0x9E3779B97F4A7C15ull);
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ z >> 27) * 0x94D049BB133111EBull;
  return z ^ z >> 31;
}

#endif
