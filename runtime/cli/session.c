/* session.c -- a context and an op, opened as the options say. */
#include "session.h"
#include "op_args.h"

#include <stdio.h>
#include <string.h>

rgt_status rgt__session_open(rgt__session *s, const rgt__options *o, const char *device, const char *database,
                             rgt__message *m) {
  rgt_options options = {.struct_size = sizeof options, .log = rgt__message_log, .log_user = &s->n_warnings};
  rgt_status status;
  memset(s, 0, sizeof *s);
  options.device = o->device ? o->device : device;
  options.database = o->db ? o->db : database;
  options.bundle = o->bundle;
  options.threads = o->threads < 0 ? 0 : (int)o->threads;
  status = rgt_open(&options, &s->ctx);
  if (status == RGT_OK) snprintf(s->database, sizeof s->database, "%s", rgt_db_path(s->ctx));
  return status == RGT_OK ? RGT_OK : rgt__message_from(m, status, s->ctx);
}

rgt_status rgt__session_op(rgt__session *s, const rgt__options *o, rgt__message *m) {
  rgt_op_options handle = rgt__op_args_handle(o);
  rgt_status status = rgt_op_format(s->ctx, &s->desc, s->text);
  if (status == RGT_OK) status = rgt_op_new(s->ctx, &s->desc, &handle, &s->op);
  return status == RGT_OK ? RGT_OK : rgt__message_from(m, status, s->ctx);
}

rgt_status rgt__session_start(rgt__session *s, const rgt__options *o, const char *device, const char *database,
                              rgt__message *m) {
  rgt_status status = rgt__session_open(s, o, device, database, m);
  if (status == RGT_OK) status = rgt__op_args_make(o, s->ctx, &s->desc, &s->out_from_in, m);
  return status == RGT_OK ? rgt__session_op(s, o, m) : status;
}

void rgt__session_close(rgt__session *s) {
  rgt_op_free(s->op);
  rgt_close(s->ctx);
  memset(s, 0, sizeof *s);
}
