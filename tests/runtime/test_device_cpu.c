/* test_device_cpu.c -- the processor as a device: opening, memory, loading from bytes and files, launching. */
#include "runtime/device.h"

#include <fcntl.h>

#include "runtime/thread_pool.h"
#include "tests/support/scratch.h"

static scratch s;
static rgt__environment env;
static rgt__device *d;

static int setup(void **state) {
  (void)state;
  scratch_open(&s);
  if (rgt__environment_read(&env, NULL) != RGT_OK) return 1;
  environment_put(&env, RGT_ENV_TMPDIR, s.folder);
  environment_put(&env, RGT_ENV_RAGTUNE_THREADS, NULL);
  environment_put(&env, RGT_ENV_RAGTUNE_CPU, NULL);
  return rgt__device_cpu_open(&(rgt__device_options){.env = &env}, &d, NULL) != RGT_OK;
}

static int teardown(void **state) {
  (void)state;
  d->ops->close(d);
  rgt__environment_free(&env);
  scratch_close(&s);
  return 0;
}

/* ---- opening ---- */

static int threads_of(const char *variable, int option) {
  rgt__device *opened = NULL;
  rgt__error err = {""};
  environment_put(&env, RGT_ENV_RAGTUNE_THREADS, variable);
  if (rgt__device_cpu_open(&(rgt__device_options){.env = &env, .threads = option}, &opened, &err) != RGT_OK) {
    assert_null(opened);
    assert_true(err.text[0]);
    return -1;
  }
  int n = opened->info.n_threads;
  opened->ops->close(opened);
  return n;
}

static void test_threads_option(void **state) {
  (void)state;
  int all = rgt__pool_affinity();
  assert_int_equal(threads_of(NULL, 0), all);
  assert_int_equal(threads_of(NULL, 1), 1);
  assert_int_equal(threads_of("1", 0), 1);
  assert_int_equal(threads_of("4096", 0), all); /* never more than the affinity allows */
  assert_int_equal(threads_of("1", 4096), all); /* the option decides */
  assert_int_equal(threads_of(NULL, -1), -1);
  assert_int_equal(threads_of("0", 0), -1);
  assert_int_equal(threads_of("4097", 0), -1);
  assert_int_equal(threads_of("2x", 0), -1);
  assert_int_equal(threads_of("-1", 0), -1);
  assert_int_equal(threads_of("99999999999999999999", 0), -1);
}

static void test_messages(void **state) {
  (void)state;
  rgt__device *opened = NULL;
  rgt__error err = {""};
  environment_put(&env, RGT_ENV_RAGTUNE_THREADS, "two");
  assert_int_equal(rgt__device_cpu_open(&(rgt__device_options){.env = &env}, &opened, &err), RGT_EINVAL);
  assert_string_equal(err.text, "RAGTUNE_THREADS is \"two\"; it can be a whole number from 1 to 4096");
  environment_put(&env, RGT_ENV_RAGTUNE_THREADS, NULL);
  assert_int_equal(rgt__device_cpu_open(&(rgt__device_options){.env = &env, .threads = -3}, &opened, &err), RGT_EINVAL);
  assert_string_equal(err.text, "threads is -3; it can be 0 (all) or more");
  environment_put(&env, RGT_ENV_RAGTUNE_CPU, "mmx");
  assert_int_equal(rgt__device_cpu_open(&(rgt__device_options){.env = &env}, &opened, &err), RGT_EINVAL);
  assert_string_equal(err.text, "RAGTUNE_CPU is \"mmx\"; it can be plain, avx2 or avx512");
  scratch_fail_after(0);
  assert_int_equal(rgt__device_cpu_open(&(rgt__device_options){.env = &env}, &opened, &err), RGT_ENOMEM);
  scratch_fail_never();
  assert_null(opened);
}

static void test_info(void **state) {
  (void)state;
  assert_string_equal(d->ops->kind, "cpu");
  assert_string_equal(d->info.target.device, "cpu");
  assert_memory_equal(d->info.class_text, "cpu:", 4);
  assert_string_equal(d->info.driver, "");
  assert_int_equal(d->info.sm_count, 0);
  assert_true(d->info.free_bytes > 1 << 20);
  rgt__device *plain = NULL;
  environment_put(&env, RGT_ENV_RAGTUNE_CPU, "plain");
  assert_int_equal(rgt__device_cpu_open(&(rgt__device_options){.env = &env}, &plain, NULL), RGT_OK);
  assert_string_equal(plain->info.target.name, "plain");
  plain->ops->close(plain);
}

