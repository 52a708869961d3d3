/* tunedb_scale.c -- the tuned database when it is large: made, opened, asked, merged.
 *
 *     bench_tunedb_scale FOLDER [signatures [trials of each]]      50000 and 20 without numbers: a million trials, in FOLDER
 *     bench_tunedb_scale --check FOLDER                            200 and 5, answers alone: a test
 *
 * Two databases of the same signatures and other runs are made there, unless they are there already (about 2 GB with what is
 * merged). Signatures: shapes of in, hidden and out in 4 op classes, 5 buckets, 2 skews. Times are medians, with the ninth
 * decile, of processor time for lookups, which a loaded machine hardly changes, with the wall's beside it; pages are warm.
 * Exits with 1 when an aim is missed or an answer is wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/random.h"
#include "tunedb/tunedb.h"

enum { CLASSES = 4, BUCKETS = 5, SKEWS = 2, PER_SHAPE = CLASSES * BUCKETS * SKEWS, TRIALS_MAX = 200, ASKED = 2000 };

static const rgt__tunedb_place place = {"cpu:bench:1", "warm:stream:threads=2"};
static int n_signatures = 50000, n_trials = 20, only_check, failures;
static const char *folder;

static double now_ns(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void need(rgt_status status, const rgt__error *err) {
  if (status == RGT_OK) return;
  fprintf(stderr, "bench_tunedb_scale: %s: %s\n", rgt_status_name(status), err->text);
  exit(2);
}

static const char *file(const char *name) {
  static char paths[4][1100];
  static int next;
  char *path = paths[next++ % 4];
  snprintf(path, sizeof *paths, "%.1000s/%s", folder, name);
  return path;
}

/* ---- what is in it ---- */

typedef struct shape {
  rgt__tunedb_signature sig;
  char text[200], op_text[96], op_class[48];
} shape;

/* Neighbours in i are not neighbours in shape, as in a database that grew. offset: of every dimension, for shapes not stored.
 */
static void signature_of(int i, int offset, shape *s) {
  static const char *const classes[CLASSES] = {"f32:relu", "f16:relu", "bf16:relu", "f32:silu"}, *const skews[SKEWS] = {
                                                                                                     "uniform", "one"};
  int number = i / PER_SHAPE, rest = i % PER_SHAPE;
  int n_in = 8 + number % 37 * 12 + offset, n_hidden = 16 + number / 37 % 31 * 20 + offset, groups = 2 << number % 8;
  int64_t bucket = (int64_t)8 << rest / SKEWS % BUCKETS * 3;
  const char *class = classes[rest / (SKEWS * BUCKETS)], *skew = skews[rest % SKEWS];
  int n_out = 4 + number / (37 * 31) * 8 + offset;
  snprintf(s->op_text, sizeof s->op_text, "mlp:%d-%d-%d:g%d:%s:b12:nk:i64", n_in, n_hidden, n_out, groups, class);
  snprintf(s->op_class, sizeof s->op_class, "mlp:%s:b12:nk:i64", class);
  snprintf(s->text, sizeof s->text, "%s|%lld|%s|stacked|4|raw", s->op_text, (long long)bucket, skew);
  s->sig = (rgt__tunedb_signature){.text = s->text,
                                   .op_text = s->op_text,
                                   .op_class = s->op_class,
                                   .n_in = n_in,
                                   .n_hidden = n_hidden,
                                   .n_out = n_out,
                                   .groups = groups,
                                   .bucket = bucket,
                                   .skew = skew,
                                   .form = "stacked",
                                   .order = "raw",
                                   .align_bytes = 4};
}

/* The second trial wins by far in both files; its variant follows from the signature. */
static void winner_params(int i, char params[48]) {
  snprintf(params, 48, "block=%d,lanes=%d,vectors=%d", i % 7, 4 << i % 3, 1 + i % 5);
}

