/* test_source.c -- the built-in table holds what templates/ holds; folders are read whole or refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "generator/source.h"
#include "runtime/base/file.h"

static char root[64];

static int make_root(void **state) {
  (void)state;
  strcpy(root, "/tmp/rgt-source-XXXXXX");
  return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state) {
  (void)state;
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", root);
  return system(command);
}

static void put(const char *name, const char *text, size_t n) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s", root, name);
  char *slash = strrchr(path, '/');
  *slash = 0;
  assert_int_equal(rgt__file_make_folder(path, NULL), RGT_OK);
  *slash = '/';
  assert_int_equal(rgt__file_write(path, text, n, 0600, NULL), RGT_OK);
}

/* The table that the build made is the folder that it was made from. */
static void builtin(void **state) {
  (void)state;
  rgt__sources *table, *folder;
  rgt__error err = {{0}};
  assert_int_equal(rgt__sources_open(NULL, &table, &err), RGT_OK);
  assert_int_equal(rgt__sources_open(RGT_SOURCE_DIR "/templates", &folder, &err), RGT_OK);
  assert_true(rgt__sources_count(table) > 0);
  assert_int_equal(rgt__sources_count(table), rgt__sources_count(folder));
  for (int i = 0; i < rgt__sources_count(table); i++) {
    const rgt__source_file *a = rgt__sources_at(table, i), *b = rgt__sources_at(folder, i);
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->size, b->size);
    assert_int_equal(strlen(a->text), a->size);
    assert_string_equal(a->text, b->text);
    if (i) assert_true(strcmp(rgt__sources_at(table, i - 1)->name, a->name) < 0);
    assert_ptr_equal(rgt__sources_find(table, a->name), a);
  }
  const rgt__source_file *kargs = rgt__sources_find(table, "lib/kargs.h");
  assert_non_null(kargs);
  assert_non_null(strstr(kargs->text, "rgt_kargs"));
  assert_null(rgt__sources_find(table, "lib/none.h"));
  rgt__sources_free(folder);
  rgt__sources_free(table);
  rgt__sources_free(NULL);
}

static void folder(void **state) {
  (void)state;
  rgt__sources *s;
  rgt__error err;
  put("cpu/row_gather.lua", "return 1\n", 9);
  put("cpu/row_gather.c", "", 0);
  put("cuda/a.cu", "a", 1);
  put("cuda/a.cuh", "b", 1);
  put("lib/x.h", "c", 1);
  put("top.lua", "d", 1);
  put("cpu/lib/deep/er/v.h", "e", 1);
  put("cpu/notes.txt", "not a source", 12);
  put("cpu/row_gather.c~", "an editor's copy", 16);
  put("cpu/.hidden.lua", "hidden", 6);
  put(".git/x.lua", "hidden", 6);
  put("cpu/lua", "no dot", 6);
  assert_int_equal(rgt__sources_open(root, &s, &err), RGT_OK);
  static const struct {
    const char *name, *text;
  } expected[] = {{"cpu/lib/deep/er/v.h", "e"},
                  {"cpu/row_gather.c", ""},
                  {"cpu/row_gather.lua", "return 1\n"},
                  {"cuda/a.cu", "a"},
                  {"cuda/a.cuh", "b"},
                  {"lib/x.h", "c"},
                  {"top.lua", "d"}};
  assert_int_equal(rgt__sources_count(s), 7);
  for (int i = 0; i < 7; i++) {
    const rgt__source_file *f = rgt__sources_at(s, i);
    assert_string_equal(f->name, expected[i].name);
    assert_string_equal(f->text, expected[i].text);
    assert_int_equal(f->size, strlen(expected[i].text));
    assert_ptr_equal(rgt__sources_find(s, expected[i].name), f);
  }
  assert_null(rgt__sources_at(s, 7));
  assert_null(rgt__sources_at(s, -1));
  assert_null(rgt__sources_find(s, "row_gather.c"));
  rgt__sources_free(s);
}

static void refuse(const char *path, const char *message) {
  rgt__sources *s = (rgt__sources *)root;
  rgt__error err = {{0}};
  assert_int_equal(rgt__sources_open(path, &s, &err), RGT_EIO);
  assert_ptr_equal(s, root);
  if (!strstr(err.text, message)) fail_msg("\"%s\" lacks \"%s\"", err.text, message);
}

static void refuses(void **state) {
  (void)state;
  char path[128];
  refuse(root, "holds no templates (.lua, .c, .cu, .h, .cuh below it)");
  snprintf(path, sizeof path, "%s/none", root);
  refuse(path, "cannot open the template folder");
  put("a.lua", "a\0b", 3);
  refuse(root, "a.lua: not a text, it holds a NUL byte");
  static char big[(1 << 20) + 1];
  memset(big, ' ', sizeof big);
  put("a.lua", big, sizeof big);
  refuse(root, "a.lua: larger than 1048576 bytes");
  put("a.lua", big, sizeof big - 1);
  rgt__sources *s;
  assert_int_equal(rgt__sources_open(root, &s, NULL), RGT_OK);
  rgt__sources_free(s);
  snprintf(path, sizeof path, "%s/b.lua", root);
  assert_int_equal(symlink("nowhere", path), 0);
  refuse(root, "cannot look at");
}

static void loops_end(void **state) {
  (void)state;
  char path[128];
  put("a.lua", "a", 1);
  snprintf(path, sizeof path, "%s/again", root);
  assert_int_equal(symlink(".", path), 0);
  refuse(root, "more than 8 folders deep");
}

static int left;
static void *limited(void *user, void *p, size_t bytes) {
  (void)user;
  if (!bytes) {
    free(p);
    return NULL;
  }
  return left-- > 0 ? realloc(p, bytes) : NULL;
}

/* Each allocation fails in turn: an error every time, and no leak (the sanitizer looks). */
static void no_memory(void **state) {
  (void)state;
  put("a.lua", "a", 1);
  put("b.lua", "b", 1);
  rgt_status status = RGT_ENOMEM;
  int n = 0;
  rgt_set_alloc(limited, NULL);
  for (; status == RGT_ENOMEM && n < 100; n++) {
    rgt__sources *s = NULL;
    left = n;
    status = rgt__sources_open(root, &s, NULL);
    if (status) assert_null(s);
    rgt__sources_free(s);
  }
  rgt_set_alloc(NULL, NULL);
  assert_int_equal(status, RGT_OK);
  assert_int_equal(n, 7); /* the object, the list, two of each text and name; and the try that went through */
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_root, remove_root)
int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(builtin), TEST(folder), TEST(refuses), TEST(loops_end), TEST(no_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
