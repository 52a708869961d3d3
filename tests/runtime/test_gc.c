/* test_gc.c -- what is removed, in which order and why; what stays whatever the quota; and that nothing breaks beside it. */
#include "runtime/gc.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "runtime/base/random.h"
#include "tests/faults/tally.h"
#include "tests/support/front.h"

enum { CODE_BYTES = 1000, ENTRIES = 10 };

static front f;
static rgt__program program;
static rgt__code_cache *cache;
static char told[8000]; /* path: why, a line each */
static int n_told, stop_after;

static int setup(void **state) {
  (void)state;
  front_begin(&f);
  told[0] = 0;
  n_told = 0;
  stop_after = 1 << 30;
  setenv("TMPDIR", f.s.folder, 1);
  if (rgt__program_parse("rgt-program 1\nkargs 1\nvalid 1\nworkspace 16\n", &program, NULL) != RGT_OK) return 1;
  program.kargs_version = RGT_KARGS_VERSION;
  return rgt__code_cache_open(f.cache, &cache, NULL) != RGT_OK;
}

static int teardown(void **state) {
  (void)state;
  rgt__code_cache_free(cache);
  front_end(&f);
  return 0;
}

static rgt__digest key_of(int i) {
  rgt__digest key;
  rgt__digest_of(&i, sizeof i, &key);
  return key;
}

static const char *entry_file(int i, const char *suffix) {
  static char path[400];
  char hex[RGT_DIGEST_HEX_MAX];
  rgt__digest key = key_of(i);
  rgt__digest_hex(&key, hex);
  snprintf(path, sizeof path, "%s/code/%.2s/%s%s", f.cache, hex, hex, suffix);
  return path;
}

static void age(const char *path, int64_t seconds) {
  struct timespec at[2] = {{.tv_sec = time(NULL) - seconds}, {.tv_sec = time(NULL) - seconds}};
  if (utimensat(AT_FDCWD, path, at, AT_SYMLINK_NOFOLLOW) != 0) fail_msg("%s is not there", path);
}

static void put_into(rgt__code_cache *c, int i) {
  char code[CODE_BYTES];
  rgt__digest key = key_of(i);
  memset(code, 'a' + i % 26, sizeof code);
  rgt__compiled compiled = {.code = code, .code_bytes = sizeof code};
  rgt__error err = {""};
  if (rgt__code_cache_put(c, &key, &compiled, &program, "source", 6, &err) != RGT_OK) fail_msg("%s", err.text);
}

/* ENTRIES entries; number i was used ENTRIES - i hours ago. */
static void fill(void) {
  for (int i = 0; i < ENTRIES; i++) {
    put_into(cache, i);
    age(entry_file(i, ".program"), (ENTRIES - i) * 3600);
  }
}

static int there(int i) {
  int n = (access(entry_file(i, ".program"), F_OK) == 0) + (access(entry_file(i, ".bin"), F_OK) == 0) +
          (access(entry_file(i, ".src"), F_OK) == 0);
  if (n != 0 && n != 3) fail_msg("%d of 3 files of entry %d are there", n, i);
  return n == 3;
}

static int tell(void *user, const rgt_gc_item *item) {
  size_t at = strlen(told);
  (void)user;
  if (n_told++ >= stop_after) return 1;
  assert_true(item->bytes >= 0);
  snprintf(told + at, sizeof told - at, "%s: %s\n", item->path, item->why);
  return 0;
}

static int pinned_number = -1;

static rgt_status pin_one(void *user, rgt__pinned *out) {
  (void)user;
  if (pinned_number < 0) return RGT_OK;
  out->keys = rgt__alloc(sizeof *out->keys);
  out->keys[0] = key_of(pinned_number);
  out->n = out->room = 1;
  return RGT_OK;
}

static rgt__gc sweep(int64_t quota_bytes, int dry_run) {
  rgt__gc g = {.dry_run = dry_run, .fn = tell};
  rgt__error err = {""};
  told[0] = 0;
  n_told = 0;
  if (rgt__cache_sweep(&g, cache, quota_bytes, 0, pin_one, NULL, &err) != RGT_OK) fail_msg("%s", err.text);
  return g;
}

static int64_t entry_bytes(void) {
  struct stat st;
  int64_t bytes = 0;
  static const char *const suffixes[] = {".program", ".bin", ".src"};
  for (int i = 0; i < 3; i++) {
    assert_int_equal(stat(entry_file(0, suffixes[i]), &st), 0);
    bytes += st.st_size;
  }
  return bytes;
}

