/* test_buffer.c -- growth, formatting, taking, and a failure that is remembered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/base/buffer.h"
#include "runtime/ragtune.h"

static void adds(void **state) {
  (void)state;
  rgt__buffer b = {0};
  rgt__buffer_text(&b, "");
  assert_string_equal(b.data, "");
  rgt__buffer_text(&b, "ab");
  rgt__buffer_add(&b, "c\0d", 3);
  rgt__buffer_format(&b, "%d-%s", 42, "x");
  assert_int_equal(b.size, 9);
  assert_memory_equal(b.data, "abc\0d42-x", 10); /* and its NUL */
  rgt__buffer_add(&b, NULL, 0);
  assert_int_equal(b.size, 9);
  rgt__buffer_clear(&b);
  assert_int_equal(b.size, 0);
  assert_string_equal(b.data, "");
  rgt__buffer_free(&b);
  assert_null(b.data);
  assert_int_equal(b.capacity, 0);
  rgt__buffer_clear(&b); /* of an empty one */
  rgt__buffer_free(&b);
}

static void grows(void **state) {
  (void)state;
  rgt__buffer b = {0};
  for (int i = 0; i < 5000; i++) rgt__buffer_format(&b, "%04d", i);
  assert_int_equal(b.size, 20000);
  assert_true(b.capacity > b.size);
  for (int i = 0; i < 5000; i++) {
    char piece[5] = {0};
    memcpy(piece, b.data + 4 * i, 4);
    assert_int_equal(atoi(piece), i);
  }
  assert_int_equal(b.data[20000], 0);
  rgt__buffer_free(&b);
}

/* Lengths around the first capacity: the NUL must have its place in each. */
static void edges(void **state) {
  (void)state;
  char text[200];
  for (size_t n = 60; n < 140; n++) {
    rgt__buffer a = {0}, f = {0};
    memset(text, 'q', n);
    text[n] = 0;
    for (size_t i = 0; i < n; i++) rgt__buffer_add(&a, "q", 1);
    rgt__buffer_text(&f, "q");
    rgt__buffer_format(&f, "%s", text + 1);
    assert_string_equal(a.data, text);
    assert_string_equal(f.data, text);
    rgt__buffer_free(&a);
    rgt__buffer_free(&f);
  }
}

static void takes(void **state) {
  (void)state;
  rgt__buffer b = {0};
  size_t size = 99;
  char *data = rgt__buffer_take(&b, &size);
  assert_string_equal(data, "");
  assert_int_equal(size, 0);
  rgt__free(data);
  rgt__buffer_text(&b, "abc");
  data = rgt__buffer_take(&b, NULL);
  assert_string_equal(data, "abc");
  assert_null(b.data);
  assert_int_equal(b.size, 0);
  rgt__free(data);
}

static int budget;
static void *limited(void *user, void *p, size_t bytes) {
  (void)user;
  if (!bytes) {
    free(p);
    return NULL;
  }
  return budget-- > 0 ? realloc(p, bytes) : NULL;
}

static void fails(void **state) {
  (void)state;
  rgt__buffer b = {0};
  char big[300];
  memset(big, 'b', sizeof big);
  size_t size = 7;
  rgt_set_alloc(limited, NULL);
  budget = 1;
  rgt__buffer_text(&b, "first");
  assert_int_equal(b.failed, 0);
  rgt__buffer_add(&b, big, sizeof big);
  assert_int_equal(b.failed, 1);
  rgt__buffer_text(&b, "x"); /* would fit, but something is missing before it */
  rgt__buffer_format(&b, "%d", 1);
  assert_string_equal(b.data, "first");
  assert_null(rgt__buffer_take(&b, &size));
  assert_int_equal(size, 7);
  assert_null(b.data);
  assert_null(rgt__buffer_take(&b, &size)); /* not even room for "" */
  budget = 1;
  rgt__buffer_text(&b, "again");
  assert_int_equal(b.failed, 0);
  rgt__buffer_add(&b, big, SIZE_MAX - 2); /* size + n overflows: nobody is asked, nothing read */
  assert_int_equal(b.failed, 1);
  rgt__buffer_clear(&b);
  assert_int_equal(b.failed, 0);
  rgt__buffer_text(&b, "ok");
  assert_string_equal(b.data, "ok");
  rgt__buffer_free(&b);
  rgt_set_alloc(NULL, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(adds), cmocka_unit_test(grows), cmocka_unit_test(edges),
                                     cmocka_unit_test(takes), cmocka_unit_test(fails)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
