/* cli_show.c -- ragtune show: source or code of one variant. */
#include "cli.h"
#include "json_out.h"
#include "out_file.h"
#include "session.h"

#include <string.h>

static const char *emit_word(rgt_emit emit) {
  static const char *const words[] = {"source", "ptx", "cubin", "asm"};
  return words[emit];
}

static rgt_status check_options(const rgt__options *o, rgt_emit emit, rgt__message *m) {
  if (o->rows >= 0 && o->variant)
    return rgt__message_set(m, RGT_EINVAL, "--rows stands beside --variant, which names what to show; give one of the two");
  if (emit == RGT_EMIT_CUBIN && !o->output)
    return rgt__message_set(m, RGT_EINVAL, "--emit cubin is binary and goes to no terminal, pipe or JSON; name a file with -o");
  return RGT_OK;
}

static rgt_status print_json(const rgt__options *o, const rgt__session *s, rgt_emit emit, const char *data, size_t bytes,
                             rgt__message *m) {
  json_t *object = rgt__json_object("show");
  rgt__json_text(object, "op", s->text);
  rgt__json_text(object, "target", o->target);
  rgt__json_text(object, "variant", o->variant);
  rgt__json_text(object, "emit", emit_word(emit));
  rgt__json_int(object, "bytes", (int64_t)bytes);
  rgt__json_text(object, "file", o->output);
  rgt__json_text(object, "text", o->output ? NULL : data);
  return rgt__json_print(object, m);
}

static rgt_status deliver(const rgt__options *o, const rgt__session *s, rgt_emit emit, const char *data, size_t bytes,
                          rgt__message *m) {
  rgt__out_part part = {data, bytes};
  rgt_status status = o->output ? rgt__out_file_write(o->output, &part, 1, m) : RGT_OK;
  if (status != RGT_OK) return status;
  if (o->json) return print_json(o, s, emit, data, bytes, m);
  if (!o->output) fwrite(data, 1, bytes, stdout); /* main sees whether it was written */
  return RGT_OK;
}

static rgt_status show(const rgt__options *o, rgt__session *s, char **data, rgt__message *m) {
  rgt_emit emit = o->emit < 0 ? RGT_EMIT_SOURCE : (rgt_emit)o->emit;
  const char *device = o->target && strcmp(o->target, "cpu") == 0 ? "cpu" : NULL;
  size_t bytes = 0;
  rgt_status status = check_options(o, emit, m);
  if (status == RGT_OK) status = rgt__session_start(s, o, device, NULL, m);
  if (status != RGT_OK) return status;
  status = rgt_show(s->op, o->variant, o->rows < 0 ? 0 : o->rows, o->target, emit, data, &bytes);
  if (status != RGT_OK) return rgt__message_from(m, status, s->ctx);
  return deliver(o, s, emit, *data, bytes, m);
}

int rgt__cli_show(const rgt__options *o) {
  rgt__session s = {0};
  rgt__message m;
  char *data = NULL;
  rgt_status status = show(o, &s, &data, &m);
  rgt_free(data);
  rgt__session_close(&s);
  return status == RGT_OK ? RGT_EXIT_DONE : rgt__message_print(&m);
}
