/* test_background.c -- the first call never stalls: what answers while variants are compiled, when they take over, and what
 * becomes of the work when its op, its context or its process goes away. The compiler waits at a gate that the test opens. */
#include "runtime/background.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "runtime/prepare.h"
#include "tests/support/folder.h"
#include "tests/support/planted.h"

#define BROKEN "broken:fault=1,more=0" /* drops what is left of k */

enum { LONG_MS = 20000 };

static front f;
static char tiles[RGT_VARIANT_TEXT_MAX];
static char gate[100], started[100]; /* files: the gate is open; a line for each compile that was begun */

/* A compile notes its process and waits for the gate; a question for the version goes through. */
static void make_gated_compiler(void) {
  char script[900];
  snprintf(gate, sizeof gate, "%s/gate", f.s.folder);
  snprintf(started, sizeof started, "%s/started", f.s.folder);
  snprintf(script, sizeof script,
           "#!/bin/sh\n"
           "echo \"$*\" >>%s\n"
           "case \"$*\" in --version) exec cc --version;; esac\n"
           "echo $$ >>%s\n"
           "while ! [ -e %s ]; do sleep 0.01; done\n"
           "exec cc \"$@\"\n",
           f.compiler_log, started, gate);
  snprintf(f.compiler, sizeof f.compiler, "%s", scratch_write(&f.s, "gated-cc", script, 0755));
  setenv("RAGTUNE_CC", f.compiler, 1);
}

static void open_gate(void) {
  scratch_write(&f.s, "gate", "", 0644);
}

static int begin(void **state) {
  (void)state;
  front_begin(&f);
  make_gated_compiler();
  front_open(&f);
  planted_tiles(&f, tiles);
  return 0;
}

static int end(void **state) {
  (void)state;
  open_gate();
  front_end(&f);
  return 0;
}

static void pause_ms(int ms) {
  nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L}, NULL);
}

static double now_s(void) {
  return rgt__background_now();
}

/* Lines of the file: compiles begun so far. *pid: of the last one. */
static int n_started(pid_t *pid) {
  int n = 0, last = 0;
  char line[200];
  FILE *file = fopen(started, "re");
  while (file && fgets(line, sizeof line, file))
    if (sscanf(line, "%d", &last) == 1) n++;
  if (file) fclose(file);
  if (pid) *pid = last;
  return n;
}

static pid_t wait_for_start(int n) {
  pid_t pid = 0;
  for (int ms = 0; n_started(&pid) < n; ms += 5) {
    if (ms > LONG_MS) fail_msg("compile %d never began", n);
    pause_ms(5);
  }
  return pid;
}

static int is_alive(pid_t pid) {
  return kill(pid, 0) == 0;
}

static problem p;

static void run_right(rgt_op *op) {
  problem_reset_y(&p);
  front_ok(&f, rgt_op_run(op, &p.args, NULL));
  problem_check(&p);
}

static void run_rows(rgt_op *op, const char *text, int64_t rows) {
  problem_make(&p, text, rows, 1);
  run_right(op);
  problem_free(&p);
}

static rgt_why_info why(rgt_op *op, int64_t rows) {
  rgt_why_info info = {.struct_size = sizeof info};
  front_ok(&f, rgt_why(op, rows, &info));
  return info;
}

/* ---- what answers, and when it changes ---- */

