/* test_search_pick.c -- what a search tries: all of a small space, a fifth of a large one, by priors and then by neighbours. */
#include "tests/generator/fixture.h"

#include "runtime/base/alloc.h"
#include "runtime/search_state.h"

enum { A = 10, B = 6, C = 5, ALL = A * B * C };

/* 300 variants; the prior says that a small `a` is cheap where there are many rows, and knows nothing of b and c. */
#define PICK_SPEC                                                                                                            \
  "return family { about = \"a\", source = \"s\", revision = 1, device = \"cuda\", ops = { \"linear\" },\n"                  \
  "  dtypes = { \"f32\" }, params = { { \"a\", { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, default = 1, about = \"a\" },\n"           \
  "  { \"b\", { 1, 2, 3, 4, 5, 6 }, default = 1, about = \"b\" }, { \"c\", { 1, 2, 3, 4, 5 }, default = 1, about = \"c\" } " \
  "},\n"                                                                                                                     \
  "  numeric = { p1 = 0, p2 = 0, hidden = \"f32\", class = \"x\" }, work = { flops = 1, bytes = 1 },\n"                      \
  "  prior = %s, steps = { { kernel = \"f\", grid = \"1\", block = \"32\" } } }\n"

typedef struct house {
  fixture x;
  rgt__space space;
  rgt_op op;
  rgt__device device;
  rgt__candidate_maker maker;
  rgt_tune_options options;
  rgt__search_setup setup;
  rgt__search s;
} house;

static void begin(house *h, const char *prior) {
  char text[2000];
  memset(h, 0, sizeof *h);
  snprintf(text, sizeof text, PICK_SPEC, prior);
  fixture_write(&h->x, "cuda/f.lua", text, "cuda/f.cu", "extern \"C\" __global__ void KERNEL(f)() {}\n", (char *)NULL);
  if (h->x.status != RGT_OK) fail_msg("%s", h->x.err.text);
  h->op.desc = op_of("linear:10-5:g3:f32:none:b0:nk:i64");
  h->device.info.sm_count = 132;
  h->maker = (rgt__candidate_maker){.families = h->x.families, .device = &h->device, .target = cuda_target};
  if (rgt__space_enumerate(h->x.families, &h->op.desc, &cuda_target, NULL, NULL, 0, &h->space, &h->x.err) != RGT_OK)
    fail_msg("%s", h->x.err.text);
  h->setup = (rgt__search_setup){.op = &h->op, .options = &h->options, .maker = &h->maker, .n = h->space.n};
  h->setup.all = rgt__alloc_zero((size_t)h->space.n, sizeof *h->setup.all);
  for (int i = 0; i < h->space.n; i++) h->setup.all[i].candidate.variant = h->space.variants[i];
  h->s = (rgt__search){.setup = &h->setup, .bucket = 64, .limit = rgt__search_limit(&h->options, h->space.n)};
  h->s.ratio_ppm = rgt__alloc_zero((size_t)h->space.n, sizeof *h->s.ratio_ppm);
  h->s.done = rgt__alloc_zero((size_t)h->space.n, 1);
}

static void end(house *h) {
  rgt__free(h->s.ratio_ppm);
  rgt__free(h->s.done);
  rgt__free(h->setup.all);
  rgt__space_free(&h->space);
  fixture_close(&h->x);
}

static int64_t param(const house *h, int i, const char *name) {
  return rgt__variant_get(&h->space.variants[i], name);
}

/* A smooth landscape whose best is a = 7, b = 4, c = 2. */
static int64_t landscape(const house *h, int i) {
  int64_t a = param(h, i, "a") - 7, b = param(h, i, "b") - 4, c = param(h, i, "c") - 2;
  return 500000 + 20000 * a * a + 30000 * b * b + 40000 * c * c;
}

/* Hands out until the end; returns how many. Each comes once, never the default. */
static int play(house *h, int *first_wave) {
  rgt__search_pick p;
  int wave[RGT_SEARCH_WAVE], n, total = 0;
  unsigned char seen[ALL] = {0};
  assert_int_equal(rgt__search_pick_open(&h->s, &p, &h->x.err), RGT_OK);
  while ((n = rgt__search_pick_next(&h->s, &p, wave)) > 0) {
    assert_true(n <= RGT_SEARCH_WAVE);
    for (int k = 0; k < n; k++) {
      assert_true(wave[k] >= 0 && wave[k] < h->space.n && wave[k] != h->setup.default_index);
      assert_false(seen[wave[k]] || h->s.done[wave[k]]);
      seen[wave[k]] = 1;
      h->s.ratio_ppm[wave[k]] = landscape(h, wave[k]);
      if (first_wave && total == 0) first_wave[k] = wave[k];
    }
    total += n;
  }
  rgt__search_pick_close(&p);
  return total;
}

