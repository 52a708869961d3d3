/* test_homes.c -- homes that are no home: unset, a file, not to be made, read-only, on a network file system. Each time a whole
 * session (tune, prepare, run, list) does its work, says each trouble once, and leaves nothing where it may not. */
#include "tests/support/front.h"

#include <sqlite3.h>
#include <sys/wait.h>

#include "tests/faults/machine.h"
#include "tests/faults/shim.h"
#include "tests/faults/tally.h"

static scratch s;
static machine device;
static char log_text[4000], templates[100];

#define CHECK(condition)                                                                        \
  do {                                                                                          \
    if (!(condition)) {                                                                         \
      fprintf(stderr, "%s:%d: in the child: %s\n%s", __FILE__, __LINE__, #condition, log_text); \
      _exit(1);                                                                                 \
    }                                                                                           \
  } while (0)

static int setup(void **state) {
  (void)state;
  front_clear_environment();
  char command[400];
  scratch_open(&s);
  snprintf(templates, sizeof templates, "%s/templates", s.folder);
  snprintf(command, sizeof command, "cp -r %s %s && chmod -R a+rX %s", MACHINE_TEMPLATES, templates, templates);
  return chmod(s.folder, 0711) || system(command); /* the sources may lie where nobody else may look */
}

static int teardown(void **state) {
  (void)state;
  scratch_close(&s);
  return 0;
}

static void keep_log(void *user, rgt_log_level level, const char *line) {
  size_t at = strlen(log_text);
  (void)user, (void)level;
  CHECK(!strchr(line, '\n'));
  snprintf(log_text + at, sizeof log_text - at, "%s\n", line);
}

static int count_row(void *user, const rgt_db_row *row) {
  (void)row;
  ++*(int *)user;
  return 0;
}

static int n_lines(void) {
  int n = 0;
  for (const char *c = log_text; *c; c++) n += *c == '\n';
  return n;
}

/* 1: it was a hit. */
static int session(void) {
  rgt_ctx *ctx = NULL;
  rgt_op *op = NULL;
  rgt_op_desc d;
  rgt_tune_result r;
  problem p;
  int n = 0;
  const int64_t rows = 24;
  log_text[0] = 0;
  rgt_options o = {.struct_size = sizeof o, .device = "cpu", .template_dir = templates, .threads = 1, .log = keep_log};
  rgt_tune_options tuning = {.struct_size = sizeof tuning, .rows = &rows, .n_rows = 1, .budget_s = 600};
  CHECK(rgt_open(&o, &ctx) == RGT_OK);
  machine_install(&device, ctx);
  rgt_op_parse(ctx, MACHINE_OP, &d);
  device.op = d;
  CHECK(rgt_op_new(ctx, &d, NULL, &op) == RGT_OK);
  CHECK(rgt_tune(op, &tuning, &r) == RGT_OK);
  CHECK(strcmp(r.winner, MACHINE_WINNER) == 0);
  CHECK(rgt_op_prepare(op, 32, 0) == RGT_OK);
  problem_make(&p, MACHINE_OP, 24, 0);
  CHECK(rgt_op_run(op, &p.args, NULL) == RGT_OK);
  for (int64_t i = 0; i < p.rows * p.d.n_out; i++) CHECK((double)p.y[i] == p.expected[i]);
  problem_free(&p);
  CHECK(rgt_db_list(ctx, count_row, &n) == RGT_OK && n == 1);
  rgt_status swept = rgt_cache_gc(ctx, 0, NULL, NULL, NULL); /* without its database it removes nothing, and says why */
  CHECK(swept == RGT_OK || (swept == RGT_EDB && strstr(rgt_errmsg(ctx), "nothing was removed")));
  rgt_close(ctx);
  return r.hit;
}

static void in_a_process(void (*run)(void)) {
  int status = 0;
  fflush(NULL);
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    alarm(60);
    run();
    _exit(0);
  }
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- no home ---- */

static void without_home(void) {
  unsetenv("HOME");
  CHECK(session() == 0);
  CHECK(n_lines() == 1 && strstr(log_text, "HOME and XDG_DATA_HOME are unset: results are kept in memory only"));
}

static void no_home(void **state) {
  (void)state;
  in_a_process(without_home);
  tally("HOME unset\t%d\tworks in memory, said once", 1);
}

static void with_bad_home(void) {
  CHECK(session() == 0);
  CHECK(n_lines() == 2); /* the database, and the code cache */
  CHECK(strstr(log_text, "results are kept in memory only") && strstr(log_text, "compiled code is not kept"));
}

static void home_is_no_folder(void **state) {
  (void)state;
  setenv("HOME", scratch_write(&s, "file", "x", 0600), 1);
  in_a_process(with_bad_home);
  setenv("HOME", "/proc/nowhere", 1);
  in_a_process(with_bad_home);
  tally("HOME is a file, or cannot be made\t%d\tworks in memory, said once for the database and once for compiled code", 2);
}

/* Root may write anything: be nobody. */
static void as_nobody(void) {
  if (geteuid() == 0) CHECK(setgid(65534) == 0 && setuid(65534) == 0);
  with_bad_home();
}

static void read_only_home(void **state) {
  (void)state;
  char path[250];
  snprintf(path, sizeof path, "%s", scratch_path(&s, "home"));
  assert_int_equal(mkdir(path, 0755), 0);
  assert_int_equal(chmod(path, 0555), 0);
  setenv("HOME", path, 1);
  in_a_process(as_nobody);
  assert_int_equal(scratch_count(path), 0);
  tally("a read-only HOME\t%d\tworks in memory, said once for each; nothing left there", 1);
}

/* A home whose folders of ours are there, with a result, and cannot be written: it is read. */
static void make_result(void) {
  if (geteuid() == 0) CHECK(setgid(65534) == 0 && setuid(65534) == 0);
  CHECK(session() == 0);
  CHECK(n_lines() == 0);
}

static void use_result(void) {
  if (geteuid() == 0) CHECK(setgid(65534) == 0 && setuid(65534) == 0);
  CHECK(session() == 1);
  CHECK(strstr(log_text, "cannot be written: it is read, and nothing is stored"));
  CHECK(n_lines() == 1);
}

static void read_only_result(void **state) {
  (void)state;
  char path[250], command[600];
  snprintf(path, sizeof path, "%s", scratch_path(&s, "home"));
  assert_int_equal(mkdir(path, 0700), 0);
  if (geteuid() == 0) assert_int_equal(chown(path, 65534, 65534), 0);
  setenv("HOME", path, 1);
  in_a_process(make_result);
  snprintf(command, sizeof command, "chmod -R a-w %s/.local && chmod a-w %s", path, path);
  assert_int_equal(system(command), 0);
  in_a_process(use_result);
  tally("a HOME with results that became read-only\t%d\tanswers with a hit, says once that nothing is stored", 1);
}

/* ---- what others could write ---- */

static void shared_places(void) {
  CHECK(session() == 0);
  CHECK(strstr(log_text, "others can write to it"));
}

static void folders_of_others(void **state) {
  (void)state;
  char path[250], cache[300];
  snprintf(path, sizeof path, "%s", scratch_path(&s, "home"));
  snprintf(cache, sizeof cache, "%s/.cache/ragtune", path);
  assert_int_equal(rgt__file_make_folder(cache, NULL), 0);
  assert_int_equal(chmod(cache, 0777), 0);
  setenv("HOME", path, 1);
  in_a_process(shared_places);
  assert_int_equal(scratch_count(cache), 0); /* nothing was put there, and nothing would be loaded from there */
  tally("a code cache that others can write\t%d\tnot used, said once", 1);
}

static void modes(void) {
  CHECK(session() == 0);
  CHECK(n_lines() == 0);
}

static void private_modes(void **state) {
  (void)state;
  char command[400];
  setenv("HOME", scratch_path(&s, "home"), 1);
  assert_int_equal(mkdir(s.path, 0755), 0);
  umask(0);
  in_a_process(modes);
  umask(022);
  snprintf(command, sizeof command, "test -z \"$(find %s -mindepth 1 \\( -type d ! -perm 700 -o -type f ! -perm 600 \\))\"",
           s.path);
  assert_int_equal(system(command), 0);
}

/* ---- a network file system ---- */

static int64_t query(const char *path, const char *sql, char *text, size_t size) {
  sqlite3 *db = NULL;
  sqlite3_stmt *statement = NULL;
  CHECK(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK);
  CHECK(sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW);
  int64_t value = sqlite3_column_int64(statement, 0);
  snprintf(text, size, "%s", (const char *)sqlite3_column_text(statement, 0));
  sqlite3_finalize(statement);
  sqlite3_close(db);
  return value;
}

static void on_network(void) {
  char path[300], side[320], text[40];
  snprintf(path, sizeof path, "%s/.local/share/ragtune/tuned.db", getenv("HOME"));
  shim_arm(s.folder, -1, SHIM_EIO, 0);
  shim_network(1);
  for (int i = 0; i < 2; i++) {
    CHECK(session() == i); /* stored, and found again */
    CHECK(n_lines() == 1 && strstr(log_text, "lies on a network file system"));
  }
  static const char *const sides[] = {"-wal", "-shm"};
  for (int i = 0; i < 2; i++) {
    snprintf(side, sizeof side, "%s%s", path, sides[i]);
    CHECK(access(side, F_OK) != 0);
  }
  query(path, "PRAGMA journal_mode", text, sizeof text);
  CHECK(strcmp(text, "delete") == 0);
  CHECK(query(path, "SELECT count(*) FROM trial", text, sizeof text) > 0);
}

/* WAL of a local time is left behind when the file turns up on a network. */
static void moved_to_network(void) {
  CHECK(session() == 0);
  shim_arm(s.folder, -1, SHIM_EIO, 0);
  shim_network(1);
  char path[300], text[40];
  snprintf(path, sizeof path, "%s/.local/share/ragtune/tuned.db", getenv("HOME"));
  CHECK(session() == 1);
  query(path, "PRAGMA journal_mode", text, sizeof text);
  CHECK(strcmp(text, "delete") == 0);
}

static void network_file_system(void **state) {
  (void)state;
  setenv("HOME", scratch_path(&s, "home"), 1);
  in_a_process(on_network);
  setenv("HOME", scratch_path(&s, "moved"), 1);
  in_a_process(moved_to_network);
  tally("HOME on a network file system (faked statfs)\t%d\tno WAL there, said once; stored and found again", 2);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(no_home),           TEST(home_is_no_folder), TEST(read_only_home),      TEST(read_only_result),
      TEST(folders_of_others), TEST(private_modes),     TEST(network_file_system),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