static void the_builtin_kernel_answers_at_once(void **state) {
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_ok(&f, rgt_op_prepare(op, 100, 0)); /* the gate is closed: this would never return if it waited */
  assert_int_equal(op->prepared, RGT_PREPARED_PARTLY);
  run_rows(op, FRONT_MLP, 100);
  rgt_why_info i = why(op, 100);
  assert_string_equal(i.variant, "builtin");
  assert_int_equal(i.from, RGT_FROM_BUILTIN);
  assert_has(i.note, FRONT_DEFAULT " is being compiled and verified");
  front_fails(&f, rgt_op_wait(op, 0.05), RGT_ETIMEOUT, "after 0.05 s");
  front_fails(&f, rgt_op_wait(op, 0), RGT_ETIMEOUT, "being made");
  open_gate();
  problem_make(&p, FRONT_MLP, 100, 0);
  for (int ms = 0; op->prepared != RGT_PREPARED; ms += 5) { /* the switch comes by calls alone */
    if (ms > LONG_MS) fail_msg("the default never took over");
    pause_ms(5);
    run_right(op);
  }
  run_right(op);
  problem_free(&p);
  assert_string_equal(ready_for(op, 100), FRONT_DEFAULT);
  i = why(op, 100);
  assert_string_equal(i.variant, FRONT_DEFAULT);
  assert_int_equal(i.from, RGT_FROM_DEFAULT);
  front_ok(&f, rgt_op_wait(op, 0));
  assert_string_equal(f.log, "");
}

/* Bits are those of the default before and after the switch, also where sums round. */
static void the_switch_keeps_the_bits(void **state) {
  enum { ROWS = 37, N_OUT = 11 };
  const char *text = "mlp:33-29-11:g4:f32:gelu:b12:nk:i64";
  float first[ROWS * N_OUT];
  (void)state;
  rgt_op *op = front_op(&f, text);
  problem_make(&p, text, ROWS, 0);
  for (int64_t i = 0; i < ROWS * p.d.n_in; i++)
    if (!isnan(p.x[i])) p.x[i] *= 0.1f * (float)(i % 17);
  front_ok(&f, rgt_op_prepare(op, ROWS, 0));
  front_ok(&f, rgt_op_run(op, &p.args, NULL));
  assert_null(ready_for(op, ROWS));
  memcpy(first, p.y, sizeof first);
  open_gate();
  front_ok(&f, rgt_op_wait(op, -1));
  assert_non_null(ready_for(op, ROWS));
  problem_reset_y(&p);
  front_ok(&f, rgt_op_run(op, &p.args, NULL));
  assert_memory_equal(first, p.y, sizeof first);
  problem_free(&p);
}

/* A stored winner whose code is not here, as after an import: the default first, then the winners by bucket. */
static void the_default_comes_first_then_winners(void **state) {
  char line[200];
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  store_one(op, 8, FRONT_FUSED);
  store_one(op, 64, tiles);
  front_ok(&f, rgt_op_prepare(op, 64, 0));
  wait_for_start(1);
  FILE *file = fopen(started, "re");
  assert_non_null(fgets(line, sizeof line, file));
  fclose(file);
  rgt__background_lock();
  const rgt__ready *fallback = op->prefer[0][RGT_PLACE_DEFAULT], *first = op->prefer[3][RGT_PLACE_WINNER],
                   *second = op->prefer[6][RGT_PLACE_WINNER];
  assert_int_equal(fallback->state, RGT_READY_MAKING);
  assert_int_equal(first->state, RGT_READY_QUEUED);
  assert_int_equal(second->state, RGT_READY_QUEUED);
  assert_ptr_equal(first->next_queued, second);
  rgt__background_unlock();
  assert_string_equal(fallback->variant, FRONT_DEFAULT);
  run_rows(op, FRONT_MLP, 8);
  rgt_why_info i = why(op, 8);
  assert_string_equal(i.variant, "builtin");
  assert_has(i.note, FRONT_FUSED);
  open_gate();
  front_ok(&f, rgt_op_wait(op, -1));
  assert_string_equal(ready_for(op, 8), FRONT_FUSED);
  assert_string_equal(ready_for(op, 64), tiles);
  run_rows(op, FRONT_MLP, 8);
  run_rows(op, FRONT_MLP, 64);
  i = why(op, 8);
  assert_string_equal(i.variant, FRONT_FUSED);
  assert_int_equal(i.from, RGT_FROM_USER_DB);
  assert_string_equal(f.log, "");
}

