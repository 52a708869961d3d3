/* test_guarded_memory.c -- what lies around a block: nothing, in front of it and behind it; a child of this program tries. */
#include "runtime/guarded_memory.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/support/scratch.h"

/* How a child ends that touches one byte: 0, or the signal. */
static int touch(volatile unsigned char *at, int writes) {
  pid_t pid = fork();
  if (pid == 0) {
    signal(SIGSEGV, SIG_DFL); /* a sanitizer's own */
    signal(SIGBUS, SIG_DFL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    if (writes)
      *at = 1;
    else
      (void)*at;
    _exit(0);
  }
  int status = 0;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

static int dies(int ending) {
  return ending == SIGSEGV || ending == SIGBUS;
}

static void a_block_ends_where_nothing_is(void **state) {
  static const size_t sizes[] = {1, 64, 100, 4096, 4097, 1 << 20};
  rgt__guarded_memory m = {.n = 0};
  (void)state;
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    unsigned char *p = NULL;
    assert_int_equal(rgt__guarded_alloc(&m, sizes[i], (void **)&p, NULL), RGT_OK);
    assert_int_equal((uintptr_t)p % 64, 0);
    memset(p, 7, sizes[i]);
    size_t end = (sizes[i] + 63) / 64 * 64;
    assert_int_equal(touch(p + end - 1, 1), 0);
    for (int writes = 0; writes < 2; writes++) {
      assert_true(dies(touch(p + end, writes)));
      assert_true(dies(touch(p + end + (1 << 20), writes)));
      assert_true(dies(touch(p - 4096, writes)));
      assert_true(dies(touch(p - (8 << 20), writes)));
    }
    uintptr_t front = (uintptr_t)p % 4096;
    for (uintptr_t n = 1; n <= front; n++) assert_int_equal(p[-(intptr_t)n], 0xFF);
    assert_true(dies(touch(p - front - 1, 0)));
  }
  rgt__guarded_close(&m);
}

static void blocks_are_freed(void **state) {
  rgt__guarded_memory m = {.n = 0};
  void *p[100], *other = &m;
  (void)state;
  for (int i = 0; i < 100; i++) assert_int_equal(rgt__guarded_alloc(&m, 1000, &p[i], NULL), RGT_OK);
  assert_int_equal(rgt__guarded_free(&m, other), 0);
  for (int i = 0; i < 100; i += 2) assert_int_equal(rgt__guarded_free(&m, p[i]), 1);
  assert_int_equal(m.n, 50);
  assert_true(dies(touch(p[0], 0)));
  assert_int_equal(touch(p[1], 0), 0);
  rgt__guarded_close(&m);
  assert_int_equal(m.n, 0);
}

static void no_memory(void **state) {
  rgt__guarded_memory m = {.n = 0};
  rgt__error err = {""};
  void *p = NULL;
  (void)state;
  assert_int_equal(rgt__guarded_alloc(&m, SIZE_MAX - 5, &p, &err), RGT_ENOMEM);
  assert_int_equal(rgt__guarded_alloc(&m, (size_t)1 << 60, &p, &err), RGT_ENOMEM);
  rgt__guarded_close(&m);
  scratch_fail_after(0);
  assert_int_equal(rgt__guarded_alloc(&m, 8, &p, &err), RGT_ENOMEM);
  scratch_fail_never();
  assert_null(p);
  rgt__guarded_close(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_block_ends_where_nothing_is), cmocka_unit_test(blocks_are_freed),
                                     cmocka_unit_test(no_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
