/* test_npy.c -- .npy headers: what is read, what is refused, and that no bytes whatever do harm. */
#include "runtime/cli/message.c"
#include "runtime/cli/npy.c"
#include "runtime/cli/out_file.c"
#include "runtime/cli/progress.c"
#include "runtime/cli/units.c"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static char folder[] = "/tmp/ragtune-npy-XXXXXX";

static int make_folder(void **unused) {
  (void)unused;
  return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **unused) {
  DIR *dir = opendir(folder);
  struct dirent *entry;
  (void)unused;
  while (dir && (entry = readdir(dir)))
    if (entry->d_name[0] != '.') unlinkat(dirfd(dir), entry->d_name, 0);
  if (dir) closedir(dir);
  return rmdir(folder);
}

static const char *in_folder(const char *name) {
  static char path[128];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static int files_in_folder(void) {
  DIR *dir = opendir(folder);
  struct dirent *entry;
  int n = 0;
  while (dir && (entry = readdir(dir))) n += entry->d_name[0] != '.';
  if (dir) closedir(dir);
  return n;
}

static void put_file(const char *path, const void *data, size_t n) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, n, file), n);
  fclose(file);
}

/* format `major`.0 with this dictionary, in an exact allocation that ASan guards */
static unsigned char *make_header(int major, const char *dictionary, size_t *n) {
  size_t length = strlen(dictionary), start = major == 1 ? 10 : 12;
  unsigned char *bytes = malloc(start + length);
  assert_non_null(bytes);
  memcpy(bytes, "\x93NUMPY", 6);
  bytes[6] = (unsigned char)major;
  bytes[7] = 0;
  bytes[8] = (unsigned char)(length & 255);
  bytes[9] = (unsigned char)(length >> 8 & 255);
  if (start == 12) bytes[10] = bytes[11] = 0;
  memcpy(bytes + start, dictionary, length);
  *n = start + length;
  return bytes;
}

static rgt_status parse(int major, const char *dictionary, rgt__npy *a, rgt__message *m) {
  size_t n;
  unsigned char *bytes = make_header(major, dictionary, &n);
  rgt_status s = rgt__npy_parse(bytes, n, "f.npy", a, m);
  free(bytes);
  return s;
}

static void refused(const char *dictionary, const char *because) {
  rgt__npy a = {.n_dims = 77};
  rgt__message m = {0};
  assert_int_equal(parse(1, dictionary, &a, &m), RGT_EINVAL);
  if (!strstr(m.text, because) || strncmp(m.text, "f.npy: ", 7) != 0) fail_msg("%s: '%s'", dictionary, m.text);
  assert_int_equal(a.n_dims, 77); /* nothing is written on failure */
}

static void headers_that_are_read(void **unused) {
  rgt__npy a;
  rgt__message m;
  (void)unused;
  assert_int_equal(parse(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 20, 10), }   \n", &a, &m), RGT_OK);
  assert_int_equal(a.type, RGT_NPY_F4);
  assert_int_equal(a.n_dims, 3);
  assert_int_equal(a.shape[0], 3);
  assert_int_equal(a.shape[1], 20);
  assert_int_equal(a.shape[2], 10);
  assert_int_equal(a.elems, 600);
  assert_int_equal(a.bytes, 2400);
  assert_int_equal(a.data_offset, 10 + 68);
  assert_int_equal(parse(2, "{\"shape\":(7,),\"descr\":\"<i8\",\"fortran_order\":True}", &a, &m),
                   RGT_OK); /* any order; one dimension */
  assert_int_equal(a.type, RGT_NPY_I8);
  assert_int_equal(a.bytes, 56);
  assert_int_equal(a.data_offset, 12 + 49);
  assert_int_equal(parse(3, "{'fortran_order': False, 'shape': (), 'descr': '|V2'}\n", &a, &m), RGT_OK);
  assert_int_equal(a.type, RGT_NPY_V2);
  assert_int_equal(a.n_dims, 0);
  assert_int_equal(a.elems, 1);
  assert_int_equal(parse(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 9223372036854775807)}", &a, &m), RGT_OK);
  assert_int_equal(a.bytes, 0);
  for (int i = 0; i < RGT_N_NPY_TYPES; i++) {
    char text[128];
    static const size_t bytes[] = {4, 2, 8, 2, 2, 4, 8};
    snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (5,)}", types[i].name);
    assert_int_equal(parse(1, text, &a, &m), RGT_OK);
    assert_int_equal(a.type, i);
    assert_int_equal(a.bytes, 5 * bytes[i]);
  }
}