/* Where the default's code is here and the winner's is not, the default answers. */
static void the_default_answers_for_a_winner(void **state) {
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  open_gate();
  front_ok(&f, rgt_op_prepare(op, 8, RGT_PREPARE_WAIT));
  unlink(gate);
  front_open(&f);
  op = front_op(&f, FRONT_MLP);
  store(op, 8, (const entry[]){{FRONT_DEFAULT, 1000000, 0}, {tiles, 500000, 0}, {FRONT_FUSED, 700000, 0}}, 3);
  front_ok(&f, rgt_op_prepare(op, 8, 0));
  assert_string_equal(ready_for(op, 8), FRONT_DEFAULT);
  rgt_why_info i = why(op, 8);
  assert_string_equal(i.variant, FRONT_DEFAULT);
  assert_int_equal(i.from, RGT_FROM_DEFAULT);
  assert_int_equal(i.time_ps, 0); /* what was measured is the winner's */
  assert_has(i.note, "is being compiled and verified");
  run_rows(op, FRONT_MLP, 8);
  open_gate();
  front_ok(&f, rgt_op_wait(op, -1));
  assert_string_equal(ready_for(op, 8), tiles);
  run_rows(op, FRONT_MLP, 8);
}

/* Prepared again before each call, as some do: nothing is thrown away, nothing starts over. */
static void preparing_again_goes_on(void **state) {
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_ok(&f, rgt_op_prepare(op, 8, 0));
  wait_for_start(1);
  for (int64_t rows = 8; rows < 2000; rows *= 3) {
    front_ok(&f, rgt_op_prepare(op, rows, 0));
    run_rows(op, FRONT_MLP, rows);
  }
  assert_int_equal(n_started(NULL), 1);
  open_gate();
  front_ok(&f, rgt_op_wait(op, -1));
  assert_string_equal(ready_for(op, 1000), FRONT_DEFAULT);
  assert_int_equal(n_started(NULL), 1);
  front_ok(&f, rgt_op_prepare(op, 16, 0)); /* and with all of it there */
  assert_int_equal(op->prepared, RGT_PREPARED);
  run_rows(op, FRONT_MLP, 16);
  assert_int_equal(n_started(NULL), 1);
}

static void waiting_when_asked(void **state) {
  rgt_op_options one_class = {.struct_size = sizeof one_class, .batch_invariant = 1};
  (void)state;
  open_gate();
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_fails(&f, rgt_op_wait(op, 1), RGT_ENOTREADY, "not prepared");
  front_ok(&f, rgt_op_prepare(op, 8, RGT_PREPARE_WAIT));
  assert_string_equal(ready_for(op, 8), FRONT_DEFAULT);
  assert_int_equal(op->prepared, RGT_PREPARED);
  front_fails(&f, rgt_op_wait(op, NAN), RGT_EINVAL, "NaN");
  store_one(op, 8, FRONT_FUSED);
  rgt_op *exact = front_op(&f, FRONT_MLP), *invariant = front_op_with(&f, FRONT_MLP, &one_class);
  front_ok(&f, rgt_op_prepare(exact, 8, RGT_PREPARE_EXACT));
  assert_string_equal(ready_for(exact, 8), FRONT_FUSED);
  front_ok(&f, rgt_op_prepare(invariant, 8, 0));
  assert_string_equal(ready_for(invariant, 8), FRONT_FUSED);
}

/* ---- what cannot be used ---- */

static char templates[200];

static void open_broken(void) {
  rgt_options o = front_options(&f);
  snprintf(templates, sizeof templates, "%s/templates", f.s.folder);
  folder_copy(templates, RGT_TESTS_DIR "/fixtures/broken");
  o.template_dir = templates;
  assert_int_equal(front_open_with(&f, &o), RGT_OK);
}

static int count(const char *text, const char *word) {
  int n = 0;
  for (const char *at = text; (at = strstr(at, word)); at++) n++;
  return n;
}

