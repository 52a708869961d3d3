/* test_wire.c -- fields and frames: what was put is got, and what is cut short, too long or garbage is refused. */
#include "runtime/wire.h"

#include <fcntl.h>
#include <sys/socket.h>

#include "tests/support/scratch.h"

static rgt__wire_reader reader(const rgt__buffer *b, size_t n) {
  return (rgt__wire_reader){.at = b->data, .end = b->data + n};
}

static void fill(rgt__buffer *b) {
  rgt__wire_put_int(b, -5);
  rgt__wire_put_real(b, 0.25);
  rgt__wire_put_block(b, "abc", 3);
  rgt__wire_put_text(b, "text");
  rgt__wire_put_text(b, NULL);
  rgt__wire_put_text(b, "");
  rgt__wire_put_int(b, 7);
}

/* 1 if all of it came back. */
static int take(rgt__wire_reader *r) {
  size_t n = 0;
  int64_t i = rgt__wire_get_int(r);
  double d = rgt__wire_get_real(r);
  const char *block = rgt__wire_get_block(r, &n), *text = rgt__wire_get_text(r), *null = rgt__wire_get_text(r),
             *empty = rgt__wire_get_text(r);
  int small = rgt__wire_get_small(r, 0, 7);
  return rgt__wire_done(r) && i == -5 && d == 0.25 && n == 3 && memcmp(block, "abc", 3) == 0 && strcmp(text, "text") == 0 &&
         !null && empty[0] == 0 && small == 7;
}

static void what_is_put_is_got(void **state) {
  rgt__buffer b = {0};
  (void)state;
  fill(&b);
  rgt__wire_reader r = reader(&b, b.size);
  assert_true(take(&r));
  rgt__buffer_free(&b);
}

static void every_cut_is_seen(void **state) {
  rgt__buffer b = {0};
  (void)state;
  fill(&b);
  for (size_t n = 0; n < b.size; n++) {
    char *copy = malloc(n + 1); /* of just that size, for a sanitizer */
    memcpy(copy, b.data, n);
    rgt__wire_reader r = {.at = copy, .end = copy + n};
    assert_false(take(&r));
    free(copy);
  }
  rgt__buffer_add(&b, "x", 1);
  rgt__wire_reader r = reader(&b, b.size);
  assert_false(take(&r)); /* something is left over */
  rgt__buffer_free(&b);
}

static void refused(const rgt__buffer *b, int kind) {
  char small[4], sized[8];
  size_t n;
  rgt__wire_reader r = reader(b, b->size);
  if (kind == 0) assert_null(rgt__wire_get_block(&r, &n));
  if (kind == 1) assert_null(rgt__wire_get_text(&r));
  if (kind == 2) assert_int_equal(rgt__wire_get_small(&r, 3, 9), 3);
  if (kind == 3) rgt__wire_copy_text(&r, small, sizeof small);
  if (kind == 4) rgt__wire_get_struct(&r, sized, sizeof sized);
  assert_true(r.failed);
  assert_int_equal(rgt__wire_get_int(&r), 0); /* and all that follows */
  assert_false(rgt__wire_done(&r));
}

static void other_forms_are_refused(void **state) {
  static const int64_t lengths[] = {-2, -1, 4, INT64_MAX, INT64_MIN, (int64_t)1 << 40};
  rgt__buffer b = {0};
  (void)state;
  for (int i = 0; i < 6; i++) { /* lengths of what is not there */
    rgt__buffer_clear(&b);
    rgt__wire_put_int(&b, lengths[i]);
    refused(&b, 0);
    if (lengths[i] != -1) refused(&b, 1);
    refused(&b, 4);
  }
  rgt__buffer_clear(&b);
  rgt__wire_put_block(&b, "no end", 6);
  refused(&b, 1);
  refused(&b, 4); /* another size */
  rgt__buffer_clear(&b);
  rgt__wire_put_block(&b, "a\0b", 4); /* an end in the middle */
  refused(&b, 1);
  rgt__buffer_clear(&b);
  rgt__wire_put_text(&b, "four");
  refused(&b, 3);
  static const int64_t out[] = {2, 10, INT64_MAX, INT64_MIN};
  for (int i = 0; i < 4; i++) {
    rgt__buffer_clear(&b);
    rgt__wire_put_int(&b, out[i]);
    refused(&b, 2);
  }
  rgt__buffer_free(&b);
}

/* ---- frames ---- */

static int fds[2];

static void open_pair(void) {
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
  assert_int_equal(fcntl(fds[1], F_SETFL, O_NONBLOCK), 0);
}

static void close_pair(void) {
  close(fds[0]);
  close(fds[1]);
}

