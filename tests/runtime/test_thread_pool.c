/* test_thread_pool.c -- every part once, on several threads, from several callers, and after a fork. */
#include "runtime/thread_pool.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { PARTS_MAX = 1000 };

typedef struct job {
  atomic_int seen[PARTS_MAX];
  atomic_int wrong_count;
  int64_t n_parts;
} job;

static void count_part(void *user, int64_t part, int64_t n_parts) {
  job *j = user;
  if (part < 0 || part >= j->n_parts || n_parts != j->n_parts)
    atomic_fetch_add(&j->wrong_count, 1);
  else
    atomic_fetch_add(&j->seen[part], 1);
}

static int all_once(int threads, int64_t n_parts) {
  static _Thread_local job j;
  memset(&j, 0, sizeof j);
  j.n_parts = n_parts;
  rgt__pool_run(threads, n_parts, count_part, &j);
  int good = atomic_load(&j.wrong_count) == 0;
  for (int64_t p = 0; p < PARTS_MAX; p++) good &= atomic_load(&j.seen[p]) == (p < n_parts ? 1 : 0);
  return good;
}

static void test_each_part_once(void **state) {
  (void)state;
  for (int threads = 1; threads <= 5; threads++)
    for (int64_t n = 0; n < 40; n++) assert_true(all_once(threads, n));
  assert_true(all_once(3, PARTS_MAX));
}

static void test_many_short_jobs(void **state) {
  (void)state;
  for (int i = 0; i < 20000; i++) assert_true(all_once(2, 1 + i % 7));
}

static void *caller(void *arg) {
  (void)arg;
  for (int i = 0; i < 2000; i++)
    if (!all_once(2, 5)) return (void *)1;
  return NULL;
}

static void test_several_callers(void **state) {
  (void)state;
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, caller, NULL), 0);
  for (int i = 0; i < 4; i++) {
    void *result;
    assert_int_equal(pthread_join(threads[i], &result), 0);
    assert_null(result);
  }
}

static void test_after_fork(void **state) {
  (void)state;
  assert_true(all_once(2, 9));
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) _exit(all_once(2, 9) && all_once(3, 100) ? 0 : 1);
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_affinity(void **state) {
  (void)state;
  assert_true(rgt__pool_affinity() >= 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_part_once), cmocka_unit_test(test_many_short_jobs),
                                     cmocka_unit_test(test_several_callers), cmocka_unit_test(test_after_fork),
                                     cmocka_unit_test(test_affinity)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
