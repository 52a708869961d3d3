/* test_code_cache.c -- what was put comes back; what is damaged counts as absent; what others could write is not trusted. */
#include "runtime/code_cache.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/support/scratch.h"

static scratch s;
static rgt__code_cache *cache;

static const char bytes[] = "\177ELF binary \0 with a zero";
static const char source[] = "int source;\n";
static const char program_text[] =
    "rgt-program 1\nkargs 1\nvalid rows <= 99\nworkspace 8 * groups\nmemset offset 0 ; bytes 8 * groups ; value 3\n"
    "kernel work_1 grid ceil_div(rows, 4) ; block 128 ; shared 64 ; cluster 0\n";
static rgt__program program;
static rgt__digest key;
static char hex[RGT_DIGEST_HEX_MAX];

static int setup(void **state) {
  (void)state;
  scratch_open(&s);
  if (rgt__program_parse(program_text, &program, NULL) != RGT_OK) return 1;
  rgt__digest_of("a key", 5, &key);
  rgt__digest_hex(&key, hex);
  return rgt__code_cache_open(scratch_path(&s, "cache"), &cache, NULL) != RGT_OK;
}

static int teardown(void **state) {
  (void)state;
  rgt__code_cache_free(cache);
  scratch_close(&s);
  return 0;
}

static rgt__compiled compiled(void) {
  return (rgt__compiled){.code = (char *)(uintptr_t)bytes,
                         .code_bytes = sizeof bytes,
                         .registers = 40,
                         .shared_bytes = 1024,
                         .spill_bytes = 8,
                         .stack_bytes = 16};
}

static void put(void) {
  rgt__compiled c = compiled();
  rgt__error err = {""};
  if (rgt__code_cache_put(cache, &key, &c, &program, source, sizeof source - 1, &err) != RGT_OK) fail_msg("%s", err.text);
}

static const char *file(const char *suffix) {
  char name[150];
  snprintf(name, sizeof name, "cache/code/%.2s/%s%s", hex, hex, suffix);
  return scratch_path(&s, name);
}

static rgt_status get(rgt__code_entry *e) {
  memset(e, 0x7E, sizeof *e);
  return rgt__code_cache_get(cache, &key, e, NULL);
}

static void assert_hit(void) {
  rgt__code_entry *e = malloc(sizeof *e);
  rgt__buffer text = {0};
  assert_int_equal(get(e), RGT_OK);
  assert_string_equal(e->path, file(".bin"));
  assert_null(e->code);
  assert_int_equal(e->code_bytes, sizeof bytes);
  assert_int_equal(e->registers, 40);
  assert_int_equal(e->shared_bytes, 1024);
  assert_int_equal(e->spill_bytes, 8);
  assert_int_equal(e->stack_bytes, 16);
  rgt__program_format(&e->program, &text);
  assert_string_equal(text.data, program_text);
  rgt__buffer_free(&text);
  rgt__code_entry_free(e);
  free(e);
}

static void assert_miss(void) {
  rgt__code_entry *e = malloc(sizeof *e), *before = malloc(sizeof *e);
  memset(before, 0x7E, sizeof *before);
  assert_int_equal(get(e), RGT_EMISS);
  assert_memory_equal(e, before, sizeof *e); /* written only on success */
  free(e);
  free(before);
}

/* A miss that also clears the entry away, so that nobody reads it again. */
static void assert_removed(void) {
  char folder[240];
  assert_miss();
  snprintf(folder, sizeof folder, "%s", file(""));
  *strrchr(folder, '/') = 0;
  assert_int_equal(scratch_count(folder), 0);
}

static void read_file(const char *path, rgt__buffer *b) {
  memset(b, 0, sizeof *b);
  assert_int_equal(rgt__file_read(path, 1 << 20, b, NULL), RGT_OK);
}

static void write_file(const char *path, const void *data, size_t n) {
  assert_int_equal(rgt__file_write(path, data, n, 0600, NULL), RGT_OK);
}

/* ---- round trip ---- */