/* ---- the quota ---- */

static void least_recently_used_goes_first(void **state) {
  (void)state;
  fill();
  int64_t one = entry_bytes();
  pinned_number = -1;
  rgt__gc g = sweep(ENTRIES * one, 0);
  assert_int_equal(g.total.n_removed, 0);
  assert_int_equal(g.total.cache_bytes, ENTRIES * one);
  assert_int_equal(g.total.n_entries, ENTRIES);
  g = sweep(-1, 0); /* no quota */
  assert_int_equal(g.total.n_removed, 0);
  g = sweep(6 * one + 1, 1); /* dry */
  assert_int_equal(g.total.n_removed, 4);
  assert_int_equal(g.total.kept_bytes, 6 * one);
  for (int i = 0; i < ENTRIES; i++) assert_true(there(i));
  char dry[sizeof told];
  strcpy(dry, told);
  g = sweep(6 * one + 1, 0);
  assert_string_equal(told, dry); /* what was said would go went */
  assert_int_equal(g.total.removed_bytes, 4 * one);
  assert_int_equal(g.total.kept_bytes, 6 * one);
  for (int i = 0; i < ENTRIES; i++) assert_int_equal(there(i), i >= 4);
  const char *first = strstr(told, entry_file(0, ".program"));
  assert_ptr_equal(first, told);
  assert_non_null(strstr(told, "last used 10 hours ago"));
  age(entry_file(5, ".program"), 86400 * 3);
  sweep(6 * one - 1, 0);
  assert_false(there(5));
  assert_true(there(4));
  assert_non_null(strstr(told, "last used 3 days ago"));
}

static void what_is_needed_stays(void **state) {
  (void)state;
  rgt__digest held = key_of(1), made = key_of(2);
  rgt__flight flight;
  rgt__code_cache *other = NULL;
  fill();
  int64_t one = entry_bytes();
  pinned_number = 0;
  assert_int_equal(rgt__code_cache_open(f.cache, &other, NULL), RGT_OK);
  rgt__code_cache_hold(other, &held); /* by another context of this process */
  rgt__code_cache_hold(other, &held);
  assert_int_equal(rgt__code_cache_begin(cache, &made, NULL, &flight), RGT_FLIGHT_MINE);
  rgt__gc g = sweep(0, 0);
  assert_int_equal(g.total.n_pinned, 1);
  assert_int_equal(g.total.kept_bytes, 3 * one);
  for (int i = 0; i < ENTRIES; i++) assert_int_equal(there(i), i < 3);
  rgt__flight_end(&flight);
  rgt__code_cache_free(other); /* and closed */
  pinned_number = -1;
  g = sweep(0, 0);
  assert_int_equal(g.total.kept_bytes, 0);
}

static void use_counts(void **state) {
  (void)state;
  rgt__code_entry *e = malloc(sizeof *e);
  rgt__digest oldest = key_of(0);
  fill();
  int64_t one = entry_bytes();
  assert_int_equal(rgt__code_cache_get(cache, &oldest, e, NULL), RGT_OK);
  free(e);
  sweep(one, 0);
  for (int i = 0; i < ENTRIES; i++) assert_int_equal(there(i), i == 0);
}

/* ---- leftovers in the cache ---- */