static void headers_that_are_refused(void **unused) {
  (void)unused;
  refused("{'descr': '>f4', 'fortran_order': False, 'shape': (3,)}", "big-endian");
  refused("{'descr': '<c8', 'fortran_order': False, 'shape': (3,)}", "type '<c8' is not read");
  refused("{'descr': '|u1', 'fortran_order': False, 'shape': (3,)}", "type '|u1' is not read");
  refused("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,)}", "structure");
  refused("{'descr': 4, 'fortran_order': False, 'shape': (3,)}", "'descr'");
  refused("{'descr': '<f4', 'fortran_order': True, 'shape': (3, 4)}", "Fortran order");
  refused("{'descr': '<f4', 'fortran_order': 0, 'shape': (3, 4)}", "'fortran_order'");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (3)}", "tuple");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': 3}", "tuple");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (3 4)}", "'shape'");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (,)}", "'shape'");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "'shape'");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (3L,)}", "'shape'");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (1,2,3,4)}", "more than 3");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,)}", "'shape'");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", "passes 2^63");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (2305843009213693952,)}", "passes 2^63");
  refused("{'descr': '<f4', 'fortran_order': False}", "lacks one of");
  refused("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", "twice");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'more': 1}", "something else");
  refused("{'descr': '<f4' 'fortran_order': False, 'shape': (3,)}", "comma");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)} x", "follows");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)", "comma or its end");
  refused("{ ", "no dictionary of names and values");
  refused("", "ends within");
}

static void beginnings_that_are_refused(void **unused) {
  rgt__npy a;
  rgt__message m;
  size_t n;
  unsigned char *bytes = make_header(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", &n);
  (void)unused;
  assert_int_equal(rgt__npy_parse(bytes, n, "f", &a, &m), RGT_OK);
  bytes[6] = 4;
  assert_int_equal(rgt__npy_parse(bytes, n, "f", &a, &m), RGT_EINVAL);
  assert_string_equal(m.text, "f: .npy format 4.0 is not read; want 1.0, 2.0 or 3.0");
  bytes[6] = 1;
  bytes[7] = 1;
  assert_int_equal(rgt__npy_parse(bytes, n, "f", &a, &m), RGT_EINVAL);
  bytes[7] = 0;
  bytes[0] = 'P';
  assert_int_equal(rgt__npy_parse(bytes, n, "f", &a, &m), RGT_EINVAL);
  assert_non_null(strstr(m.text, "does not begin as one"));
  bytes[0] = 0x93;
  bytes[9] = 0xff; /* a header longer than what is read */
  assert_int_equal(rgt__npy_parse(bytes, n, "f", &a, &m), RGT_EINVAL);
  free(bytes);
}

/* every prefix in an exact allocation: reading past its end is ASan's to see */
static void every_truncation_is_refused(void **unused) {
  static const char text[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 20, 10), }   \n";
  (void)unused;
  for (int major = 1; major <= 3; major++) {
    size_t n;
    unsigned char *bytes = make_header(major, text, &n);
    for (size_t k = 0; k < n; k++) {
      unsigned char *prefix = malloc(k ? k : 1);
      rgt__npy a;
      rgt__message m;
      assert_non_null(prefix);
      memcpy(prefix, bytes, k);
      assert_int_equal(rgt__npy_parse(prefix, k, "f", &a, &m), RGT_EINVAL);
      free(prefix);
    }
    free(bytes);
  }
}

static uint64_t next(uint64_t *s) { /* xorshift */
  *s ^= *s << 13;
  *s ^= *s >> 7;
  return *s ^= *s << 17;
}

/* What was accepted must be consistent; anything else must have said why. */
static void check_parsed(const unsigned char *bytes, size_t n) {
  rgt__npy a;
  rgt__message m = {0};
  if (rgt__npy_parse(bytes, n, "f", &a, &m) != RGT_OK) {
    assert_int_equal(m.status, RGT_EINVAL);
    assert_true(m.text[0] != 0);
    return;
  }
  assert_true(a.n_dims >= 0 && a.n_dims <= RGT_NPY_DIMS_MAX);
  assert_true((unsigned)a.type < RGT_N_NPY_TYPES);
  assert_true(a.data_offset <= n);
  assert_true(a.bytes == a.elems * types[a.type].bytes && a.bytes <= (size_t)INT64_MAX);
}

