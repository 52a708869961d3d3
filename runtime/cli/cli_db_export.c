/* cli_db_export.c -- ragtune db export FILE: the trials in one file that can be given away. */
#include "cli_db.h"

#include <inttypes.h>

rgt_status rgt__db_export(rgt__db_work *w, rgt__message *m) {
  const char *path = w->o->words[1];
  rgt_db_exported e;
  rgt_status s = rgt_db_export(w->session.ctx, path, &e);
  if (s != RGT_OK) return rgt__message_from(m, s, w->session.ctx);
  if ((s = rgt__db_is_used(w, m)) != RGT_OK) return s;
  if (e.n_trials_dropped)
    rgt__message_note("%" PRId64 " trials are not sound and were left out; ragtune db check says why", e.n_trials_dropped);
  if (w->object) {
    rgt__json_text(w->object, "file", path);
    rgt__json_int(w->object, "runs", e.n_runs);
    rgt__json_int(w->object, "trials", e.n_trials);
    rgt__json_int(w->object, "dropped", e.n_trials_dropped);
    rgt__json_int(w->object, "bytes", e.n_bytes);
    rgt__json_text(w->object, "digest", e.digest);
    return RGT_OK;
  }
  printf("%" PRId64 " trial%s of %" PRId64 " run%s in %s, %" PRId64 " bytes\ndigest of the trials: %s\n", e.n_trials,
         e.n_trials == 1 ? "" : "s", e.n_runs, e.n_runs == 1 ? "" : "s", path, e.n_bytes, e.digest);
  return RGT_OK;
}
