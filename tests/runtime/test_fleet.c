/* test_fleet.c -- many machines without a server, on a device with a modelled clock: eight processes tune a shard each, two are
 * killed with -9 at random points and begun again, and the merge is byte for byte what one process makes.
 *
 * A run's random id, its time and the machine's load are no function of what was tuned, so this program puts fixed ones in
 * their place (its own rgt__tunedb_put, see CMakeLists.txt). With them a search is one run whoever does it and however often it
 * is begun, and everything that is measured, chosen and derived must come out the same.
 */
#include "tests/support/modelled_device.h"

#include "tests/support/front.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

enum { SHARDS = 8, GROUPS = 3, ROWS = 3, SKEWS = 2, SIGNATURES = GROUPS * ROWS * SKEWS, KILLED = 2, WHOLE = -1 };

static front f;
static int progress = -1; /* a byte for every signature that was tuned goes there */

rgt_status __real_rgt__tunedb_put(rgt__tunedb *db, const rgt__tunedb_run *run, const rgt__tunedb_signature *sig,
                                  const rgt__tunedb_place *place, const rgt__tunedb_trial *trials, int n, rgt__error *err);
rgt_status __wrap_rgt__tunedb_put(rgt__tunedb *db, const rgt__tunedb_run *run, const rgt__tunedb_signature *sig,
                                  const rgt__tunedb_place *place, const rgt__tunedb_trial *trials, int n, rgt__error *err);

rgt_status __wrap_rgt__tunedb_put(rgt__tunedb *db, const rgt__tunedb_run *run, const rgt__tunedb_signature *sig,
                                  const rgt__tunedb_place *place, const rgt__tunedb_trial *trials, int n, rgt__error *err) {
  rgt__tunedb_run fixed = *run;
  memset(&fixed.id, 7, sizeof fixed.id);
  fixed.conditions = "";
  fixed.started_utc_s = 1700000000;
  return __real_rgt__tunedb_put(db, &fixed, sig, place, trials, n, err);
}

static int begin(void **state) {
  (void)state;
  front_begin(&f);
  setenv("RAGTUNE_WORKER", "inside", 1);
  return 0;
}

static int end(void **state) {
  (void)state;
  front_end(&f);
  return 0;
}

static void database_of(int shard, char path[100]) {
  snprintf(path, 100, "%s/shard-%d.db", f.s.folder, shard);
}

static void open_modelled(void) {
  rgt_options o = front_options(&f);
  o.threads = 1;
  front_ok(&f, front_open_with(&f, &o));
  modelled_take(f.ctx);
}

/* Signature i of the list, tuned if it is the shard's; 1 if it is. */
static int tune_one(int i, int shard, int only_count) {
  static const int64_t rows[ROWS] = {8, 16, 64};
  static const rgt_skew skews[SKEWS] = {RGT_SKEW_UNIFORM, RGT_SKEW_ONE};
  char text[RGT_OP_TEXT_MAX];
  rgt_tune_result r;
  int own = WHOLE;
  snprintf(text, sizeof text, "mlp:10-20-5:g%d:f32:relu:b12:nk:i64", 2 + i / (ROWS * SKEWS));
  rgt_op *op = front_op(&f, text);
  rgt_tune_options o = front_tune_options(&f, &rows[i % ROWS], 1);
  o.skew = skews[i / ROWS % SKEWS];
  if (shard != WHOLE) front_ok(&f, rgt_op_shard(op, rows[i % ROWS], o.skew, SHARDS, &own));
  if (own == shard && !only_count) {
    front_ok(&f, rgt_tune(op, &o, &r));
    assert_int_equal(r.status, RGT_OK);
    if (progress >= 0) assert_int_equal(write(progress, "x", 1), 1);
  }
  rgt_op_free(op);
  return own == shard;
}

static int stop_at_once(void *user, const rgt_db_row *row) {
  (void)user, (void)row;
  return 1;
}

static int tune_shard(const char *database, int shard, int only_count) {
  int n = 0;
  snprintf(f.db, sizeof f.db, "%.99s", database);
  open_modelled();
  rgt_db_list(f.ctx, stop_at_once, NULL); /* makes it for a shard without signatures too */
  for (int i = 0; i < SIGNATURES; i++) n += tune_one(i, shard, only_count);
  rgt_close(f.ctx);
  f.ctx = NULL;
  return n;
}

/* ---- processes ---- */

typedef struct task {
  pid_t pid;
  int done; /* reading end */
} task;

