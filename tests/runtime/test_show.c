/* test_show.c -- rgt_show: one self-contained source, its assembly, and errors that name the template's own lines. */
#include "tests/support/folder.h"
#include "tests/support/front.h"

static front f;
static char *data;
static size_t bytes;

static int begin(void **state) {
  (void)state;
  front_begin(&f);
  front_open(&f);
  data = NULL;
  return 0;
}

static int end(void **state) {
  (void)state;
  rgt_free(data);
  front_end(&f);
  return 0;
}

static const char *show(rgt_op *op, const char *variant, int64_t rows, const char *target, rgt_emit emit) {
  rgt_free(data);
  data = NULL;
  front_ok(&f, rgt_show(op, variant, rows, target, emit, &data, &bytes));
  assert_int_equal(strlen(data), bytes);
  return data;
}

/* Runs a compile line of our own in the house's folder; what it says comes back. */
static int compile(const char *text, const char *command, char *said, size_t size) {
  char line[600];
  scratch_write(&f.s, "variant.c", text, 0644);
  snprintf(line, sizeof line, "cd %s && { %s; } 2>&1", f.s.folder, command);
  FILE *p = popen(line, "r");
  assert_non_null(p);
  size_t n = fread(said, 1, size - 1, p);
  said[n] = 0;
  return pclose(p);
}

/* The line that the source's own comment gives. */
static void compile_line_of(const char *source, char *out, size_t size) {
  const char *at = strstr(source, "compile  ");
  assert_non_null(at);
  at += strlen("compile  ");
  snprintf(out, size, "%.*s", (int)strcspn(at, "\n"), at);
}

static void a_source_compiles_by_itself(void **state) {
  static const char *const texts[] = {FRONT_MLP, FRONT_LINEAR, "mlp:7-9-3:g4:f32:gelu:b1:kn:i32"};
  char said[4000], line[400];
  (void)state;
  for (int i = 0; i < 3; i++) {
    rgt_op *op = front_op(&f, texts[i]);
    const char *source = show(op, NULL, 0, NULL, RGT_EMIT_SOURCE);
    assert_null(strstr(source, "#include"));
    assert_has(source, "variant  " FRONT_DEFAULT);
    if (compile(source, "cc -c -w -o variant.o variant.c", said, sizeof said) != 0) fail_msg("%s", said);
    compile_line_of(source, line, sizeof line);
    if (compile(source, line, said, sizeof said) != 0) fail_msg("%s: %s", line, said);
    assert_int_equal(access(scratch_path(&f.s, "variant.so"), F_OK), 0);
  }
  assert_int_equal(front_compiles(&f), 0); /* a source needs no compiler */
}

static void which_variant(void **state) {
  char first[300];
  rgt_tune_result r;
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  assert_has(show(op, FRONT_FUSED, 0, "cpu", RGT_EMIT_SOURCE), "variant  " FRONT_FUSED);
  assert_has(show(op, NULL, 64, NULL, RGT_EMIT_SOURCE), "variant  " FRONT_DEFAULT); /* nothing is tuned */
  front_tune(&f, op, 64, &r);
  snprintf(first, sizeof first, "variant  %s (", r.winner);
  assert_has(show(op, NULL, 64, NULL, RGT_EMIT_SOURCE), first); /* what dispatch would take */
  assert_has(show(op, NULL, 0, NULL, RGT_EMIT_SOURCE), "variant  " FRONT_DEFAULT);
}

static void assembly(void **state) {
  (void)state;
  rgt_op *op = front_op(&f, FRONT_LINEAR);
  const char *text = show(op, NULL, 0, NULL, RGT_EMIT_ASM);
  assert_has(text, "row_gather_");
  assert_has(text, "ret");
}

/* Nor NVRTC. */
static void cuda_source_needs_no_device(void **state) {
  (void)state;
  setenv("RAGTUNE_LIBNVRTC", "/nowhere/libnvrtc.so", 1);
  front_open(&f);
  rgt_op *op = front_op(&f, FRONT_MLP);
  char *out = NULL;
  size_t n = 0;
  front_fails(&f, rgt_show(op, NULL, 0, "sm_90", RGT_EMIT_PTX, &out, &n), RGT_ENOCOMPILER, "/nowhere");
  assert_has(show(op, NULL, 0, "sm_91", RGT_EMIT_SOURCE), "target   cuda sm_91"); /* which NVRTC does not list */
  const char *source = show(op, NULL, 0, "sm_90", RGT_EMIT_SOURCE);
  assert_has(source, "target   cuda sm_90");
  assert_has(source, "__global__");
  assert_null(strstr(source, "#include"));
  unsetenv("RAGTUNE_LIBNVRTC");
}