static void test_no_compiler(void **state) {
  (void)state;
  rgt__device *none = NULL;
  rgt__compiled out = {0};
  rgt__error err = {""};
  char text[700] = "x";
  environment_put(&env, RGT_ENV_RAGTUNE_CC, "none");
  assert_int_equal(rgt__device_cpu_open(&(rgt__device_options){.env = &env}, &none, NULL), RGT_OK); /* a device all the same */
  none->ops->compiler_stamp(none, text, sizeof text);
  assert_string_equal(text, "");
  assert_int_equal(none->ops->toolchain(none, text, sizeof text, &err), RGT_ENOCOMPILER);
  assert_int_equal(none->ops->compile(none, "", 0, &none->info.target, 0, &out, &err), RGT_ENOCOMPILER);
  none->ops->close(none);
}

static void test_stamp(void **state) {
  (void)state;
  rgt__device *own = NULL;
  char text[700], again[700], expected[700];
  int64_t size = 0, mtime_ns = 0;
  environment_put(&env, RGT_ENV_RAGTUNE_CC, scratch_write(&s, "cc", "#!/bin/sh\n", 0755));
  assert_int_equal(rgt__device_cpu_open(&(rgt__device_options){.env = &env}, &own, NULL), RGT_OK);
  own->ops->compiler_stamp(own, text, sizeof text);
  assert_int_equal(rgt__file_stamp(s.path, &size, &mtime_ns), 1);
  snprintf(expected, sizeof expected, "%s|10|%lld", s.path, (long long)mtime_ns);
  assert_string_equal(text, expected);
  scratch_write(&s, "cc", "#!/bin/sh\n# another\n", 0755);
  own->ops->compiler_stamp(own, again, sizeof again);
  assert_string_not_equal(again, text);
  unlink(s.path);
  own->ops->compiler_stamp(own, again, sizeof again);
  assert_string_equal(again, "");
  own->ops->close(own);
}

/* ---- memory and clock ---- */

static void test_memory(void **state) {
  (void)state;
  static const size_t sizes[] = {0, 1, 3, 63, 64, 65, 1000, 4097};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    void *p = NULL;
    unsigned char *image = malloc(sizes[i] + 1), *read = malloc(sizes[i] + 1);
    assert_int_equal(d->ops->mem_alloc(d, sizes[i], &p, NULL), RGT_OK);
    assert_int_equal((uintptr_t)p % 64, 0);
    for (size_t k = 0; k < sizes[i]; k++) image[k] = (unsigned char)(k * 7 + i);
    assert_int_equal(d->ops->mem_write(d, p, image, sizes[i], NULL), RGT_OK);
    assert_int_equal(d->ops->mem_read(d, read, p, sizes[i], NULL), RGT_OK);
    assert_memory_equal(image, read, sizes[i]);
    d->ops->mem_free(d, p);
    free(image);
    free(read);
  }
  d->ops->mem_free(d, NULL);
  assert_int_equal(d->ops->mem_write(d, NULL, NULL, 0, NULL), RGT_OK);
}

static void test_memory_fails(void **state) {
  (void)state;
  void *p = &p;
  rgt__error err = {""};
  assert_int_equal(d->ops->mem_alloc(d, SIZE_MAX - 5, &p, &err), RGT_ENOMEM); /* no wrap to a small block */
  scratch_fail_after(0);
  assert_int_equal(d->ops->mem_alloc(d, 64, &p, &err), RGT_ENOMEM);
  d->ops->flush_cache(d); /* does nothing without memory */
  scratch_fail_never();
  assert_ptr_equal(p, &p);
  d->ops->flush_cache(d);
  d->ops->flush_cache(d);
}

static void test_clock(void **state) {
  (void)state;
  int64_t before = d->ops->now_ps(d, NULL);
  usleep(20000);
  int64_t passed = d->ops->now_ps(d, NULL) - before;
  assert_true(passed >= 20000 * (int64_t)1000000); /* picoseconds */
  assert_int_equal(d->ops->sync(d, NULL, NULL), RGT_OK);
}

/* ---- loading ---- */

#define ENTRY "typedef long long i64; struct rgt_kargs; void "
#define PARAMETERS "(const struct rgt_kargs *k, void *w, int step, i64 part, i64 n)"

static void compile(const char *source, rgt__compiled *out) {
  rgt__error err = {""};
  char text[256];
  if (d->ops->toolchain(d, text, sizeof text, NULL) == RGT_ENOCOMPILER) skip();
  if (d->ops->compile(d, source, strlen(source), &d->info.target, 0, out, &err) != RGT_OK) fail_msg("%s", err.text);
}

static rgt__program program;
static rgt__plan plan;

static void make_plan(const char *steps, int64_t rows) {
  char text[1000];
  rgt__error err = {""};
  snprintf(text, sizeof text, "rgt-program 1\nkargs 1\nvalid 1\nworkspace 4096\n%s", steps);
  if (rgt__program_parse(text, &program, &err) != RGT_OK) fail_msg("%s", err.text);
  rgt__plan_make(&program, &d->info, rows, 1, &plan);
  assert_int_equal(plan.valid, 1);
}

