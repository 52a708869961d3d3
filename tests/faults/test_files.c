/* test_files.c -- the n-th file operation fails, for every n: opening, reading, writing, syncing, renaming, locking, mapping
 * and closing of the database, its journals, the code cache and the templates; with EIO, ENOSPC, EROFS, EMFILE, EINTR, and by
 * halves; alone, and with all that follow it.
 *
 * Each try is a process of its own: tune, prepare, run, list, close, with one operation failing. What must hold: it ends, y is
 * right, a call that fails says why in one line, a call that returned RGT_OK kept its word, what was stored before is still
 * there, nothing is moved aside as damaged, no temporary file stays behind, and the next run without a fault finds the file
 * sound and does the rest. With FAULTS=all every n is tried; without it a seeded sample. */
#include "tests/support/front.h"

#include <ftw.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "runtime/base/random.h"
#include "tests/faults/machine.h"
#include "tests/faults/shim.h"
#include "tests/faults/tally.h"

#define OTHER_OP "mlp:4-3-2:g5:f32:relu:b12:nk:i64" /* tuned before */

enum { HANG_S = 60 };

/* What a try tells its parent, in memory that both have. */
typedef struct report {
  long n_operations;
  int fired, n_refused;
  char what[32], text[400];
} report;

static report *told;
static char folder[64], templates[96];
static machine device;
static char log_text[4000];

__attribute__((format(printf, 1, 2), noreturn)) static void broken(const char *format, ...) {
  va_list args;
  va_start(args, format);
  shim_disarm();
  int n = snprintf(told->text, sizeof told->text, "%s: ", told->what[0] ? told->what : shim_what());
  vsnprintf(told->text + n, sizeof told->text - (size_t)n, format, args);
  va_end(args);
  _exit(1);
}

static void keep_log(void *user, rgt_log_level level, const char *line) {
  size_t at = strlen(log_text);
  (void)user, (void)level;
  snprintf(log_text + at, sizeof log_text - at, "%s\n", line);
}

static rgt_status open_context(rgt_ctx **ctx, char db[100], char cache[100]) {
  snprintf(db, 100, "%s/data/tuned.db", folder);
  snprintf(cache, 100, "%s/cache", folder);
  rgt_options o = {.struct_size = sizeof o,
                   .device = "cpu",
                   .database = db,
                   .cache_dir = cache,
                   .template_dir = templates,
                   .threads = 1,
                   .log = keep_log};
  rgt_status status = rgt_open(&o, ctx);
  if (status == RGT_OK) machine_install(&device, *ctx);
  return status;
}

/* A call may fail for want of a file, and says so in one line; then nothing is known of its results. 1 if it was done. */
static int done(const rgt_ctx *ctx, const char *call, rgt_status status) {
  const char *text = rgt_errmsg(ctx);
  if (status == RGT_OK) return 1;
  if (!shim_fired()) broken("%s without a fault: %s: %s", call, rgt_status_name(status), text);
  if (status != RGT_EIO && status != RGT_EDB) broken("%s: %s: %s", call, rgt_status_name(status), text);
  if (!text[0] || strchr(text, '\n')) broken("%s: \"%s\" is not one line", call, text);
  told->n_refused++;
  return 0;
}

static void run_right(rgt_op *op, const char *text) {
  problem p;
  problem_make(&p, text, 24, 0);
  if (rgt_op_run(op, &p.args, NULL) != RGT_OK) broken("run: %s", rgt_errmsg(op->ctx));
  for (int64_t i = 0; i < p.rows * p.d.n_out; i++)
    if ((double)p.y[i] != p.expected[i]) broken("y[%d] is %g, not %g", (int)i, (double)p.y[i], p.expected[i]);
  problem_free(&p);
}

typedef struct listing {
  int n, other, ours;
} listing;

