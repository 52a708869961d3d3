/* test_cuda_modules.c -- code loaded once a process and context; the cubin, else the PTX. */
#include "runtime/cuda_modules.h"

#include <pthread.h>

#include "tests/support/fake_opened.h"

static const char lines[] = "valid 1\nworkspace 0\nkernel a grid rows ; block 32 ; shared 0 ; cluster 0\n";
static rgt__program program;

static int setup(void **state) {
  (void)state;
  fake_device_open(FAKE_DRIVER);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  fake_device_close();
  if (rgt__cuda_modules_count()) return -1;
  return fake->modules;
}

static rgt__module *load(void) {
  rgt__module *m = NULL;
  OK(fake_load(lines, &program, &m));
  return m;
}

/* ---- once ---- */

static void test_loaded_once(void **state) {
  rgt__module *a = load(), *b = load();
  (void)state;
  assert_ptr_not_equal(a, b);
  assert_int_equal(fake->n_loaded_cubin, 1);
  assert_int_equal(fake->modules, 1);
  device->ops->unload(device, a);
  assert_int_equal(fake->modules, 1);
  a = load();
  assert_int_equal(fake->n_loaded_cubin, 1);
  device->ops->unload(device, a);
  device->ops->unload(device, b);
  assert_int_equal(fake->modules, 0);
  a = load(); /* and anew when nobody had it any more */
  assert_int_equal(fake->n_loaded_cubin, 2);
  device->ops->unload(device, a);
  device->ops->unload(device, NULL);
}

/* Two devices of one process with one context share; another context has its own. */
static void test_of_a_context(void **state) {
  rgt__device *first = device;
  (void)state;
  rgt__module *a = load();
  OK(fake_device_try(FAKE_DRIVER, 0));
  rgt__device *second = device;
  rgt__module *b = load();
  assert_int_equal(fake->modules, 1);
  OK(fake_device_try(FAKE_DRIVER, 1));
  rgt__module *c = load();
  assert_int_equal(fake->modules, 2);
  assert_int_equal(rgt__cuda_modules_count(), 2);
  device->ops->unload(device, c);
  device->ops->close(device);
  second->ops->unload(second, b);
  second->ops->close(second);
  assert_int_equal(fake->modules, 1);
  first->ops->unload(first, a);
  device = first;
}

enum { THREADS = 4, TURNS = 200 };

static void *load_and_unload(void *user) {
  rgt__program p;
  rgt__error why = {""};
  intptr_t bad = 0;
  (void)user;
  rgt__compiled c = {.code = (char *)(uintptr_t)fake_cubin, .code_bytes = sizeof fake_cubin};
  char text[400];
  snprintf(text, sizeof text, "rgt-program 1\nkargs %d\n%s", RGT_KARGS_VERSION, lines);
  bad = rgt__program_parse(text, &p, &why) != RGT_OK;
  for (int turn = 0; turn < TURNS && !bad; turn++) {
    rgt__module *m = NULL;
    bad = device->ops->load(device, NULL, c.code, c.code_bytes, &p, &m, &why) != RGT_OK;
    if (!bad) device->ops->unload(device, m);
  }
  return (void *)bad;
}

static void test_threads(void **state) {
  pthread_t threads[THREADS];
  (void)state;
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, load_and_unload, NULL), 0);
  for (int i = 0; i < THREADS; i++) {
    void *bad = NULL;
    assert_int_equal(pthread_join(threads[i], &bad), 0);
    assert_null(bad);
  }
  assert_string_equal(fake->misuse, "");
}

/* ---- cubin, else PTX ---- */

static void test_refused_cubin(void **state) {
  static const int refusals[] = {200, 209, 218, 222, 300, 801};
  (void)state;
  for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
    fake->refuse_cubin = refusals[i];
    rgt__module *m = load();
    assert_int_equal(fake->n_loaded_ptx, i + 1);
    assert_int_equal(fake->n_loaded_cubin, 0);
    device->ops->unload(device, m);
  }
}

/* Other failures are not the cubin's fault: no PTX is tried. */
static void test_failed_otherwise(void **state) {
  rgt__module *m = NULL;
  (void)state;
  fake->refuse_cubin = 2;
  FAILS(fake_load(lines, &program, &m), RGT_ENOMEM, "cuModuleLoadDataEx of a cubin of");
  fake->refuse_cubin = 719;
  FAILS(fake_load(lines, &program, &m), RGT_ECRASH, "CUDA_ERROR_LAUNCH_FAILED");
  assert_int_equal(fake->n_loaded_ptx, 0);
  assert_null(m);
}

static void test_both_refused(void **state) {
  rgt__module *m = NULL;
  (void)state;
  fake->refuse_cubin = 209;
  fake->refuse_ptx = 222;
  strcpy(fake->jit_log, "\nptxas fatal: Unsupported .version 9.0\nand more of it");
  FAILS(fake_load(lines, &program, &m), RGT_EUNSUPPORTED,
        "the driver takes neither the cubin (CUDA_ERROR_NO_BINARY_FOR_GPU) nor the PTX (CUDA_ERROR_UNSUPPORTED_PTX_VERSION: "
        "ptxas "
        "fatal: Unsupported .version 9.0)");
  fake->jit_log[0] = 0;
  FAILS(fake_load(lines, &program, &m), RGT_EUNSUPPORTED, "nor the PTX (CUDA_ERROR_UNSUPPORTED_PTX_VERSION)");
  fake->refuse_ptx = 2;
  FAILS(fake_load(lines, &program, &m), RGT_ENOMEM, "cuModuleLoadDataEx of PTX: CUDA_ERROR_OUT_OF_MEMORY");
  assert_null(m);
}

