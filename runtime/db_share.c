/* db_share.c -- rgt_db_export, import and merge: trials from machine to machine, through the front door. */
#include "runtime/context.h"

rgt_status rgt_db_merge(rgt_ctx *ctx, const char *const *paths, int n, rgt_db_counts *counts) {
  rgt__tunedb *db = NULL;
  rgt__tunedb_merged m;
  rgt_status status = rgt__context_own_db(ctx, "merged", &db);
  if (status == RGT_OK) status = rgt__tunedb_merge(db, paths, n, &m, &ctx->error);
  if (status != RGT_OK || !counts) return status;
  *counts = (rgt_db_counts){.n_runs_new = m.n_runs_new,
                            .n_runs_known = m.n_runs_known,
                            .n_runs_dropped = m.n_runs_dropped,
                            .n_trials_new = m.n_trials_new,
                            .n_trials_known = m.n_trials_known,
                            .n_trials_dropped = m.n_trials_dropped,
                            .n_wrong_key = m.n_wrong_key,
                            .n_out_of_range = m.n_out_of_range,
                            .n_orphans = m.n_orphans,
                            .n_signatures = m.n_scenes};
  return RGT_OK;
}

rgt_status rgt_db_import(rgt_ctx *ctx, const char *path, rgt_db_counts *counts) {
  return rgt_db_merge(ctx, &path, 1, counts);
}

rgt_status rgt_db_export(rgt_ctx *ctx, const char *path, rgt_db_exported *exported) {
  rgt__tunedb *db = NULL;
  rgt__tunedb_exported e;
  rgt_status status = rgt__context_own_db(ctx, "exported", &db);
  if (status == RGT_OK) status = rgt__tunedb_export(db, path, &e, &ctx->error);
  if (status != RGT_OK || !exported) return status;
  *exported = (rgt_db_exported){.n_runs = e.copied.n_runs_new,
                                .n_trials = e.copied.n_trials_new,
                                .n_trials_dropped = e.copied.n_trials_dropped,
                                .n_bytes = e.n_bytes};
  rgt__digest_hex(&e.digest, exported->digest);
  return RGT_OK;
}