static void put_signature(rgt__tunedb *db, int i, int turn) {
  rgt__tunedb_trial trials[TRIALS_MAX];
  char params[TRIALS_MAX][48];
  rgt__error err = {""};
  rgt__random r;
  shape s;
  signature_of(i, 0, &s);
  rgt__random_seed(&r, (uint64_t)i * 2 + (uint64_t)turn);
  rgt__tunedb_run run = {.toolchain = "gcc 12.2.0; build-id 0123456789abcdef; -O3",
                         .driver = "",
                         .conditions = "load 0.5",
                         .version = RGT_VERSION,
                         .started_utc_s = 1700000000 + i};
  for (int b = 0; b < 4; b++) {
    uint64_t word = rgt__random_next(&r);
    memcpy(run.id.bytes + 8 * b, &word, sizeof word);
  }
  for (int t = 0; t < n_trials; t++) {
    int64_t ratio = t == 0 ? 1000000 : t == 1 ? 300000 : 500000 + (int64_t)rgt__random_below(&r, 2000000);
    if (t == 1)
      winner_params(i, params[t]);
    else
      snprintf(params[t], sizeof params[t], "tile=%d,stages=%d", t * 8, t % 4);
    trials[t] = (rgt__tunedb_trial){.family = t == 0   ? "row_gather"
                                              : t == 1 ? "group_tiles"
                                                       : "other_tiles",
                                    .revision = 1,
                                    .rank = t,
                                    .params = params[t],
                                    .is_default = t == 0,
                                    .outcome = RGT_TRIAL_OK,
                                    .reason = "",
                                    .final = t < 2,
                                    .time_ps = ratio,
                                    .low_ps = ratio,
                                    .high_ps = ratio,
                                    .default_ps = 1000000,
                                    .ratio_ppm = ratio,
                                    .ratio_low_ppm = ratio,
                                    .ratio_high_ppm = ratio,
                                    .n_samples = 9,
                                    .error_share = 0.5,
                                    .numeric_class = "fma"};
  }
  need(rgt__tunedb_put(db, &run, &s.sig, &place, trials, n_trials, &err), &err);
}

static int64_t bytes_of(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 ? (int64_t)st.st_size : -1;
}

/* Under another name until it is whole, so that one that was cut short is not taken for it. */
static void make(const char *name, int turn) {
  rgt__tunedb *db = NULL;
  rgt__error err = {""};
  char path[1100], half[1100];
  snprintf(path, sizeof path, "%s", file(name));
  snprintf(half, sizeof half, "%s", file("half.db"));
  if (bytes_of(path) > 0) return;
  unlink(half);
  double start = now_ns(CLOCK_MONOTONIC), used = now_ns(CLOCK_PROCESS_CPUTIME_ID);
  need(rgt__tunedb_open(half, 0, &db, &err), &err);
  for (int i = 0; i < n_signatures; i++) put_signature(db, (int)((int64_t)i * 7919 % n_signatures), turn);
  rgt__tunedb_close(db);
  if (rename(half, path) != 0) exit(2);
  printf("%s: %d signatures, %lld trials, %.0f MB, made in %.1f s (processor %.1f s)\n", name, n_signatures,
         (long long)n_signatures * n_trials, (double)bytes_of(path) / 1e6, (now_ns(CLOCK_MONOTONIC) - start) / 1e9,
         (now_ns(CLOCK_PROCESS_CPUTIME_ID) - used) / 1e9);
}

/* ---- measuring ---- */

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void judge(const char *what, double value, double aim, const char *unit, const char *more) {
  int met = value < aim;
  printf("%-58s %10.3f %s   aim %g %s%s%s\n", what, value, unit, aim, unit, met ? "" : "   MISSED", more);
  failures += !met;
}

/* wall: NULL, or the same on the wall's clock */
static void show(const char *what, double *times_ns, double *wall_ns, int n, double aim, double unit_ns, const char *unit) {
  char more[96];
  qsort(times_ns, (size_t)n, sizeof *times_ns, by_size);
  int length = snprintf(more, sizeof more, "   (ninth decile %.3f", times_ns[n * 9 / 10] / unit_ns);
  if (wall_ns) {
    qsort(wall_ns, (size_t)n, sizeof *wall_ns, by_size);
    length += snprintf(more + length, sizeof more - (size_t)length, "; wall %.3f, %.3f", wall_ns[n / 2] / unit_ns,
                       wall_ns[n * 9 / 10] / unit_ns);
  }
  snprintf(more + length, sizeof more - (size_t)length, ")");
  if (!only_check) judge(what, times_ns[n / 2] / unit_ns, aim, unit, more);
}

