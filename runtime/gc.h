/* gc.h -- what rgt_cache_gc looks at: each file or folder that nobody needs any more is offered once, with its bytes and why,
 * and removed unless it is a dry run. */
#ifndef RGT_RUNTIME_GC_H
#define RGT_RUNTIME_GC_H

#include "runtime/context.h"

typedef struct rgt__gc {
  int dry_run, stopped;
  rgt_gc_fn fn; /* NULL: nobody is told */
  void *user;
  rgt_gc_total total;
} rgt__gc;

/* rgt__gc_offer -- tells of it; 1: it is to be removed now. With a dry run it counts as removed all the same. */
int rgt__gc_offer(rgt__gc *g, const char *path, int64_t bytes, const char *why);

/* cache_sweep.c -- the code cache: least recently used entries over the quota, and what broken-off work left there. Entries
 * that are pinned, that this process has loaded, or that somebody makes just now stay. pinned is sorted. RGT_OK, RGT_ENOMEM. */
typedef struct rgt__pinned {
  rgt__digest *keys; /* [n], owned */
  int n, room;
} rgt__pinned;
rgt_status rgt__cache_sweep(rgt__gc *g, const rgt__code_cache *cache, int64_t quota_bytes, int only_quota,
                            rgt_status (*find_pinned)(void *user, rgt__pinned *out), void *user, rgt__error *err);

/* cache_pins.c -- code that the context's database calls for: of every winner and runner-up as it was timed, and what the map
 * of the cache has for these and for pinned variants on the context's own device. user: the rgt_ctx. */
rgt_status rgt__cache_pins(void *user, rgt__pinned *out);

/* gc_folders.c -- temporary folders of processes that ended, what lies beside the database, half bundles. */
void rgt__gc_scratch(rgt__gc *g, const char *folder);
void rgt__gc_database(rgt__gc *g, const char *db_path);
void rgt__gc_bundle(rgt__gc *g, const char *bundle_folder);

/* rgt__gc_keep_quota -- brings the cache within the quota where this context has added to it: a lot, or, at its end, anything.
 */
void rgt__gc_keep_quota(rgt_ctx *ctx, int at_end);

#endif