static void frames_arrive_whole_and_in_order(void **state) {
  rgt__buffer body = {0};
  rgt__wire_message m = {.n_head = 0};
  rgt__wire_sending s;
  (void)state;
  open_pair();
  for (int i = 0; i < 3; i++) {
    rgt__buffer_clear(&body);
    for (int n = 0; n < 1000 * i; n++) rgt__wire_put_int(&body, n);
    rgt__wire_send_begin(&s, (rgt__wire_kind)i, &body);
    assert_int_equal(rgt__wire_send(fds[0], &s), RGT_WIRE_WHOLE);
  }
  for (int i = 0; i < 3; i++) {
    rgt__wire_message_clear(&m);
    assert_int_equal(rgt__wire_receive(fds[1], 1 << 20, &m), RGT_WIRE_WHOLE);
    assert_int_equal(m.kind, i);
    assert_int_equal(m.body.size, 8000 * i);
  }
  rgt__wire_message_clear(&m);
  assert_int_equal(rgt__wire_receive(fds[1], 1 << 20, &m), RGT_WIRE_MORE);
  rgt__buffer_free(&body);
  rgt__wire_message_free(&m);
  close_pair();
}

/* More than a socket holds: both sides take turns. */
static void a_large_frame_goes_in_pieces(void **state) {
  rgt__buffer body = {0};
  rgt__wire_message m = {.n_head = 0};
  rgt__wire_sending s;
  (void)state;
  open_pair();
  assert_int_equal(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
  for (int n = 0; n < 1000000; n++) rgt__wire_put_int(&body, n);
  rgt__wire_send_begin(&s, RGT_WIRE_CHECK, &body);
  rgt__wire_state sent = RGT_WIRE_MORE, got = RGT_WIRE_MORE;
  int turns = 0;
  while (got == RGT_WIRE_MORE) {
    if (sent == RGT_WIRE_MORE) sent = rgt__wire_send(fds[0], &s);
    got = rgt__wire_receive(fds[1], 1 << 24, &m);
    turns++;
  }
  assert_true(turns > 1);
  assert_int_equal(got, RGT_WIRE_WHOLE);
  assert_int_equal(m.body.size, body.size);
  assert_memory_equal(m.body.data, body.data, body.size);
  rgt__buffer_free(&body);
  rgt__wire_message_free(&m);
  close_pair();
}

static void what_is_no_frame(void **state) {
  rgt__buffer body = {0};
  rgt__wire_message m = {.n_head = 0};
  rgt__wire_sending s;
  (void)state;
  rgt__wire_put_text(&body, "something");
  for (int at = 0; at < 16; at++) { /* one byte of the head is another: mark, kind or length */
    open_pair();
    rgt__wire_send_begin(&s, RGT_WIRE_ROUND, &body);
    s.head[at] = (char)(s.head[at] ^ 0x60);
    assert_int_equal(rgt__wire_send(fds[0], &s), RGT_WIRE_WHOLE);
    close(fds[0]);
    rgt__wire_message_clear(&m);
    rgt__wire_state got = rgt__wire_receive(fds[1], 64, &m);
    assert_true(got == RGT_WIRE_GARBAGE || got == RGT_WIRE_CLOSED); /* closed: it waited for more than came */
    close(fds[1]);
  }
  for (size_t n = 0; n < 16 + body.size; n++) { /* cut off */
    open_pair();
    rgt__wire_send_begin(&s, RGT_WIRE_ROUND, &body);
    assert_int_equal(write(fds[0], s.head, n < 16 ? n : 16), n < 16 ? n : 16);
    if (n > 16) assert_int_equal(write(fds[0], body.data, n - 16), n - 16);
    close(fds[0]);
    rgt__wire_message_clear(&m);
    assert_int_equal(rgt__wire_receive(fds[1], 64, &m), RGT_WIRE_CLOSED);
    close(fds[1]);
  }
  open_pair();
  close(fds[0]);
  rgt__wire_send_begin(&s, RGT_WIRE_ROUND, &body);
  assert_int_equal(rgt__wire_send(fds[1], &s), RGT_WIRE_CLOSED); /* and no SIGPIPE */
  close(fds[1]);
  rgt__buffer_free(&body);
  rgt__wire_message_free(&m);
}

/* A head that promises much costs no memory until it comes. */
static void a_promise_takes_no_memory(void **state) {
  rgt__wire_message m = {.n_head = 0};
  rgt__wire_sending s;
  (void)state;
  open_pair();
  rgt__wire_send_begin(&s, RGT_WIRE_ROUND, NULL);
  uint64_t length = (uint64_t)1 << 35;
  memcpy(s.head + 8, &length, 8);
  assert_int_equal(write(fds[0], s.head, 16), 16);
  assert_int_equal(write(fds[0], "abc", 3), 3);
  assert_int_equal(rgt__wire_receive(fds[1], (uint64_t)1 << 36, &m), RGT_WIRE_MORE);
  assert_int_equal(m.body.size, 3);
  assert_true(m.body.capacity < 1 << 20);
  rgt__wire_message_free(&m);
  close_pair();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_put_is_got),           cmocka_unit_test(every_cut_is_seen),
      cmocka_unit_test(other_forms_are_refused),      cmocka_unit_test(frames_arrive_whole_and_in_order),
      cmocka_unit_test(a_large_frame_goes_in_pieces), cmocka_unit_test(what_is_no_frame),
      cmocka_unit_test(a_promise_takes_no_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
