/* cli_db_merge.c -- ragtune db import FILE, db merge FILE...: trials from elsewhere, into the database in use. */
#include "cli_db.h"

#include <inttypes.h>

static void print_json(rgt__db_work *w, const rgt_db_counts *c) {
  const struct {
    const char *name;
    int64_t n_new, n_known, n_dropped;
  } kinds[] = {{"runs", c->n_runs_new, c->n_runs_known, c->n_runs_dropped},
               {"trials", c->n_trials_new, c->n_trials_known, c->n_trials_dropped}};
  json_t *files = rgt__json_array(w->object, "files");
  for (int i = 1; i < w->o->n_words; i++) rgt__json_append(files, json_string(w->o->words[i]));
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    json_t *o = rgt__json_child(w->object, kinds[i].name);
    rgt__json_int(o, "new", kinds[i].n_new);
    rgt__json_int(o, "known", kinds[i].n_known);
    rgt__json_int(o, "dropped", kinds[i].n_dropped);
  }
  json_t *why = rgt__json_child(w->object, "dropped_for");
  rgt__json_int(why, "wrong_key", c->n_wrong_key);
  rgt__json_int(why, "out_of_range", c->n_out_of_range);
  rgt__json_int(why, "orphans", c->n_orphans);
  rgt__json_int(w->object, "signatures", c->n_signatures);
}

static void print_text(const rgt__db_work *w, const rgt_db_counts *c) {
  printf("trials: %" PRId64 " new, %" PRId64 " known, %" PRId64 " left out; runs: %" PRId64 " new, %" PRId64 " known, %" PRId64
         " left out\n",
         c->n_trials_new, c->n_trials_known, c->n_trials_dropped, c->n_runs_new, c->n_runs_known, c->n_runs_dropped);
  if (c->n_wrong_key) printf("left out, since their fields do not give their key: %" PRId64 "\n", c->n_wrong_key);
  if (c->n_out_of_range) printf("left out, since they hold what is never stored: %" PRId64 "\n", c->n_out_of_range);
  if (c->n_orphans) printf("left out, since what they refer to is not there: %" PRId64 "\n", c->n_orphans);
  printf("winners of %" PRId64 " signature%s were derived anew in %s\n", c->n_signatures, c->n_signatures == 1 ? "" : "s",
         rgt_db_path(w->session.ctx));
}

rgt_status rgt__db_merge(rgt__db_work *w, rgt__message *m) {
  rgt_db_counts c;
  rgt_status s = rgt_db_merge(w->session.ctx, w->o->words + 1, w->o->n_words - 1, &c);
  if (s != RGT_OK) return rgt__message_from(m, s, w->session.ctx);
  if ((s = rgt__db_is_used(w, m)) != RGT_OK) return s;
  if (w->object)
    print_json(w, &c);
  else
    print_text(w, &c);
  return RGT_OK;
}