static const char one_call[] = "kernel same_name grid 1 ; block 0 ; shared 0 ; cluster 0\n";

static int first_int(rgt__module *m) {
  int w[4] = {-1};
  rgt_kargs k = {0};
  assert_int_equal(d->ops->launch(d, m, &program, &plan, &k, w, NULL, NULL), RGT_OK);
  return w[0];
}

/* Two libraries with the same entry name, made and loaded from bytes while the other is still there: each keeps its own code.
 */
static void test_two_from_bytes(void **state) {
  (void)state;
  rgt__compiled one, two;
  rgt__module *a = NULL, *b = NULL, *c = NULL;
  rgt__error err = {""};
  compile(ENTRY "same_name" PARAMETERS " { *(int *)w = 111; }", &one);
  compile(ENTRY "same_name" PARAMETERS " { *(int *)w = 222; }", &two);
  make_plan(one_call, 1);
  if (d->ops->load(d, NULL, one.code, one.code_bytes, &program, &a, &err) != RGT_OK) fail_msg("%s", err.text);
  if (d->ops->load(d, NULL, two.code, two.code_bytes, &program, &b, &err) != RGT_OK) fail_msg("%s", err.text);
  assert_int_equal(first_int(a), 111);
  assert_int_equal(first_int(b), 222);
  d->ops->unload(d, a);
  assert_int_equal(first_int(b), 222);
  if (d->ops->load(d, NULL, one.code, one.code_bytes, &program, &c, &err) != RGT_OK) fail_msg("%s", err.text);
  assert_int_equal(first_int(c), 111);
  assert_int_equal(first_int(b), 222);
  d->ops->unload(d, b);
  d->ops->unload(d, c);
  rgt__compiled_free(&one);
  rgt__compiled_free(&two);
}

static int open_files(void) {
  int n = 0;
  for (int fd = 0; fd < 1024; fd++) n += fcntl(fd, F_GETFD) >= 0;
  return n;
}

static void test_from_file(void **state) {
  (void)state;
  rgt__compiled code;
  rgt__module *m = NULL;
  rgt__error err = {""};
  compile(ENTRY "same_name" PARAMETERS " { *(int *)w = 333; }", &code);
  make_plan(one_call, 1);
  const char *path = scratch_path(&s, "code.bin");
  assert_int_equal(rgt__file_write(path, code.code, code.code_bytes, 0600, NULL), RGT_OK);
  int before = open_files();
  if (d->ops->load(d, path, NULL, 0, &program, &m, &err) != RGT_OK) fail_msg("%s", err.text);
  assert_int_equal(first_int(m), 333);
  d->ops->unload(d, m);
  for (int i = 0; i < 5; i++) {
    if (d->ops->load(d, NULL, code.code, code.code_bytes, &program, &m, &err) != RGT_OK) fail_msg("%s", err.text);
    assert_int_equal(first_int(m), 333);
    d->ops->unload(d, m);
  }
  assert_int_equal(open_files(), before); /* neither way leaves a descriptor behind */
  rgt__compiled_free(&code);
}

static void test_load_fails(void **state) {
  (void)state;
  rgt__compiled code;
  rgt__module *m = NULL;
  rgt__error err = {""};
  compile(ENTRY "other_name" PARAMETERS " { }", &code);
  make_plan(one_call, 1);
  int before = open_files();
  assert_int_equal(d->ops->load(d, NULL, code.code, code.code_bytes, &program, &m, &err), RGT_EIO);
  assert_string_equal(err.text, "compiled code lacks the entry same_name");
  assert_int_equal(d->ops->load(d, NULL, "no library", 10, &program, &m, &err), RGT_EIO);
  assert_ptr_equal(strstr(err.text, "compiled code cannot be loaded: "), err.text);
  assert_int_equal(d->ops->load(d, NULL, "", 0, &program, &m, &err), RGT_EIO);
  assert_int_equal(d->ops->load(d, scratch_path(&s, "absent.bin"), NULL, 0, &program, &m, &err), RGT_EIO);
  assert_ptr_equal(strstr(err.text, s.path), err.text);
  scratch_fail_after(0);
  assert_int_equal(d->ops->load(d, NULL, code.code, code.code_bytes, &program, &m, &err), RGT_ENOMEM);
  scratch_fail_never();
  assert_null(m);
  assert_int_equal(open_files(), before);
  d->ops->unload(d, NULL);
  rgt__compiled_free(&code);
}

/* ---- launching ---- */

