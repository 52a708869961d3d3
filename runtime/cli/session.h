/* session.h -- a context and an op, opened as the options say. */
#ifndef RGT_CLI_SESSION_H
#define RGT_CLI_SESSION_H

#include "options.h"

typedef struct rgt__session {
  char database[800]; /* the file that was asked for; the context's own path is ":memory:" where it could not be used */
  rgt_ctx *ctx;
  rgt_op *op;
  rgt_op_desc desc;
  char text[RGT_OP_TEXT_MAX];
  int out_from_in; /* --out was left out */
  int n_warnings;  /* of the library so far */
} rgt__session;

/* rgt__session_open -- the context. device: where --device is not given; database: where --db is not; NULL: the library's
 * choice. */
rgt_status rgt__session_open(rgt__session *s, const rgt__options *o, const char *device, const char *database, rgt__message *m);
/* rgt__session_op -- makes the handle of s->desc, which the caller has set, and its text. */
rgt_status rgt__session_op(rgt__session *s, const rgt__options *o, rgt__message *m);
/* rgt__session_start -- both, the op from the options. */
rgt_status rgt__session_start(rgt__session *s, const rgt__options *o, const char *device, const char *database,
                              rgt__message *m);
void rgt__session_close(rgt__session *s);

#endif
