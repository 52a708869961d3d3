/* cache_pins.c -- which compiled code the tuned database calls for.
 *
 * A standing names the code that was timed, which is the one here where it was timed here. What dispatch would load is found as
 * dispatch finds it, through the cache's map: that covers winners from elsewhere, which were compiled anew, and pins.
 */
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/gc.h"
#include "tunedb/tunedb_local.h"

typedef struct search {
  rgt_ctx *ctx;
  rgt__pinned *out;
  rgt__families *families; /* NULL: no map is asked */
  char stamp[700];
  int failed;
} search;

static void add(search *s, const rgt__digest *key) {
  rgt__pinned *p = s->out;
  if (p->n == p->room) {
    int room = p->room ? 2 * p->room : 64;
    rgt__digest *grown = rgt__realloc(p->keys, (size_t)room * sizeof *grown);
    if (!grown) {
      s->failed = 1;
      return;
    }
    p->keys = grown;
    p->room = room;
  }
  p->keys[p->n++] = *key;
}

static void add_mapped(search *s, const char *signature, const char *device_class, const char *family, int revision,
                       const char *params) {
  const rgt__device *d = s->ctx->device;
  rgt__signature parsed;
  rgt__digest local, code;
  if (!s->families || strcmp(device_class, d->info.class_text) != 0) return;
  const rgt__family *f = rgt__families_find(s->families, d->ops->kind, family);
  if (!f || f->revision != revision || rgt__signature_parse(signature, &parsed, NULL) != RGT_OK) return;
  rgt__render_facts facts = {parsed.form, parsed.align_bytes, parsed.order};
  rgt__candidate_local_key(family, revision, params, &parsed.op, &facts, &f->template_digest, s->stamp, d->info.target.name,
                           &local);
  if (rgt__code_cache_map_get(s->ctx->cache, &local, &code) == RGT_OK) add(s, &code);
}

static int add_winner(void *user, const rgt__tunedb_winner *w) {
  search *s = user;
  const rgt__tunedb_standing *standings[2] = {&w->winner, &w->runner_up};
  for (int i = 0; i < 1 + w->has_runner_up; i++) {
    add(s, &standings[i]->code);
    add_mapped(s, w->signature, w->device_class, standings[i]->family, standings[i]->revision, standings[i]->params);
  }
  return s->failed;
}

static int add_pin(void *user, const rgt__tunedb_wish *pin) {
  search *s = user;
  add_mapped(s, pin->signature.text, pin->device_class, pin->variant.family, pin->variant.revision, pin->variant.params);
  return s->failed;
}

/* A database that cannot be read pins nothing: then a winner may have to be compiled again. */
rgt_status rgt__cache_pins(void *user, rgt__pinned *out) {
  rgt_ctx *ctx = user;
  rgt__tunedb *db = NULL;
  search s = {.ctx = ctx, .out = out};
  rgt__error kept = ctx->error;
  rgt_status status = rgt__context_db(ctx, &db);
  if (status == RGT_OK && rgt__context_families(ctx, &s.families) != RGT_OK) s.families = NULL;
  ctx->error = kept;
  ctx->device->ops->compiler_stamp(ctx->device, s.stamp, sizeof s.stamp);
  if (status == RGT_OK) status = rgt__tunedb_list(db, add_winner, &s, NULL);
  if (status == RGT_OK) status = rgt__tunedb_pins(db, NULL, NULL, add_pin, &s, NULL);
  return s.failed || status == RGT_ENOMEM ? RGT_ENOMEM : RGT_OK;
}
