/* test_worker_serve.c -- the child's side in this process, in a thread: what it says to what is no message, to messages in the
 * wrong order, and to damaged ones: it ends, and nothing else. And that what was put into a message is what it works with. */
#include "runtime/worker_serve.h"

#include <pthread.h>
#include <sys/socket.h>

#include "runtime/base/random.h"
#include "runtime/worker_message.h"
#include "tests/support/front.h"

static front f;
static rgt__environment env;

static int open_house(void **state) {
  (void)state;
  front_begin(&f);
  return rgt__environment_read(&env, NULL) == RGT_OK ? 0 : 1;
}

static int close_house(void **state) {
  (void)state;
  rgt__environment_free(&env);
  front_end(&f);
  return 0;
}

/* ---- a child that is a thread ---- */

typedef struct served_here {
  int fds[2], status;
  rgt__worker_journal journal;
  pthread_t thread;
  rgt__wire_message m;
} served_here;

static void *serve(void *user) {
  served_here *s = user;
  s->status = rgt__worker_serve(s->fds[1], &s->journal);
  close(s->fds[1]);
  return NULL;
}

static void start(served_here *s) {
  memset(s, 0, sizeof *s);
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s->fds), 0);
  assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
  assert_int_equal(rgt__wire_receive(s->fds[0], 1 << 20, &s->m), RGT_WIRE_WHOLE);
  assert_int_equal(s->m.kind, RGT_WIRE_HELLO);
}

static int end(served_here *s) {
  shutdown(s->fds[0], SHUT_WR);
  pthread_join(s->thread, NULL);
  close(s->fds[0]);
  rgt__wire_message_free(&s->m);
  return s->status;
}

static void send_it(served_here *s, rgt__wire_kind kind, const rgt__buffer *body) {
  rgt__wire_sending sending;
  rgt__wire_send_begin(&sending, kind, body);
  rgt__wire_send(s->fds[0], &sending);
}

/* The reply's status; -1: it ended instead. */
static int ask(served_here *s, rgt__wire_kind kind, const rgt__buffer *body) {
  rgt_status status;
  rgt__error err = {""};
  send_it(s, kind, body);
  rgt__wire_message_clear(&s->m);
  if (rgt__wire_receive(s->fds[0], 1 << 20, &s->m) != RGT_WIRE_WHOLE) return -1;
  rgt__wire_reader r = rgt__wire_read(&s->m);
  assert_int_equal(s->m.kind, RGT_WIRE_REPLY);
  assert_true(rgt__worker_get_status(&r, &status, &err));
  return (int)status;
}

static rgt__worker_opening opening(void) {
  rgt__worker_opening o = {.kind = "cpu", .threads = 1, .seed = 1};
  rgt__error err = {""};
  assert_int_equal(rgt_op_parse(NULL, FRONT_LINEAR, &o.op), RGT_OK);
  rgt__device *d = NULL;
  rgt__device_options options = {.env = &env};
  if (rgt__device_cpu_open(&options, &d, &err) != RGT_OK) fail_msg("%s", err.text);
  o.target = d->info.target;
  d->ops->close(d);
  snprintf(o.scratch, sizeof o.scratch, "%s", f.s.folder);
  return o;
}

static void open_it(served_here *s) {
  rgt__buffer body = {0};
  rgt__worker_opening o = opening();
  rgt__worker_put_opening(&body, &o, &env);
  assert_int_equal(ask(s, RGT_WIRE_OPEN, &body), RGT_OK);
  rgt__buffer_free(&body);
}

/* ---- tests ---- */

static void it_ends_when_the_socket_closes(void **state) {
  served_here s;
  (void)state;
  start(&s);
  assert_int_equal(end(&s), 0);
  start(&s);
  open_it(&s);
  assert_int_equal(end(&s), 0);
}

static void garbage_ends_it(void **state) {
  served_here s;
  (void)state;
  start(&s);
  assert_int_equal(write(s.fds[0], "what is this, a teletype?", 25), 25);
  assert_int_equal(end(&s), 1);
  start(&s);
  assert_int_equal(write(s.fds[0], "RGTM", 4), 4); /* cut off */
  assert_int_equal(end(&s), 1);
}

static void the_wrong_order_ends_it(void **state) {
  static const rgt__wire_kind before_open[] = {RGT_WIRE_HELLO,   RGT_WIRE_BEGIN, RGT_WIRE_END,   RGT_WIRE_CHECK,
                                               RGT_WIRE_ROUND,   RGT_WIRE_LOOP,  RGT_WIRE_PLACE, RGT_WIRE_FORGET,
                                               RGT_WIRE_COMPILE, RGT_WIRE_REPLY};
  (void)state;
  for (size_t i = 0; i < sizeof before_open / sizeof before_open[0]; i++) {
    served_here s;
    start(&s);
    assert_int_equal(ask(&s, before_open[i], NULL), -1);
    assert_int_equal(end(&s), 1);
  }
  served_here s;
  start(&s);
  open_it(&s);
  rgt__buffer body = {0};
  rgt__worker_opening o = opening();
  rgt__worker_put_opening(&body, &o, &env);
  assert_int_equal(ask(&s, RGT_WIRE_OPEN, &body), -1); /* twice */
  assert_int_equal(end(&s), 1);
  rgt__buffer_free(&body);
}