static void a_wrong_winner_is_demoted_once_and_for_all(void **state) {
  (void)state;
  open_broken();
  open_gate();
  rgt_op *op = front_op(&f, FRONT_MLP);
  store(op, 8, (const entry[]){{FRONT_DEFAULT, 1000000, 0}, {BROKEN, 100000, 0}, {FRONT_FUSED, 700000, 0}}, 3);
  front_ok(&f, rgt_op_prepare(op, 8, 0));
  front_ok(&f, rgt_op_wait(op, -1));
  assert_string_equal(ready_for(op, 8), FRONT_FUSED);
  assert_int_equal(count(f.log, "not used"), 1);
  assert_has(f.log, BROKEN);
  run_rows(op, FRONT_MLP, 8);
  rgt_why_info i = why(op, 8);
  assert_string_equal(i.variant, FRONT_FUSED);
  assert_has(i.note, "not used: " BROKEN);
  assert_int_equal(i.time_ps, 700000); /* the runner-up's own */
  front_compiles(&f);
  for (int turn = 0; turn < 2; turn++) { /* not tried again, nor told again; another one is the stored winner now */
    front_ok(&f, rgt_op_prepare(op, 8, RGT_PREPARE_WAIT));
    front_ok(&f, rgt_op_prepare(op, 8, RGT_PREPARE_EXACT));
    assert_string_equal(ready_for(op, 8), FRONT_FUSED);
  }
  assert_int_equal(front_compiles(&f), 0);
  assert_int_equal(count(f.log, "not used"), 1);
}

static void what_does_not_compile_is_demoted(void **state) {
  (void)state;
  open_broken();
  open_gate();
  folder_patch(templates, "cpu/broken.c", "KERNEL(broken)", "no_such_type KERNEL(broken)");
  rgt_op *op = front_op(&f, FRONT_MLP); /* templates are read at the first question */
  store(op, 8, (const entry[]){{FRONT_DEFAULT, 1000000, 0}, {BROKEN, 100000, 0}}, 2);
  front_ok(&f, rgt_op_prepare(op, 8, 0));
  front_ok(&f, rgt_op_wait(op, -1));
  assert_string_equal(ready_for(op, 8), FRONT_DEFAULT);
  assert_has(f.log, "cpu/broken.c:");
  assert_has(f.log, "not used");
  run_rows(op, FRONT_MLP, 8);
}

static void without_a_usable_compiler_the_builtin_stays(void **state) {
  (void)state;
  setenv("RAGTUNE_CC", scratch_write(&f.s, "broken-cc", "#!/bin/sh\nexit 3\n", 0755), 1);
  front_open(&f);
  rgt_op *op = front_op(&f, FRONT_MLP);
  store_one(op, 8, FRONT_FUSED);
  front_ok(&f, rgt_op_prepare(op, 8, 0));
  front_ok(&f, rgt_op_wait(op, -1));
  assert_null(ready_for(op, 8));
  assert_int_equal(count(f.log, "\n"), 1);
  assert_has(f.log, "broken-cc --version ended with status 3");
  assert_has(f.log, "the built-in kernel is used");
  run_rows(op, FRONT_MLP, 8);
  setenv("RAGTUNE_CC", "cc", 1); /* a trouble of the moment: the next prepare tries again, with the compiler that it finds */
  front_open(&f);
  op = front_op(&f, FRONT_MLP);
  front_ok(&f, rgt_op_prepare(op, 8, RGT_PREPARE_WAIT));
  assert_string_equal(ready_for(op, 8), FRONT_FUSED);
}

/* ---- going away in the middle ---- */

static int n_scratch(void) {
  int n = 0;
  DIR *d = opendir(getenv("TMPDIR"));
  for (struct dirent *e; (e = readdir(d));) n += strncmp(e->d_name, "ragtune-", 8) == 0;
  closedir(d);
  return n;
}

