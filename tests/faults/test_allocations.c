/* test_allocations.c -- the n-th allocation fails, for every n, through everything that the library does: alone, and with all
 * that follow it. SQLite's and Lua's allocations count too.
 *
 * What must hold after each: the call says RGT_ENOMEM in one line (or went on without what it can do without), the same call on
 * the same handle then succeeds, the results are right, nothing is left allocated, and the database is sound.
 * With FAULTS=all every n is tried (some minutes); without it every n of a short call, and of a long one a seeded sample. */
#include "tests/support/front.h"

#include <ftw.h>
#include <sched.h>
#include <sqlite3.h>
#include <time.h>

#include "runtime/base/random.h"
#include "runtime/worker_message.h"
#include "tests/faults/machine.h"
#include "tests/faults/tally.h"

/* ---- the hook ---- */

static struct {
  atomic_long n;       /* allocations since armed */
  atomic_long live;    /* blocks not freed */
  long at;             /* the one that fails; -1: none */
  int all_after;       /* and every later one */
  atomic_int n_failed; /* since armed */
} hook = {.at = -1};

static int refuse(void) {
  long n = atomic_fetch_add(&hook.n, 1);
  if (hook.at < 0 || (hook.all_after ? n < hook.at : n != hook.at)) return 0;
  atomic_fetch_add(&hook.n_failed, 1);
  return 1;
}

static void *hooked_realloc(void *user, void *p, size_t bytes) {
  (void)user;
  if (bytes == 0) {
    if (p) atomic_fetch_sub(&hook.live, 1);
    free(p);
    return NULL;
  }
  if (refuse()) return NULL;
  void *q = realloc(p, bytes);
  if (q && !p) atomic_fetch_add(&hook.live, 1);
  return q;
}

static void arm(long at, int all_after) {
  hook.at = at;
  hook.all_after = all_after;
  atomic_store(&hook.n, 0);
  atomic_store(&hook.n_failed, 0);
}

static void disarm(void) {
  hook.at = -1;
}

/* SQLite's allocator through the same hook; it wants to know each block's size. */
static void *sqlite_malloc(int bytes) {
  size_t *p = hooked_realloc(NULL, NULL, (size_t)bytes + 16);
  if (!p) return NULL;
  *p = (size_t)bytes;
  return p + 2;
}

static void sqlite_free(void *p) {
  if (p) hooked_realloc(NULL, (size_t *)p - 2, 0);
}

static void *sqlite_realloc(void *p, int bytes) {
  size_t *q = hooked_realloc(NULL, (size_t *)p - 2, (size_t)bytes + 16);
  if (!q) return NULL;
  *q = (size_t)bytes;
  return q + 2;
}

static int sqlite_size(void *p) {
  return p ? (int)((size_t *)p)[-2] : 0;
}

static int sqlite_roundup(int bytes) {
  return (bytes + 7) & ~7;
}

static int sqlite_begin(void *user) {
  (void)user;
  return SQLITE_OK;
}

static void sqlite_end(void *user) {
  (void)user;
}

static void hook_sqlite(void) {
  static sqlite3_mem_methods methods = {sqlite_malloc,  sqlite_free,  sqlite_realloc, sqlite_size,
                                        sqlite_roundup, sqlite_begin, sqlite_end,     NULL};
  assert_int_equal(sqlite3_config(SQLITE_CONFIG_MALLOC, &methods), SQLITE_OK);
  assert_int_equal(sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0), SQLITE_OK);
  assert_int_equal(sqlite3_initialize(), SQLITE_OK);
}

/* ---- the world in which a sequence runs ---- */

typedef struct world {
  char folder[64], db[100], cache[100], file[100];
  machine machine;
  rgt_ctx *ctx;
  rgt_op *op;
  rgt_weights *weights;
  rgt_config *config;
  problem p;
  const char *templates, *database, *mode, *bundle;
  int keep; /* what is in the folder, from one sequence to the next */
  rgt_tune_result tuned;
  int n_verdicts, n_wrong, n_rows, n_compiled;
} world;

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where) {
  (void)st, (void)kind;
  return where->level == 0 ? 0 : remove(path);
}