static void test_steps(void **state) {
  (void)state;
  /* w[0]: a count of calls; then for each step 100 ints: how often each part ran, times 1000 plus n */
  static const char source[] =
      ENTRY "work" PARAMETERS " { int *o = (int *)w; __atomic_fetch_add(&o[0], 1, __ATOMIC_RELAXED);\n"
            "  o[100 * step + part] += 1000 + (int)n; }\n"
            "void sum" PARAMETERS " { int *o = (int *)w; int t = 0; for (int i = 100; i < 200; i++) t += o[i]; o[600] = t; }\n";
  rgt__compiled code;
  rgt__module *m = NULL;
  rgt__error err = {""};
  rgt_kargs k = {0};
  int w[1024], expected[1024];
  compile(source, &code);
  make_plan("memset offset 0 ; bytes 2400 ; value 0\n"
            "kernel work grid 64 ; block 0 ; shared 0 ; cluster 0\n"
            "kernel sum grid 1 ; block 0 ; shared 0 ; cluster 0\n"
            "kernel work grid 0 ; block 0 ; shared 0 ; cluster 0\n"
            "kernel work grid rows - 9 ; block 0 ; shared 0 ; cluster 0\n"
            "memset offset 2404 ; bytes 8 ; value 17\n"
            "memset offset 2500 ; bytes 0 ; value 17\n",
            3);
  if (d->ops->load(d, NULL, code.code, code.code_bytes, &program, &m, &err) != RGT_OK) fail_msg("%s", err.text);
  for (int turn = 0; turn < 200; turn++) {
    memset(w, 0x55, sizeof w);
    memset(expected, 0x55, sizeof expected);
    memset(expected, 0, 2400);
    expected[0] = 64;
    for (int i = 0; i < 64; i++) expected[100 + i] = 1064;
    expected[600] = 64 * 1064; /* sum saw all of step 1 */
    memset(expected + 601, 17, 8);
    assert_int_equal(d->ops->launch(d, m, &program, &plan, &k, w, NULL, NULL), RGT_OK);
    assert_memory_equal(w, expected, sizeof w);
  }
  d->ops->unload(d, m);
  rgt__compiled_free(&code);
}

static void test_nothing_to_do(void **state) {
  (void)state;
  rgt_kargs k = {0};
  rgt__module *m = NULL;
  rgt__compiled code;
  rgt__error err = {""};
  compile(ENTRY "same_name" PARAMETERS " { *(volatile int *)0 = 1; }", &code); /* must never be called */
  make_plan("kernel same_name grid rows ; block 0 ; shared 0 ; cluster 0\nmemset offset 0 ; bytes rows ; value 1\n", 0);
  if (d->ops->load(d, NULL, code.code, code.code_bytes, &program, &m, &err) != RGT_OK) fail_msg("%s", err.text);
  assert_int_equal(d->ops->launch(d, m, &program, &plan, &k, NULL, NULL, NULL), RGT_OK); /* no workspace, and none touched */
  d->ops->unload(d, m);
  rgt__compiled_free(&code);
}

/* Two parts that wait for each other end only on two threads at once. */
static void test_several_threads(void **state) {
  (void)state;
  static const char source[] =
      ENTRY "meet" PARAMETERS " { int *o = (int *)w; __atomic_fetch_add(&o[0], 1, __ATOMIC_SEQ_CST);\n"
            "  for (i64 i = 0; i < 4000000000ll && __atomic_load_n(&o[0], __ATOMIC_SEQ_CST) < 2; i++) __asm__ volatile(\"\");\n"
            "  o[1 + part] = __atomic_load_n(&o[0], __ATOMIC_SEQ_CST); }\n";
  rgt__compiled code;
  rgt__module *m = NULL;
  rgt__error err = {""};
  rgt_kargs k = {0};
  int w[8] = {0};
  if (d->info.n_threads < 2) skip();
  compile(source, &code);
  make_plan("kernel meet grid 2 ; block 0 ; shared 0 ; cluster 0\n", 1);
  if (d->ops->load(d, NULL, code.code, code.code_bytes, &program, &m, &err) != RGT_OK) fail_msg("%s", err.text);
  assert_int_equal(d->ops->launch(d, m, &program, &plan, &k, w, NULL, NULL), RGT_OK);
  assert_int_equal(w[1], 2);
  assert_int_equal(w[2], 2);
  d->ops->unload(d, m);
  rgt__compiled_free(&code);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {TEST(test_threads_option), TEST(test_messages),       TEST(test_info),
                                     TEST(test_no_compiler),    TEST(test_stamp),          TEST(test_memory),
                                     TEST(test_memory_fails),   TEST(test_clock),          TEST(test_two_from_bytes),
                                     TEST(test_from_file),      TEST(test_load_fails),     TEST(test_steps),
                                     TEST(test_nothing_to_do),  TEST(test_several_threads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
