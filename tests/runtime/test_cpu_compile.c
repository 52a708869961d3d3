/* test_cpu_compile.c -- which compiler is found, what it is asked, and what becomes of one that fails, hangs or lies. */
#include "runtime/cpu_compile.h"

#include <pthread.h>

#include "tests/support/scratch.h"

static scratch s;

static int setup(void **state) {
  (void)state;
  scratch_open(&s);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  scratch_close(&s);
  return 0;
}

/* A compiler of this shell script; temporary files below the test's own folder. */
static void fake(rgt__cpu_compiler *c, const char *script) {
  memset(c, 0, sizeof *c);
  snprintf(c->path, sizeof c->path, "%s", scratch_write(&s, "fakecc", script, 0755));
  snprintf(c->scratch, sizeof c->scratch, "%s", scratch_path(&s, "tmp"));
  c->limit_ms = 20000;
  mkdir(c->scratch, 0700);
}

static void real(rgt__cpu_compiler *c) {
  rgt__environment env;
  assert_int_equal(rgt__environment_read(&env, NULL), RGT_OK);
  environment_put(&env, RGT_ENV_TMPDIR, scratch_path(&s, "tmp"));
  mkdir(s.path, 0700);
  rgt__cpu_compiler_find(&env, c);
  rgt__environment_free(&env);
  if (!c->path[0]) skip();
}

/* ---- finding ---- */

static void test_find(void **state) {
  (void)state;
  rgt__environment env = {{NULL}};
  rgt__cpu_compiler c;
  char path[200], expected[600];
  snprintf(path, sizeof path, "%s/a:%s/b", s.folder, s.folder);
  mkdir(scratch_path(&s, "a"), 0700);
  mkdir(scratch_path(&s, "b"), 0700);

  rgt__cpu_compiler_find(&env, &c); /* nothing set */
  assert_string_equal(c.path, "");
  assert_string_equal(c.looked_for, "cc, gcc, clang on PATH (unset)");
  assert_string_equal(c.scratch, "/tmp");
  assert_int_equal(c.limit_ms, 60000);

  environment_put(&env, RGT_ENV_PATH, path);
  environment_put(&env, RGT_ENV_TMPDIR, "/some/where");
  scratch_write(&s, "a/cc", "", 0644); /* no program */
  rgt__cpu_compiler_find(&env, &c);
  assert_string_equal(c.path, "");
  snprintf(expected, sizeof expected, "cc, gcc, clang on PATH (%s)", path);
  assert_string_equal(c.looked_for, expected);
  assert_string_equal(c.scratch, "/some/where");

  scratch_write(&s, "a/clang", "", 0755);
  rgt__cpu_compiler_find(&env, &c);
  assert_string_equal(c.path, scratch_path(&s, "a/clang"));
  scratch_write(&s, "b/gcc", "", 0755); /* the name decides before the folder */
  rgt__cpu_compiler_find(&env, &c);
  assert_string_equal(c.path, scratch_path(&s, "b/gcc"));
  scratch_write(&s, "b/cc", "", 0755);
  rgt__cpu_compiler_find(&env, &c);
  assert_string_equal(c.path, scratch_path(&s, "b/cc"));

  environment_put(&env, RGT_ENV_RAGTUNE_CC, "clang");
  rgt__cpu_compiler_find(&env, &c);
  assert_string_equal(c.path, scratch_path(&s, "a/clang"));
  environment_put(&env, RGT_ENV_RAGTUNE_CC, scratch_path(&s, "b/gcc"));
  rgt__cpu_compiler_find(&env, &c);
  assert_string_equal(c.path, scratch_path(&s, "b/gcc"));
  environment_put(&env, RGT_ENV_RAGTUNE_CC, "icc"); /* named, so nothing else will do */
  rgt__cpu_compiler_find(&env, &c);
  assert_string_equal(c.path, "");
  assert_string_equal(c.looked_for, "RAGTUNE_CC=icc");
  scratch_write(&s, "a/none", "", 0755);
  environment_put(&env, RGT_ENV_RAGTUNE_CC, "none"); /* the word, not a program of that name */
  rgt__cpu_compiler_find(&env, &c);
  assert_string_equal(c.path, "");
  rgt__environment_free(&env);
}

/* A folder whose name does not fit would be another one, cut short. */
static void test_long_scratch(void **state) {
  (void)state;
  rgt__environment env = {{NULL}};
  rgt__cpu_compiler c;
  char name[300];
  memset(name, 'x', sizeof name);
  name[0] = '/';
  name[255] = 0;
  environment_put(&env, RGT_ENV_TMPDIR, name);
  rgt__cpu_compiler_find(&env, &c);
  assert_string_equal(c.scratch, name);
  name[255] = 'x';
  name[256] = 0;
  environment_put(&env, RGT_ENV_TMPDIR, name);
  rgt__cpu_compiler_find(&env, &c);
  assert_string_equal(c.scratch, "/tmp");
  rgt__environment_free(&env);
}

