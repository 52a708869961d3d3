/* test_file.c -- whole files in a scratch folder: reads, atomic writes, folders, programs, and what each refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/file.h"

static char root[64];

static const char *in(const char *name) { /* a path below the scratch folder, good until the fourth next call */
  static char paths[4][256];
  static int turn;
  char *path = paths[turn++ % 4];
  snprintf(path, 256, "%s/%s", root, name);
  return path;
}

static int make_root(void **state) {
  (void)state;
  strcpy(root, "/tmp/rgt-file-XXXXXX");
  return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state) {
  (void)state;
  char command[256];
  snprintf(command, sizeof command, "chmod -R u+rwx %s; rm -rf %s", root, root);
  return system(command);
}

static int count_entries(const char *path) {
  int n = 0;
  DIR *dir = opendir(path);
  assert_non_null(dir);
  for (struct dirent *e; (e = readdir(dir));) n += e->d_name[0] != '.';
  closedir(dir);
  return n;
}

static void write_and_read(void **state) {
  (void)state;
  rgt__buffer b = {0};
  rgt__error err = {{0}};
  struct stat st;
  assert_int_equal(rgt__file_write(in("a"), "one\0two", 7, 0600, &err), RGT_OK);
  assert_int_equal(stat(in("a"), &st), 0);
  assert_int_equal(st.st_mode & 07777, 0600);
  rgt__buffer_text(&b, "before ");
  assert_int_equal(rgt__file_read(in("a"), 7, &b, &err), RGT_OK); /* exactly the limit */
  assert_int_equal(b.size, 14);
  assert_memory_equal(b.data, "before one\0two", 15);
  assert_int_equal(rgt__file_write(in("a"), "new", 3, 0644, &err), RGT_OK); /* replaces */
  rgt__buffer_clear(&b);
  assert_int_equal(rgt__file_read(in("a"), 100, &b, &err), RGT_OK);
  assert_string_equal(b.data, "new");
  assert_int_equal(stat(in("a"), &st), 0);
  assert_int_equal(st.st_mode & 07777, 0644);
  rgt__buffer_free(&b);
  assert_int_equal(rgt__file_write(in("empty"), NULL, 0, 0600, &err), RGT_OK);
  assert_int_equal(rgt__file_read(in("empty"), 0, &b, &err), RGT_OK);
  assert_string_equal(b.data, "");
  rgt__buffer_free(&b);
  assert_int_equal(count_entries(root), 2); /* no temporary file stays */
}

static void big(void **state) {
  (void)state;
  enum { N = 100003 };
  static char data[N];
  rgt__buffer b = {0};
  for (int i = 0; i < N; i++) data[i] = (char)(i * 7 + i / 251);
  assert_int_equal(rgt__file_write(in("big"), data, N, 0600, NULL), RGT_OK);
  assert_int_equal(rgt__file_read(in("big"), 1 << 20, &b, NULL), RGT_OK);
  assert_int_equal(b.size, N);
  assert_memory_equal(b.data, data, N);
  rgt__buffer_free(&b);
}

static void read_refuses(void **state) {
  (void)state;
  rgt__buffer b = {0};
  rgt__error err;
  char expected[512];
  rgt__buffer_text(&b, "kept");
  assert_int_equal(rgt__file_read(in("none"), 9, &b, &err), RGT_EIO);
  snprintf(expected, sizeof expected, "cannot open %s: No such file or directory", in("none"));
  assert_string_equal(err.text, expected);
  assert_int_equal(rgt__file_read(root, 9, &b, &err), RGT_EIO);
  snprintf(expected, sizeof expected, "%s: not a regular file", root);
  assert_string_equal(err.text, expected);
  assert_int_equal(mkfifo(in("fifo"), 0600), 0);
  assert_int_equal(rgt__file_read(in("fifo"), 9, &b, &err), RGT_EIO); /* and does not hang */
  rgt__file_write(in("ten"), "0123456789", 10, 0600, NULL);
  assert_int_equal(rgt__file_read(in("ten"), 9, &b, &err), RGT_EIO);
  snprintf(expected, sizeof expected, "%s: larger than 9 bytes, the most that is read", in("ten"));
  assert_string_equal(err.text, expected);
  assert_int_equal(b.size, 4);
  assert_string_equal(b.data, "kept");
  assert_int_equal(b.failed, 0);
  rgt__buffer_free(&b);
}

