/* test_worker_child.c -- the parent's side, with a child that is this very program: it says a right hello and then answers in
 * every wrong way. The parent says what happened and goes on living. */
#include "runtime/worker_child.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "runtime/context.h"
#include "runtime/worker.h"
#include "runtime/worker_message.h"
#include "tests/support/front.h"

/* ---- the child ---- */

static int reply_with(const void *bytes, size_t n) {
  return send(RGT_WORKER_SOCKET_FD, bytes, n, MSG_NOSIGNAL) == (ssize_t)n ? 0 : 1;
}

static int reply_frame(rgt__wire_kind kind, const rgt__buffer *body) {
  rgt__wire_sending s;
  rgt__wire_send_begin(&s, kind, body);
  return rgt__wire_send(RGT_WORKER_SOCKET_FD, &s) == RGT_WIRE_WHOLE ? 0 : 1;
}

static int say_hello(int altered) {
  rgt__buffer b = {0};
  rgt__digest abi;
  rgt__worker_abi(&abi);
  abi.bytes[0] = (uint8_t)(abi.bytes[0] + altered);
  rgt__wire_put_text(&b, altered ? "9.9.9" : RGT_VERSION);
  rgt__wire_put_block(&b, &abi, sizeof abi);
  int status = reply_frame(RGT_WIRE_HELLO, &b);
  rgt__buffer_free(&b);
  return status;
}

static int pretend(const char *how) {
  static const char garbage[] = "this is no frame, and long enough to be taken for the head of one";
  rgt__wire_message m = {.n_head = 0};
  rgt__buffer b = {0};
  rgt__wire_sending s;
  if (say_hello(strcmp(how, "other") == 0)) return 9;
  if (rgt__wire_receive(RGT_WORKER_SOCKET_FD, (uint64_t)1 << 30, &m) != RGT_WIRE_WHOLE) return 8;
  if (strcmp(how, "exits") == 0) _exit(7);
  if (strcmp(how, "aborts") == 0) abort();
  if (strcmp(how, "garbage") == 0) reply_with(garbage, sizeof garbage);
  if (strcmp(how, "empty") == 0) reply_frame(RGT_WIRE_REPLY, NULL);
  if (strcmp(how, "other kind") == 0) reply_frame(RGT_WIRE_HELLO, NULL);
  rgt__wire_put_int(&b, strcmp(how, "no status") == 0 ? 12345 : RGT_OK);
  rgt__wire_put_text(&b, "");
  if (strcmp(how, "no status") == 0) reply_frame(RGT_WIRE_REPLY, &b);
  rgt__wire_send_begin(&s, RGT_WIRE_REPLY, &b);
  if (strcmp(how, "half") == 0) reply_with(s.head, 10);
  if (strcmp(how, "promises") == 0) {
    memset(s.head + 8, 0x7f, 8);
    reply_with(s.head, sizeof s.head);
  }
  if (strcmp(how, "silent") == 0) pause();
  rgt__buffer_free(&b);
  rgt__wire_message_free(&m);
  return 0;
}

/* ---- the parent ---- */

static front f;

static int open_house(void **state) {
  (void)state;
  front_begin(&f);
  setenv("TMPDIR", f.s.folder, 1);
  front_open(&f);
  return 0;
}

static int close_house(void **state) {
  (void)state;
  front_end(&f);
  return 0;
}

static void fails(const char *how, rgt_status want, const char *word) {
  rgt__worker *w = NULL;
  rgt__error err = {""};
  rgt_op *op = front_op(&f, FRONT_LINEAR);
  rgt__candidate_maker maker = {
      .device = f.ctx->device, .target = f.ctx->device->info.target, .facts = {RGT_STACKED, 4, RGT_ORDER_RAW}};
  setenv("FAKE_WORKER", how, 1);
  rgt_status status = rgt__worker_open_process("/proc/self/exe", &maker, &op->desc, NULL, 1, 0, &w, &err);
  unsetenv("FAKE_WORKER");
  if (status != want || !strstr(err.text, word))
    fail_msg("%s: %s, \"%s\"; want %s, \"%s\"", how, rgt_status_name(status), err.text, rgt_status_name(want), word);
  assert_null(w);
  rgt_op_free(op);
  assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
  assert_int_equal(errno, ECHILD);
}

static void every_wrong_answer_is_said(void **state) {
  (void)state;
  fails("other", RGT_ENOWORKER, "another build of the library: it says version 9.9.9");
  fails("exits", RGT_ECRASH, "ended 3 times with no candidate running, in preparation: exit status 7");
  fails("aborts", RGT_ECRASH, "SIGABRT");
  fails("garbage", RGT_ECRASH, "it answered with garbage");
  fails("other kind", RGT_ECRASH, "it answered with garbage");
  fails("promises", RGT_ECRASH, "it answered with garbage");
  fails("half", RGT_ECRASH, "exit status 0");
  fails("empty", RGT_EINTERNAL, "its reply is damaged");
  fails("no status", RGT_EINTERNAL, "its reply is damaged");
}

/* A parent that is told to stop does not wait for one that says nothing. */
static void a_stop_ends_the_wait(void **state) {
  struct timespec t;
  (void)state;
  clock_gettime(CLOCK_MONOTONIC, &t);
  rgt__stop stop = {.deadline_s = (double)t.tv_sec + (double)t.tv_nsec / 1e9 + 0.5};
  f.ctx->device->stop = &stop;
  fails("silent", RGT_EINTERRUPTED, "stopped on request");
  f.ctx->device->stop = NULL;
}

static void its_folder_is_swept(void **state) {
  char path[1400];
  rgt__worker_child c;
  rgt__error err = {""};
  (void)state;
  int before = scratch_count(f.s.folder);
  if (rgt__worker_child_start(RGT_WORKER, f.s.folder, &c, &err) != RGT_OK) fail_msg("%s", err.text);
  snprintf(path, sizeof path, "mkdir -p %s/a/b && touch %s/a/b/file && ln -s %s %s/link", c.scratch, c.scratch, f.home,
           c.scratch);
  assert_int_equal(system(path), 0);
  assert_int_equal(scratch_count(f.s.folder), before + 5);
  rgt__worker_child_end(&c);
  assert_int_equal(scratch_count(f.s.folder), before);
  assert_int_equal(access(f.home, F_OK), 0); /* a link is not followed */
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_wrong_answer_is_said), cmocka_unit_test(a_stop_ends_the_wait),
                                     cmocka_unit_test(its_folder_is_swept)};
  const char *how = getenv("FAKE_WORKER");
  if (argc == 3 && strcmp(argv[1], "--serve") == 0 && how) return pretend(how);
  return cmocka_run_group_tests(tests, open_house, close_house);
}