static void test_no_compiler(void **state) {
  (void)state;
  rgt__environment env = {{NULL}};
  rgt__cpu_compiler c;
  rgt__compiled out = {.registers = 5};
  rgt__error err = {""};
  char text[256] = "kept";
  environment_put(&env, RGT_ENV_RAGTUNE_CC, "none");
  rgt__cpu_compiler_find(&env, &c);
  const char *expected = "no C compiler: looked for RAGTUNE_CC=none; install gcc or name one by RAGTUNE_CC";
  assert_int_equal(rgt__cpu_compiler_version(&c, text, sizeof text, &err), RGT_ENOCOMPILER);
  assert_string_equal(err.text, expected);
  assert_string_equal(text, "kept");
  err.text[0] = 0;
  assert_int_equal(rgt__cpu_compiler_run(&c, "", 0, "plain", 0, NULL, &out, &err), RGT_ENOCOMPILER);
  assert_string_equal(err.text, expected);
  assert_int_equal(out.registers, 5);
  rgt__environment_free(&env);
}

/* ---- version ---- */

#define OPTIONS_TEXT "-O3 -std=gnu11 -ffp-contract=off -fno-math-errno -fPIC -shared -nostdlib"

static void test_version(void **state) {
  (void)state;
  static const char script[] = "#!/bin/sh\n[ \"$*\" = --version ] || exit 9\necho 'fakecc 1.2 (here)'\necho 'no more'\n";
  rgt__cpu_compiler c;
  rgt__error err = {""};
  char text[256], expected[256];
  fake(&c, script);
  assert_int_equal(rgt__cpu_compiler_version(&c, text, sizeof text, &err), RGT_OK);
  snprintf(expected, sizeof expected, "fakecc 1.2 (here); %zu bytes; " OPTIONS_TEXT, strlen(script));
  assert_string_equal(text, expected);
  /* a link stands for the program behind it */
  snprintf(c.path, sizeof c.path, "%s", scratch_path(&s, "link"));
  assert_int_equal(symlink("fakecc", c.path), 0);
  assert_int_equal(rgt__cpu_compiler_version(&c, text, sizeof text, &err), RGT_OK);
  assert_string_equal(text, expected);
}

static void test_version_odd(void **state) {
  (void)state;
  rgt__cpu_compiler c;
  rgt__error err = {""};
  char text[512] = "kept", message[600];
  fake(&c, "#!/bin/sh\nexit 4\n");
  assert_int_equal(rgt__cpu_compiler_version(&c, text, sizeof text, &err), RGT_ENOCOMPILER);
  snprintf(message, sizeof message, "%s --version ended with status 4; it is no usable C compiler", c.path);
  assert_string_equal(err.text, message);
  assert_string_equal(text, "kept");
  fake(&c, "#!/bin/sh\nexit 0\n"); /* says nothing */
  assert_int_equal(rgt__cpu_compiler_version(&c, text, sizeof text, &err), RGT_OK);
  assert_string_equal(text, "; 17 bytes; " OPTIONS_TEXT);
  fake(&c, "#!/bin/sh\nhead -c 400 /dev/zero | tr '\\0' v\n"); /* one long line */
  assert_int_equal(rgt__cpu_compiler_version(&c, text, sizeof text, &err), RGT_OK);
  assert_int_equal(strspn(text, "v"), 150);
  assert_memory_equal(text + 150, "; ", 2);
  assert_int_equal(unlink(c.path), 0);
  assert_int_equal(rgt__cpu_compiler_version(&c, text, sizeof text, &err), RGT_EIO);
}

/* ---- what is asked of the compiler ---- */

#define TELL "#!/bin/sh\nfor a; do [ \"$p\" = -o ] && out=$a; p=$a; done\n"
#define COMMON "-O3 -std=gnu11 -ffp-contract=off -fno-math-errno -fPIC -w -pipe"

