/* test_ragtune.c -- contexts: where their files are, what options and the environment may say, and what is left when they fail.
 */
#include "tests/support/front.h"

static front f;

static int begin(void **state) {
  (void)state;
  front_begin(&f);
  return 0;
}

static int end(void **state) {
  (void)state;
  front_end(&f);
  return 0;
}

static rgt_options bare(void) {
  return (rgt_options){.struct_size = sizeof(rgt_options), .device = "cpu", .log = front_log, .log_user = &f};
}

/* A context that opened, and works: one row through the built-in kernel. */
static void works(void) {
  problem p;
  rgt_op *op = front_op(&f, FRONT_MLP);
  problem_make(&p, FRONT_MLP, 7, 0);
  front_ok(&f, rgt_op_run(op, &p.args, NULL));
  problem_check(&p);
  problem_free(&p);
}

static void defaults_lie_in_home(void **state) {
  char want[300];
  (void)state;
  setenv("RAGTUNE_DEVICE", "cpu", 1);
  front_ok(&f, front_open_with(&f, NULL));
  snprintf(want, sizeof want, "%s/.local/share/ragtune/tuned.db", f.home);
  assert_string_equal(rgt_db_path(f.ctx), want);
  assert_string_equal(rgt_errmsg(f.ctx), "");
  works();
  front_ok(&f, rgt_db_check(f.ctx));
  assert_int_equal(access(want, F_OK), 0);
}

static void xdg_folders_come_first(void **state) {
  char folder[200], want[300];
  (void)state;
  snprintf(folder, sizeof folder, "%s/data", f.s.folder);
  setenv("XDG_DATA_HOME", folder, 1);
  rgt_options o = bare();
  front_ok(&f, front_open_with(&f, &o));
  snprintf(want, sizeof want, "%s/ragtune/tuned.db", folder);
  assert_string_equal(rgt_db_path(f.ctx), want);
  setenv("XDG_DATA_HOME", "relative/data", 1); /* is to be ignored */
  front_ok(&f, front_open_with(&f, &o));
  snprintf(want, sizeof want, "%s/.local/share/ragtune/tuned.db", f.home);
  assert_string_equal(rgt_db_path(f.ctx), want);
}

static void options_before_environment(void **state) {
  (void)state;
  setenv("RAGTUNE_DB", "/nowhere/environment.db", 1);
  rgt_options o = bare();
  front_ok(&f, front_open_with(&f, &o));
  assert_string_equal(rgt_db_path(f.ctx), "/nowhere/environment.db");
  o.database = f.db;
  front_ok(&f, front_open_with(&f, &o));
  assert_string_equal(rgt_db_path(f.ctx), f.db);
  setenv("RAGTUNE_MODE", "nonsense", 1);
  front_fails(&f, front_open_with(&f, &o), RGT_EINVAL, "\"nonsense\"; it can be cache, tune, replay or off");
  o.mode = "off";
  front_ok(&f, front_open_with(&f, &o));
  setenv("RAGTUNE_DEVICE", "abacus", 1);
  front_ok(&f, front_open_with(&f, &o));
  o.device = NULL;
  front_fails(&f, front_open_with(&f, &o), RGT_EINVAL, "\"abacus\"");
}

static void without_a_home_all_is_in_memory(void **state) {
  (void)state;
  unsetenv("HOME");
  rgt_options o = bare();
  front_ok(&f, front_open_with(&f, &o));
  assert_string_equal(rgt_db_path(f.ctx), ":memory:");
  assert_has(f.log, "RAGTUNE_DB can name a file");
  works();
  front_ok(&f, rgt_db_check(f.ctx));
  setenv("HOME", "not/absolute", 1);
  front_ok(&f, front_open_with(&f, &o));
  assert_string_equal(rgt_db_path(f.ctx), ":memory:");
}

/* A home that is no folder cannot be written by root either. */
static void a_home_that_cannot_be_written(void **state) {
  problem p;
  (void)state;
  setenv("HOME", "/dev/null", 1);
  rgt_options o = bare();
  front_ok(&f, front_open_with(&f, &o));
  rgt_op *op = front_op(&f, FRONT_MLP);
  problem_make(&p, FRONT_MLP, 7, 0);
  front_ok(&f, rgt_op_prepare(op, 7, RGT_PREPARE_WAIT)); /* compiled all the same, and not kept */
  front_ok(&f, rgt_op_run(op, &p.args, NULL));
  problem_check(&p);
  problem_free(&p);
  assert_has(f.log, "compiled code is not kept");
  assert_has(f.log, "results are kept in memory only");
  assert_string_equal(rgt_db_path(f.ctx), ":memory:");
}

