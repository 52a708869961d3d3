/* test_path.c -- file systems, and names that are escaped. */
#include "fixture.h"

#include "runtime/base/alloc.h"
#include "tunedb/path.h"

static void test_network_kinds(void **state) {
  (void)state;
  static const unsigned long network[] = {0x6969,     0x517B,     0xFF534D42, 0xFE534D42,
                                          0x65735546, 0x0BD00BD0, 0x47504653, 0x01021997};
  static const unsigned long local[] = {0xEF53 /* ext */,
                                        0x58465342 /* xfs */,
                                        0x9123683E /* btrfs */,
                                        0x01021994 /* tmpfs */,
                                        0x794C7630 /* overlay */,
                                        0x2FC12FC1 /* zfs */,
                                        0};
  for (size_t i = 0; i < sizeof network / sizeof network[0]; i++) assert_int_equal(rgt__path_network_kind(network[i]), 1);
  for (size_t i = 0; i < sizeof local / sizeof local[0]; i++) assert_int_equal(rgt__path_network_kind(local[i]), 0);
  /* a 64-bit f_type that was sign-extended from 32 */
  assert_int_equal(rgt__path_network_kind(0xFFFFFFFFFF534D42), 1);
  assert_int_equal(rgt__path_on_network("/proc/version"), 0);
  assert_int_equal(rgt__path_on_network("/no such folder/file"), 0);
}

static void test_folder(void **state) {
  (void)state;
  static const char *const cases[][2] = {{"a", "."}, {"/a", "/"}, {"b/a", "b"}, {"/c/b/a", "/c/b"}, {"b/", "b"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char *folder = rgt__path_folder(cases[i][0]);
    assert_string_equal(folder, cases[i][1]);
    rgt__free(folder);
  }
}

static void test_uri(void **state) {
  (void)state;
  char *folder = make_folder(), name[256], want[256];
  snprintf(name, sizeof name, "%s/a b?c#d%%e.db", folder);
  FILE *f = fopen(name, "w");
  assert_non_null(f);
  fclose(f);
  char *uri = rgt__path_uri(name);
  snprintf(want, sizeof want, "file:%s/a%%20b%%3Fc%%23d%%25e.db?immutable=1", folder);
  assert_string_equal(uri, want);
  rgt__free(uri);
  assert_null(rgt__path_uri("/no such file"));
  remove_folder(folder);
}

/* Every one that is moved aside keeps a name of its own, and its journals. */
static void test_aside(void **state) {
  (void)state;
  char *folder = make_folder(), name[256], wal[300], *aside[3];
  snprintf(name, sizeof name, "%s/x.db", folder);
  snprintf(wal, sizeof wal, "%s-wal", name);
  for (int i = 0; i < 3; i++) {
    FILE *f = fopen(name, "w"), *w = fopen(wal, "w");
    assert_true(f && w);
    fclose(f);
    fclose(w);
    OK(rgt__path_aside(name, &aside[i], NULL));
    assert_int_equal(strncmp(aside[i], name, strlen(name)), 0);
    assert_int_equal(strncmp(aside[i] + strlen(name), ".corrupt-20", 11), 0);
    assert_int_equal(access(name, F_OK), -1);
    assert_int_equal(access(wal, F_OK), -1);
    char moved[300];
    snprintf(moved, sizeof moved, "%s-wal", aside[i]);
    assert_int_equal(access(moved, F_OK), 0);
    for (int j = 0; j < i; j++) assert_string_not_equal(aside[i], aside[j]);
  }
  rgt__error err = {{0}};
  char *none = NULL;
  assert_int_equal(rgt__path_aside(name, &none, &err), RGT_EDB); /* nothing there any more */
  assert_null(none);
  for (int i = 0; i < 3; i++) rgt__free(aside[i]);
  remove_folder(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_network_kinds),
      cmocka_unit_test(test_folder),
      cmocka_unit_test(test_uri),
      cmocka_unit_test(test_aside),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
