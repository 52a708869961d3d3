/* cli_env.c -- ragtune env: devices, compilers, versions, files, environment variables. */
#include "cli.h"
#include "json_out.h"
#include "session.h"

#include <string.h>

typedef struct work {
  json_t *list; /* with --json */
  char section[64];
} work;

static void on_line(void *user, const char *section, const char *name, const char *value) {
  work *w = user;
  if (w->list) {
    json_t *o = json_object();
    rgt__json_text(o, "section", section);
    rgt__json_text(o, "name", name);
    rgt__json_text(o, "value", value);
    rgt__json_append(w->list, o);
    return;
  }
  if (strncmp(w->section, section, sizeof w->section - 1) != 0) {
    printf("%s%s\n", w->section[0] ? "\n" : "", section);
    snprintf(w->section, sizeof w->section, "%s", section);
  }
  printf("  %-24s  %s\n", name, value ? value : "");
}

static rgt_status env(const rgt__options *o, rgt__session *s, rgt__message *m) {
  work w = {NULL, ""};
  json_t *object = NULL;
  rgt_status status = rgt__session_open(s, o, NULL, NULL, m);
  if (status != RGT_OK) return status;
  if (o->json) {
    object = rgt__json_object("env");
    w.list = rgt__json_array(object, "lines");
  }
  status = rgt_env(s->ctx, NULL, on_line, &w);
  if (status != RGT_OK) {
    json_decref(object);
    return rgt__message_from(m, status, s->ctx);
  }
  return object ? rgt__json_print(object, m) : RGT_OK;
}

int rgt__cli_env(const rgt__options *o) {
  rgt__session s = {0};
  rgt__message m;
  rgt_status status = env(o, &s, &m);
  rgt__session_close(&s);
  return status == RGT_OK ? RGT_EXIT_DONE : rgt__message_print(&m);
}