static void open_with_scratch(void) {
  static char folder[100];
  snprintf(folder, sizeof folder, "%s/tmp", f.s.folder);
  mkdir(folder, 0700);
  setenv("TMPDIR", folder, 1);
  front_open(&f);
}

static void freeing_in_the_middle(void **state) {
  (void)state;
  open_with_scratch();
  rgt_op *op = front_op(&f, FRONT_MLP), *other = front_op(&f, FRONT_LINEAR);
  front_ok(&f, rgt_op_prepare(op, 8, 0));
  front_ok(&f, rgt_op_prepare(other, 8, 0)); /* waits for its turn behind it */
  pid_t compiler = wait_for_start(1);
  assert_int_equal(n_scratch(), 1);
  double before = now_s();
  rgt_op_free(op);
  if (now_s() - before > 5) fail_msg("freeing took %g s", now_s() - before);
  assert_false(is_alive(compiler));
  wait_for_start(2); /* the other one's */
  open_gate();
  front_ok(&f, rgt_op_wait(other, -1));
  run_rows(other, FRONT_LINEAR, 8);
  assert_int_equal(n_scratch(), 0);
}

static void closing_in_the_middle(void **state) {
  (void)state;
  open_with_scratch();
  for (int queued = 0; queued < 2; queued++) {
    rgt_op *op = front_op(&f, FRONT_MLP), *other = front_op(&f, FRONT_LINEAR);
    store_one(op, 8, FRONT_FUSED);
    front_ok(&f, rgt_op_prepare(op, 8, 0));
    front_ok(&f, rgt_op_prepare(other, 8, 0));
    pid_t compiler = queued ? 0 : wait_for_start(1); /* and once before anything began */
    front_open(&f);
    assert_true(compiler == 0 || !is_alive(compiler));
  }
  assert_int_equal(n_scratch(), 0);
}

static void preparing_otherwise_in_the_middle(void **state) {
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_ok(&f, rgt_op_prepare(op, 8, 0));
  pid_t compiler = wait_for_start(1);
  front_ok(&f, rgt_op_prepare_variant(op, "builtin", 8)); /* the default is not wanted any more */
  assert_false(is_alive(compiler));
  run_rows(op, FRONT_MLP, 8);
  open_gate();
  front_ok(&f, rgt_op_prepare(op, 8, RGT_PREPARE_WAIT));
  assert_string_equal(ready_for(op, 8), FRONT_DEFAULT);
}

/* ---- several at once ---- */

static void one_code_is_compiled_once(void **state) {
  (void)state;
  rgt_options o = front_options(&f);
  rgt_ctx *second = NULL, *first = f.ctx;
  rgt_op *ops[3];
  rgt_op_desc d;
  assert_int_equal(rgt_open(&o, &second), RGT_OK);
  assert_int_equal(rgt_op_parse(NULL, FRONT_MLP, &d), RGT_OK);
  assert_int_equal(rgt_op_new(first, &d, NULL, &ops[0]), RGT_OK);
  assert_int_equal(rgt_op_new(first, &d, NULL, &ops[1]), RGT_OK);
  assert_int_equal(rgt_op_new(second, &d, NULL, &ops[2]), RGT_OK);
  for (int i = 0; i < 3; i++) assert_int_equal(rgt_op_prepare(ops[i], 8, 0), RGT_OK);
  wait_for_start(1);
  pause_ms(100); /* time for a second one to begin, if it would */
  assert_int_equal(n_started(NULL), 1);
  open_gate();
  for (int i = 0; i < 3; i++) {
    assert_int_equal(rgt_op_wait(ops[i], -1), RGT_OK);
    assert_string_equal(ready_for(ops[i], 8), FRONT_DEFAULT);
    run_rows(ops[i], FRONT_MLP, 8);
  }
  assert_int_equal(n_started(NULL), 1);
  rgt_close(second);
}

