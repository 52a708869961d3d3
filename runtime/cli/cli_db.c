/* cli_db.c -- ragtune db: the tuned database. */
#include "absent.h"
#include "cli.h"
#include "json_out.h"
#include "nearest.h"
#include "session.h"
#include "table.h"
#include "units.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

typedef struct work {
  const rgt__options *o;
  rgt__session session;
  json_t *object, *list; /* with --json */
  rgt__table table;
  int n;
  char path[4096]; /* the database that was asked for */
} work;

/* The library goes on in memory where a file cannot be used, after a warning; here the file is what was asked for. */
static rgt_status is_used(const work *w, rgt__message *m) {
  if (strcmp(rgt_db_path(w->session.ctx), w->path) == 0) return RGT_OK;
  return rgt__message_set(m, RGT_EDB, "%s could not be used", w->path);
}

/* Rows, as an array of the object or as a table with one head for each column. */
static void begin_rows(work *w, const char *name, const char *columns, const char *const heads[]) {
  if (w->object) {
    w->list = rgt__json_array(w->object, name);
    return;
  }
  rgt__table_open(&w->table, columns);
  for (size_t i = 0; i < strlen(columns); i++) rgt__table_cell(&w->table, "%s", heads[i]);
}

static rgt_status end_rows(work *w, const char *noun, const char *plural, rgt__message *m) {
  rgt_status s = is_used(w, m);
  if (s != RGT_OK || w->object) return s;
  if (w->n && rgt__table_print(&w->table, stdout) != RGT_OK)
    return rgt__message_set(m, RGT_ENOMEM, "out of memory while printing");
  printf("%d %s%s in %s\n", w->n, noun, w->n == 1 ? "" : plural, rgt_db_path(w->session.ctx));
  return RGT_OK;
}

static int on_row(void *user, const rgt_db_row *r) {
  work *w = user;
  char time[32];
  w->n++;
  if (w->list) {
    json_t *o = json_object();
    rgt__json_text(o, "signature", r->signature);
    rgt__json_text(o, "device_class", r->device_class);
    rgt__json_text(o, "policy", r->policy);
    rgt__json_text(o, "winner", r->winner);
    rgt__json_text(o, "runner_up", r->runner_up && *r->runner_up ? r->runner_up : NULL);
    rgt__json_int(o, "time_ps", r->time_ps);
    rgt__json_real(o, "ratio", r->ratio);
    rgt__json_int(o, "runs", r->n_runs);
    rgt__json_int(o, "trials", r->n_trials);
    rgt__json_append(w->list, o);
    return 0;
  }
  rgt__table_cell(&w->table, "%s", rgt__units_ps(r->time_ps, time, sizeof time));
  rgt__table_cell(&w->table, "%.3f", r->ratio);
  rgt__table_cell(&w->table, "%d", r->n_runs);
  rgt__table_cell(&w->table, "%d", r->n_trials);
  rgt__table_cell(&w->table, "%s", r->signature);
  rgt__table_cell(&w->table, "%s", r->winner);
  rgt__table_cell(&w->table, "%s", r->policy);
  rgt__table_cell(&w->table, "%s", r->device_class);
  return 0;
}

static rgt_status list(work *w, rgt__message *m) {
  static const char *const heads[] = {"time", "ratio", "runs", "trials", "signature", "winner", "policy", "device class"};
  rgt_status s;
  begin_rows(w, "winners", "rrrrllll", heads);
  s = rgt_db_list(w->session.ctx, on_row, w);
  if (s != RGT_OK) return rgt__message_from(m, s, w->session.ctx);
  return end_rows(w, "winner", "s", m);
}

static int on_miss(void *user, const rgt_db_miss *r) {
  work *w = user;
  w->n++;
  if (w->list) {
    json_t *o = json_object();
    rgt__json_text(o, "signature", r->signature);
    rgt__json_text(o, "device_class", r->device_class);
    rgt__json_text(o, "policy", r->policy);
    rgt__json_int(o, "n", r->n);
    rgt__json_int(o, "last_utc_s", r->last_utc_s);
    rgt__json_append(w->list, o);
    return 0;
  }
  rgt__table_cell(&w->table, "%lld", (long long)r->n);
  rgt__table_cell(&w->table, "%s", r->signature);
  rgt__table_cell(&w->table, "%s", r->policy);
  rgt__table_cell(&w->table, "%s", r->device_class);
  return 0;
}

