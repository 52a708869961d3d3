/* test_space.c -- enumerating in canonical order, narrowing by a space file, drawing samples. */
#include "fixture.h"

#include "runtime/base/alloc.h"

static fixture x;

static int open_fixture(void **state) {
  (void)state;
  fixture_open(&x);
  return 0;
}

static int close_fixture(void **state) {
  (void)state;
  fixture_close(&x);
  return 0;
}

static void expect_variants(const rgt__space *s, const char *const *texts) {
  for (int i = 0; i < s->n; i++) {
    char text[RGT_VARIANT_TEXT_MAX];
    rgt__variant_format(&s->variants[i], text);
    assert_non_null(texts[i]);
    assert_string_equal(text, texts[i]);
  }
  assert_null(texts[s->n]);
}

static void enumerate(const char *op_text, const rgt__target *target, const char *narrow, int n_rejected,
                      const char *const *texts) {
  rgt_op_desc op = op_of(op_text);
  rgt__space s;
  if (rgt__space_enumerate(x.families, &op, target, narrow, "my.lua", 0, &s, &x.err) != RGT_OK) fail_msg("%s", x.err.text);
  expect_variants(&s, texts);
  assert_int_equal(s.n_rejected, n_rejected);
  rgt__space_free(&s);
  assert_null(s.variants);
}

#define MLP "mlp:10-20-5:g3:f32:relu:b12:nk:i64"

static void enumerates(void **state) {
  (void)state;
  enumerate(MLP, &cpu_target, NULL, 0,
            (const char *[]){"rows:lanes=8,threads=4", /* the default first, then canonical order */
                             "rows:lanes=4,threads=2", "rows:lanes=4,threads=4", "rows:lanes=4,threads=8",
                             "rows:lanes=8,threads=2", "rows:lanes=8,threads=8", "tiles", NULL});
  enumerate("linear:10-5:g3:bf16:none:b1:nk:i64", &cpu_target, "return { rows = { threads = 2 } }", 0,
            (const char *[]){"rows:lanes=4,threads=2", "rows:lanes=8,threads=2", NULL});
  enumerate("linear:10-5:g3:f16:none:b1:nk:i64", &cpu_target, NULL, 0, (const char *[]){NULL});
  enumerate(MLP, &cuda_target, NULL, 0, (const char *[]){"rows:block=32", "rows:block=64", NULL});
}

static void asks_constraints(void **state) {
  (void)state;
  rgt__target narrow = cpu_target;
  narrow.facts[0].value = 4;
  /* n_in * lanes <= 64 * threads: lanes 4 need threads 4 and up; lanes 8 are refused by the target */
  enumerate("mlp:50-20-5:g3:f32:relu:b12:nk:i64", &narrow, NULL, 4,
            (const char *[]){"rows:lanes=4,threads=4", "rows:lanes=4,threads=8", "tiles", NULL});
}

static void narrows(void **state) {
  (void)state;
  enumerate(MLP, &cpu_target, "return { rows = { threads = { 8, 4 }, lanes = { 8 } } }", 0,
            (const char *[]){"rows:lanes=8,threads=4", "rows:lanes=8,threads=8", "tiles", NULL});
  enumerate(MLP, &cpu_target, "return { rows = { threads = { 8, 2 } }, tiles = false }", 0, /* without the default */
            (const char *[]){"rows:lanes=4,threads=2", "rows:lanes=4,threads=8", "rows:lanes=8,threads=2",
                             "rows:lanes=8,threads=8", NULL});
  enumerate(MLP, &cpu_target, "return { rows = false }", 0, (const char *[]){"tiles", NULL});
  enumerate(MLP, &cpu_target, "return { rows = { block = 64 }, tiles = {} }",
            0, /* that is the other device's family of the name */
            (const char *[]){"rows:lanes=8,threads=4", "rows:lanes=4,threads=2", "rows:lanes=4,threads=4",
                             "rows:lanes=4,threads=8", "rows:lanes=8,threads=2", "rows:lanes=8,threads=8", "tiles", NULL});
  enumerate(MLP, &cuda_target, "return { rows = { block = 64 }, tiles = false }", 0, (const char *[]){"rows:block=64", NULL});
  enumerate(MLP, &cpu_target, "local n = 2 return { rows = { threads = n * 2, lanes = n + n }, tiles = false }", 0,
            (const char *[]){"rows:lanes=4,threads=4", NULL});
}