static int see_row(void *user, const rgt_db_row *row) {
  listing *l = user;
  l->n++;
  l->other += strstr(row->signature, ":g5:") != NULL;
  l->ours += strstr(row->signature, ":g3:") != NULL;
  if (strcmp(row->winner, MACHINE_WINNER) != 0) broken("the winner is %s", row->winner);
  return 0;
}

typedef struct outcome {
  int stored; /* the result was said to be in the file */
  int hit;    /* and was found there */
  listing list;
} outcome;

/* Tunes, prepares, runs, lists. */
static void session(const char *text, outcome *out) {
  rgt_ctx *ctx = NULL;
  rgt_op_desc d;
  rgt_op *op = NULL;
  char db[100], cache[100], bundle[100];
  const int64_t rows = 24;
  rgt_tune_result r;
  rgt_tune_options o = {.struct_size = sizeof o, .rows = &rows, .n_rows = 1, .budget_s = 600};
  log_text[0] = 0;
  *out = (outcome){0};
  if (!done(ctx, "open", open_context(&ctx, db, cache))) {
    rgt_close(ctx);
    return;
  }
  rgt_op_parse(ctx, text, &d);
  if (rgt_op_new(ctx, &d, NULL, &op) != RGT_OK) broken("op: %s", rgt_errmsg(ctx));
  device.op = d;
  rgt_status status = rgt_tune(op, &o, &r);
  if (status == RGT_OK || status == RGT_EDB) {
    if (r.status != RGT_OK || strcmp(r.winner, MACHINE_WINNER) != 0) broken("the winner is \"%s\": %s", r.winner, r.reason);
    if (r.n_ok != 2)
      broken("%s, hit %d: %d tried, %d right, %d infeasible, %d wrong; %s", rgt_status_name(status), r.hit, r.n_tried, r.n_ok,
             r.n_infeasible, r.n_wrong, log_text);
    out->hit = r.hit;
  }
  if (done(ctx, "tune", status)) out->stored = strcmp(rgt_db_path(ctx), ":memory:") != 0;
  if (!out->stored && status == RGT_OK && !strstr(log_text, "memory only")) broken("not stored, and no word of it");
  done(ctx, "prepare", rgt_op_prepare(op, 32, 0));
  run_right(op, text);
  snprintf(bundle, sizeof bundle, "%s/bundle", folder);
  int was_there = access(bundle, F_OK) == 0;
  if (!done(ctx, "bundle", rgt_compile_bundle(op, NULL, bundle)) && !was_there && access(bundle, F_OK) == 0)
    broken("half a bundle is there");
  done(ctx, "list", rgt_db_list(ctx, see_row, &out->list));
  rgt_close(ctx);
}

static void check_file(void) {
  char path[100];
  sqlite3 *db = NULL;
  sqlite3_stmt *s = NULL;
  snprintf(path, sizeof path, "%s/data/tuned.db", folder);
  if (access(path, F_OK) != 0) return;
  if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK) broken("the file cannot be opened afterwards");
  if (sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &s, NULL) != SQLITE_OK || sqlite3_step(s) != SQLITE_ROW)
    broken("the file cannot be checked: %s", sqlite3_errmsg(db));
  if (strcmp((const char *)sqlite3_column_text(s, 0), "ok") != 0) broken("the file is hurt: %s", sqlite3_column_text(s, 0));
  sqlite3_finalize(s);
  sqlite3_close(db);
}

/* ---- what lies in the folder ---- */

static int n_temporary, n_moved;
static char a_name[300];

static int look(const char *path, const struct stat *st, int kind, struct FTW *where) {
  (void)st, (void)kind, (void)where;
  if (strstr(path, ".tmp-") || strstr(path, ".new-")) {
    n_temporary++;
    snprintf(a_name, sizeof a_name, "%s", path);
  }
  if (strstr(path, ".corrupt-")) n_moved++;
  return 0;
}