static void test_put_get(void **state) {
  (void)state;
  rgt__buffer b;
  struct stat st;
  assert_miss();
  put();
  assert_hit();
  assert_hit();
  read_file(file(".bin"), &b);
  assert_int_equal(b.size, sizeof bytes);
  assert_memory_equal(b.data, bytes, sizeof bytes);
  rgt__buffer_free(&b);
  read_file(file(".src"), &b);
  assert_string_equal(b.data, source);
  rgt__buffer_free(&b);
  assert_int_not_equal(access(file(".ptx"), F_OK), 0);
  assert_int_equal(stat(file(".bin"), &st), 0);
  assert_int_equal(st.st_mode & 0777, 0600);
  assert_int_equal(stat(scratch_path(&s, "cache"), &st), 0);
  assert_int_equal(st.st_mode & 0777, 0700);
  assert_string_equal(rgt__code_cache_folder(cache), s.path);
  put(); /* once more over itself */
  assert_hit();
}

static void test_ptx(void **state) {
  (void)state;
  rgt__compiled c = compiled();
  rgt__buffer b;
  c.ptx = (char *)(uintptr_t) ".version 8.0";
  c.ptx_bytes = 12;
  assert_int_equal(rgt__code_cache_put(cache, &key, &c, &program, source, 1, NULL), RGT_OK);
  read_file(file(".ptx"), &b);
  assert_string_equal(b.data, ".version 8.0");
  rgt__buffer_free(&b);
  assert_hit();
}

static void test_without_folder(void **state) {
  (void)state;
  rgt__code_cache *none = NULL;
  rgt__compiled c = compiled();
  rgt__digest out;
  rgt__code_entry *e = malloc(sizeof *e);
  assert_int_equal(rgt__code_cache_open(NULL, &none, NULL), RGT_OK);
  assert_string_equal(rgt__code_cache_folder(none), "");
  assert_int_equal(rgt__code_cache_put(none, &key, &c, &program, source, 1, NULL), RGT_OK);
  assert_int_equal(rgt__code_cache_get(none, &key, e, NULL), RGT_EMISS);
  assert_int_equal(rgt__code_cache_map_put(none, &key, &key, NULL), RGT_OK);
  assert_int_equal(rgt__code_cache_map_get(none, &key, &out), RGT_EMISS);
  rgt__code_cache_free(none);
  rgt__code_cache_free(NULL);
  rgt__code_entry_free(NULL);
  free(e);
}

/* The time of .program is that of the last use, to an hour. */
static void test_touched_on_use(void **state) {
  (void)state;
  struct stat st;
  time_t now = time(NULL);
  const struct timespec old[2] = {{.tv_sec = now - 7200}, {.tv_sec = now - 7200}},
                        fresh[2] = {{.tv_sec = now - 600}, {.tv_sec = now - 600}};
  put();
  assert_int_equal(utimensat(AT_FDCWD, file(".program"), old, 0), 0);
  assert_hit();
  assert_int_equal(stat(file(".program"), &st), 0);
  assert_true(st.st_mtime >= now - 1);
  assert_int_equal(utimensat(AT_FDCWD, file(".program"), fresh, 0), 0);
  assert_hit();
  assert_int_equal(stat(file(".program"), &st), 0);
  assert_int_equal(st.st_mtime, now - 600);
}

/* ---- damage ---- */

static void test_flipped_bits(void **state) {
  (void)state;
  static const char *const suffixes[] = {".bin", ".program"};
  for (size_t f = 0; f < 2; f++) {
    put();
    rgt__buffer b;
    read_file(file(suffixes[f]), &b);
    size_t n = b.size;
    for (size_t i = 0; i<n; i += n> 60 ? 7 : 1) { /* every seventh byte of the longer file, all of the other */
      put();
      b.data[i] ^= 1;
      write_file(file(suffixes[f]), b.data, n);
      b.data[i] ^= 1;
      assert_removed();
    }
    rgt__buffer_free(&b);
  }
  put();
  assert_hit();
}