static void refuses_space_files(void **state) {
  (void)state;
  static const char *const wrong[][2] = {
      {"return {\n  row = false }", "my.lua:2: unknown family 'row'"},
      {"return {\n  zrow = false, arow = false }", "my.lua:2: unknown family 'arow'"},
      {"return { rows = {\n  lane = 4 } }", "my.lua:2: rows has no param 'lane'; its default variant is lanes=8,threads=4"},
      {"return {\n tiles = { a = 4 } }", "my.lua:2: tiles has no param 'a'; its default variant is without params"},
      {"return { rows = {\n\n  lanes = { 4, 5 } } }", "my.lua:3: rows: lanes: 5 is none of the values 4, 8"},
      {"return { rows = { lanes = '4' } }", "my.lua:1: rows: lanes: 4 is none of the values 4, 8"},
      {"return { rows = { lanes = {} } }", "my.lua:1: rows: lanes: an empty list; remove the family with rows = false"},
      {"return { rows = { lanes = { few = 4, 4 } } }", "my.lua:1: rows: lanes is a list: 'few =' does not belong there"},
      {"return { rows = true }", "my.lua:1: rows is a boolean; write false, or { param = { values } }"},
      {"return { 'rows' }", "my.lua:1: space: a value without a name"},
      {"return { rows = { 4 } }", "my.lua:1: rows: a value without a name"},
      {"return 5", "my.lua:1: a space file is one `return { family = { param = { values } } }`"},
      {"return {\n  rows = ", "my.lua:2: unexpected symbol near <eof>"},
      {"\nlocal x = nil + 1", "my.lua:2: attempt to perform arithmetic on a nil value"},
      {"local e = shared 'lib/errors.lua'",
       "my.lua:1: shared \"lib/errors.lua\": write the name as one literal text, so that the family's digest covers the file"},
  };
  rgt_op_desc op = op_of(MLP);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    rgt__space s = {0};
    assert_int_equal(rgt__space_enumerate(x.families, &op, &cpu_target, wrong[i][0], "my.lua", 0, &s, &x.err), RGT_ETEMPLATE);
    assert_string_equal(x.err.text, wrong[i][1]);
    assert_null(s.variants);
  }
}

static void limits(void **state) {
  (void)state;
  rgt_op_desc op = op_of(MLP);
  rgt__space s = {0};
  assert_int_equal(rgt__space_enumerate(x.families, &op, &cpu_target, NULL, NULL, 6, &s, &x.err), RGT_ETEMPLATE);
  assert_string_equal(x.err.text, "space: more than 6 variants, at family tiles of cpu; narrow it with a space file");
  assert_int_equal(rgt__space_enumerate(x.families, &op, &cpu_target, NULL, NULL, 7, &s, &x.err), RGT_OK);
  assert_int_equal(s.n, 7);
  rgt__space_free(&s);
  op.n_in = 0;
  assert_int_equal(rgt__space_enumerate(x.families, &op, &cpu_target, NULL, NULL, 0, &s, &x.err), RGT_EINVAL);
}