static void leftovers_of_killed_processes(void **state) {
  (void)state;
  char path[500];
  rgt__flight flight;
  rgt__digest lone = key_of(77), code = key_of(3), gone = key_of(99);
  fill();
  scratch_write(&f.s, "x", "", 0600);
  /* half an entry, young and old */
  for (int i = 0; i < 2; i++) {
    assert_int_equal(unlink(entry_file(i, ".program")), 0);
    if (i == 0) age(entry_file(i, ".bin"), 7200), age(entry_file(i, ".src"), 7200);
  }
  snprintf(path, sizeof path, "%s.tmp-abc123", entry_file(4, ".bin"));
  assert_int_equal(rgt__file_write(path, "x", 1, 0600, NULL), 0);
  sweep(-1, 0);
  assert_non_null(strstr(told, "half an entry"));
  assert_int_equal(access(path, F_OK), 0); /* an hour is left to whoever writes it */
  age(path, 7200);
  /* locks, of the living and of the dead */
  char living[500], dead[500];
  assert_int_equal(rgt__code_cache_begin(cache, &code, NULL, &flight), RGT_FLIGHT_MINE);
  snprintf(living, sizeof living, "%s", entry_file(3, ".lock"));
  snprintf(dead, sizeof dead, "%s", entry_file(5, ".lock"));
  assert_int_equal(rgt__file_write(dead, "", 0, 0600, NULL), 0);
  age(living, 7200);
  age(dead, 7200);
  /* the map: one that leads to code, one that leads nowhere */
  char hex[RGT_DIGEST_HEX_MAX], leads[500], nowhere[500];
  assert_int_equal(rgt__code_cache_map_put(cache, &lone, &code, NULL), RGT_OK);
  assert_int_equal(rgt__code_cache_map_put(cache, &code, &gone, NULL), RGT_OK);
  rgt__digest_hex(&lone, hex);
  snprintf(leads, sizeof leads, "%s/map/%.2s/%s", f.cache, hex, hex);
  rgt__digest_hex(&code, hex);
  snprintf(nowhere, sizeof nowhere, "%s/map/%.2s/%s", f.cache, hex, hex);
  age(leads, 7200);
  age(nowhere, 7200);
  sweep(-1, 0);
  assert_int_equal(access(entry_file(0, ".bin"), F_OK), -1);
  assert_int_equal(access(entry_file(0, ".src"), F_OK), -1);
  assert_int_equal(access(entry_file(1, ".bin"), F_OK), 0);
  assert_int_equal(access(path, F_OK), -1);
  assert_int_equal(access(living, F_OK), 0);
  assert_int_equal(access(dead, F_OK), -1);
  assert_int_equal(access(leads, F_OK), 0);
  assert_int_equal(access(nowhere, F_OK), -1);
  for (int i = 2; i < ENTRIES; i++) assert_true(there(i));
  rgt__flight_end(&flight);
}

/* ---- folders ---- */

static pid_t dead_process(void) {
  pid_t pid = fork();
  if (pid == 0) _exit(0);
  waitpid(pid, NULL, 0);
  return pid;
}

static void make_old_folder(char path[300], const char *format, int number) {
  char name[100], file[400];
  snprintf(name, sizeof name, format, number);
  snprintf(path, 300, "%s/%s", f.s.folder, name);
  assert_int_equal(mkdir(path, 0700), 0);
  snprintf(file, sizeof file, "%s/variant.c", path);
  assert_int_equal(rgt__file_write(file, "1234", 4, 0600, NULL), 0);
  age(path, 7200);
}

static void temporary_folders(void **state) {
  (void)state;
  rgt__gc g = {.fn = tell};
  char dead[300], alive[300], young[300], foreign[300], other[300];
  int gone = (int)dead_process();
  make_old_folder(dead, RGT_SCRATCH_NAME "%d-abcdef", gone);
  make_old_folder(alive, RGT_SCRATCH_NAME "%d-abcdef", (int)getpid());
  make_old_folder(young, RGT_SCRATCH_NAME "%d-young1", gone);
  age(young, 60);
  make_old_folder(foreign, "ragtune-backup%.0d", 0);
  make_old_folder(other, RGT_SCRATCH_NAME "%d-abcdefgh", gone);
  rgt__gc_scratch(&g, f.s.folder);
  assert_int_equal(access(dead, F_OK), -1);
  assert_int_equal(access(alive, F_OK), 0);
  assert_int_equal(access(young, F_OK), 0);
  assert_int_equal(access(foreign, F_OK), 0);
  assert_int_equal(access(other, F_OK), 0);
  assert_int_equal(g.total.n_removed, 1);
  assert_int_equal(g.total.removed_bytes, 4);
  rgt__gc_scratch(&g, "/nonexistent");
}

static void half_bundles(void **state) {
  (void)state;
  rgt__gc g = {.fn = tell};
  char half[300], whole[300], other[300];
  make_old_folder(whole, "bundle%.0d", 0);
  make_old_folder(half, "bundle.tmp-a1b2c3%.0d", 0);
  make_old_folder(other, "bundle2.tmp-a1b2c3%.0d", 0);
  rgt__gc_bundle(&g, whole);
  assert_int_equal(access(whole, F_OK), 0);
  assert_int_equal(access(half, F_OK), -1);
  assert_int_equal(access(other, F_OK), 0);
}