static rgt__tunedb *open_db(const char *path) {
  rgt__tunedb *db = NULL;
  rgt__error err = {""};
  need(rgt__tunedb_open(path, 0, &db, &err), &err);
  return db;
}

static void wrong(const char *what, const shape *s) {
  fprintf(stderr, "bench_tunedb_scale: %s: a wrong answer for %s\n", what, s->text);
  exit(1);
}

static void check_found(const char *what, int i, const shape *s, const rgt__tunedb_winner *w) {
  char params[48];
  winner_params(i, params);
  if (strcmp(w->winner.params, params) != 0 || strcmp(w->signature, s->text) != 0 || !w->complete || !w->has_runner_up)
    wrong(what, s);
}

static void measure_open(const char *path) {
  double times[21];
  for (int i = 0; i < 21; i++) {
    double start = now_ns(CLOCK_MONOTONIC);
    rgt__tunedb *db = open_db(path);
    times[i] = now_ns(CLOCK_MONOTONIC) - start;
    rgt__tunedb_close(db);
  }
  show("open", times, NULL, 21, 20, 1e6, "ms");
}

static void measure_find(const char *path) {
  static double times[ASKED], wall[ASKED];
  static shape shapes[ASKED];
  rgt__tunedb_winner w;
  rgt__error err = {""};
  rgt__random r;
  int n = n_signatures < ASKED ? n_signatures : ASKED;
  const rgt__tunedb_limits other = {.max_p = 1, .max_u_h = 1, .max_alpha = 1, .max_beta = 1};
  rgt__tunedb *db = open_db(path);
  for (int turn = 0; turn < 2; turn++) { /* the first warms the pages, by a question that admits the same and is another */
    rgt__random_seed(&r, 1);
    for (int k = 0; k < n; k++) {
      int i = (int)rgt__random_below(&r, (uint64_t)n_signatures);
      signature_of(i, 0, &shapes[k]);
      double start = now_ns(CLOCK_MONOTONIC), used = now_ns(CLOCK_PROCESS_CPUTIME_ID);
      rgt_status status = rgt__tunedb_find(db, &shapes[k].sig, &place, turn ? NULL : &other, &w, &err);
      times[k] = now_ns(CLOCK_PROCESS_CPUTIME_ID) - used;
      wall[k] = now_ns(CLOCK_MONOTONIC) - start;
      need(status, &err);
      check_found("find", i, &shapes[k], &w);
    }
  }
  rgt__tunedb_close(db);
  show("exact lookup, not seen by this process", times, wall, n, 50, 1e3, "us");
}

/* Batches, since the clock itself takes as long as one. */
static void measure_seen(const char *path) {
  enum { SEEN = 16, BATCH = 4000 };
  double times[101], wall[101];
  shape shapes[SEEN];
  rgt__tunedb_winner w;
  rgt__error err = {""};
  rgt__tunedb *db = open_db(path);
  for (int k = 0; k < SEEN; k++) signature_of(k * (n_signatures / SEEN), 0, &shapes[k]);
  for (int b = -1; b < 101; b++) {
    double start = now_ns(CLOCK_MONOTONIC), used = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    for (int k = 0; k < BATCH; k++)
      if (rgt__tunedb_find(db, &shapes[k % SEEN].sig, &place, NULL, &w, &err) != RGT_OK) wrong("seen", &shapes[k % SEEN]);
    if (b >= 0) times[b] = (now_ns(CLOCK_PROCESS_CPUTIME_ID) - used) / BATCH;
    if (b >= 0) wall[b] = (now_ns(CLOCK_MONOTONIC) - start) / BATCH;
    check_found("seen", (BATCH - 1) % SEEN * (n_signatures / SEEN), &shapes[(BATCH - 1) % SEEN], &w);
  }
  rgt__tunedb_close(db);
  show("exact lookup, seen by this process", times, wall, 101, 100, 1, "ns");
}