/* A formula that still parses, but says something else: the worst of all damages. */
static void test_altered_formula(void **state) {
  (void)state;
  rgt__buffer b;
  put();
  read_file(file(".program"), &b);
  char *at = strstr(b.data, "workspace 8 * groups");
  assert_non_null(at);
  at[strlen("workspace ")] = '4';
  write_file(file(".program"), b.data, b.size);
  rgt__buffer_free(&b);
  assert_removed();
}

static void test_cut_off(void **state) {
  (void)state;
  static const char *const suffixes[] = {".bin", ".program"};
  for (size_t f = 0; f < 2; f++) {
    put();
    rgt__buffer b;
    read_file(file(suffixes[f]), &b);
    const size_t lengths[] = {0, 1, 20, b.size / 2, b.size - 1};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
      put();
      write_file(file(suffixes[f]), b.data, lengths[i]);
      assert_removed();
    }
    put();
    rgt__buffer_add(&b, "\n", 1); /* or longer */
    write_file(file(suffixes[f]), b.data, b.size);
    assert_removed();
    rgt__buffer_free(&b);
  }
}

static void test_missing_files(void **state) {
  (void)state;
  put();
  assert_int_equal(unlink(file(".bin")), 0);
  assert_removed();
  put();
  assert_int_equal(unlink(file(".program")), 0); /* not published yet: another process may be writing it */
  assert_miss();
  assert_int_equal(access(file(".bin"), F_OK), 0);
  put();
  assert_int_equal(unlink(file(".src")), 0); /* nobody needs it */
  assert_hit();
}

static void test_other_kargs_version(void **state) {
  (void)state;
  program.kargs_version = RGT_KARGS_VERSION + 1;
  put();
  assert_removed();
}

static void test_other_format(void **state) {
  (void)state;
  put();
  write_file(file(".program"), "ragtune-code 1 00\n", 18);
  assert_removed();
  put();
  write_file(file(".program"), "\0\0\0\0", 4);
  assert_removed();
}

/* What cannot be read at the moment is no damage: the entry stays. */
static void test_out_of_memory(void **state) {
  (void)state;
  rgt__code_entry *e = malloc(sizeof *e);
  rgt__error err = {""};
  int failures = 0;
  put();
  for (int n = 0; n < 20; n++) {
    scratch_fail_after(n);
    rgt_status status = rgt__code_cache_get(cache, &key, e, &err);
    scratch_fail_never();
    if (status == RGT_OK) break;
    assert_int_equal(status, RGT_ENOMEM);
    failures++;
  }
  assert_true(failures >= 3 && failures < 20);
  free(e);
  assert_hit();
}

static void test_out_of_memory_writing(void **state) {
  (void)state;
  rgt__compiled c = compiled();
  int failures = 0;
  for (int n = 0; n < 60; n++) {
    scratch_fail_after(n);
    rgt_status status = rgt__code_cache_put(cache, &key, &c, &program, source, sizeof source - 1, NULL);
    scratch_fail_never();
    if (status == RGT_OK) break;
    assert_int_equal(status, RGT_ENOMEM);
    failures++;
  }
  assert_true(failures >= 3 && failures < 60);
  assert_hit();
}

static void test_symbolic_names(void **state) {
  (void)state;
  put();
  assert_int_equal(unlink(file(".bin")), 0);
  assert_int_equal(mkdir(file(".bin"), 0700), 0); /* a folder in its place: a miss, and no crash */
  assert_miss();
  assert_int_equal(rmdir(file(".bin")), 0);
}

/* ---- folders ---- */

static void refused(const char *folder, const char *expected) {
  rgt__code_cache *c = NULL;
  rgt__error err = {""};
  assert_int_equal(rgt__code_cache_open(folder, &c, &err), RGT_EIO);
  assert_null(c);
  assert_non_null(strstr(err.text, expected));
}

