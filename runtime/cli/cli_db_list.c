/* cli_db_list.c -- ragtune db list, misses: what is stored, and what was asked for in vain. */
#include "cli_db.h"
#include "units.h"

static int on_row(void *user, const rgt_db_row *r) {
  rgt__db_work *w = user;
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

rgt_status rgt__db_list(rgt__db_work *w, rgt__message *m) {
  static const char *const heads[] = {"time", "ratio", "runs", "trials", "signature", "winner", "policy", "device class"};
  rgt_status s;
  rgt__db_begin_rows(w, "winners", "rrrrllll", heads);
  s = rgt_db_list(w->session.ctx, on_row, w);
  if (s != RGT_OK) return rgt__message_from(m, s, w->session.ctx);
  return rgt__db_end_rows(w, "winner", "s", m);
}

static int on_miss(void *user, const rgt_db_miss *r) {
  rgt__db_work *w = user;
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

rgt_status rgt__db_misses(rgt__db_work *w, rgt__message *m) {
  static const char *const heads[] = {"asked", "signature", "policy", "device class"};
  rgt__db_begin_rows(w, "misses", "rlll", heads);
  rgt_status s = rgt_db_misses(w->session.ctx, on_miss, w);
  if (s != RGT_OK) return rgt__message_from(m, s, w->session.ctx);
  return rgt__db_end_rows(w, "miss", "es", m);
}