static void random_bytes_do_no_harm(void **unused) {
  static const char text[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 20, 10), }   \n";
  static const char alphabet[] = "{}()':, 0123456789<>|fuiV48descrfortran_ordershapeTrueFalse\"[]\\\n";
  uint64_t seed = 88172645463325252u;
  (void)unused;
  for (int round = 0; round < 30000; round++) {
    size_t n, from;
    unsigned char *bytes = make_header(1 + round % 3, text, &n);
    int changes = 1 + (int)(next(&seed) % 4);
    from = round % 5 == 0 ? 0 : (bytes[6] == 1 ? 10 : 12); /* mostly within the dictionary */
    for (int i = 0; i < changes; i++) {
      size_t at = from + next(&seed) % (n - from);
      bytes[at] = round % 2 ? (unsigned char)alphabet[next(&seed) % (sizeof alphabet - 1)] : (unsigned char)next(&seed);
    }
    check_parsed(bytes, n);
    free(bytes);
  }
  for (int round = 0; round < 5000; round++) {
    size_t n = next(&seed) % 200;
    unsigned char *bytes = malloc(n ? n : 1);
    assert_non_null(bytes);
    for (size_t i = 0; i < n; i++) bytes[i] = (unsigned char)next(&seed);
    if (n > 8) memcpy(bytes, "\x93NUMPY\x01\x00", 8);
    check_parsed(bytes, n);
    free(bytes);
  }
}

static void written_files_are_read_back(void **unused) {
  static const int64_t shape[3] = {2, 1, 3};
  static const float data[6] = {1.5f, -2, 0, 1e30f, -0.0f, 3};
  const char *path = in_folder("a.npy");
  unsigned char head[128];
  rgt__npy a = {0};
  rgt__message m;
  FILE *file;
  (void)unused;
  assert_int_equal(rgt__npy_write(path, RGT_NPY_F4, 3, shape, data, &m), RGT_OK);
  assert_int_equal(files_in_folder(), 1); /* no temporary file stays */
  file = fopen(path, "rb");
  assert_non_null(file);
  assert_int_equal(fread(head, 1, sizeof head, file), 128);
  fclose(file);
  assert_memory_equal(head, "\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1, 3), }", 72);
  assert_int_equal(head[127], '\n');
  assert_int_equal(rgt__npy_read(path, &a, &m), RGT_OK);
  assert_int_equal(a.type, RGT_NPY_F4);
  assert_int_equal(a.n_dims, 3);
  assert_memory_equal(a.shape, shape, sizeof shape);
  assert_memory_equal(a.data, data, sizeof data);
  assert_int_equal((uintptr_t)a.data % 64, 0);
  rgt__npy_free(&a);
  assert_null(a.data);
  unlink(path);
}

static void no_rows_is_an_array_too(void **unused) {
  static const int64_t shape[2] = {0, 8};
  const char *path = in_folder("none.npy");
  rgt__npy a = {0};
  rgt__message m;
  (void)unused;
  assert_int_equal(rgt__npy_write(path, RGT_NPY_I8, 2, shape, NULL, &m), RGT_OK);
  assert_int_equal(rgt__npy_read(path, &a, &m), RGT_OK);
  assert_int_equal(a.elems, 0);
  assert_int_equal(a.shape[1], 8);
  assert_non_null(a.data);
  rgt__npy_free(&a);
  unlink(path);
}

static void wrong_lengths_say_both_numbers(void **unused) {
  static const int64_t shape[2] = {3, 5};
  static const float data[15] = {0};
  const char *path = in_folder("b.npy");
  char want[256];
  rgt__npy a = {0};
  rgt__message m;
  FILE *file;
  (void)unused;
  assert_int_equal(rgt__npy_write(path, RGT_NPY_F4, 2, shape, data, &m), RGT_OK);
  assert_int_equal(truncate(path, 128 + 40), 0);
  assert_int_equal(rgt__npy_read(path, &a, &m), RGT_EINVAL);
  snprintf(want, sizeof want, "%s: truncated: 40 bytes of data are there, 60 are needed for <f4 (3, 5)", path);
  assert_string_equal(m.text, want);
  assert_null(a.data);
  assert_int_equal(truncate(path, 60), 0); /* within the header */
  assert_int_equal(rgt__npy_read(path, &a, &m), RGT_EINVAL);
  assert_non_null(strstr(m.text, "ends within its header"));
  assert_int_equal(rgt__npy_write(path, RGT_NPY_F4, 2, shape, data, &m), RGT_OK);
  file = fopen(path, "ab");
  assert_non_null(file);
  fputc(0, file);
  fclose(file);
  assert_int_equal(rgt__npy_read(path, &a, &m), RGT_EINVAL);
  snprintf(want, sizeof want, "%s: too long: 61 bytes of data are there, 60 are needed for <f4 (3, 5)", path);
  assert_string_equal(m.text, want);
  unlink(path);
}