static int best(const house *h) {
  int at = -1;
  for (int i = 0; i < h->space.n; i++)
    if (h->s.ratio_ppm[i] > 0 && (at < 0 || h->s.ratio_ppm[i] < h->s.ratio_ppm[at])) at = i;
  return at;
}

static void a_fifth_finds_the_best_of_a_smooth_space(void **state) {
  static const char *const priors[] = {"0", "\"a * rows\"", "\"(0 - a) * rows\"", "\"b\""}; /* none, wrong, right, another */
  (void)state;
  for (size_t i = 0; i < sizeof priors / sizeof *priors; i++) {
    house h;
    begin(&h, priors[i]);
    assert_int_equal(h.space.n, ALL);
    assert_int_equal(h.s.limit, ALL / 5);
    assert_int_equal(play(&h, NULL), ALL / 5 - 1); /* and the default */
    int at = best(&h);
    assert_int_equal(param(&h, at, "a"), 7);
    assert_int_equal(param(&h, at, "b"), 4);
    assert_int_equal(param(&h, at, "c"), 2);
    end(&h);
  }
}

static void the_cheapest_come_first(void **state) {
  house h;
  int first[RGT_SEARCH_WAVE];
  (void)state;
  begin(&h, "\"(11 - a) * rows + sm_count\"");
  play(&h, first);
  for (int k = 0; k < 15; k++) assert_int_equal(param(&h, first[k], "a"), 10); /* a quarter of 60 */
  end(&h);
}

static void a_small_space_is_tried_whole(void **state) {
  house h;
  (void)state;
  begin(&h, "\"b\"");
  h.setup.n = 60;
  h.s.limit = rgt__search_limit(&h.options, 60);
  assert_int_equal(play(&h, NULL), 59);
  assert_int_equal(rgt__search_limit(&h.options, 61), 40);
  assert_int_equal(rgt__search_limit(&h.options, 1000), 200);
  end(&h);
}

static void an_exhaustive_search_tries_all(void **state) {
  house h;
  (void)state;
  begin(&h, "\"b\"");
  h.options.exhaustive = 1;
  h.s.limit = rgt__search_limit(&h.options, ALL);
  assert_int_equal(play(&h, NULL), ALL - 1);
  end(&h);
}

static void what_was_done_before_counts(void **state) {
  house h;
  int n_done = 0;
  (void)state;
  begin(&h, "\"b\"");
  for (int i = 20; i < 60; i++, n_done++) {
    h.s.done[i] = 1;
    h.s.ratio_ppm[i] = landscape(&h, i);
  }
  assert_int_equal(play(&h, NULL), ALL / 5 - 1 - n_done);
  end(&h);
}

/* Two of forty are left, and no sample of ten is drawn for them. */
static void little_is_left(void **state) {
  house h;
  (void)state;
  begin(&h, "\"b\"");
  for (int i = 1; i <= ALL / 5 - 3; i++) {
    h.s.done[i] = 1;
    h.s.ratio_ppm[i] = landscape(&h, i);
  }
  assert_int_equal(play(&h, NULL), 2);
  end(&h);
}

static void a_prior_that_fails_is_told(void **state) {
  house h;
  rgt__search_pick p;
  (void)state;
  begin(&h, "\"a * speed\"");
  assert_int_equal(rgt__search_pick_open(&h.s, &p, &h.x.err), RGT_ETEMPLATE);
  assert_non_null(strstr(h.x.err.text, "speed"));
  assert_non_null(strstr(h.x.err.text, "prior"));
  end(&h);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_fifth_finds_the_best_of_a_smooth_space),
      cmocka_unit_test(the_cheapest_come_first),
      cmocka_unit_test(a_small_space_is_tried_whole),
      cmocka_unit_test(an_exhaustive_search_tries_all),
      cmocka_unit_test(what_was_done_before_counts),
      cmocka_unit_test(little_is_left),
      cmocka_unit_test(a_prior_that_fails_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
