/* test_peak.c -- the roof is measured where there is a compiler, is of a credible size, and fails cleanly elsewhere. */
#include "runtime/peak.h"

#include "tests/support/paced_device.h"

static scratch s;
static rgt__environment env;
static rgt__device *cpu;
static rgt__sources *sources;
static rgt__code_cache *cache;
static rgt__candidate_maker maker;
static char toolchain[256];
static rgt__error err;

static int setup(void **state) {
  (void)state;
  scratch_open(&s);
  rgt__families *families = NULL;
  if (rgt__environment_read(&env, NULL) != RGT_OK ||
      rgt__device_cpu_open(&(rgt__device_options){.env = &env}, &cpu, NULL) != RGT_OK)
    return 1;
  if (rgt__sources_open(NULL, &sources, NULL) != RGT_OK || rgt__families_open(sources, &families, &err) != RGT_OK) return 1;
  if (rgt__code_cache_open(scratch_path(&s, "cache"), &cache, NULL) != RGT_OK) return 1;
  toolchain[0] = 0;
  cpu->ops->toolchain(cpu, toolchain, sizeof toolchain, NULL);
  maker = (rgt__candidate_maker){.families = families,
                                 .device = cpu,
                                 .target = cpu->info.target,
                                 .cache = cache,
                                 .toolchain = toolchain,
                                 .facts = {RGT_STACKED, 4, RGT_ORDER_RAW}};
  return 0;
}

static int teardown(void **state) {
  (void)state;
  rgt__families_free(maker.families);
  rgt__sources_free(sources);
  rgt__code_cache_free(cache);
  cpu->ops->close(cpu);
  rgt__environment_free(&env);
  scratch_close(&s);
  return 0;
}

static void test_measures(void **state) {
  (void)state;
  rgt__peak p;
  if (!toolchain[0]) skip();
  if (rgt__peak_open(&maker, &p, &err) != RGT_OK) fail_msg("%s", err.text);
  double flops = rgt__peak_flops(&p);
  assert_true(flops > 1e8 && flops < 1e14); /* a wrong count of operations or of picoseconds is a factor of a thousand */
  static const int64_t footprints[] = {-5, 0, 1, 100000, (int64_t)8 << 20};
  for (size_t i = 0; i < sizeof footprints / sizeof footprints[0]; i++) {
    double bytes = rgt__peak_bytes(&p, footprints[i]);
    assert_true(bytes > 1e8 && bytes < 1e14);
  }
  scratch_fail_after(0);
  double none = rgt__peak_flops(&p) + rgt__peak_bytes(&p, 1000);
  scratch_fail_never();
  assert_true(none == 0);
  rgt__peak_close(&p);
  rgt__peak_close(&p);
  assert_null(p.module);
  int n = scratch_count(scratch_path(&s, "cache"));
  assert_true(n > 0);
  if (rgt__peak_open(&maker, &p, &err) != RGT_OK) fail_msg("%s", err.text); /* out of the cache now */
  rgt__peak_close(&p);
  assert_int_equal(scratch_count(scratch_path(&s, "cache")), n);
}

/* Every set of features gives a source that compiles. */
static void test_every_target(void **state) {
  (void)state;
  static const char *const limits[] = {"plain", "avx2", "avx512"};
  if (!toolchain[0]) skip();
  for (int i = 0; i < 3; i++) {
    rgt__device *limited = NULL;
    rgt__peak p;
    environment_put(&env, RGT_ENV_RAGTUNE_CPU, limits[i]);
    assert_int_equal(rgt__device_cpu_open(&(rgt__device_options){.env = &env}, &limited, NULL), RGT_OK);
    maker.device = limited;
    maker.target = limited->info.target;
    if (rgt__peak_open(&maker, &p, &err) != RGT_OK) fail_msg("%s: %s", limits[i], err.text);
    assert_true(rgt__peak_flops(&p) > 1e7);
    rgt__peak_close(&p);
    limited->ops->close(limited);
  }
}

static void test_fails(void **state) {
  (void)state;
  paced_device fake;
  rgt__peak p = {.module = NULL}, before = p;
  paced_open(&fake, "cuda");
  maker.device = &fake.base;
  maker.target = fake.base.info.target;
  assert_int_equal(rgt__peak_open(&maker, &p, &err), RGT_EUNSUPPORTED);
  assert_string_equal(err.text, "no peak to measure there");
  environment_put(&env, RGT_ENV_RAGTUNE_CC, "none");
  rgt__device *without = NULL;
  assert_int_equal(rgt__device_cpu_open(&(rgt__device_options){.env = &env}, &without, NULL), RGT_OK);
  maker.device = without;
  maker.target = without->info.target;
  assert_int_equal(rgt__peak_open(&maker, &p, &err), RGT_ENOCOMPILER);
  without->ops->close(without);
  environment_put(&env, RGT_ENV_RAGTUNE_CC, scratch_write(&s, "badcc", "#!/bin/sh\necho 'k.c:1: error: no'\nexit 1\n", 0755));
  assert_int_equal(rgt__device_cpu_open(&(rgt__device_options){.env = &env}, &without, NULL), RGT_OK);
  maker.device = without;
  assert_int_equal(rgt__peak_open(&maker, &p, &err), RGT_ECOMPILE);
  assert_string_equal(err.text, "k.c:1: error: no");
  without->ops->close(without);
  maker.device = cpu;
  assert_memory_equal(&p, &before, sizeof p);
}

static void slower_after_the_first(paced_device *d, const rgt__plan *plan, const rgt_kargs *k, void *workspace) {
  (void)plan, (void)k, (void)workspace;
  d->clock_ps += d->n_launches == 1 ? 1 : 2000000;
}

/* A launch that fails, or a clock that does not move: 0, never a division by nothing. */
static void test_unmeasurable(void **state) {
  (void)state;
  paced_device fake;
  rgt__module module = {0};
  paced_open(&fake, "cpu");
  rgt__peak p = {.maker = {.device = &fake.base}, .module = &module};
  snprintf(fake.base.info.target.facts[0].name, sizeof fake.base.info.target.facts[0].name, "lanes_max");
  fake.base.info.target.facts[0].value = 16;
  fake.base.info.target.n_facts = 1;
  assert_true(rgt__peak_flops(&p) == 0);
  assert_true(rgt__peak_bytes(&p, 1 << 20) == 0);
  module.cost_ps = 1000000; /* a microsecond */
  assert_true(rgt__peak_flops(&p) == 200000.0 * 2 * 12 * 2 * 16 / 1e-6);
  assert_true(rgt__peak_bytes(&p, 1 << 20) == 2 * 524288.0 * 8 / 1e-6); /* two threads, half a MiB each, read 8 times */
  fake.kernel = slower_after_the_first; /* the first launch warms up: it does not count, however fast */
  fake.n_launches = 0;
  module.cost_ps = 0;
  assert_true(rgt__peak_flops(&p) == 200000.0 * 2 * 12 * 2 * 16 / 2e-6);
  fake.kernel = NULL;
  module.cost_ps = 1000000;
  fake.launches_left = 2;
  assert_true(rgt__peak_flops(&p) == 0);
  assert_true(rgt__peak_bytes(&p, 1 << 20) == 0);
  fake.launches_left = -1;
  fake.memory_left = 100;
  assert_true(rgt__peak_bytes(&p, 1 << 20) == 0);
  assert_int_equal(fake.n_blocks, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {TEST(test_measures), TEST(test_every_target), TEST(test_fails), TEST(test_unmeasurable)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