/* A family large enough to draw from: 4 * 16 * 16 variants, half of them refused. */
static void samples(void **state) {
  (void)state;
  fixture f;
  fixture_write(&f, "cpu/f.lua",
                "local sixteen = {} for i = 1, 16 do sixteen[i] = i end\n" SPEC(
                    "  params = { { 'a', { 1, 2, 3, 4 }, default = 4, about = 'a' },\n"
                    "    { 'b', sixteen, default = 8, about = 'b' }, { 'c', sixteen, default = 1, about = 'c' } },\n"
                    "  constraints = { { 'even', function(op, p) return (p.b + p.c + p.a) % 2 == 1 end } },\n"),
                "cpu/f.c", "x", NULL);
  if (f.status != RGT_OK) fail_msg("%s", f.err.text);
  rgt_op_desc op = op_of(MLP);
  rgt__space all, a, b, c;
  assert_int_equal(rgt__space_enumerate(f.families, &op, &cpu_target, NULL, NULL, 0, &all, &f.err), RGT_OK);
  rgt__space *drawn[] = {&a, &b, &c};
  for (int i = 0; i < 3; i++)
    assert_int_equal(rgt__space_enumerate(f.families, &op, &cpu_target, NULL, NULL, 0, drawn[i], &f.err), RGT_OK);
  assert_int_equal(all.n, 512);
  assert_int_equal(all.n_rejected, 512);
  rgt__space_sample(&a, 20, 7);
  rgt__space_sample(&b, 20, 7);
  rgt__space_sample(&c, 20, 8);
  assert_int_equal(a.n, 20);
  assert_int_equal(c.n, 20);
  assert_memory_equal(a.variants[0].value, all.variants[0].value, RGT_PARAMS_MAX); /* the default */
  int same_as_c = 0, at = 0;
  for (int i = 0; i < a.n; i++) {
    assert_memory_equal(a.variants[i].value, b.variants[i].value, RGT_PARAMS_MAX);
    same_as_c += memcmp(a.variants[i].value, c.variants[i].value, RGT_PARAMS_MAX) == 0;
    while (at < all.n && memcmp(a.variants[i].value, all.variants[at].value, RGT_PARAMS_MAX))
      at++; /* in their order, each once */
    assert_true(at < all.n);
    at++;
  }
  assert_true(same_as_c < 10);
  rgt__space_sample(&b, 20, 9); /* all that there are: nothing changes */
  assert_int_equal(b.n, 20);
  rgt__space_sample(&b, 0, 9); /* defaults stay */
  assert_int_equal(b.n, 1);
  assert_memory_equal(b.variants[0].value, all.variants[0].value, RGT_PARAMS_MAX);
  rgt__space_free(&all);
  for (int i = 0; i < 3; i++) rgt__space_free(drawn[i]);
  fixture_close(&f);
}

static long allocations_left;

static void *failing_realloc(void *user, void *p, size_t bytes) {
  (void)user;
  if (bytes == 0) {
    free(p);
    return NULL;
  }
  if (allocations_left-- <= 0) return NULL;
  return realloc(p, bytes);
}

static void survives_no_memory(void **state) {
  (void)state;
  rgt_op_desc op = op_of(MLP);
  rgt_status status = RGT_ENOMEM;
  rgt_set_alloc(failing_realloc, NULL);
  for (long n = 0; status != RGT_OK && n < 2000; n++) {
    rgt__space s = {0};
    allocations_left = n;
    status = rgt__space_enumerate(x.families, &op, &cpu_target, "return { rows = { lanes = 8 } }", "my.lua", 0, &s, &x.err);
    if (status != RGT_OK) {
      assert_int_equal(status, RGT_ENOMEM);
      assert_null(s.variants);
    } else {
      assert_int_equal(s.n, 4);
    }
    rgt__space_free(&s);
  }
  rgt_set_alloc(NULL, NULL);
  assert_int_equal(status, RGT_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(enumerates),          cmocka_unit_test(asks_constraints), cmocka_unit_test(narrows),
      cmocka_unit_test(refuses_space_files), cmocka_unit_test(limits),           cmocka_unit_test(samples),
      cmocka_unit_test(survives_no_memory),
  };
  return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