static void measure_nearest(const char *path) {
  enum { N = 300 };
  double times[N], wall[N];
  shape s;
  rgt__tunedb_winner w;
  rgt__error err = {""};
  rgt__random r;
  rgt__tunedb *db = open_db(path);
  rgt__random_seed(&r, 2);
  for (int k = 0; k < N; k++) {
    signature_of((int)rgt__random_below(&r, (uint64_t)n_signatures), 1, &s);
    double start = now_ns(CLOCK_MONOTONIC), used = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    rgt_status status = rgt__tunedb_nearest(db, &s.sig, &place, NULL, &w, &err);
    times[k] = now_ns(CLOCK_PROCESS_CPUTIME_ID) - used;
    wall[k] = now_ns(CLOCK_MONOTONIC) - start;
    need(status, &err);
    if (w.exact || !(w.distance > 0) || strcmp(w.skew, s.sig.skew) != 0) wrong("nearest", &s);
  }
  rgt__tunedb_close(db);
  show("nearest", times, wall, N, 2, 1e6, "ms");
}

static void measure_merge(void) {
  char a[1100], b[1100], path[1100], more[64];
  const char *const paths[2] = {a, b};
  rgt__tunedb *db = NULL;
  rgt__tunedb_merged counts;
  rgt__error err = {""};
  snprintf(a, sizeof a, "%s", file("a.db"));
  snprintf(b, sizeof b, "%s", file("b.db"));
  snprintf(path, sizeof path, "%s", file("merged.db"));
  unlink(path);
  double start = now_ns(CLOCK_MONOTONIC), used = now_ns(CLOCK_PROCESS_CPUTIME_ID);
  need(rgt__tunedb_open(path, 0, &db, &err), &err);
  need(rgt__tunedb_merge(db, paths, 2, &counts, &err), &err);
  double wall_s = (now_ns(CLOCK_MONOTONIC) - start) / 1e9, used_s = (now_ns(CLOCK_PROCESS_CPUTIME_ID) - used) / 1e9;
  if (counts.n_trials_new != 2 * (int64_t)n_signatures * n_trials || counts.n_runs_new != 2 * (int64_t)n_signatures ||
      counts.n_trials_dropped != 0 || counts.n_scenes != n_signatures) {
    fprintf(stderr, "bench_tunedb_scale: merge: %lld trials, %lld dropped\n", (long long)counts.n_trials_new,
            (long long)counts.n_trials_dropped);
    exit(1);
  }
  snprintf(more, sizeof more, "   (processor %.1f s, %.0f MB)", used_s, (double)bytes_of(path) / 1e6);
  if (!only_check) judge("merge of the two into a new one", wall_s, 60, "s", more);
  for (int i = 0; i < 10; i++) {
    shape s;
    rgt__tunedb_winner w;
    int k = i * (n_signatures / 10);
    signature_of(k, 0, &s);
    need(rgt__tunedb_find(db, &s.sig, &place, NULL, &w, &err), &err);
    check_found("merged", k, &s, &w);
    if (w.winner.n_runs != 2 || w.n_trials != 2 * n_trials) wrong("merged", &s);
  }
  rgt__tunedb_close(db);
}

int main(int argc, char **argv) {
  only_check = argc == 3 && strcmp(argv[1], "--check") == 0;
  if (only_check) {
    argv++;
    argc--;
    n_signatures = 200;
    n_trials = 5;
  }
  if (argc < 2 || argc > 4 || argv[1][0] == '-') {
    fprintf(stderr, "usage: bench_tunedb_scale [--check] FOLDER [signatures [trials of each]]\n");
    return 2;
  }
  folder = argv[1];
  if (argc > 2) n_signatures = atoi(argv[2]);
  if (argc > 3) n_trials = atoi(argv[3]);
  if (n_signatures < 100 || n_signatures > 1000000 || n_trials < 3 || n_trials > TRIALS_MAX) {
    fprintf(stderr, "bench_tunedb_scale: signatures can be 100 to 1000000, trials of each 3 to %d\n", TRIALS_MAX);
    return 2;
  }
  make("a.db", 0);
  make("b.db", 1);
  char a[1100];
  snprintf(a, sizeof a, "%s", file("a.db"));
  measure_open(a);
  measure_find(a);
  measure_seen(a);
  measure_nearest(a);
  measure_merge();
  if (only_check) printf("tunedb_scale: every answer is right\n");
  return failures > 0;
}
