/* wire.c -- messages between the library and ragtune-worker: framed, length first, each field checked as it is read. */
#include "runtime/wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/base/alloc.h"

#define FRAME_MARK 0x4d544752u /* "RGTM" */

enum { NULL_TEXT = -1, CHUNK = 1 << 20 };

/* ---- writing ---- */

void rgt__wire_put_int(rgt__buffer *b, int64_t v) {
  rgt__buffer_add(b, &v, sizeof v);
}

void rgt__wire_put_real(rgt__buffer *b, double v) {
  rgt__buffer_add(b, &v, sizeof v);
}

void rgt__wire_put_block(rgt__buffer *b, const void *data, size_t n) {
  rgt__wire_put_int(b, (int64_t)n);
  rgt__buffer_add(b, data, n);
}

void rgt__wire_put_text(rgt__buffer *b, const char *text) {
  if (text)
    rgt__wire_put_block(b, text, strlen(text) + 1); /* with its NUL, so that it can be borrowed */
  else
    rgt__wire_put_int(b, NULL_TEXT);
}

/* ---- reading ---- */

static const char *take(rgt__wire_reader *r, uint64_t n) {
  if (r->failed || n > (uint64_t)(r->end - r->at)) {
    r->failed = 1;
    return NULL;
  }
  const char *at = r->at;
  r->at += n;
  return at;
}

int64_t rgt__wire_get_int(rgt__wire_reader *r) {
  int64_t v = 0;
  const char *at = take(r, sizeof v);
  if (at) memcpy(&v, at, sizeof v);
  return v;
}

int rgt__wire_get_small(rgt__wire_reader *r, int least, int most) {
  int64_t v = rgt__wire_get_int(r);
  if (v < least || v > most) r->failed = 1;
  return r->failed ? least : (int)v;
}

double rgt__wire_get_real(rgt__wire_reader *r) {
  double v = 0;
  const char *at = take(r, sizeof v);
  if (at) memcpy(&v, at, sizeof v);
  return v;
}

const void *rgt__wire_get_block(rgt__wire_reader *r, size_t *n) {
  int64_t size = rgt__wire_get_int(r);
  if (size < 0) r->failed = 1;
  const char *at = take(r, r->failed ? 0 : (uint64_t)size);
  *n = at ? (size_t)size : 0;
  return at;
}

void rgt__wire_get_struct(rgt__wire_reader *r, void *out, size_t n) {
  size_t size;
  const void *at = rgt__wire_get_block(r, &size);
  if (size != n) r->failed = 1;
  if (r->failed)
    memset(out, 0, n);
  else
    memcpy(out, at, n);
}

const char *rgt__wire_get_text(rgt__wire_reader *r) {
  int64_t size = rgt__wire_get_int(r);
  if (r->failed || size == NULL_TEXT) return NULL;
  const char *at = size > 0 ? take(r, (uint64_t)size) : NULL;
  if (!at || memchr(at, 0, (size_t)size) != at + size - 1) r->failed = 1;
  return r->failed ? NULL : at;
}

void rgt__wire_copy_text(rgt__wire_reader *r, char *out, size_t size) {
  const char *text = rgt__wire_get_text(r);
  size_t n = text ? strlen(text) : 0;
  if (n >= size) r->failed = 1;
  if (r->failed) n = 0;
  memcpy(out, n ? text : "", n);
  out[n] = 0;
}

int rgt__wire_done(const rgt__wire_reader *r) {
  return !r->failed && r->at == r->end;
}

/* ---- frames: mark, kind, length of the body; all but the length 32 bits ---- */

void rgt__wire_message_clear(rgt__wire_message *m) {
  m->n_head = 0;
  m->length = 0;
  rgt__buffer_clear(&m->body);
}

void rgt__wire_message_free(rgt__wire_message *m) {
  rgt__buffer_free(&m->body);
  memset(m, 0, sizeof *m);
}