static void check_arguments(const char *target, int want_asm, const char *expected_options) {
  rgt__cpu_compiler c;
  rgt__compiled out;
  rgt__error err = {""};
  fake(&c, TELL "dir=${out%/*}; echo \"$@\" | sed \"s|$dir|DIR|g\" >$out; cat $dir/variant.c >>$out\n");
  if (rgt__cpu_compiler_run(&c, "int x;\nSOURCE", 13, target, want_asm, NULL, &out, &err) != RGT_OK) fail_msg("%s", err.text);
  char expected[600];
  snprintf(expected, sizeof expected, "%s -o DIR/variant.%s DIR/variant.c\nint x;\nSOURCE", expected_options,
           want_asm ? "s" : "so");
  assert_int_equal(out.code_bytes, strlen(expected));
  assert_memory_equal(out.code, expected, out.code_bytes);
  assert_string_equal(out.log, "");
  assert_null(out.ptx);
  assert_true(out.milliseconds > 0);
  assert_int_equal(scratch_count(c.scratch), 0);
  rgt__compiled_free(&out);
}

static void test_arguments(void **state) {
  (void)state;
  check_arguments("plain", 0, COMMON " -shared -nostdlib -Wl,--build-id=none");
  check_arguments("x86-64-avx2", 0, COMMON " -mavx2 -mfma -mf16c -shared -nostdlib -Wl,--build-id=none");
  check_arguments("x86-64-avx512", 1, COMMON " -mavx512f -mavx512vl -mavx512bw -mavx512dq -mfma -mf16c -S");
}

/* ---- failures ---- */

static rgt_status run_fake(const char *script, const char *target, int limit_ms, rgt__compiled *out, rgt__error *err) {
  rgt__cpu_compiler c;
  fake(&c, script);
  c.limit_ms = limit_ms;
  rgt_status status = rgt__cpu_compiler_run(&c, "x", 1, target, 0, NULL, out, err);
  assert_int_equal(scratch_count(c.scratch), 0); /* nothing is left behind, whatever happened */
  return status;
}

static void test_failures(void **state) {
  (void)state;
  rgt__compiled out;
  rgt__error err = {""};
  assert_int_equal(run_fake("#!/bin/sh\nexit 0\n", "avx9", 20000, &out, &err), RGT_EINVAL);
  assert_string_equal(err.text, "target \"avx9\" is no CPU target: plain, x86-64-avx2 or x86-64-avx512");
  assert_int_equal(run_fake("#!/bin/sh\nexit 1\n", "plain", 20000, &out, &err), RGT_ECOMPILE);
  assert_non_null(strstr(out.log, "/fakecc ended with status 1 and said nothing")); /* which program: RAGTUNE_CC may name any */
  assert_string_equal(err.text, out.log);
  assert_null(out.code);
  assert_int_equal(run_fake("#!/bin/sh\necho first >&2; echo second; exit 1\n", "plain", 20000, &out, &err), RGT_ECOMPILE);
  assert_non_null(strstr(out.log, "/fakecc ended with status 1: first"));
  /* the line that says error:, not one that has the word in a name; the temporary folder is not part of it */
  assert_int_equal(
      run_fake("#!/bin/sh\nfor a; do in=$a; done\necho \"$in: In function 'index_error':\"\necho \"$in:3:1: error: no x\"\n"
               "echo \"$in:4:1: error: no y\"\nexit 1\n",
               "plain", 20000, &out, &err),
      RGT_ECOMPILE);
  assert_string_equal(out.log, "variant.c:3:1: error: no x");
  assert_int_equal(run_fake("#!/bin/sh\nkill -SEGV $$\n", "plain", 20000, &out, &err), RGT_ECOMPILE);
  assert_non_null(strstr(out.log, "/fakecc was ended by SIGSEGV"));
  /* says that it is done, and is not */
  assert_int_equal(run_fake("#!/bin/sh\nexit 0\n", "plain", 20000, &out, &err), RGT_EIO);
  assert_null(out.code);
}

static void test_hangs(void **state) {
  (void)state;
  rgt__compiled out;
  rgt__error err = {""};
  assert_int_equal(run_fake(TELL "echo half >$out\nsleep 600\n", "plain", 250, &out, &err), RGT_ETIMEOUT);
  assert_string_equal(out.log, "still compiling after 0.25 s");
  assert_non_null(strstr(err.text, "still running after 250 ms, ended"));
  assert_null(out.code);
  assert_true(out.milliseconds >= 250);
}

/* A folder that is not there costs nothing: /tmp does. */
static void test_no_scratch(void **state) {
  (void)state;
  rgt__cpu_compiler c;
  rgt__compiled out;
  rgt__error err = {""};
  fake(&c, TELL "echo code >$out\n");
  snprintf(c.scratch, sizeof c.scratch, "%s", scratch_path(&s, "absent"));
  assert_int_equal(rgt__cpu_compiler_run(&c, "x", 1, "plain", 0, NULL, &out, &err), RGT_OK);
  assert_int_equal(out.code_bytes, 5);
  rgt__compiled_free(&out);
}

