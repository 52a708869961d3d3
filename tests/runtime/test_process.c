/* test_process.c -- statuses, output, limits and the ends of children's children. */
#include "runtime/process.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/support/scratch.h"

typedef struct result {
  rgt_status status;
  int code;
  rgt__buffer output;
  rgt__error err;
} result;

static void run(result *r, const char *script, int limit_ms) {
  char *argv[] = {(char *)(uintptr_t) "/bin/sh", (char *)(uintptr_t) "-c", (char *)(uintptr_t)script, NULL};
  *r = (result){.code = -77};
  r->status = rgt__process_run(argv, &(rgt__process_limits){.ms = limit_ms}, &r->output, &r->code, &r->err);
}

static void check(const char *script, int code, const char *output) {
  result r;
  run(&r, script, 20000);
  if (r.status != RGT_OK) fail_msg("%s: %s", script, r.err.text);
  assert_int_equal(r.code, code);
  assert_string_equal(r.output.data ? r.output.data : "", output);
  rgt__buffer_free(&r.output);
}

static void test_ends(void **state) {
  (void)state;
  check("exit 0", 0, "");
  check("printf out; printf err >&2; exit 7", 7, "outerr");
  check("exit 255", 255, "");
  check("kill -KILL $$", 128 + SIGKILL, "");
  check("cat; echo end", 0, "end\n"); /* nothing to read */
}

static void test_output_is_added(void **state) {
  (void)state;
  char *argv[] = {(char *)(uintptr_t) "/bin/echo", (char *)(uintptr_t) "more", NULL};
  rgt__buffer output = {0};
  int code = -1;
  rgt__buffer_text(&output, "some ");
  assert_int_equal(rgt__process_run(argv, &(rgt__process_limits){.ms = 20000}, &output, &code, NULL), RGT_OK);
  assert_string_equal(output.data, "some more\n");
  rgt__buffer_free(&output);
}

static void test_much_output(void **state) {
  (void)state;
  result r;
  run(&r, "head -c 3000000 /dev/zero | tr '\\0' x; exit 3", 60000);
  assert_int_equal(r.status, RGT_OK);
  assert_int_equal(r.code, 3);
  assert_int_equal(r.output.size, 1 << 20);
  for (size_t i = 0; i < r.output.size; i++) assert_int_equal(r.output.data[i], 'x');
  rgt__buffer_free(&r.output);
}

static void test_cannot_start(void **state) {
  (void)state;
  char *argv[] = {(char *)(uintptr_t) "/nonexistent/cc", NULL};
  rgt__buffer output = {0};
  rgt__error err = {""};
  int code = -77;
  assert_int_equal(rgt__process_run(argv, &(rgt__process_limits){.ms = 1000}, &output, &code, &err), RGT_EIO);
  assert_int_equal(code, -77);
  assert_string_equal(err.text, "/nonexistent/cc: cannot be started: No such file or directory");
  argv[0] = (char *)(uintptr_t) "/dev/null";
  assert_int_equal(rgt__process_run(argv, &(rgt__process_limits){.ms = 1000}, &output, &code, &err), RGT_EIO);
  assert_string_equal(err.text, "/dev/null: cannot be started: Permission denied");
  assert_null(output.data);
}

/* 1 while the process is there and no zombie that nobody has waited for yet. */
static int is_running(int pid) {
  char path[64], kind = 'Z';
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  FILE *f = fopen(path, "re");
  if (!f) return 0;
  if (fscanf(f, "%*d %*s %c", &kind) != 1) kind = 'Z';
  fclose(f);
  return kind != 'Z' && kind != 'X';
}

static void test_limit(void **state) {
  (void)state;
  result r;
  int grandchild = 0;
  run(&r, "sleep 600 & echo $!; wait", 300);
  assert_int_equal(r.status, RGT_ETIMEOUT);
  assert_int_equal(r.code, -77);
  assert_string_equal(r.err.text, "/bin/sh: still running after 300 ms, ended");
  assert_non_null(r.output.data);
  assert_int_equal(sscanf(r.output.data, "%d", &grandchild), 1);
  for (int i = 0; i < 200 && is_running(grandchild); i++) nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
  assert_false(is_running(grandchild));
  rgt__buffer_free(&r.output);
  assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left unwaited for */
}