static void empty_folder(const world *w) {
  assert_int_equal(nftw(w->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static void world_begin(world *w) {
  memset(w, 0, sizeof *w);
  front_clear_environment();
  strcpy(w->folder, access("/dev/shm", W_OK) == 0 ? "/dev/shm/rgt-faults-XXXXXX" : "/tmp/rgt-faults-XXXXXX");
  assert_non_null(mkdtemp(w->folder));
  snprintf(w->db, sizeof w->db, "%s/tuned.db", w->folder);
  snprintf(w->cache, sizeof w->cache, "%s/cache", w->folder);
  snprintf(w->file, sizeof w->file, "%s/config.lua", w->folder);
  w->templates = MACHINE_TEMPLATES;
  w->database = w->db;
  problem_make(&w->p, MACHINE_OP, 24, 0);
}

static void world_end(world *w) {
  problem_free(&w->p);
  empty_folder(w);
  assert_int_equal(rmdir(w->folder), 0);
}

/* ---- the steps ---- */

typedef rgt_status (*step_fn)(world *w);

static rgt_status open_context(world *w) {
  rgt_close(w->ctx); /* of a try before this one */
  w->ctx = NULL;
  rgt_options o = {.struct_size = sizeof o,
                   .device = "cpu",
                   .database = w->database,
                   .cache_dir = w->cache,
                   .template_dir = w->templates,
                   .mode = w->mode,
                   .bundle = w->bundle,
                   .threads = 1};
  rgt_status status = rgt_open(&o, &w->ctx);
  if (status == RGT_OK) machine_install(&w->machine, w->ctx);
  return status;
}

static rgt_status new_op(world *w) {
  return rgt_op_new(w->ctx, &w->p.d, NULL, &w->op);
}

static rgt_status tune(world *w) {
  const int64_t rows = 24;
  rgt_tune_options o = {.struct_size = sizeof o, .rows = &rows, .n_rows = 1, .budget_s = 600};
  rgt_status status = rgt_tune(w->op, &o, &w->tuned);
  if (status != RGT_OK) return status;
  assert_int_equal(w->tuned.status, RGT_OK);
  assert_string_equal(w->tuned.winner, MACHINE_WINNER);
  assert_int_equal(w->tuned.n_tried, 2);
  assert_int_equal(w->tuned.n_ok, 2);
  return status;
}

static rgt_status prepare(world *w) {
  return rgt_op_prepare(w->op, 32, RGT_PREPARE_WAIT);
}

static rgt_status make_weights(world *w) {
  return rgt_weights_new(w->op, w->p.d.groups, &w->p.args.layer1, &w->p.args.layer2, &w->weights);
}

/* Prepared or not, with weights of both kinds: y is right, or nothing was written. */
static rgt_status run(world *w) {
  for (int given = 0; given < 2; given++) {
    rgt_args args = w->p.args;
    if (given && w->weights) args.weights = w->weights;
    problem_reset_y(&w->p);
    rgt_status status = rgt_op_run(w->op, &args, NULL);
    if (status != RGT_OK) {
      problem_untouched(&w->p);
      return status;
    }
    problem_check(&w->p);
  }
  return RGT_OK;
}

static rgt_status run_out_of_range(world *w) {
  int64_t kept = problem_group(&w->p, 5);
  problem_set_group(&w->p, 5, 77);
  rgt_status status = rgt_op_run(w->op, &w->p.args, NULL);
  problem_set_group(&w->p, 5, kept);
  assert_true(status == RGT_EINDEX || status == RGT_ENOMEM);
  return status == RGT_EINDEX ? RGT_OK : status;
}

static rgt_status why(world *w) {
  rgt_why_info info = {.struct_size = sizeof info};
  rgt_status status = rgt_why(w->op, 24, &info);
  if (status == RGT_OK && w->tuned.winner[0]) assert_string_equal(info.variant, MACHINE_WINNER);
  return status;
}

static int count_row(void *user, const rgt_db_row *row) {
  world *w = user;
  assert_string_equal(row->winner, MACHINE_WINNER);
  w->n_rows++;
  return 0;
}

static rgt_status db_list(world *w) {
  w->n_rows = 0;
  rgt_status status = rgt_db_list(w->ctx, count_row, w);
  if (status == RGT_OK && w->tuned.winner[0])
    assert_int_equal(w->n_rows, w->mode ? 2 : 1); /* mode tune has the bucket of 8 rows too */
  return status;
}

static rgt_status db_check(world *w) {
  return rgt_db_check(w->ctx);
}

static rgt_status db_rebuild(world *w) {
  return rgt_db_rebuild(w->ctx);
}

static rgt_status show(world *w) {
  char *text = NULL;
  size_t bytes = 0;
  rgt_status status = rgt_show(w->op, NULL, 24, NULL, RGT_EMIT_SOURCE, &text, &bytes);
  if (status == RGT_OK)
    assert_true(bytes > 0 && strlen(text) == bytes);
  else
    assert_null(text);
  rgt_free(text);
  return status;
}

static int count_compiled(void *user, const rgt_compile_info *info) {
  world *w = user;
  w->n_compiled += info->outcome == RGT_TRIAL_OK;
  return 0;
}

static rgt_status compile(world *w) {
  w->n_compiled = 0;
  rgt_status status = rgt_compile(w->op, NULL, NULL, 0, 0, count_compiled, w);
  if (status == RGT_OK) assert_int_equal(w->n_compiled, 2);
  return status;
}

static int count_verdict(void *user, const rgt_verdict *v) {
  world *w = user;
  w->n_verdicts++;
  w->n_wrong += v->outcome != RGT_TRIAL_OK;
  return 0;
}

static rgt_status verify(world *w) {
  rgt_case data = {.struct_size = sizeof data,
                   .rows = w->p.rows,
                   .x = w->p.x,
                   .index = w->p.index,
                   .w1 = w->p.w[0],
                   .b1 = w->p.b[0],
                   .w2 = w->p.w[1],
                   .b2 = w->p.b[1],
                   .y64 = w->p.expected,
                   .exact = 1};
  rgt_verify_options o = {.struct_size = sizeof o, .data = &data};
  w->n_verdicts = w->n_wrong = 0;
  rgt_status status = rgt_verify(w->op, &o, count_verdict, w);
  assert_int_equal(w->n_wrong, 0); /* no memory is no verdict */
  if (status == RGT_OK) assert_int_equal(w->n_verdicts, 2);
  return status;
}

static rgt_status close_context(world *w) {
  rgt_weights_free(w->weights);
  w->weights = NULL;
  rgt_close(w->ctx);
  w->ctx = NULL;
  w->op = NULL;
  assert_int_equal(atomic_load(&w->machine.n_modules), 0);
  return RGT_OK;
}

static rgt_status read_config(world *w) {
  rgt_op_desc d;
  rgt_config_free(w->config);
  w->config = NULL;
  rgt_status status = rgt_config_open(w->ctx, w->file, &w->config);
  if (status != RGT_OK) return status;
  assert_int_equal(rgt_config_count(w->config), 5);
  assert_int_equal(rgt_config_op(w->config, 4, &d), RGT_OK);
  assert_int_equal(d.n_in, 128);
  assert_int_equal(d.groups, 64);
  return RGT_OK;
}

static rgt_status free_config(world *w) {
  rgt_config_free(w->config);
  w->config = NULL;
  return RGT_OK;
}

static void ignore_fact(void *user, const char *section, const char *name, const char *value) {
  (void)user;
  assert_true(section && name && value);
}

static rgt_status env(world *w) {
  return rgt_env(w->ctx, NULL, ignore_fact, NULL);
}

static rgt_status wait_for_it(world *w) {
  rgt_status status = rgt_op_wait(w->op, 60);
  assert_true(status == RGT_OK || status == RGT_ENOMEM); /* what could not be made is left out, and the log says so */
  return status;
}

static rgt_status prepare_and_wait(world *w) {
  return rgt_op_prepare(w->op, 32, RGT_PREPARE_WAIT);
}

static rgt_status write_bundle(world *w) {
  char path[100];
  snprintf(path, sizeof path, "%s/bundle", w->folder);
  rgt_status status = rgt_compile_bundle(w->op, NULL, path);
  if (status != RGT_OK) assert_int_not_equal(access(path, F_OK), 0); /* all or nothing */
  return status;
}

static rgt_status use_bundle(world *w) {
  char path[100];
  snprintf(path, sizeof path, "%s/bundle", w->folder);
  w->bundle = path;
  w->database = ":memory:";
  rgt_status status = open_context(w);
  w->bundle = NULL;
  w->database = w->db;
  return status;
}

/* ---- messages of the worker: put into a buffer, got out of it ---- */

/* The worker's own answer to a message that could not be put or got. */
static rgt_status memory_or_right(world *w, int right, int was_got) {
  assert_true(was_got ? right : atomic_load(&hook.n_failed) > 0);
  return was_got ? RGT_OK : rgt__error_nomem(&w->ctx->error, 0);
}

static rgt_status send_opening(world *w) {
  rgt_case data = {.struct_size = sizeof data,
                   .rows = w->p.rows,
                   .x = w->p.x,
                   .index = w->p.index,
                   .w1 = w->p.w[0],
                   .b1 = w->p.b[0],
                   .w2 = w->p.w[1],
                   .b2 = w->p.b[1],
                   .y64 = w->p.expected,
                   .exact = 1};
  rgt__worker_opening o = {.kind = "cpu", .threads = 2, .op = w->p.d, .rows = 256, .seed = 7, .data = &data}, got;
  rgt__environment values = {{NULL}};
  rgt__buffer b = {0};
  values.values[0] = "none";
  rgt__worker_put_opening(&b, &o, &values);
  rgt__wire_reader r = {b.data, b.data ? b.data + b.size : NULL, 0};
  int was_got = !b.failed && rgt__worker_get_opening(&r, &got);
  rgt_status status = memory_or_right(w, was_got && got.rows == 256 && got.data && got.data->rows == w->p.rows, was_got);
  if (was_got) rgt__worker_opening_free(&got);
  rgt__buffer_free(&b);
  return status;
}

static rgt_status send_task(world *w) {
  rgt__worker_task t = {.op = w->p.d, .rows = w->p.rows, .skew = RGT_SKEW_UNIFORM, .index = w->p.index, .seed = 3}, got;
  rgt__buffer b = {0};
  rgt__worker_put_task(&b, &t);
  rgt__wire_reader r = {b.data, b.data ? b.data + b.size : NULL, 0};
  int was_got = !b.failed && rgt__worker_get_task(&r, &got);
  rgt_status status =
      memory_or_right(w, was_got && got.index && memcmp(got.index, w->p.index, (size_t)w->p.rows * 8) == 0, was_got);
  if (was_got) rgt__free((void *)(uintptr_t)got.index);
  rgt__buffer_free(&b);
  return status;
}

static rgt_status send_candidate(world *w) {
  static char code[300] = "code";
  static rgt__candidate c, got;
  int64_t number = 0;
  rgt__buffer b = {0};
  memset(&c, 0, sizeof c);
  c.op = w->p.d;
  snprintf(c.text, sizeof c.text, MACHINE_WINNER);
  c.entry.code = code;
  c.entry.code_bytes = sizeof code;
  rgt_status status = rgt__program_parse("rgt-program 1\nkargs 1\nvalid 1\nworkspace 64\n", &c.program, &w->ctx->error);
  if (status != RGT_OK) return status;
  rgt__worker_put_candidate(&b, 5, &c);
  rgt__wire_reader r = {b.data, b.data ? b.data + b.size : NULL, 0};
  int was_got = !b.failed && rgt__worker_get_candidate(&r, &number, &got);
  status = memory_or_right(w, was_got && number == 5 && strcmp(got.text, c.text) == 0 && got.entry.code_bytes == sizeof code,
                           was_got);
  if (!b.failed) rgt__candidate_free(w->ctx->device, &got);
  rgt__buffer_free(&b);
  return status;
}

static rgt_status send_compiled(world *w) {
  static char code[300] = "code", ptx[] = "ptx";
  rgt__compiled c = {.code = code, .code_bytes = sizeof code, .ptx = ptx, .ptx_bytes = 3}, got;
  rgt__buffer b = {0};
  rgt__worker_put_compiled(&b, &c);
  rgt__wire_reader r = {b.data, b.data ? b.data + b.size : NULL, 0};
  int was_got = !b.failed && rgt__worker_get_compiled(&r, &got);
  rgt_status status = memory_or_right(w, was_got && got.code_bytes == sizeof code && strcmp(got.ptx, "ptx") == 0, was_got);
  if (was_got) rgt__compiled_free(&got);
  rgt__buffer_free(&b);
  return status;
}

/* ---- one sequence, every n ---- */

typedef struct step {
  const char *name;
  step_fn run;
} step;

enum { STEPS_MAX = 24 };

typedef struct outcome_counts {
  long tried, refused, went_on;
} outcome_counts;

static void check_message(const world *w, const char *step_name, long n, rgt_status status) {
  const char *text = rgt_errmsg(w->ctx);
  if (status != RGT_ENOMEM)
    fail_msg("%s, allocation %ld: %s (%s), not RGT_ENOMEM", step_name, n, rgt_status_name(status), text);
  if (!text[0] || strchr(text, '\n')) fail_msg("%s, allocation %ld: \"%s\" is not one line", step_name, n, text);
}

static void check_file(const world *w, const char *step_name, long n) {
  sqlite3 *db = NULL;
  sqlite3_stmt *s = NULL;
  if (access(w->db, F_OK) != 0) return;
  assert_int_equal(sqlite3_open_v2(w->db, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
  if (sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &s, NULL) != SQLITE_OK || sqlite3_step(s) != SQLITE_ROW ||
      strcmp((const char *)sqlite3_column_text(s, 0), "ok") != 0)
    fail_msg("%s, allocation %ld: the database is hurt: %s", step_name, n, sqlite3_errmsg(db));
  sqlite3_finalize(s);
  sqlite3_close(db);
}

/* Runs the sequence with allocation n failing. Returns the step in which it failed, -1 where the sequence ends before. */
static int sequence_once(world *w, const step *steps, long n, int all_after, outcome_counts *counts, long *ends) {
  int at = -1;
  w->tuned.winner[0] = 0;
  if (!w->keep) empty_folder(w);
  long live = atomic_load(&hook.live);
  arm(n, all_after);
  for (int i = 0; steps[i].name; i++) {
    int failed_before = atomic_load(&hook.n_failed);
    rgt_status status = steps[i].run(w);
    if (ends) ends[i] = atomic_load(&hook.n);
    if (atomic_load(&hook.n_failed) == failed_before && status != RGT_OK)
      fail_msg("%s without a failed allocation: %s: %s", steps[i].name, rgt_status_name(status), rgt_errmsg(w->ctx));
    if (at < 0 && atomic_load(&hook.n_failed) > 0) {
      at = i;
      counts[i].tried++;
      if (status != RGT_OK)
        counts[i].refused++;
      else
        counts[i].went_on++;
    }
    if (status == RGT_OK) continue;
    disarm();
    check_message(w, steps[i].name, n, status);
    status = steps[i].run(w); /* the same call on the same handle */
    if (status != RGT_OK)
      fail_msg("%s again after allocation %ld failed: %s: %s", steps[i].name, n, rgt_status_name(status), rgt_errmsg(w->ctx));
  }
  disarm();
  if (atomic_load(&hook.live) != live)
    fail_msg("%s: %ld blocks are left after allocation %ld failed%s", at >= 0 ? steps[at].name : "no failure",
             atomic_load(&hook.live) - live, n, all_after ? ", and all after it" : "");
  check_file(w, at >= 0 ? steps[at].name : "", n);
  return at;
}

/* Two runs without a failure: what is made once and kept comes first (SQLite's, the C library's). Then nothing may be left, and
 * ends[i] is the number of allocations up to the end of step i. */
static long count_allocations(world *w, const step *steps, long ends[STEPS_MAX]) {
  outcome_counts none[STEPS_MAX] = {{0}};
  sequence_once(w, steps, -1, 0, none, NULL);
  sequence_once(w, steps, -1, 0, none, ends);
  long n = 0;
  for (int i = 0; steps[i].name; i++) n = ends[i];
  return n;
}

/* Every allocation of a short step; of a long one `at_most`, drawn with a seed. */
static void every_allocation(world *w, const char *name, const step *steps, long at_most) {
  outcome_counts counts[STEPS_MAX] = {{0}};
  long ends[STEPS_MAX] = {0}, total = count_allocations(w, steps, ends), tried = 0;
  const char *word = getenv("FAULTS");
  int all = word && strcmp(word, "all") == 0;
  rgt__random random;
  rgt__random_seed(&random, 20);
  for (int all_after = 0; all_after < 2; all_after++)
    for (long i = 0, n = 0; steps[i].name; i++)
      for (long left = at_most; n < ends[i]; n++) {
        if (!all && (long)rgt__random_below(&random, (uint64_t)(ends[i] - n)) >= left) continue;
        left--;
        tried++;
        sequence_once(w, steps, n, all_after, counts, NULL);
      }
  for (int i = 0; steps[i].name; i++)
    if (counts[i].tried)
      tally("allocation %s: %s\t%ld\t%ld RGT_ENOMEM and right when called again, %ld went on and were right", name,
            steps[i].name, counts[i].tried, counts[i].refused, counts[i].went_on);
  print_message("%s: %ld of %ld allocations, alone and with all after them\n", name, tried, 2 * total);
  assert_true(tried > 0);
}

/* In a world of its own, with nothing in it. */
static void every_allocation_of(const char *name, const step *steps, long at_most) {
  world w;
  world_begin(&w);
  every_allocation(&w, name, steps, at_most);
  world_end(&w);
}

/* ---- the tests ---- */

static void first_time(void **state) {
  static const step steps[] = {{"open", open_context},
                               {"op new", new_op},
                               {"run before prepare", run},
                               {"tune", tune},
                               {"prepare", prepare},
                               {"weights", make_weights},
                               {"run", run},
                               {"run, index out of range", run_out_of_range},
                               {"close", close_context},
                               {NULL, NULL}};
  (void)state;
  every_allocation_of("first time", steps, 50);
}

/* Nothing cached, nothing tuned: the built-in kernel answers while a thread of the context makes the default variant ready.
 * Which allocation is the n-th differs a little from run to run. */
static void background(void **state) {
  static const step steps[] = {
      {"open", open_context},   {"op new", new_op}, {"prepare, in the background", prepare}, {"run meanwhile", run},
      {"wait", wait_for_it},    {"run", run},       {"prepare, and wait", prepare_and_wait}, {"run", run},
      {"close", close_context}, {NULL, NULL}};
  (void)state;
  every_allocation_of("background", steps, 50);
}

static void bundles(void **state) {
  static const step steps[] = {{"open", open_context},
                               {"op new", new_op},
                               {"tune", tune},
                               {"write a bundle", write_bundle},
                               {"close", close_context},
                               {"open with the bundle", use_bundle},
                               {"op new", new_op},
                               {"prepare from the bundle", prepare_and_wait},
                               {"why", why},
                               {"run", run},
                               {"close", close_context},
                               {NULL, NULL}};
  (void)state;
  every_allocation_of("bundle", steps, 30);
}

static void messages(void **state) {
  static const step steps[] = {
      {"open", open_context},      {"opening", send_opening}, {"task", send_task}, {"candidate", send_candidate},
      {"compiled", send_compiled}, {"close", close_context},  {NULL, NULL}};
  (void)state;
  every_allocation_of("worker messages", steps, 100);
}

/* What was tuned before is found again: the database's file and the code cache are there. */
static void second_time(void **state) {
  static const step before[] = {{"open", open_context}, {"op new", new_op},       {"tune", tune},
                                {"prepare", prepare},   {"close", close_context}, {NULL, NULL}};
  static const step steps[] = {{"open", open_context},
                               {"op new", new_op},
                               {"prepare", prepare},
                               {"why", why},
                               {"run", run},
                               {"tune, a hit", tune},
                               {"db list", db_list},
                               {"db check", db_check},
                               {"db rebuild", db_rebuild},
                               {"db list", db_list},
                               {"show", show},
                               {"close", close_context},
                               {NULL, NULL}};
  world w;
  outcome_counts none[STEPS_MAX] = {{0}};
  (void)state;
  world_begin(&w);
  sequence_once(&w, before, -1, 0, none, NULL);
  w.keep = 1;
  every_allocation(&w, "second time", steps, 50);
  assert_int_equal(atomic_load(&w.machine.n_compiles), 0);
  world_end(&w);
}

static void in_memory(void **state) {
  static const step steps[] = {{"open", open_context},     {"op new", new_op},       {"prepare, mode tune", prepare},
                               {"tune, a hit", tune},      {"db list", db_list},     {"why", why},
                               {"db rebuild", db_rebuild}, {"close", close_context}, {NULL, NULL}};
  world w;
  (void)state;
  world_begin(&w);
  w.database = ":memory:";
  w.mode = "tune";
  every_allocation(&w, "in memory", steps, 50);
  world_end(&w);
}

static void inspection(void **state) {
  static const step steps[] = {{"open", open_context}, {"op new", new_op},       {"why", why},
                               {"show", show},         {"compile", compile},     {"verify", verify},
                               {"environment", env},   {"close", close_context}, {NULL, NULL}};
  (void)state;
  every_allocation_of("inspection", steps, 50);
}

static void config_file(void **state) {
  static const step steps[] = {
      {"open", open_context}, {"config", read_config}, {"close", free_config}, {"close", close_context}, {NULL, NULL}};
  static const char text[] =
      "return { ops = { 'mlp:10-20-5:g3:f32:relu:b12:nk:i64',\n"
      "  { n_in = { 64, 128 }, n_hidden = 256, groups = { 8, 64 } } }, rows = { 8, 64 }, budget_s = 5 }\n";
  world w;
  (void)state;
  world_begin(&w);
  w.keep = 1;
  assert_int_equal(rgt__file_write(w.file, text, sizeof text - 1, 0600, NULL), RGT_OK);
  every_allocation(&w, "config", steps, 100);
  world_end(&w);
}

/* The library's own families, whose specs and templates are longer. */
static void built_in_templates(void **state) {
  static const step steps[] = {
      {"open", open_context}, {"op new", new_op}, {"show", show}, {"close", close_context}, {NULL, NULL}};
  world w;
  (void)state;
  world_begin(&w);
  w.templates = NULL;
  every_allocation(&w, "own templates", steps, 50);
  world_end(&w);
}

int main(void) {
  cpu_set_t one;
  CPU_ZERO(&one); /* one thread compiles: the n-th allocation is the same in every run */
  CPU_SET((size_t)sched_getcpu(), &one);
  sched_setaffinity(0, sizeof one, &one);
  rgt_set_alloc(hooked_realloc, NULL);
  hook_sqlite();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(first_time), cmocka_unit_test(second_time), cmocka_unit_test(in_memory),
      cmocka_unit_test(inspection), cmocka_unit_test(config_file), cmocka_unit_test(built_in_templates),
      cmocka_unit_test(background), cmocka_unit_test(bundles),     cmocka_unit_test(messages),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