static void beside_the_database(void **state) {
  (void)state;
  static const struct {
    const char *name, *text;
    int age_s, goes;
  } files[] = {
      {"tuned.db", "x", 100 * 86400, 0},
      {"tuned.db-wal", "", 100 * 86400, 0},
      {"tuned.db-shm", "", 100 * 86400, 0},
      {"tuned.db.corrupt-20260101T000000Z", "x", 31 * 86400, 1},
      {"tuned.db.corrupt-20260101T000000Z-2", "x", 31 * 86400, 1},
      {"tuned.db.corrupt-20260101T000000Z-2-wal", "x", 31 * 86400, 1},
      {"tuned.db.corrupt-20261101T000000Z", "x", 29 * 86400, 0},
      {"tuned.db.corrupt-20261101T000000Z-wal", "", 60, 1},
      {"tuned.db.corrupt-20261101T000000Z-shm", "x", 60, 0},
      {"tuned.db.corrupt-mine", "x", 100 * 86400, 0},
      {"tuned.db.new-abc123", "x", 7200, 1},
      {"tuned.db.new-abc124", "x", 60, 0},
      {"tuned.db.v1-20260101T000000Z", "x", 100 * 86400, 0}, /* a backup is its user's */
      {"tuned.db.v1-20260101T000000Z.part", "x", 7200, 1},
      {"tuned.db2.new-abc123", "x", 7200, 0},
      {"notes.txt", "x", 100 * 86400, 0},
  };
  enum { N = sizeof files / sizeof files[0] };
  rgt__gc g = {.fn = tell};
  for (int i = 0; i < N; i++) {
    scratch_write(&f.s, files[i].name, files[i].text, 0600);
    age(scratch_path(&f.s, files[i].name), files[i].age_s);
  }
  rgt__gc_database(&g, f.db);
  for (int i = 0; i < N; i++)
    if ((access(scratch_path(&f.s, files[i].name), F_OK) != 0) != files[i].goes)
      fail_msg("%s should %s", files[i].name, files[i].goes ? "go" : "stay");
  rgt__gc_database(&g, ":memory:");
  rgt__gc_database(&g, "/nonexistent/t.db");
}

/* ---- through the front door ---- */

static void winners_are_kept(void **state) {
  (void)state;
  rgt_tune_result r;
  const int64_t rows = 8;
  rgt_gc_total total = {.struct_size = sizeof total};
  setenv("RAGTUNE_CACHE_QUOTA_MIB", "0.0001", 1);
  front_open(&f);
  rgt_op *op = front_op(&f, FRONT_LINEAR);
  rgt_tune_options o = front_tune_options(&f, &rows, 1);
  front_ok(&f, rgt_tune(op, &o, &r)); /* ends with a sweep: a lot was added */
  front_ok(&f, rgt_cache_gc(f.ctx, 1, NULL, NULL, &total));
  assert_true(total.n_pinned >= 2);
  assert_int_equal(total.n_entries, total.n_pinned);
  assert_int_equal(total.n_removed, 0);
  front_compiles(&f);
  front_open(&f);
  op = front_op(&f, FRONT_LINEAR);
  front_ok(&f, rgt_op_prepare(op, 8, RGT_PREPARE_WAIT));
  assert_int_equal(front_compiles(&f), 0); /* the winner's code is still there */
  rgt_why_info why = {.struct_size = sizeof why};
  front_ok(&f, rgt_why(op, 8, &why));
  assert_string_equal(why.variant, r.winner);
  unlink(f.db);
  total.struct_size = sizeof total;
  rgt_close(f.ctx);
  f.ctx = NULL;
  front_open(&f); /* nobody wants it any more */
  front_ok(&f, rgt_cache_gc(f.ctx, 0, NULL, NULL, &total));
  assert_int_equal(total.n_pinned, 0);
  assert_int_equal(total.kept_bytes, 0);
  assert_true(total.n_removed >= 2);
  unsetenv("RAGTUNE_CACHE_QUOTA_MIB");
}