static void check_folder(int unlink_failed) {
  n_temporary = n_moved = 0;
  nftw(folder, look, 16, FTW_PHYS);
  if (n_moved) broken("a sound file was moved aside as damaged: %s", log_text);
  if (n_temporary && !unlink_failed) broken("%d temporary files are left: %s", n_temporary, a_name);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where) {
  (void)st, (void)kind;
  return where->level == 0 ? 0 : remove(path);
}

static void copy_file(const char *from, const char *to) {
  rgt__buffer text = {0};
  if (rgt__file_read(from, 1 << 24, &text, NULL) != RGT_OK) return;
  FILE *f = fopen(to, "we");
  if (!f || fwrite(text.data, 1, text.size, f) != text.size || fclose(f) != 0) abort();
  rgt__buffer_free(&text);
}

/* ---- one try, in a process of its own ---- */

static void lay_out(const char *kept) {
  static const char *const names[] = {"cpu/small.lua", "cpu/small.c", "lib/kargs.h", "cpu/lib/vec.h"};
  char from[300], to[200];
  nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
  for (int i = 0; i < 4; i++) {
    snprintf(to, sizeof to, "%s/%s", templates, names[i]);
    *strrchr(to, '/') = 0;
    rgt__file_make_folder(to, NULL);
    snprintf(from, sizeof from, "%s/%s", MACHINE_TEMPLATES, names[i]);
    snprintf(to, sizeof to, "%s/%s", templates, names[i]);
    copy_file(from, to);
  }
  if (!kept[0]) return;
  snprintf(to, sizeof to, "%s/data", folder);
  mkdir(to, 0700);
  snprintf(to, sizeof to, "%s/data/tuned.db", folder);
  copy_file(kept, to);
  chmod(to, 0600);
}

static void one_try(const char *kept, long at, shim_error error, int on) {
  outcome first, second;
  lay_out(kept);
  shim_arm(folder, at, error, on);
  session(MACHINE_OP, &first);
  told->n_operations = shim_count();
  told->fired = shim_fired();
  snprintf(told->what, sizeof told->what, "%s", shim_what());
  shim_arm(folder, -1, error, 0);
  check_file();
  check_folder(on || strcmp(told->what, "unlink") == 0);
  session(MACHINE_OP, &second);
  const listing *l = &second.list;
  if (l->ours != 1 || l->other != (kept[0] != 0) || l->n != l->ours + l->other)
    broken("%d rows afterwards, %d of them new, %d old", l->n, l->ours, l->other);
  if (first.stored && !second.hit) broken("what was stored was not found again");
  if (!second.stored) broken("nothing could be stored afterwards: %s", log_text);
}

typedef void (*try_fn)(const char *kept, long at, shim_error error, int on);

/* How the process ended: 0, or a test that fails with its words. */
static void in_a_process(try_fn run, const char *kept, long at, shim_error error, int on) {
  int status = 0;
  memset(told, 0, sizeof *told);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    alarm(HANG_S);
    run(kept, at, error, on);
    _exit(0);
  }
  assert_true(child > 0);
  assert_int_equal(waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  if (WIFSIGNALED(status))
    fail_msg("operation %ld, %s%s (%s): ended by signal %d%s", at, shim_word(error), on ? " from there on" : "", told->what,
             WTERMSIG(status), WTERMSIG(status) == SIGALRM ? ": it hung" : "");
  fail_msg("operation %ld, %s%s: %s", at, shim_word(error), on ? " from there on" : "", told->text);
}