static void write_refuses(void **state) {
  (void)state;
  rgt__error err;
  assert_int_equal(rgt__file_write(in("no/such"), "x", 1, 0600, &err), RGT_EIO);
  assert_non_null(strstr(err.text, "No such file or directory"));
  assert_int_equal(mkdir(in("folder"), 0700), 0);
  assert_int_equal(rgt__file_write(in("folder"), "x", 1, 0600, &err), RGT_EIO); /* rename onto a folder */
  assert_non_null(strstr(err.text, "cannot replace"));
  assert_int_equal(count_entries(root), 1);
}

static void *none(void *user, void *p, size_t bytes) {
  (void)user;
  if (!bytes) free(p);
  return NULL;
}

static void no_memory(void **state) {
  (void)state;
  rgt__buffer b = {0};
  rgt__error err;
  rgt__file_write(in("a"), "abc", 3, 0600, NULL);
  rgt_set_alloc(none, NULL);
  rgt_status read = rgt__file_read(in("a"), 9, &b, &err), write = rgt__file_write(in("a"), "x", 1, 0600, &err);
  rgt_status folder = rgt__file_make_folder(in("f"), &err);
  rgt_set_alloc(NULL, NULL);
  assert_int_equal(read, RGT_ENOMEM);
  assert_int_equal(write, RGT_ENOMEM);
  assert_int_equal(folder, RGT_ENOMEM);
}

static void folders(void **state) {
  (void)state;
  struct stat st;
  rgt__error err;
  mode_t old = umask(0);
  assert_int_equal(rgt__file_make_folder(in("x/y//z/"), &err), RGT_OK);
  umask(old);
  static const char *const made[] = {"x", "x/y", "x/y/z"};
  for (int i = 0; i < 3; i++) {
    assert_int_equal(stat(in(made[i]), &st), 0);
    assert_true(S_ISDIR(st.st_mode));
    assert_int_equal(st.st_mode & 07777, 0700);
  }
  assert_int_equal(chmod(in("x"), 0755), 0);
  assert_int_equal(rgt__file_make_folder(in("x/y/z"), &err), RGT_OK); /* there already */
  assert_int_equal(stat(in("x"), &st), 0);
  assert_int_equal(st.st_mode & 07777, 0755); /* left as it was */
  assert_int_equal(rgt__file_make_folder("/", &err), RGT_OK);
  rgt__file_write(in("x/file"), "", 0, 0600, NULL);
  assert_int_equal(rgt__file_make_folder(in("x/file/more"), &err), RGT_EIO);
  assert_non_null(strstr(err.text, "cannot make folder"));
  assert_non_null(strstr(err.text, "x/file: "));
  assert_int_equal(rgt__file_make_folder("", &err), RGT_EIO);
  char here[256];
  assert_non_null(getcwd(here, sizeof here));
  assert_int_equal(chdir(root), 0);
  assert_int_equal(rgt__file_make_folder("rel/ative", &err), RGT_OK);
  assert_int_equal(chdir(here), 0);
  assert_int_equal(stat(in("rel/ative"), &st), 0);
}

static void private(void **state) {
  (void)state;
  rgt__error err;
  assert_int_equal(rgt__file_private(root, &err), RGT_OK);
  assert_int_equal(chmod(root, 0755), 0); /* others may read */
  assert_int_equal(rgt__file_private(root, &err), RGT_OK);
  static const mode_t open_modes[] = {0720, 0702, 01777};
  for (int i = 0; i < 3; i++) {
    assert_int_equal(chmod(root, open_modes[i]), 0);
    assert_int_equal(rgt__file_private(root, &err), RGT_EIO);
    assert_non_null(strstr(err.text, "others can write to it (mode "));
  }
  assert_int_equal(chmod(root, 0700), 0);
  rgt__file_write(in("file"), "", 0, 0600, NULL);
  assert_int_equal(rgt__file_private(in("file"), &err), RGT_EIO);
  assert_non_null(strstr(err.text, "not a folder"));
  assert_int_equal(rgt__file_private(in("none"), &err), RGT_EIO);
  assert_int_equal(symlink(root, in("link")), 0);
  assert_int_equal(rgt__file_private(in("link"), &err), RGT_OK);
  if (geteuid()) assert_int_equal(rgt__file_private("/", &err), RGT_EIO); /* root's */
}