rgt__wire_reader rgt__wire_read(const rgt__wire_message *m) {
  static const char nothing[1];
  const char *at = m->body.data ? m->body.data : nothing;
  return (rgt__wire_reader){.at = at, .end = at + m->body.size};
}

static rgt__wire_state parse_head(rgt__wire_message *m, uint64_t most) {
  uint32_t mark, kind;
  memcpy(&mark, m->head, 4);
  memcpy(&kind, m->head + 4, 4);
  memcpy(&m->length, m->head + 8, 8);
  if (mark != FRAME_MARK || kind >= RGT_N_WIRE_KINDS || m->length > most) return RGT_WIRE_GARBAGE;
  m->kind = (rgt__wire_kind)kind;
  return RGT_WIRE_WHOLE;
}

/* read(2) that tells the four ends apart. */
static rgt__wire_state read_some(int fd, void *to, size_t n, size_t *got) {
  for (;;) {
    ssize_t r = read(fd, to, n);
    *got = r > 0 ? (size_t)r : 0;
    if (r > 0) return RGT_WIRE_WHOLE;
    if (r == 0) return RGT_WIRE_CLOSED;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return RGT_WIRE_MORE;
    if (errno != EINTR) return RGT_WIRE_CLOSED;
  }
}

static rgt__wire_state receive_body(int fd, rgt__wire_message *m) {
  char *chunk = NULL;
  rgt__wire_state state = RGT_WIRE_WHOLE;
  while (state == RGT_WIRE_WHOLE && m->body.size < m->length) {
    size_t left = (size_t)(m->length - m->body.size), got = 0;
    if (!chunk && !(chunk = rgt__alloc(left < CHUNK ? left : CHUNK))) return RGT_WIRE_NOMEM;
    state = read_some(fd, chunk, left < CHUNK ? left : CHUNK, &got);
    rgt__buffer_add(&m->body, chunk, got);
    if (m->body.failed) state = RGT_WIRE_NOMEM;
  }
  rgt__free(chunk);
  return state;
}

rgt__wire_state rgt__wire_receive(int fd, uint64_t most, rgt__wire_message *m) {
  while (m->n_head < sizeof m->head) {
    size_t got = 0;
    rgt__wire_state state = read_some(fd, m->head + m->n_head, sizeof m->head - m->n_head, &got);
    if (state != RGT_WIRE_WHOLE) return state;
    m->n_head += got;
    if (m->n_head == sizeof m->head && parse_head(m, most) != RGT_WIRE_WHOLE) return RGT_WIRE_GARBAGE;
  }
  return receive_body(fd, m);
}

void rgt__wire_send_begin(rgt__wire_sending *s, rgt__wire_kind kind, const rgt__buffer *body) {
  uint32_t mark = FRAME_MARK, number = (uint32_t)kind;
  uint64_t length = body ? body->size : 0;
  *s = (rgt__wire_sending){.body = body};
  memcpy(s->head, &mark, 4);
  memcpy(s->head + 4, &number, 4);
  memcpy(s->head + 8, &length, 8);
}

rgt__wire_state rgt__wire_send(int fd, rgt__wire_sending *s) {
  size_t body = s->body ? s->body->size : 0, head = sizeof s->head;
  while (s->sent < head + body) {
    const char *from = s->sent < head ? s->head + s->sent : s->body->data + (s->sent - head);
    size_t n = s->sent < head ? head - s->sent : head + body - s->sent;
    ssize_t r = send(fd, from, n, MSG_NOSIGNAL | (s->sent < head && body ? MSG_MORE : 0));
    if (r >= 0)
      s->sent += (size_t)r;
    else if (errno == EAGAIN || errno == EWOULDBLOCK)
      return RGT_WIRE_MORE;
    else if (errno != EINTR)
      return RGT_WIRE_CLOSED;
  }
  return RGT_WIRE_WHOLE;
}