/* After a failure the context has its text, and closing it is all that is left to do. */
static void bad(rgt_options o, rgt_status want, const char *word) {
  front_fails(&f, front_open_with(&f, &o), want, word);
}

static void what_is_refused(void **state) {
  (void)state;
  rgt_options o = bare();
  o.struct_size = 16;
  bad(o, RGT_EINVAL, "struct_size is 16");
  static const char *const devices[] = {"gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:9999", "cuda:1x", "CPU", ""};
  for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
    o = bare();
    o.device = devices[i];
    bad(o, RGT_EINVAL, "it can be auto, cpu, cuda or cuda:N");
  }
  o = bare();
  o.mode = "Cache";
  bad(o, RGT_EINVAL, "mode (RAGTUNE_MODE) is \"Cache\"");
  o = bare();
  o.threads = -2;
  bad(o, RGT_EINVAL, "threads is -2");
  setenv("RAGTUNE_THREADS", "two", 1);
  bad(bare(), RGT_EINVAL, "RAGTUNE_THREADS is \"two\"");
  o = bare();
  o.threads = 1; /* the option stands before the variable */
  front_ok(&f, front_open_with(&f, &o));
  unsetenv("RAGTUNE_THREADS");
  setenv("RAGTUNE_CPU", "sse9", 1);
  bad(bare(), RGT_EINVAL, "sse9");
}

static void cuda_without_a_driver(void **state) {
  (void)state;
  setenv("RAGTUNE_LIBCUDA", "/nowhere/libcuda.so.1", 1);
  rgt_options o = bare();
  o.device = "cuda";
  bad(o, RGT_ENODEVICE, "/nowhere/libcuda.so.1");
  o.device = "auto"; /* takes the CPU */
  front_ok(&f, front_open_with(&f, &o));
  works();
}

static void a_template_folder(void **state) {
  rgt_op *op;
  char *source = NULL;
  size_t bytes = 0;
  (void)state;
  rgt_options o = bare();
  o.template_dir = RGT_SOURCE_DIR "/templates";
  front_ok(&f, front_open_with(&f, &o));
  op = front_op(&f, FRONT_MLP);
  front_ok(&f, rgt_show(op, NULL, 0, NULL, RGT_EMIT_SOURCE, &source, &bytes));
  assert_has(source, "row_gather");
  rgt_free(source);
  o.template_dir = "/nowhere/templates"; /* named when it is needed */
  front_ok(&f, front_open_with(&f, &o));
  op = front_op(&f, FRONT_MLP);
  rgt_status status = rgt_show(op, NULL, 0, NULL, RGT_EMIT_SOURCE, &source, &bytes);
  front_fails(&f, status, status == RGT_EIO ? RGT_EIO : RGT_ETEMPLATE, "/nowhere/templates");
  works();
}

static void closing(void **state) {
  rgt_ctx *ctx = NULL;
  (void)state;
  rgt_close(NULL);
  assert_string_equal(rgt_errmsg(NULL), "out of memory");
  scratch_fail_after(0);
  rgt_options o = bare();
  ctx = (rgt_ctx *)&f;
  assert_int_equal(rgt_open(&o, &ctx), RGT_ENOMEM);
  scratch_fail_never();
  assert_null(ctx);
  front_open(&f); /* with ops left open: the sanitizer sees a leak */
  front_op(&f, FRONT_MLP);
  rgt_op *second = front_op(&f, FRONT_LINEAR);
  front_op(&f, FRONT_LINEAR);
  rgt_op_free(second);
  rgt_op_free(NULL);
}

/* Every allocation of opening, one after the other, may fail: a status, no leak, no crash. */
static void every_allocation_may_fail(void **state) {
  int n = 0;
  rgt_status status = RGT_ENOMEM;
  (void)state;
  rgt_options o = front_options(&f);
  for (; status == RGT_ENOMEM && n < 500; n++) {
    rgt_ctx *ctx = NULL;
    scratch_fail_after(n);
    status = rgt_open(&o, &ctx);
    if (status != RGT_OK && ctx) assert_true(rgt_errmsg(ctx)[0]);
    rgt_close(ctx);
    scratch_fail_never();
  }
  assert_int_equal(status, RGT_OK);
  assert_true(n > 3);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
  const struct CMUnitTest tests[] = {
      TEST(defaults_lie_in_home),
      TEST(xdg_folders_come_first),
      TEST(options_before_environment),
      TEST(without_a_home_all_is_in_memory),
      TEST(what_is_refused),
      TEST(a_home_that_cannot_be_written),
      TEST(cuda_without_a_driver),
      TEST(a_template_folder),
      TEST(closing),
      TEST(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