static void test_no_memory(void **state) {
  (void)state;
  rgt__cpu_compiler c;
  rgt__compiled out;
  int failures = 0;
  fake(&c, TELL "echo code >$out; echo a warning\n");
  for (int n = 0; n < 20; n++) {
    scratch_fail_after(n);
    rgt_status status = rgt__cpu_compiler_run(&c, "x", 1, "plain", 0, NULL, &out, NULL);
    scratch_fail_never();
    assert_int_equal(scratch_count(c.scratch), 0);
    if (status == RGT_OK) {
      assert_string_equal(out.code, "code\n");
      rgt__compiled_free(&out);
      break;
    }
    assert_int_equal(status, RGT_ENOMEM);
    assert_null(out.code);
    failures++;
  }
  assert_true(failures >= 2 && failures < 20); /* the output's buffer and the code's, at least */
}

/* ---- the machine's own ---- */

static const char good_source[] = "__attribute__((visibility(\"default\"))) int answer(int x) { return x * 2 + 1; }\n";

static void test_compiles(void **state) {
  (void)state;
  rgt__cpu_compiler c;
  rgt__compiled a, b;
  rgt__error err = {""};
  real(&c);
  if (rgt__cpu_compiler_run(&c, good_source, sizeof good_source - 1, "plain", 0, NULL, &a, &err) != RGT_OK)
    fail_msg("%s", err.text);
  assert_memory_equal(a.code, "\177ELF", 4);
  if (rgt__cpu_compiler_run(&c, good_source, sizeof good_source - 1, "plain", 0, NULL, &b, &err) != RGT_OK)
    fail_msg("%s", err.text);
  assert_int_equal(a.code_bytes, b.code_bytes); /* nothing of the temporary folder or the time is in it */
  assert_memory_equal(a.code, b.code, a.code_bytes);
  rgt__compiled_free(&a);
  rgt__compiled_free(&b);
  if (rgt__cpu_compiler_run(&c, good_source, sizeof good_source - 1, "plain", 1, NULL, &a, &err) != RGT_OK)
    fail_msg("%s", err.text);
  assert_int_equal(strlen(a.code), a.code_bytes);
  assert_non_null(strstr(a.code, "answer:"));
  rgt__compiled_free(&a);
  assert_int_equal(scratch_count(c.scratch), 0);
}

static void test_does_not_compile(void **state) {
  (void)state;
  rgt__cpu_compiler c;
  rgt__compiled out;
  rgt__error err = {""};
  static const char bad[] = "int a;\n#line 41 \"templates/cpu/rows.c\"\nint b;\nint c = nowhere;\n";
  real(&c);
  assert_int_equal(rgt__cpu_compiler_run(&c, bad, sizeof bad - 1, "plain", 0, NULL, &out, &err), RGT_ECOMPILE);
  assert_ptr_equal(strstr(out.log, "templates/cpu/rows.c:42:9: error: "), out.log); /* the template's own line */
  assert_non_null(strstr(out.log, "nowhere"));
  assert_string_equal(err.text, out.log);
  assert_null(out.code);
  assert_int_equal(scratch_count(c.scratch), 0);
}

typedef struct compiling {
  const rgt__cpu_compiler *c;
  int number, good;
} compiling;

static void *compile_on_thread(void *arg) {
  compiling *t = arg;
  char source[100], expected[40];
  rgt__compiled out;
  snprintf(source, sizeof source, "const char name_%d[] = \"marked %d\";\n", t->number, t->number);
  snprintf(expected, sizeof expected, "marked %d", t->number);
  rgt_status status = rgt__cpu_compiler_run(t->c, source, strlen(source), "plain", 1, NULL, &out, NULL);
  t->good = status == RGT_OK && strstr(out.code, expected) != NULL;
  rgt__compiled_free(&out);
  return NULL;
}

static void test_threads(void **state) {
  (void)state;
  enum { N = 6 };
  rgt__cpu_compiler c;
  pthread_t threads[N];
  compiling work[N];
  real(&c);
  for (int i = 0; i < N; i++) {
    work[i] = (compiling){&c, i, 0};
    assert_int_equal(pthread_create(&threads[i], NULL, compile_on_thread, &work[i]), 0);
  }
  for (int i = 0; i < N; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < N; i++) assert_true(work[i].good);
  assert_int_equal(scratch_count(c.scratch), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_find),      TEST(test_long_scratch),     TEST(test_no_compiler), TEST(test_version),    TEST(test_version_odd),
      TEST(test_arguments), TEST(test_failures),         TEST(test_hangs),       TEST(test_no_scratch), TEST(test_no_memory),
      TEST(test_compiles),  TEST(test_does_not_compile), TEST(test_threads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