/* a shape far beyond the file must be refused before memory is asked for */
static void huge_shapes_allocate_nothing(void **unused) {
  const char *path = in_folder("huge.npy");
  size_t n;
  unsigned char *bytes = make_header(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,)}\n", &n);
  rgt__npy a = {0};
  rgt__message m;
  (void)unused;
  put_file(path, bytes, n);
  free(bytes);
  assert_int_equal(rgt__npy_read(path, &a, &m), RGT_EINVAL);
  assert_non_null(strstr(m.text, "truncated: 0 bytes of data are there, 4000000000000 are needed"));
  unlink(path);
}

static void unreadable_paths(void **unused) {
  rgt__npy a = {0};
  rgt__message m;
  static const int64_t shape[1] = {1};
  char path[128], want[256];
  (void)unused;
  assert_int_equal(rgt__npy_read("/nonexistent/x.npy", &a, &m), RGT_EIO);
  assert_string_equal(m.text, "/nonexistent/x.npy: No such file or directory");
  assert_int_equal(rgt__npy_read(folder, &a, &m), RGT_EIO);
  assert_int_equal(rgt__npy_read("/dev/null", &a, &m), RGT_EIO);
  assert_int_equal(rgt__npy_write("/nonexistent/y.npy", RGT_NPY_F4, 1, shape, "abcd", &m), RGT_EIO);
  assert_string_equal(m.text, "/nonexistent/y.npy cannot be written: No such file or directory");
  assert_int_equal(rgt__npy_write("/dev/null", RGT_NPY_F4, 1, shape, "abcd", &m), RGT_EIO);
  assert_int_equal(access("/dev/null", F_OK), 0);
  snprintf(path, sizeof path, "%s/gone/y.npy", folder);
  snprintf(want, sizeof want, "%s cannot be written: No such file or directory", path);
  assert_int_equal(rgt__npy_write(path, RGT_NPY_F4, 1, shape, "abcd", &m), RGT_EIO);
  assert_string_equal(m.text, want);
  assert_int_equal(files_in_folder(), 0);
}

/* a link stays a link and its target gets the new text and keeps its mode */
static void links_are_followed(void **unused) {
  char target[128], link_path[128];
  struct stat info;
  rgt__out_part part = {"new", 3};
  rgt__message m;
  (void)unused;
  snprintf(target, sizeof target, "%s/target", folder);
  snprintf(link_path, sizeof link_path, "%s/link", folder);
  put_file(target, "old text", 8);
  assert_int_equal(chmod(target, 0640), 0);
  assert_int_equal(symlink(target, link_path), 0);
  assert_int_equal(rgt__out_file_write(link_path, &part, 1, &m), RGT_OK);
  assert_int_equal(lstat(link_path, &info), 0);
  assert_true(S_ISLNK(info.st_mode));
  assert_int_equal(stat(target, &info), 0);
  assert_int_equal(info.st_size, 3);
  assert_int_equal(info.st_mode & 07777, 0640);
  unlink(target);
  unlink(link_path);
}

static void shapes_are_written_as_numpy_writes_them(void **unused) {
  static const int64_t shape[3] = {8, 10, 0};
  char out[64];
  (void)unused;
  assert_string_equal(rgt__npy_shape(0, shape, out, sizeof out), "()");
  assert_string_equal(rgt__npy_shape(1, shape, out, sizeof out), "(8,)");
  assert_string_equal(rgt__npy_shape(3, shape, out, sizeof out), "(8, 10, 0)");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(headers_that_are_read),        cmocka_unit_test(headers_that_are_refused),
      cmocka_unit_test(beginnings_that_are_refused),  cmocka_unit_test(every_truncation_is_refused),
      cmocka_unit_test(random_bytes_do_no_harm),      cmocka_unit_test(written_files_are_read_back),
      cmocka_unit_test(no_rows_is_an_array_too),      cmocka_unit_test(wrong_lengths_say_both_numbers),
      cmocka_unit_test(huge_shapes_allocate_nothing), cmocka_unit_test(unreadable_paths),
      cmocka_unit_test(links_are_followed),           cmocka_unit_test(shapes_are_written_as_numpy_writes_them),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