/* A folder of another user: only root can make one, and only then is this more than the last line above. */
static void foreign(void **state) {
  (void)state;
  rgt__error err;
  char expected[256];
  if (geteuid()) skip();
  assert_int_equal(mkdir(in("theirs"), 0700), 0);
  assert_int_equal(chown(in("theirs"), 12345, (gid_t)-1), 0);
  assert_int_equal(rgt__file_private(in("theirs"), &err), RGT_EIO);
  snprintf(expected, sizeof expected, "%s: belongs to user 12345, not to user 0", in("theirs"));
  assert_string_equal(err.text, expected);
  assert_int_equal(symlink(root, in("their-link")), 0);
  assert_int_equal(lchown(in("their-link"), 12345, (gid_t)-1), 0);
  assert_int_equal(rgt__file_private(in("their-link"), &err), RGT_EIO);
}

static void programs(void **state) {
  (void)state;
  char out[256], search[512], expected[256];
  rgt__file_make_folder(in("one"), NULL);
  rgt__file_make_folder(in("two/tool"), NULL); /* a folder of the name is no program */
  rgt__file_make_folder(in("three"), NULL);
  rgt__file_write(in("one/tool"), "", 0, 0600, NULL); /* nor a file that cannot run */
  rgt__file_write(in("three/tool"), "", 0, 0700, NULL);
  snprintf(search, sizeof search, "%s:%s:%s:%s", in("one"), in("two"), in("none"), in("three"));
  assert_int_equal(rgt__file_find_program("tool", search, out, sizeof out), 1);
  assert_string_equal(out, in("three/tool"));
  assert_int_equal(rgt__file_find_program("other", search, out, sizeof out), 0);
  assert_int_equal(rgt__file_find_program("", search, out, sizeof out), 0);
  assert_int_equal(rgt__file_find_program("tool", NULL, out, sizeof out), 0);
  assert_int_equal(rgt__file_find_program(in("three/tool"), NULL, out, sizeof out), 1); /* a path is itself */
  assert_string_equal(out, in("three/tool"));
  assert_int_equal(rgt__file_find_program(in("one/tool"), search, out, sizeof out), 0);
  snprintf(expected, sizeof expected, "%s/tool", in("three"));
  assert_int_equal(rgt__file_find_program("tool", search, out, strlen(expected) + 1), 1);
  assert_int_equal(rgt__file_find_program("tool", search, out, strlen(expected)), 0); /* does not fit */
  char here[256];
  assert_non_null(getcwd(here, sizeof here));
  assert_int_equal(chdir(in("three")), 0);
  assert_int_equal(rgt__file_find_program("tool", "/nowhere:", out, sizeof out), 1); /* an empty part of PATH */
  assert_int_equal(chdir(here), 0);
  assert_string_equal(out, "./tool");
}

static void joins(void **state) {
  (void)state;
  char out[8] = "before";
  rgt__error err;
  assert_int_equal(rgt__file_join(out, sizeof out, "abc", "def", &err), RGT_OK);
  assert_string_equal(out, "abc/def");
  assert_int_equal(rgt__file_join(out, sizeof out, "abc/", "de", &err), RGT_OK);
  assert_string_equal(out, "abc/de");
  assert_int_equal(rgt__file_join(out, sizeof out, "", "de", &err), RGT_OK);
  assert_string_equal(out, "de");
  assert_int_equal(rgt__file_join(out, sizeof out, "/", "de", &err), RGT_OK);
  assert_string_equal(out, "/de");
  assert_int_equal(rgt__file_join(out, sizeof out, "abcd", "efg", &err), RGT_EINVAL);
  assert_string_equal(err.text, "the path abcd/efg is 8 bytes long; at most 7 fit");
  assert_string_equal(out, "/de");
}

static void stamps(void **state) {
  (void)state;
  int64_t size = 0, time = 0;
  rgt__file_write(in("a"), "abcde", 5, 0600, NULL);
  const struct timespec times[2] = {{1, 2}, {1700000000, 123456789}};
  assert_int_equal(utimensat(AT_FDCWD, in("a"), times, 0), 0);
  assert_int_equal(rgt__file_stamp(in("a"), &size, &time), 1);
  assert_int_equal(size, 5);
  assert_true(time == 1700000000123456789);
  assert_int_equal(rgt__file_stamp(in("a"), NULL, NULL), 1);
  assert_int_equal(rgt__file_stamp(in("none"), &size, &time), 0);
  assert_int_equal(size, 5);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_root, remove_root)
int main(void) {
  const struct CMUnitTest tests[] = {TEST(write_and_read), TEST(big),     TEST(read_refuses), TEST(write_refuses),
                                     TEST(no_memory),      TEST(folders), TEST(private),      TEST(foreign),
                                     TEST(programs),       TEST(joins),   TEST(stamps)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