static void signals_stay_with_the_host(void **state) {
  char path[300], line[200];
  unsigned long long blocked = 0;
  int n_threads = 0, n_blocking = 0;
  (void)state;
  rgt_op *op = front_op(&f, FRONT_MLP);
  front_ok(&f, rgt_op_prepare(op, 8, 0));
  wait_for_start(1);
  DIR *d = opendir("/proc/self/task");
  for (struct dirent *e; d && (e = readdir(d));) {
    snprintf(path, sizeof path, "/proc/self/task/%.20s/status", e->d_name);
    FILE *file = e->d_name[0] == '.' || atoi(e->d_name) == getpid() ? NULL : fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
      if (sscanf(line, "SigBlk: %llx", &blocked) != 1) continue;
      n_threads++;
      n_blocking += (blocked >> (SIGINT - 1) & 1) && (blocked >> (SIGTERM - 1) & 1) && (blocked >> (SIGALRM - 1) & 1);
    }
    if (file) fclose(file);
  }
  if (d) closedir(d);
  if (n_threads == 0) skip(); /* no /proc */
  assert_int_equal(n_blocking, n_threads);
}

/* ---- forks ---- */

/* What a child can do with an op whose work is its parent's: everything, by what is there. */
static int in_child(rgt_op *op, rgt_ctx *ctx) {
  problem q;
  problem_make(&q, FRONT_MLP, 8, 0);
  if (rgt_op_run(op, &q.args, NULL) != RGT_OK) return 1;
  problem_check(&q);
  if (rgt_op_wait(op, 5) != RGT_OK) return 2;
  if (rgt_op_run(op, &q.args, NULL) != RGT_OK) return 3;
  if (op->prepared != RGT_PREPARED) return 4;
  open_gate();
  if (rgt_op_prepare(op, 8, RGT_PREPARE_WAIT) != RGT_OK) return 5;
  if (!ready_for(op, 8) || strcmp(ready_for(op, 8), FRONT_DEFAULT) != 0) return 6;
  problem_reset_y(&q);
  if (rgt_op_run(op, &q.args, NULL) != RGT_OK) return 7;
  problem_check(&q);
  problem_free(&q);
  rgt_close(ctx);
  return 0;
}

static void a_fork_in_the_middle(void **state) {
  int status = 0;
  (void)state;
  rgt_options o = front_options(&f);
  o.mode = "off"; /* no database crosses a fork */
  front_open_with(&f, &o);
  rgt_op *op = front_op(&f, FRONT_MLP), *other = front_op(&f, FRONT_LINEAR);
  front_ok(&f, rgt_op_prepare(op, 8, 0));
  front_ok(&f, rgt_op_prepare(other, 8, 0));
  wait_for_start(1);
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(in_child(op, f.ctx));
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  if (!WIFEXITED(status) || WEXITSTATUS(status)) fail_msg("the child ended with %x", (unsigned)status);
  front_ok(&f, rgt_op_wait(op, -1)); /* the parent's own work goes on */
  front_ok(&f, rgt_op_wait(other, -1));
  assert_string_equal(ready_for(op, 8), FRONT_DEFAULT);
  run_rows(op, FRONT_MLP, 8);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
  const struct CMUnitTest tests[] = {
      TEST(the_builtin_kernel_answers_at_once),
      TEST(the_switch_keeps_the_bits),
      TEST(the_default_comes_first_then_winners),
      TEST(the_default_answers_for_a_winner),
      TEST(preparing_again_goes_on),
      TEST(waiting_when_asked),
      TEST(a_wrong_winner_is_demoted_once_and_for_all),
      TEST(what_does_not_compile_is_demoted),
      TEST(without_a_usable_compiler_the_builtin_stays),
      TEST(freeing_in_the_middle),
      TEST(closing_in_the_middle),
      TEST(preparing_otherwise_in_the_middle),
      TEST(one_code_is_compiled_once),
      TEST(signals_stay_with_the_host),
      TEST(a_fork_in_the_middle),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
