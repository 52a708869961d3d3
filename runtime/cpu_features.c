/* cpu_features.c -- what this processor can do, as a device class and as a target to generate code for. */
#include "runtime/cpu_features.h"

#include <stdio.h>
#include <string.h>

#if defined __x86_64__
#include <cpuid.h>
#endif

typedef enum level { LEVEL_PLAIN, LEVEL_AVX2, LEVEL_AVX512, N_LEVELS } level;

static const struct {
  const char *word, *target;
  int lanes, fma;
} levels[N_LEVELS] = {{"plain", "plain", 4, 0}, {"avx2", "x86-64-avx2", 8, 1}, {"avx512", "x86-64-avx512", 16, 1}};

/* The list is part of the device class: a change raises its version, "f1". */
#define FEATURE_LIST(X) X("avx2") X("fma") X("f16c") X("avx512f") X("avx512dq") X("avx512bw") X("avx512vl") X("avx512bf16")

static level level_here(void) {
#if defined __x86_64__
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("f16c")) return LEVEL_PLAIN;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq"))
    return LEVEL_AVX512;
  return LEVEL_AVX2;
#else
  return LEVEL_PLAIN;
#endif
}

static void add_fact(rgt__target *t, const char *name, int64_t value) {
  snprintf(t->facts[t->n_facts].name, sizeof t->facts[0].name, "%s", name);
  t->facts[t->n_facts++].value = value;
}

static void fill(rgt__target *t, level l) {
  memset(t, 0, sizeof *t);
  snprintf(t->device, sizeof t->device, "cpu");
  snprintf(t->name, sizeof t->name, "%s", levels[l].target);
  add_fact(t, "lanes_max", levels[l].lanes);
  add_fact(t, "has_fma", levels[l].fma);
}

rgt_status rgt__cpu_target(const char *limit, rgt__target *target, rgt__error *err) {
  level l = level_here(), most = N_LEVELS;
  for (int i = 0; i < N_LEVELS; i++)
    if (!limit || strcmp(limit, levels[i].word) == 0) most = (level)i;
  if (most == N_LEVELS) return rgt__error_set(err, RGT_EINVAL, "RAGTUNE_CPU is \"%s\"; it can be plain, avx2 or avx512", limit);
  fill(target, limit && most < l ? most : l);
  return RGT_OK;
}

rgt_status rgt__cpu_target_by_name(const char *name, rgt__target *target, rgt__error *err) {
  for (int i = 0; i < N_LEVELS; i++)
    if (strcmp(name, levels[i].target) == 0) {
      fill(target, (level)i);
      return RGT_OK;
    }
  return rgt__error_set(err, RGT_EINVAL, "target \"%s\" is no CPU target: plain, x86-64-avx2 or x86-64-avx512", name);
}

#if defined __x86_64__
static void identity(char *text, size_t size) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  char vendor[13] = "";
  if (__get_cpuid(0, &a, &b, &c, &d)) {
    memcpy(vendor, &b, 4);
    memcpy(vendor + 4, &d, 4);
    memcpy(vendor + 8, &c, 4);
  }
  unsigned family = 0, model = 0, stepping = 0;
  if (__get_cpuid(1, &a, &b, &c, &d)) {
    family = (a >> 8) & 15;
    model = (a >> 4) & 15;
    stepping = a & 15;
    if (family == 6 || family == 15) model |= (a >> 12) & 0xf0;
    if (family == 15) family += (a >> 20) & 255;
  }
  snprintf(text, size, "%s:%u-%u-%u", vendor, family, model, stepping);
}

static void features(char *text, size_t size) {
  size_t n = 0;
  text[0] = 0;
#define FEATURE_ADD(word) \
  if (__builtin_cpu_supports(word) && n < size) n += (size_t)snprintf(text + n, size - n, "%s%s", n ? "+" : "", word);
  FEATURE_LIST(FEATURE_ADD)
#undef FEATURE_ADD
}
#else
static void identity(char *text, size_t size) {
  snprintf(text, size, "unknown:0-0-0");
}
static void features(char *text, size_t size) {
  snprintf(text, size, "none");
}
#endif

void rgt__cpu_class(const rgt__target *target, int cores, char *text, size_t text_size) {
  char who[64], what[128];
  identity(who, sizeof who);
  features(what, sizeof what);
  /* A limited target is another device: its timings say nothing about the whole processor. */
  int limited = strcmp(target->name, levels[level_here()].target) != 0;
  snprintf(text, text_size, "cpu:%s:f1:%s%s%s:cores=%d", who, what, limited ? ":only-" : "", limited ? target->name : "",
           cores);
}