static void test_folders(void **state) {
  (void)state;
  char folder[240], name[1000];
  rgt__code_cache *c = NULL;
  snprintf(folder, sizeof folder, "%s", scratch_path(&s, "shared"));
  assert_int_equal(mkdir(folder, 0700), 0);
  assert_int_equal(chmod(folder, 0777), 0);
  refused(folder, "others can write to it (mode 0777)");
  assert_int_equal(chmod(folder, 0770), 0);
  refused(folder, "others can write to it (mode 0770)");
  assert_int_equal(chmod(folder, 0755), 0); /* reading is no harm */
  assert_int_equal(rgt__code_cache_open(folder, &c, NULL), RGT_OK);
  rgt__code_cache_free(c);
  for (int i = 0; i < 2; i++) { /* nor may they write below it */
    char below[260];
    snprintf(below, sizeof below, "%s/%s", folder, i ? "map" : "code");
    assert_int_equal(mkdir(below, 0700), 0);
    assert_int_equal(rgt__code_cache_open(folder, &c, NULL), RGT_OK);
    rgt__code_cache_free(c);
    c = NULL;
    assert_int_equal(chmod(below, 0777), 0);
    refused(folder, i ? "map: others can write to it" : "code: others can write to it");
    assert_int_equal(chmod(below, 0700), 0);
  }
  scratch_write(&s, "a_file", "", 0600);
  refused(scratch_path(&s, "a_file"), "a_file");
  refused(scratch_path(&s, "a_file/below"), "a_file");
  refused("", "empty");
  memset(name, 'x', sizeof name);
  name[0] = '/';
  name[sizeof name - 1] = 0;
  refused(name, "path too long");
  c = NULL;
  scratch_fail_after(0);
  assert_int_equal(rgt__code_cache_open(folder, &c, NULL), RGT_ENOMEM);
  scratch_fail_never();
  assert_null(c);
}

/* The longest folder that is accepted leaves room for every name in it. */
static void test_longest_folder(void **state) {
  (void)state;
  char folder[1024];
  rgt__code_cache *c = NULL, *keep = cache;
  size_t n = strlen(s.folder);
  memset(folder, 'd', 895);
  memcpy(folder, s.folder, n);
  for (; n < 890; n += 200) folder[n] = '/';
  folder[895] = 0;
  assert_int_equal(strlen(folder), 895);
  assert_int_equal(rgt__code_cache_open(folder, &c, NULL), RGT_OK);
  cache = c;
  put();
  cache = keep;
  rgt__code_entry *e = malloc(sizeof *e);
  assert_int_equal(rgt__code_cache_get(c, &key, e, NULL), RGT_OK);
  assert_int_equal(strlen(e->path), 895 + strlen("/code/ab/.bin") + 64);
  free(e);
  rgt__code_cache_free(c);
}

static void test_cannot_write(void **state) {
  (void)state;
  rgt__compiled c = compiled();
  rgt__error err = {""};
  scratch_write(&s, "cache/code", "in the way", 0600);
  assert_int_equal(rgt__code_cache_put(cache, &key, &c, &program, source, 1, &err), RGT_EIO);
  assert_true(err.text[0]);
  assert_miss();
  scratch_write(&s, "cache/map", "in the way", 0600);
  assert_int_equal(rgt__code_cache_map_put(cache, &key, &key, &err), RGT_EIO);
}

/* ---- map ---- */

static void test_map(void **state) {
  (void)state;
  rgt__digest local, other, out, untouched;
  char name[120], text[80];
  rgt__digest_of("local", 5, &local);
  rgt__digest_of("other", 5, &other);
  memset(&out, 0x11, sizeof out);
  untouched = out;
  assert_int_equal(rgt__code_cache_map_get(cache, &local, &out), RGT_EMISS);
  assert_true(rgt__digest_equal(&out, &untouched));
  assert_int_equal(rgt__code_cache_map_put(cache, &local, &key, NULL), RGT_OK);
  assert_int_equal(rgt__code_cache_map_get(cache, &local, &out), RGT_OK);
  assert_true(rgt__digest_equal(&out, &key));
  assert_int_equal(rgt__code_cache_map_put(cache, &local, &other, NULL), RGT_OK); /* the later one counts */
  assert_int_equal(rgt__code_cache_map_get(cache, &local, &out), RGT_OK);
  assert_true(rgt__digest_equal(&out, &other));
  assert_int_equal(rgt__code_cache_map_get(cache, &other, &out), RGT_EMISS);
  /* damaged: a miss */
  rgt__digest_hex(&local, text);
  snprintf(name, sizeof name, "cache/map/%.2s/%s", text, text);
  static const char *const damaged[] = {"", "zz", "12345678123456781234567812345678123456781234567812345678123456789"};
  out = untouched;
  for (size_t i = 0; i < sizeof damaged / sizeof damaged[0]; i++) {
    scratch_write(&s, name, damaged[i], 0600);
    assert_int_equal(rgt__code_cache_map_get(cache, &local, &out), RGT_EMISS);
    assert_true(rgt__digest_equal(&out, &untouched));
  }
}