static task start_shard(int shard) {
  char database[100];
  int ends[2];
  task t;
  assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
  fflush(NULL);
  t.pid = fork();
  assert_true(t.pid >= 0);
  if (t.pid == 0) {
    close(ends[0]);
    progress = ends[1];
    database_of(shard, database);
    tune_shard(database, shard, 0);
    _exit(0);
  }
  close(ends[1]);
  t.done = ends[0];
  return t;
}

static int end_shard(task t) {
  int status;
  assert_int_equal(waitpid(t.pid, &status, 0), t.pid);
  close(t.done);
  return status;
}

static void sleep_below(long most_us) {
  long us = random() % most_us;
  nanosleep(&(struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000}, NULL);
}

/* After a random number of signatures and a random part of the time that one takes. */
static void kill_somewhere(task t, int n_signatures, long one_us) {
  char byte;
  for (long n = random() % n_signatures; n > 0 && read(t.done, &byte, 1) == 1; n--) {
  }
  sleep_below(2 * one_us);
  assert_int_equal(kill(t.pid, SIGKILL), 0);
}

/* ---- bytes ---- */

/* The canonical export of a database, or of several once merged. */
static void export_to(char databases[][100], int n, const char *file) {
  rgt_options o = front_options(&f);
  rgt_db_counts counts;
  const char *paths[SHARDS];
  char into[160];
  for (int i = 0; i < n; i++) paths[i] = databases[i];
  snprintf(into, sizeof into, "%.120s.merged", file);
  o.database = into;
  front_ok(&f, front_open_with(&f, &o));
  front_ok(&f, rgt_db_merge(f.ctx, paths, n, &counts));
  assert_int_equal(counts.n_trials_dropped, 0);
  assert_int_equal(counts.n_runs_new, SIGNATURES); /* none missing */
  assert_int_equal(counts.n_runs_known, 0);        /* none twice */
  front_ok(&f, rgt_db_check(f.ctx));
  front_ok(&f, rgt_db_export(f.ctx, file, NULL));
  rgt_close(f.ctx);
  f.ctx = NULL;
}

static void assert_same_bytes(const char *a, const char *b) {
  FILE *fa = fopen(a, "re"), *fb = fopen(b, "re");
  long n = 0;
  int ca, cb;
  assert_true(fa && fb);
  for (;; n++) {
    ca = fgetc(fa);
    cb = fgetc(fb);
    if (ca != cb) fail_msg("byte %ld of %s is %d, of %s %d", n, a, ca, b, cb);
    if (ca == EOF) break;
  }
  assert_true(n > 4096);
  fclose(fa);
  fclose(fb);
}

static long now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (long)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void shards_make_the_same_bytes(void **state) {
  char databases[SHARDS][100], alone[1][100], one_file[120], parts_file[120];
  int share[SHARDS], sum = 0, killed[KILLED];
  task tasks[SHARDS];
  unsigned seed = (unsigned)time(NULL) ^ (unsigned)getpid();
  (void)state;
  srandom(seed);
  print_message("kills at random: seed %u\n", seed);
  snprintf(alone[0], sizeof alone[0], "%s/alone.db", f.s.folder);
  long began_us = now_us();
  assert_int_equal(tune_shard(alone[0], WHOLE, 0), SIGNATURES);
  long one_us = (now_us() - began_us) / SIGNATURES;

  for (int i = 0; i < SHARDS; i++) {
    database_of(i, databases[i]);
    sum += share[i] = tune_shard(databases[i], i, 1);
  }
  assert_int_equal(sum, SIGNATURES);
  for (int i = 0; i < SHARDS; i++) tasks[i] = start_shard(i);
  for (int n = 0; n < KILLED;) {
    int i = (int)(random() % SHARDS);
    if (!share[i] || (n && killed[0] == i)) continue;
    kill_somewhere(tasks[i], share[i], one_us);
    killed[n++] = i;
  }
  for (int i = 0; i < SHARDS; i++) {
    int status = end_shard(tasks[i]);
    if (status != 0 && !(WIFSIGNALED(status) && (i == killed[0] || i == killed[1])))
      fail_msg("shard %d ended with 0x%x", i, status);
  }
  for (int i = 0; i < KILLED; i++) assert_int_equal(end_shard(start_shard(killed[i])), 0);

  snprintf(one_file, sizeof one_file, "%s/one", f.s.folder);
  snprintf(parts_file, sizeof parts_file, "%s/parts", f.s.folder);
  export_to(alone, 1, one_file);
  export_to(databases, SHARDS, parts_file);
  assert_same_bytes(one_file, parts_file);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(shards_make_the_same_bytes)};
  return cmocka_run_group_tests(tests, begin, end);
}
