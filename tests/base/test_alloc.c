/* test_alloc.c -- the hook sees every allocation, and failures come back as NULL. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/ragtune.h"

typedef struct counts {
  int allocated, moved, freed, fail;
  size_t last_bytes;
} counts;

static void *counting(void *user, void *p, size_t bytes) {
  counts *c = user;
  if (!bytes) {
    c->freed++;
    free(p);
    return NULL;
  }
  c->last_bytes = bytes;
  if (c->fail) return NULL;
  if (p) {
    c->moved++;
  } else {
    c->allocated++;
  }
  void *q = realloc(p, bytes);
  if (q && !p) memset(q, 0xa5, bytes); /* alloc_zero must not rely on luck */
  return q;
}

static int unhook(void **state) {
  (void)state;
  rgt_set_alloc(NULL, NULL);
  return 0;
}

static void hooked(void **state) {
  (void)state;
  counts c = {0};
  rgt_set_alloc(counting, &c);
  char *a = rgt__alloc(10);
  assert_non_null(a);
  assert_int_equal(c.last_bytes, 10);
  memcpy(a, "123456789", 10);
  a = rgt__realloc(a, 100);
  assert_string_equal(a, "123456789");
  char *z = rgt__alloc_zero(7, 3);
  for (int i = 0; i < 21; i++) assert_int_equal(z[i], 0);
  char *s = rgt__strdup("text");
  assert_string_equal(s, "text");
  assert_int_equal(c.last_bytes, 5);
  assert_int_equal(c.allocated, 3);
  assert_int_equal(c.moved, 1);
  rgt__free(NULL);
  assert_int_equal(c.freed, 0);
  rgt__free(a);
  rgt__free(z);
  rgt_free(s);
  assert_int_equal(c.freed, 3);
}

static void zero_bytes(void **state) {
  (void)state;
  counts c = {0};
  for (int with_hook = 0; with_hook < 2; with_hook++) {
    rgt_set_alloc(with_hook ? counting : NULL, &c);
    void *p = rgt__alloc(0), *q = rgt__alloc_zero(0, 8);
    assert_non_null(p);
    assert_non_null(q);
    p = rgt__realloc(p, 0); /* a small block, not a free */
    assert_non_null(p);
    rgt__free(p);
    rgt__free(q);
  }
  assert_int_equal(c.freed, 2);
}

static void failing(void **state) {
  (void)state;
  counts c = {0};
  rgt_set_alloc(counting, &c);
  char *p = rgt__strdup("kept");
  c.fail = 1;
  assert_null(rgt__alloc(8));
  assert_null(rgt__alloc_zero(8, 8));
  assert_null(rgt__strdup("x"));
  assert_null(rgt__realloc(p, 100));
  assert_string_equal(p, "kept");
  assert_null(rgt__strjoin("a", "b"));
  rgt__free(p);
}

static void joins(void **state) {
  (void)state;
  static const char *const pairs[][3] = {{"t.db", "-wal", "t.db-wal"}, {"", "b", "b"}, {"a", "", "a"}, {"", "", ""}};
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
    char *text = rgt__strjoin(pairs[i][0], pairs[i][1]);
    assert_string_equal(text, pairs[i][2]);
    rgt__free(text);
  }
}

static void overflow(void **state) {
  (void)state;
  counts c = {0};
  assert_null(rgt__alloc_zero(SIZE_MAX / 2, 3));
  rgt_set_alloc(counting, &c);
  assert_null(rgt__alloc_zero(SIZE_MAX / 2, 3));
  assert_int_equal(c.last_bytes, 0); /* nobody was asked */
}

static void plain_zero(void **state) {
  (void)state;
  for (int round = 0; round < 4; round++) { /* recycled blocks are dirty */
    unsigned char *p = rgt__alloc_zero(100, 10);
    assert_non_null(p);
    for (int i = 0; i < 1000; i++) assert_int_equal(p[i], 0);
    memset(p, 0xff, 1000);
    rgt__free(p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(hooked, unhook),
                                     cmocka_unit_test_teardown(zero_bytes, unhook),
                                     cmocka_unit_test_teardown(failing, unhook),
                                     cmocka_unit_test_teardown(overflow, unhook),
                                     cmocka_unit_test(plain_zero),
                                     cmocka_unit_test(joins)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