/* Every kind, with a body of random bytes: it ends, or says what is wrong; it never crashes. */
static void damaged_bodies_end_it(void **state) {
  rgt__random random;
  (void)state;
  rgt__random_seed(&random, 5);
  for (int i = 0; i < 200; i++) {
    served_here s;
    rgt__buffer body = {0};
    uint64_t n = rgt__random_below(&random, 200);
    for (uint64_t b = 0; b < n; b++) {
      unsigned char byte = (unsigned char)(rgt__random_below(&random, 3) ? 0 : rgt__random_below(&random, 256));
      rgt__buffer_add(&body, &byte, 1);
    }
    start(&s);
    if (i % 2) open_it(&s);
    send_it(&s, (rgt__wire_kind)rgt__random_below(&random, RGT_N_WIRE_KINDS), &body);
    end(&s);
    rgt__buffer_free(&body);
  }
}

/* An opening with a case, cut at every length: never taken, nothing lost (a sanitizer counts). */
static void every_cut_of_an_opening_is_seen(void **state) {
  float x[2][9] = {{1}}, w[4][9][6] = {{{2}}}, b[4][6] = {{3}};
  int32_t index[2] = {1, -1};
  double y[2][6] = {{4}};
  rgt_case data = {.struct_size = sizeof data, .rows = 2, .x = x, .index = index, .w1 = w, .b1 = b, .y64 = &y[0][0]};
  rgt__worker_opening o = opening(), got;
  rgt__buffer body = {0};
  (void)state;
  o.data = &data;
  rgt__worker_put_opening(&body, &o, &env);
  for (size_t n = 0; n < body.size; n += n < 400 ? 1 : 7) {
    char *copy = malloc(n + 1);
    memcpy(copy, body.data, n);
    rgt__wire_reader r = {.at = copy, .end = copy + n};
    assert_false(rgt__worker_get_opening(&r, &got));
    free(copy);
  }
  rgt__wire_reader r = {.at = body.data, .end = body.data + body.size};
  assert_true(rgt__worker_get_opening(&r, &got));
  assert_int_equal(got.data->rows, 2);
  assert_memory_equal(got.data->w1, w, sizeof w);
  assert_memory_equal(got.data->index, index, sizeof index);
  assert_memory_equal(got.data->y64, y, sizeof y);
  assert_null(got.data->w2);
  assert_memory_equal(&got.op, &o.op, sizeof o.op);
  assert_string_equal(got.env.values[RGT_ENV_HOME], f.home);
  rgt__worker_opening_free(&got);
  rgt__buffer_free(&body);
}

static void a_task_comes_back(void **state) {
  int32_t index[5] = {0, 1, 2, -1, 3};
  rgt__worker_task task = {.form = RGT_POINTERS,
                           .rows = 5,
                           .skew = RGT_SKEW_ZIPF,
                           .index = index,
                           .policy = RGT_POLICY_COLD,
                           .seed = 9},
                   got;
  rgt__buffer body = {0};
  (void)state;
  assert_int_equal(rgt_op_parse(NULL, FRONT_LINEAR, &task.op), RGT_OK);
  rgt__worker_put_task(&body, &task);
  for (size_t n = 0; n <= body.size; n++) {
    rgt__wire_reader r = {.at = body.data, .end = body.data + n};
    assert_int_equal(rgt__worker_get_task(&r, &got), n == body.size);
  }
  assert_memory_equal(got.index, index, sizeof index);
  assert_int_equal(got.form, RGT_POINTERS);
  assert_int_equal(got.skew, RGT_SKEW_ZIPF);
  assert_int_equal(got.policy, RGT_POLICY_COLD);
  assert_int_equal(got.seed, 9);
  rgt__free((void *)(uintptr_t)got.index);
  rgt__buffer_free(&body);
}

static void results_come_back(void **state) {
  rgt__verify_result result = {RGT_EWRONG, "canary", 3, 4, 0.5, -1.5, 1e-6, 0.25, "why"}, got;
  rgt__buffer body = {0};
  (void)state;
  rgt__worker_put_result(&body, &result);
  rgt__wire_reader r = {.at = body.data, .end = body.data + body.size};
  assert_true(rgt__worker_get_result(&r, &got));
  assert_int_equal(got.status, RGT_EWRONG);
  assert_string_equal(got.pass, "canary");
  assert_string_equal(got.reason, "why");
  assert_int_equal(got.row, 3);
  assert_int_equal(got.column, 4);
  assert_true(got.value == 0.5 && got.expected == -1.5 && got.bound == 1e-6 && got.error_share == 0.25);
  rgt__buffer_free(&body);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(it_ends_when_the_socket_closes),
                                     cmocka_unit_test(garbage_ends_it),
                                     cmocka_unit_test(the_wrong_order_ends_it),
                                     cmocka_unit_test(damaged_bodies_end_it),
                                     cmocka_unit_test(every_cut_of_an_opening_is_seen),
                                     cmocka_unit_test(a_task_comes_back),
                                     cmocka_unit_test(results_come_back)};
  return cmocka_run_group_tests(tests, open_house, close_house);
}