static void arguments(void **state) {
  (void)state;
  rgt_gc_total total = {.struct_size = 1};
  rgt_ctx *ctx = NULL;
  rgt_options o = front_options(&f);
  fill();
  setenv("RAGTUNE_CACHE_QUOTA_MIB", "0.0001", 1);
  front_open(&f);
  assert_int_equal(rgt_cache_gc(f.ctx, 0, NULL, NULL, &total), RGT_EINVAL);
  stop_after = 3;
  assert_int_equal(rgt_cache_gc(f.ctx, 0, tell, NULL, NULL), RGT_EINTERRUPTED);
  int n = 0;
  for (int i = 0; i < ENTRIES; i++) n += there(i);
  assert_int_equal(n, ENTRIES - 3);
  static const char *const wrong[] = {"many", "-1", "1e99", "nan"};
  for (int i = 0; i < 4; i++) {
    setenv("RAGTUNE_CACHE_QUOTA_MIB", wrong[i], 1);
    assert_int_equal(rgt_open(&o, &ctx), RGT_EINVAL);
    assert_non_null(strstr(rgt_errmsg(ctx), "RAGTUNE_CACHE_QUOTA_MIB"));
    assert_int_equal(rgt_cache_gc(ctx, 0, NULL, NULL, NULL), RGT_EINVAL);
    rgt_close(ctx);
  }
  setenv("RAGTUNE_CACHE_QUOTA_MIB", "0", 1); /* no limit */
  front_open(&f);
  total.struct_size = sizeof total;
  front_ok(&f, rgt_cache_gc(f.ctx, 0, NULL, NULL, &total));
  assert_int_equal(total.quota_bytes, -1);
  assert_int_equal(total.n_removed, 0);
  unsetenv("RAGTUNE_CACHE_QUOTA_MIB");
}

/* ---- beside others, and killed ---- */

enum { KEYS = 40, WRITERS = 3, ROUNDS = 25 };

/* Puts and gets for ever; what it gets is right. */
static void use_for_ever(int seed) {
  rgt__code_cache *c = NULL;
  rgt__random random;
  rgt__code_entry *e = malloc(sizeof *e);
  rgt__random_seed(&random, (uint64_t)seed);
  if (rgt__code_cache_open(f.cache, &c, NULL) != RGT_OK) _exit(3);
  for (;;) {
    int i = (int)rgt__random_below(&random, KEYS);
    rgt__digest key = key_of(i);
    rgt_status status = rgt__code_cache_get(c, &key, e, NULL);
    if (status == RGT_EMISS) put_into(c, i);
    if (status != RGT_EMISS && (status != RGT_OK || e->code_bytes != CODE_BYTES)) _exit(4);
  }
}

static void sweep_for_ever(void) {
  rgt__code_cache *c = NULL;
  if (rgt__code_cache_open(f.cache, &c, NULL) != RGT_OK) _exit(3);
  for (;;) {
    rgt__gc g = {.dry_run = 0};
    if (rgt__cache_sweep(&g, c, KEYS / 2 * 1000, 0, pin_one, NULL, NULL) != RGT_OK) _exit(4);
  }
}

static void users_and_sweepers_killed(void **state) {
  (void)state;
  rgt__random random;
  rgt__random_seed(&random, 5);
  pinned_number = -1;
  for (int round = 0; round < ROUNDS; round++) {
    pid_t pids[WRITERS + 1];
    fflush(NULL);
    for (int i = 0; i <= WRITERS; i++) {
      pids[i] = fork();
      assert_true(pids[i] >= 0);
      if (pids[i] == 0) {
        alarm(60);
        if (i < WRITERS) use_for_ever(100 * round + i);
        sweep_for_ever();
      }
    }
    usleep((useconds_t)(5000 + rgt__random_below(&random, 30000)));
    for (int i = 0; i <= WRITERS; i++) kill(pids[i], SIGKILL);
    for (int i = 0; i <= WRITERS; i++) {
      int status = 0;
      assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
      if (!WIFSIGNALED(status)) fail_msg("process %d ended with %d", i, WEXITSTATUS(status));
    }
    rgt__code_entry *e = malloc(sizeof *e);
    for (int i = 0; i < KEYS; i++) { /* whole, or not there */
      rgt__digest key = key_of(i);
      rgt_status status = rgt__code_cache_get(cache, &key, e, NULL);
      assert_true(status == RGT_OK || status == RGT_EMISS);
      if (status == RGT_EMISS) put_into(cache, i);
      assert_int_equal(rgt__code_cache_get(cache, &key, e, NULL), RGT_OK);
    }
    free(e);
  }
  tally("kill -9 of three users of the code cache and of a sweep beside them\t%d\tevery entry whole or compiled anew", ROUNDS);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(least_recently_used_goes_first),
      TEST(what_is_needed_stays),
      TEST(use_counts),
      TEST(leftovers_of_killed_processes),
      TEST(temporary_folders),
      TEST(half_bundles),
      TEST(beside_the_database),
      TEST(winners_are_kept),
      TEST(arguments),
      TEST(users_and_sweepers_killed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
