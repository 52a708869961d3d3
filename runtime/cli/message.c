/* message.c -- one line about what went wrong, and the exit status that goes with it. */
#include "message.h"
#include "progress.h"

#include <stdarg.h>
#include <stdio.h>

/* The one place that says which status ends in which exit status. */
static const unsigned char exit_of[RGT_N_STATUSES] = {
    [RGT_OK] = RGT_EXIT_DONE,
    [RGT_EINVAL] = RGT_EXIT_USAGE,
    [RGT_EINDEX] = RGT_EXIT_USAGE,
    [RGT_ESIZE] = RGT_EXIT_USAGE,
    [RGT_ENOTREADY] = RGT_EXIT_SURROUNDINGS,
    [RGT_EMISS] = RGT_EXIT_NO,
    [RGT_ENOMEM] = RGT_EXIT_SURROUNDINGS,
    [RGT_EIO] = RGT_EXIT_SURROUNDINGS,
    [RGT_EDB] = RGT_EXIT_SURROUNDINGS,
    [RGT_ETEMPLATE] = RGT_EXIT_USAGE,
    [RGT_ECOMPILE] = RGT_EXIT_NO,
    [RGT_ENOCOMPILER] = RGT_EXIT_SURROUNDINGS,
    [RGT_ENODEVICE] = RGT_EXIT_SURROUNDINGS,
    [RGT_ENOWORKER] = RGT_EXIT_SURROUNDINGS,
    [RGT_EUNSUPPORTED] = RGT_EXIT_USAGE,
    [RGT_EWRONG] = RGT_EXIT_NO,
    [RGT_EINFEASIBLE] = RGT_EXIT_NO,
    [RGT_ETIMEOUT] = RGT_EXIT_NO,
    [RGT_ECRASH] = RGT_EXIT_NO,
    [RGT_EINTERRUPTED] = RGT_EXIT_NO,
    [RGT_EINTERNAL] = RGT_EXIT_SURROUNDINGS,
};

static void one_line(char *text) {
  for (; *text; text++)
    if (*text == '\n' || *text == '\r' || *text == '\t') *text = ' ';
}

rgt_status rgt__message_set(rgt__message *m, rgt_status status, const char *format, ...) {
  va_list list;
  m->status = status;
  va_start(list, format);
  vsnprintf(m->text, sizeof m->text, format, list);
  va_end(list);
  one_line(m->text);
  return status;
}

rgt_status rgt__message_from(rgt__message *m, rgt_status status, const rgt_ctx *ctx) {
  const char *text = ctx ? rgt_errmsg(ctx) : NULL;
  return rgt__message_set(m, status, "%s", text && *text ? text : rgt_status_text(status));
}

int rgt__message_exit(rgt_status status) {
  return (unsigned)status < RGT_N_STATUSES ? exit_of[status] : RGT_EXIT_SURROUNDINGS;
}

int rgt__message_print(const rgt__message *m) {
  rgt__progress_clear();
  fprintf(stderr, "ragtune: %s\n", m->text);
  return rgt__message_exit(m->status);
}

void rgt__message_note(const char *format, ...) {
  char text[1024];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  one_line(text);
  rgt__progress_clear();
  fprintf(stderr, "%s\n", text);
}

void rgt__message_log(void *user, rgt_log_level level, const char *line) {
  if (level < RGT_LOG_WARNING) return;
  if (user) ++*(int *)user;
  rgt__message_note("ragtune: warning: %s", line);
}
