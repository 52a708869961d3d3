/* layers.c -- the tuned databases that dispatch asks, opened once. */
#include "runtime/layers.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/alloc.h"
#include "runtime/beside.h"

#ifndef RGT_SHARE_DIR
#define RGT_SHARE_DIR "/usr/local/share/ragtune"
#endif
#ifndef RGT_SHARE_FROM_LIB
#define RGT_SHARE_FROM_LIB "../share/ragtune"
#endif
#ifndef RGT_SHARE_FROM_BIN
#define RGT_SHARE_FROM_BIN "../share/ragtune"
#endif

#define SHIPPED "tuned.db"

enum { PATH_SIZE = 1024 };
_Static_assert((int)PATH_SIZE == (int)RGT_BESIDE_MAX, "one size of paths");

int rgt__layers_named(const char *list, int i, char path[PATH_SIZE]) {
  for (const char *at = list ? list : ""; *at;) {
    size_t n = strcspn(at, ":");
    if (n > 0 && i-- == 0) {
      snprintf(path, PATH_SIZE, "%.*s", (int)(n < PATH_SIZE ? n : PATH_SIZE - 1), at);
      return 1;
    }
    at += n + (at[n] == ':');
  }
  return 0;
}

void rgt__layers_shipped(char path[PATH_SIZE]) {
  rgt__beside_library(RGT_SHARE_FROM_LIB, SHIPPED, path);
  if (path[0] && access(path, F_OK) == 0) return;
  rgt__beside_program(RGT_SHARE_FROM_BIN, SHIPPED, path);
  if (path[0] && access(path, F_OK) == 0) return;
  snprintf(path, PATH_SIZE, "%s", RGT_SHARE_DIR "/" SHIPPED); /* for programs elsewhere that hold the static library */
}

/* The same file under two names is asked once; the user's own is not somebody else's. */
static int is_known(const rgt_ctx *ctx, const char *path) {
  struct stat one, other;
  if (stat(path, &one) != 0) return 0;
  for (int i = 0; i < ctx->n_layers; i++)
    if (ctx->layers[i].db && stat(rgt__tunedb_path(ctx->layers[i].db), &other) == 0 && one.st_dev == other.st_dev &&
        one.st_ino == other.st_ino)
      return 1;
  return 0;
}

static rgt_status add(rgt_ctx *ctx, const char *path, rgt_layer_kind kind, int position) {
  rgt__error why = {""};
  rgt__layer *l = &ctx->layers[ctx->n_layers];
  if (is_known(ctx, path)) return RGT_OK;
  *l = (rgt__layer){.kind = kind, .position = position};
  rgt_status status = rgt__tunedb_open(path, RGT_TUNEDB_SITE, &l->db, &why);
  if (status == RGT_ENOMEM) return rgt__error_nomem(&ctx->error, 0);
  if (status == RGT_OK)
    ctx->n_layers++;
  else
    rgt__context_log(ctx, RGT_LOG_WARNING, "%s; this %s database is left out", why.text,
                     kind == RGT_FROM_SITE_DB ? "site" : "shipped");
  return RGT_OK;
}

static rgt_status open_all(rgt_ctx *ctx) {
  char path[PATH_SIZE];
  rgt__tunedb *own = NULL;
  rgt_status status = rgt__context_db(ctx, &own);
  if (status != RGT_OK) return status;
  int in_memory = strcmp(rgt__tunedb_path(own), ":memory:") == 0;
  ctx->layers[0] = (rgt__layer){.db = own, .kind = in_memory ? RGT_FROM_MEMORY : RGT_FROM_USER_DB};
  ctx->n_layers = 1;
  for (int i = 0; status == RGT_OK && rgt__layers_named(ctx->site_dbs, i, path); i++)
    status = add(ctx, path, RGT_FROM_SITE_DB, i + 1);
  rgt__layers_shipped(path);
  if (status == RGT_OK && access(path, F_OK) == 0) status = add(ctx, path, RGT_FROM_SHIPPED_DB, 0);
  return status;
}

rgt_status rgt__layers_open(rgt_ctx *ctx) {
  char path[PATH_SIZE];
  int n = 2;
  if (ctx->layers) return RGT_OK;
  while (rgt__layers_named(ctx->site_dbs, n - 2, path)) n++;
  ctx->layers = rgt__alloc_zero((size_t)n, sizeof *ctx->layers);
  if (!ctx->layers) return rgt__error_nomem(&ctx->error, (size_t)n * sizeof *ctx->layers);
  rgt_status status = open_all(ctx);
  if (status != RGT_OK) rgt__layers_close(ctx);
  return status;
}

void rgt__layers_close(rgt_ctx *ctx) {
  for (int i = 1; i < ctx->n_layers; i++) rgt__tunedb_close(ctx->layers[i].db);
  rgt__free(ctx->layers);
  ctx->layers = NULL;
  ctx->n_layers = 0;
}

rgt_status rgt__layers_settle(rgt_ctx *ctx, int i, rgt_status status) {
  rgt__layer *l = &ctx->layers[i];
  if (i == 0 || status == RGT_OK || status == RGT_EMISS || status == RGT_ENOMEM) return status;
  rgt__context_log(ctx, RGT_LOG_WARNING, "%s; this %s database is left out", ctx->error.text,
                   l->kind == RGT_FROM_SITE_DB ? "site" : "shipped");
  rgt__tunedb_close(l->db);
  l->db = NULL;
  return RGT_EMISS;
}