/* ---- the code cache's files ---- */

static void test_files(void **state) {
  char bin[240];
  scratch s;
  rgt__module *m = NULL;
  (void)state;
  scratch_open(&s);
  rgt__module *other = load(); /* for the program */
  snprintf(bin, sizeof bin, "%s",
           scratch_write(&s, "ab.bin",
                         "\x7f"
                         "ELF of a file",
                         0600));
  OK(device->ops->load(device, bin, NULL, 0, &program, &m, &err));
  assert_int_equal(fake->n_loaded_cubin, 2);
  device->ops->unload(device, m);
  m = NULL;
  fake->refuse_cubin = 209;
  FAILS(device->ops->load(device, bin, NULL, 0, &program, &m, &err), RGT_EIO,
        "the driver does not take the cubin (CUDA_ERROR_NO_BINARY_FOR_GPU), and its PTX is not there");
  scratch_write(&s, "ab.ptx", ".version 9.0\n", 0600);
  OK(device->ops->load(device, bin, NULL, 0, &program, &m, &err));
  assert_int_equal(fake->n_loaded_ptx, 1);
  device->ops->unload(device, m);
  m = NULL;
  fake->refuse_cubin = 0;
  FAILS(device->ops->load(device, "/nowhere/ab.bin", NULL, 0, &program, &m, &err), RGT_EIO, "/nowhere/ab.bin");
  scratch_write(&s, "empty.bin", "", 0600);
  FAILS(device->ops->load(device, scratch_path(&s, "empty.bin"), NULL, 0, &program, &m, &err), RGT_EIO, "is empty");
  assert_null(m);
  device->ops->unload(device, other);
  scratch_close(&s);
}

/* ---- entries ---- */

static void test_absent_entry(void **state) {
  rgt__module *m = NULL;
  (void)state;
  FAILS(fake_load("valid 1\nworkspace 0\nkernel a grid 1 ; block 1 ; shared 0 ; cluster 0\n"
                  "kernel absent_one grid 1 ; block 1 ; shared 0 ; cluster 0\n",
                  &program, &m),
        RGT_EIO, "compiled code lacks the entry absent_one");
  assert_null(m);
  assert_int_equal(fake->modules, 0);
}

/* Only entries with shared memory of a launch's own ask for leave, for all that their static part leaves. */
static void test_shared_memory(void **state) {
  rgt__module *m = NULL;
  (void)state;
  fake->static_shared = 1000;
  OK(fake_load("valid 1\nworkspace 0\nkernel a grid 1 ; block 1 ; shared 0 ; cluster 0\n"
               "kernel b grid 1 ; block 1 ; shared 100 ; cluster 0\nkernel c grid 1 ; block 1 ; shared 4 * groups ; cluster 0\n"
               "memset offset 0 ; bytes 0 ; value 0\n",
               &program, &m));
  assert_int_equal(fake->n_calls[FAKE_cuFuncSetAttribute], 2);
  assert_int_equal(fake->n_calls[FAKE_cuFuncLoad], 3);
  assert_int_equal(fake->n_calls[FAKE_cuModuleGetFunction], 3);
  assert_string_equal(fake->misuse, "");
  device->ops->unload(device, m);
}

static void test_no_memory(void **state) {
  rgt__module *m = NULL;
  rgt__program p;
  (void)state;
  rgt__module *other = load(); /* so that the program is there */
  p = program;
  device->ops->unload(device, other);
  fake->refuse_cubin = 209; /* the longest way */
  char piece[sizeof fake_cubin + sizeof fake_ptx + 24];
  rgt__compiled c = {.code = (char *)(uintptr_t)fake_cubin,
                     .code_bytes = sizeof fake_cubin,
                     .ptx = (char *)(uintptr_t)fake_ptx,
                     .ptx_bytes = sizeof fake_ptx - 1};
  void *joined = NULL;
  size_t bytes = 0;
  OK(rgt__code_pair_join(&c, &joined, &bytes, &err));
  assert_true(bytes <= sizeof piece);
  memcpy(piece, joined, bytes);
  rgt__free(joined);
  int n = 0;
  for (rgt_status status = RGT_ENOMEM; status != RGT_OK; n++) {
    scratch_fail_after(n);
    status = device->ops->load(device, NULL, piece, bytes, &p, &m, &err);
    scratch_fail_never();
    if (status == RGT_OK) break;
    assert_int_equal(status, RGT_ENOMEM);
    assert_null(m);
    assert_int_equal(fake->modules, 0);
  }
  assert_true(n >= 2);
  device->ops->unload(device, m);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_loaded_once),      TEST(test_of_a_context), TEST(test_threads), TEST(test_refused_cubin),
      TEST(test_failed_otherwise), TEST(test_both_refused), TEST(test_files),   TEST(test_absent_entry),
      TEST(test_shared_memory),    TEST(test_no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