static rgt_status misses(work *w, rgt__message *m) {
  static const char *const heads[] = {"asked", "signature", "policy", "device class"};
  begin_rows(w, "misses", "rlll", heads);
  rgt_status s = rgt_db_misses(w->session.ctx, on_miss, w);
  if (s != RGT_OK) return rgt__message_from(m, s, w->session.ctx);
  return end_rows(w, "miss", "es", m);
}

static rgt_status check(work *w, rgt__message *m) {
  rgt_status s = rgt_db_check(w->session.ctx);
  if (s != RGT_OK) return rgt__message_from(m, s, w->session.ctx);
  if ((s = is_used(w, m)) != RGT_OK) return s;
  if (w->object)
    rgt__json_bool(w->object, "sound", 1);
  else
    printf("%s is sound\n", rgt_db_path(w->session.ctx));
  return RGT_OK;
}

static rgt_status rebuild(work *w, rgt__message *m) {
  rgt_status s = rgt_db_rebuild(w->session.ctx);
  if (s != RGT_OK) return rgt__message_from(m, s, w->session.ctx);
  if ((s = is_used(w, m)) != RGT_OK) return s;
  if (w->object)
    rgt__json_bool(w->object, "rebuilt", 1);
  else
    printf("the winners in %s were derived again from its trials\n", rgt_db_path(w->session.ctx));
  return RGT_OK;
}

static const struct {
  const char *name;
  rgt_status (*run)(work *w, rgt__message *m);
} actions[] = {{"list", list}, {"misses", misses}, {"check", check}, {"rebuild", rebuild}};
#define N_ACTIONS (sizeof actions / sizeof *actions)

static rgt_status find_action(const rgt__options *o, size_t *which, rgt__message *m) {
  const char *near = NULL;
  int best = INT32_MAX;
  rgt_status s;
  if (!o->n_words) return rgt__message_set(m, RGT_EINVAL, "db needs an action: list, misses, check or rebuild");
  for (size_t i = 0; i < N_ACTIONS; i++) {
    if (strcmp(o->words[0], actions[i].name) != 0) {
      rgt__nearest_try(o->words[0], strlen(o->words[0]), actions[i].name, &best, &near);
      continue;
    }
    if (o->n_words > 1)
      return rgt__message_set(m, RGT_EINVAL, "db %s takes no words, '%s' is given", actions[i].name, o->words[1]);
    *which = i;
    return RGT_OK;
  }
  if ((s = rgt__absent_check(RGT_VERB_DB, o->words[0], NULL, m)) != RGT_OK) return s;
  if (near) return rgt__message_set(m, RGT_EINVAL, "unknown action 'db %s'; did you mean %s?", o->words[0], near);
  return rgt__message_set(m, RGT_EINVAL, "unknown action 'db %s'; want list, misses, check or rebuild", o->words[0]);
}

static rgt_status run(work *w, rgt__message *m) {
  size_t which = 0;
  rgt_status s = find_action(w->o, &which, m);
  if (s == RGT_OK) s = rgt__session_open(&w->session, w->o, "cpu", NULL, m); /* a database needs no other device */
  if (s != RGT_OK) return s;
  snprintf(w->path, sizeof w->path, "%s", rgt_db_path(w->session.ctx));
  if (w->o->db && strcmp(w->o->db, ":memory:") != 0 && access(w->o->db, F_OK) != 0)
    return rgt__message_set(m, RGT_EIO, "--db %s: %s", w->o->db, strerror(errno));
  if (w->o->json) {
    w->object = rgt__json_object("db");
    rgt__json_text(w->object, "action", actions[which].name);
    rgt__json_text(w->object, "database", rgt_db_path(w->session.ctx));
  }
  s = actions[which].run(w, m);
  if (s == RGT_OK && w->object) {
    s = rgt__json_print(w->object, m);
    w->object = NULL;
  }
  return s;
}

int rgt__cli_db(const rgt__options *o) {
  work w;
  rgt__message m;
  rgt_status s;
  memset(&w, 0, sizeof w);
  w.o = o;
  s = run(&w, &m);
  json_decref(w.object);
  rgt__table_free(&w.table);
  rgt__session_close(&w.session);
  return s == RGT_OK ? RGT_EXIT_DONE : rgt__message_print(&m);
}
