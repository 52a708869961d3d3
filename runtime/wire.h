/* wire.h -- messages between the library and ragtune-worker: framed, length first, each field checked as it is read.
 *
 * Both ends are of one build of one machine (the hello says so), so numbers are as they lie in memory.
 */
#ifndef RGT_RUNTIME_WIRE_H
#define RGT_RUNTIME_WIRE_H

#include "runtime/base/buffer.h"
#include "runtime/base/digest.h"
#include "runtime/base/error.h"

typedef enum rgt__wire_kind {
  RGT_WIRE_HELLO, /* child: version, ABI digest */
  RGT_WIRE_OPEN,  /* the device, and the op to verify; or the device alone */
  RGT_WIRE_BEGIN, /* a task */
  RGT_WIRE_END,   /* no reply */
  RGT_WIRE_CHECK, /* candidates not sent before, then which to check */
  RGT_WIRE_ROUND, /* likewise, a batch of each */
  RGT_WIRE_LOOP,
  RGT_WIRE_PLACE,
  RGT_WIRE_FORGET, /* no reply */
  RGT_WIRE_COMPILE,
  RGT_WIRE_REPLY, /* child: status, message, and what was asked for */
  RGT_N_WIRE_KINDS
} rgt__wire_kind;

/* ---- writing: into a buffer, whose failure is asked for once ---- */

void rgt__wire_put_int(rgt__buffer *b, int64_t v);
void rgt__wire_put_real(rgt__buffer *b, double v);
void rgt__wire_put_block(rgt__buffer *b, const void *data, size_t n); /* its length, then the bytes */
void rgt__wire_put_text(rgt__buffer *b, const char *text);            /* NULL is kept apart from "" */

/* ---- reading: what does not fit makes the rest fail too, asked for once ---- */

typedef struct rgt__wire_reader {
  const char *at, *end;
  int failed; /* cut short, too long, or of another form */
} rgt__wire_reader;

int64_t rgt__wire_get_int(rgt__wire_reader *r);
int rgt__wire_get_small(rgt__wire_reader *r, int least, int most); /* an int within these, else failed, and least */
double rgt__wire_get_real(rgt__wire_reader *r);
const void *rgt__wire_get_block(rgt__wire_reader *r, size_t *n);       /* borrowed from the message; NULL and 0 if failed */
void rgt__wire_get_struct(rgt__wire_reader *r, void *out, size_t n);   /* a block of just that size; zeroed if failed */
const char *rgt__wire_get_text(rgt__wire_reader *r);                   /* borrowed; NULL as it was sent, or if failed */
void rgt__wire_copy_text(rgt__wire_reader *r, char *out, size_t size); /* "" for NULL; too long fails */
int rgt__wire_done(const rgt__wire_reader *r);                         /* nothing failed, nothing is left over */

/* ---- frames ---- */

typedef struct rgt__wire_message { /* all zero before the first */
  char head[16];
  size_t n_head;
  rgt__wire_kind kind;
  uint64_t length;
  rgt__buffer body;
} rgt__wire_message;

void rgt__wire_message_clear(rgt__wire_message *m); /* ready for the next */
void rgt__wire_message_free(rgt__wire_message *m);
rgt__wire_reader rgt__wire_read(const rgt__wire_message *m);

typedef enum rgt__wire_state {
  RGT_WIRE_WHOLE,
  RGT_WIRE_MORE,
  RGT_WIRE_CLOSED,
  RGT_WIRE_GARBAGE,
  RGT_WIRE_NOMEM
} rgt__wire_state;

/* rgt__wire_receive -- as much of a message as there is; RGT_WIRE_MORE when a non-blocking fd has no more for now. A frame of
 * more than most bytes is garbage. Memory grows with what arrives, not with what the head promises. */
rgt__wire_state rgt__wire_receive(int fd, uint64_t most, rgt__wire_message *m);

typedef struct rgt__wire_sending {
  char head[16];
  const rgt__buffer *body; /* borrowed */
  size_t sent;             /* of both together */
} rgt__wire_sending;

void rgt__wire_send_begin(rgt__wire_sending *s, rgt__wire_kind kind, const rgt__buffer *body);
/* rgt__wire_send -- as much as goes; WHOLE, MORE or CLOSED. Raises no SIGPIPE. */
rgt__wire_state rgt__wire_send(int fd, rgt__wire_sending *s);

#endif