/* An error in a template is reported at the template's own file and line. */
static void errors_name_the_template(void **state) {
  char folder[200], word[100], said[4000];
  int line = 1;
  (void)state;
  snprintf(folder, sizeof folder, "%s/templates", f.s.folder);
  folder_copy(folder, NULL);
  folder_patch(folder, "cpu/row_gather.c", "const rgt_int64 n_n = last_step", "const rgt_int64 n_n = no_such_name + last_step");
  char *text = folder_read(folder, "cpu/row_gather.c");
  for (const char *at = text; at < strstr(text, "no_such_name"); at++) line += *at == '\n';
  free(text);
  front_open_mode(&f, NULL, folder);
  rgt_op *op = front_op(&f, FRONT_MLP);
  assert_true(compile(show(op, NULL, 0, NULL, RGT_EMIT_SOURCE), "cc -c -o variant.o variant.c", said, sizeof said) != 0);
  snprintf(word, sizeof word, "templates/cpu/row_gather.c:%d:", line);
  assert_has(said, word);
  front_fails(&f, rgt_show(op, NULL, 0, NULL, RGT_EMIT_ASM, &data, &bytes), RGT_ECOMPILE, word);
  /* and in a file that it includes */
  folder_patch(folder, "cpu/row_gather.c", "no_such_name + ", "");
  folder_patch(folder, "cpu/lib/call.h", "static __attribute__((noinline, unused)) void call_report",
               "static void no_such_type; void call_report");
  text = folder_read(folder, "cpu/lib/call.h");
  line = 1;
  for (const char *at = text; at < strstr(text, "no_such_type"); at++) line += *at == '\n';
  free(text);
  front_open_mode(&f, NULL, folder);
  op = front_op(&f, FRONT_MLP);
  compile(show(op, NULL, 0, NULL, RGT_EMIT_SOURCE), "cc -c -o variant.o variant.c", said, sizeof said);
  snprintf(word, sizeof word, "templates/cpu/lib/call.h:%d:", line);
  assert_has(said, word);
}

static void refusals(void **state) {
  char *out = (char *)&f;
  size_t n = 77;
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_fails(&f, rgt_show(op, NULL, 0, NULL, (rgt_emit)9, &out, &n), RGT_EINVAL, "emit is 9");
  front_fails(&f, rgt_show(op, NULL, -1, NULL, RGT_EMIT_SOURCE, &out, &n), RGT_EINVAL, "rows is -1");
  front_fails(&f, rgt_show(op, "row_gather:lanes=5", 0, NULL, RGT_EMIT_SOURCE, &out, &n), RGT_EINVAL, "lanes");
  front_fails(&f, rgt_show(op, "wax", 0, NULL, RGT_EMIT_SOURCE, &out, &n), RGT_EINVAL, "wax");
  front_fails(&f, rgt_show(op, NULL, 0, "vax", RGT_EMIT_SOURCE, &out, &n), RGT_EINVAL, "target \"vax\"");
  front_fails(&f, rgt_show(op, NULL, 0, NULL, RGT_EMIT_PTX, &out, &n), RGT_EINVAL, "ptx and cubin need --target");
  front_fails(&f, rgt_show(op, NULL, 0, NULL, RGT_EMIT_CUBIN, &out, &n), RGT_EINVAL, "ptx and cubin need --target");
  setenv("RAGTUNE_CC", "none", 1);
  front_open(&f);
  op = front_op(&f, FRONT_MLP);
  front_fails(&f, rgt_show(op, NULL, 0, NULL, RGT_EMIT_ASM, &out, &n), RGT_ENOCOMPILER, "RAGTUNE_CC=none");
  assert_ptr_equal(out, &f);
  assert_int_equal(n, 77);
  show(op, NULL, 0, NULL, RGT_EMIT_SOURCE);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
  const struct CMUnitTest tests[] = {
      TEST(a_source_compiles_by_itself), TEST(which_variant), TEST(assembly), TEST(cuda_source_needs_no_device),
      TEST(errors_name_the_template),    TEST(refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