/* ---- keys ---- */

static void test_keys(void **state) {
  (void)state;
  rgt__digest a, b, k[5];
  rgt__digest_of("a", 1, &a);
  rgt__digest_of("b", 1, &b);
  rgt__code_cache_key(&a, "gcc 12", "plain", &k[0]);
  rgt__code_cache_key(&b, "gcc 12", "plain", &k[1]);
  rgt__code_cache_key(&a, "gcc 13", "plain", &k[2]);
  rgt__code_cache_key(&a, "gcc 12", "x86-64-avx2", &k[3]);
  rgt__code_cache_key(&a, "gcc 12plain", "", &k[4]); /* fields do not run into each other */
  for (int i = 0; i < 5; i++)
    for (int j = 0; j < i; j++) assert_false(rgt__digest_equal(&k[i], &k[j]));
  rgt__code_cache_key(&a, "gcc 12", "plain", &b);
  assert_true(rgt__digest_equal(&b, &k[0]));
}

/* ---- two processes ---- */

/* Both put the same entry again and again, while this one reads: what is read is whole or absent, and whole in the end. */
static void test_two_processes(void **state) {
  (void)state;
  enum { TURNS = 60 };
  pid_t child[2];
  for (int c = 0; c < 2; c++) {
    child[c] = fork();
    assert_true(child[c] >= 0);
    if (child[c] > 0) continue;
    rgt__compiled code = compiled();
    int failed = 0;
    for (int i = 0; i < TURNS; i++)
      failed |= rgt__code_cache_put(cache, &key, &code, &program, source, sizeof source - 1, NULL) != RGT_OK;
    _exit(failed);
  }
  rgt__code_entry *e = malloc(sizeof *e);
  int running = 2, n_hits = 0;
  while (running > 0) {
    rgt_status status = get(e);
    assert_true(status == RGT_OK || status == RGT_EMISS);
    if (status == RGT_OK) {
      n_hits++;
      assert_int_equal(e->code_bytes, sizeof bytes);
    }
    int ended = 0;
    if (waitpid(-1, &ended, WNOHANG) > 0) {
      assert_true(WIFEXITED(ended));
      assert_int_equal(WEXITSTATUS(ended), 0);
      running--;
    }
  }
  free(e);
  assert_true(n_hits > 0);
  assert_hit();
  char folder[240];
  snprintf(folder, sizeof folder, "%s", file(""));
  *strrchr(folder, '/') = 0;
  assert_int_equal(scratch_count(folder), 3); /* no temporary file is left */
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
  const struct CMUnitTest tests[] = {TEST(test_put_get),
                                     TEST(test_touched_on_use),
                                     TEST(test_ptx),
                                     TEST(test_without_folder),
                                     TEST(test_flipped_bits),
                                     TEST(test_altered_formula),
                                     TEST(test_cut_off),
                                     TEST(test_missing_files),
                                     TEST(test_other_kargs_version),
                                     TEST(test_other_format),
                                     TEST(test_out_of_memory),
                                     TEST(test_out_of_memory_writing),
                                     TEST(test_symbolic_names),
                                     TEST(test_folders),
                                     TEST(test_longest_folder),
                                     TEST(test_cannot_write),
                                     TEST(test_map),
                                     TEST(test_keys),
                                     TEST(test_two_processes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