static void every_operation(const char *name, const char *kept, long at_most) {
  const char *word = getenv("FAULTS");
  int all = word && strcmp(word, "all") == 0;
  rgt__random random;
  rgt__random_seed(&random, 3);
  in_a_process(one_try, kept, -1, SHIM_EIO, 0);
  long total = told->n_operations;
  print_message("%s: %ld operations\n", name, total);
  assert_true(total > 50);
  for (int on = 0; on < 2; on++)
    for (int e = 0; e < SHIM_N_ERRORS; e++) {
      long tried = 0, refused = 0, left = at_most;
      for (long n = 0; n < total; n++) {
        if (!all && (long)rgt__random_below(&random, (uint64_t)(total - n)) >= left) continue;
        left--;
        if (on && (e == SHIM_EINTR || e == SHIM_SHORT)) continue; /* for ever interrupted is no fault that a file has */
        in_a_process(one_try, kept, n, (shim_error)e, on);
        tried += told->fired > 0;
        refused += told->n_refused > 0;
        if (told->n_refused && (e == SHIM_EINTR || e == SHIM_SHORT))
          fail_msg("%s of %s was not tried again: %s", shim_word((shim_error)e), told->what, told->text);
      }
      if (tried)
        tally(
            "file operation %s, %s%s\t%ld\t%ld times a call said so in one line, %ld times all went on; always right and sound",
            shim_word((shim_error)e), name, on ? ", and all after it" : "", tried, refused, tried - refused);
    }
}

/* ---- the tests ---- */

static char kept_file[100];

static void make_kept(const char *kept, long at, shim_error error, int on) {
  outcome o;
  char path[100];
  (void)kept, (void)at, (void)error, (void)on;
  lay_out("");
  session(OTHER_OP, &o);
  if (!o.stored || o.list.other != 1) broken("nothing to keep");
  snprintf(path, sizeof path, "%s/data/tuned.db", folder);
  copy_file(path, kept_file);
}

static int set_up(void **state) {
  (void)state;
  front_clear_environment();
  strcpy(folder, access("/dev/shm", W_OK) == 0 ? "/dev/shm/rgt-faults-XXXXXX" : "/tmp/rgt-faults-XXXXXX");
  assert_non_null(mkdtemp(folder));
  snprintf(templates, sizeof templates, "%s/templates", folder);
  snprintf(kept_file, sizeof kept_file, "%s.db", folder);
  told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(told != MAP_FAILED);
  in_a_process(make_kept, "", -1, SHIM_EIO, 0);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
  rmdir(folder);
  unlink(kept_file);
  return 0;
}

static void nothing_there(void **state) {
  (void)state;
  every_operation("nothing there", "", 25);
}

static void a_database_there(void **state) {
  (void)state;
  every_operation("a database there", kept_file, 25);
}

/* A folder where locks do not work: SQLite waits ten seconds, which happens once. */
static void without_locks(const char *kept, long at, shim_error error, int on) {
  outcome o;
  lay_out(kept);
  shim_arm(folder, at, error, on);
  shim_break_locks(1);
  session(MACHINE_OP, &o);
  told->fired = shim_fired();
}

static void no_locks_at_all(void **state) {
  const char *word = getenv("FAULTS");
  (void)state;
  if (!word || strcmp(word, "all") != 0) {
    print_message("SQLite waits ten seconds for locks that do not work: only with FAULTS=all\n");
    skip();
  }
  in_a_process(without_locks, kept_file, -1, SHIM_EIO, 0);
  assert_true(told->fired > 0);
  tally("locks of the database's folder do not work\t%d\tone wait of SQLite's ten seconds, then work in memory", 1);
}

/* FAULT_TRY="19 0 0": that operation, error and `on`, with nothing there, in this process, for a debugger. FAULT_KEPT=1: with a
 * database there. */
static int alone(const char *what) {
  long at = 0;
  int e = 0, on = 0;
  sscanf(what, "%ld %d %d", &at, &e, &on);
  set_up(NULL);
  one_try(getenv("FAULT_KEPT") ? kept_file : "", at, (shim_error)e, on);
  printf("%s: %d calls failed\n", told->what, told->n_refused);
  return tear_down(NULL);
}

int main(void) {
  if (getenv("FAULT_TRY")) return alone(getenv("FAULT_TRY"));
  const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_there), cmocka_unit_test(a_database_there),
                                     cmocka_unit_test(no_locks_at_all)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