/* Somebody else may have the pipe too, and outlive the program: nobody waits for that. */
static void test_pipe_that_stays_open(void **state) {
  (void)state;
  result r;
  int left = 0;
  run(&r, "sleep 600 & echo $!; exit 3", 20000);
  assert_int_equal(r.status, RGT_OK);
  assert_int_equal(r.code, 3);
  assert_int_equal(sscanf(r.output.data, "%d", &left), 1);
  for (int i = 0; i < 200 && is_running(left); i++) nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
  assert_false(is_running(left)); /* of its own group */
  rgt__buffer_free(&r.output);
}

/* A program may close its output and go on: the limit still holds, and so does the exit status. */
static void test_closed_output(void **state) {
  (void)state;
  result r;
  run(&r, "exec >&- 2>&-; sleep 600", 300);
  assert_int_equal(r.status, RGT_ETIMEOUT);
  rgt__buffer_free(&r.output);
  check("echo a; exec >&- 2>&-; sleep 0.05; exit 9", 9, "a\n");
}

/* What the host does with signals does not reach the child. */
static void test_signals(void **state) {
  (void)state;
  sigset_t mask, before;
  sigemptyset(&mask);
  sigaddset(&mask, SIGTERM);
  sigprocmask(SIG_BLOCK, &mask, &before);
  void (*handler)(int) = signal(SIGTERM, SIG_IGN);
  check("kill -TERM $$; exit 1", 128 + SIGTERM, "");
  signal(SIGTERM, handler);
  sigprocmask(SIG_SETMASK, &before, NULL);
}

static void test_lost_status(void **state) {
  (void)state;
  result r;
  void (*handler)(int) = signal(SIGCHLD, SIG_IGN);
  run(&r, "exit 0", 20000);
  signal(SIGCHLD, handler);
  assert_int_equal(r.status, RGT_EIO);
  assert_int_equal(r.code, -77);
  assert_string_equal(r.err.text, "/bin/sh: its exit status is lost: this process ignores SIGCHLD or waits for every child");
}

static void test_stop(void **state) {
  (void)state;
  char *argv[] = {(char *)(uintptr_t) "/bin/sleep", (char *)(uintptr_t) "600", NULL};
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  rgt__stop at_once = {.deadline_s = (double)t.tv_sec + 0.05};
  volatile int flag = 1;
  rgt__stop on_request = {.flag = &flag};
  const rgt__stop *stops[] = {&at_once, &on_request};
  for (int i = 0; i < 2; i++) {
    rgt__buffer output = {0};
    rgt__error err = {""};
    int code = -77;
    rgt__process_limits limits = {.ms = 60000, .stop = stops[i]};
    assert_int_equal(rgt__process_run(argv, &limits, &output, &code, &err), RGT_EINTERRUPTED);
    assert_int_equal(code, -77);
    assert_string_equal(err.text, "/bin/sleep: ended on request");
  }
}

/* A program that takes more than it may is told that there is no more: what it does then is its own affair. */
static void test_memory(void **state) {
  (void)state;
  char *argv[] = {(char *)(uintptr_t) "/bin/sh", (char *)(uintptr_t) "-c",
                  (char *)(uintptr_t) "sleep 0.2; head -c 200000000 /dev/zero | tail -n 1 | wc -c", NULL};
  rgt__process_limits limits = {.ms = 60000, .memory_bytes = (size_t)64 << 20};
  rgt__buffer output = {0};
  int code = -77;
  assert_int_equal(rgt__process_run(argv, &limits, &output, &code, NULL), RGT_OK);
  assert_non_null(strstr(output.data, "exhausted"));
  rgt__buffer_free(&output);
}

static void test_signal_names(void **state) {
  (void)state;
  char text[24];
  assert_string_equal(rgt__process_signal(SIGSEGV, text), "SIGSEGV");
  assert_string_equal(rgt__process_signal(SIGKILL, text), "SIGKILL");
  assert_string_equal(rgt__process_signal(62, text), "signal 62");
}

static void test_no_memory(void **state) {
  (void)state;
  result r;
  scratch_fail_after(0);
  run(&r, "echo something", 20000);
  scratch_fail_never();
  assert_int_equal(r.status, RGT_ENOMEM);
  rgt__buffer_free(&r.output);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_ends),          cmocka_unit_test(test_output_is_added),
                                     cmocka_unit_test(test_much_output),   cmocka_unit_test(test_cannot_start),
                                     cmocka_unit_test(test_limit),         cmocka_unit_test(test_pipe_that_stays_open),
                                     cmocka_unit_test(test_closed_output), cmocka_unit_test(test_signals),
                                     cmocka_unit_test(test_lost_status),   cmocka_unit_test(test_no_memory),
                                     cmocka_unit_test(test_stop),          cmocka_unit_test(test_memory),
                                     cmocka_unit_test(test_signal_names)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
