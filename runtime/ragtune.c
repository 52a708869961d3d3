/* ragtune.c -- the front door: contexts. */
#include "runtime/ragtune.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/background.h"
#include "runtime/base/alloc.h"
#include "runtime/base/file.h"
#include "runtime/bundle.h"
#include "runtime/bundle_table.h"
#include "runtime/gc.h"
#include "runtime/layers.h"

static rgt_status parse_mode(const char *word, rgt__mode *out, rgt__error *err) {
  static const char *const words[] = {"cache", "tune", "replay", "off"};
  for (int i = 0; i < 4; i++)
    if (!word || strcmp(word, words[i]) == 0) {
      *out = (rgt__mode)i;
      return RGT_OK;
    }
  return rgt__error_set(err, RGT_EINVAL, "mode (RAGTUNE_MODE) is \"%s\"; it can be cache, tune, replay or off", word);
}

/* "<XDG folder>/ragtune", else "<HOME>/<below>/ragtune"; "" where neither is set. XDG wants absolute paths and says to ignore
 * others. */
static void user_folder(const rgt__environment *env, rgt__environment_name xdg, const char *below, char *out, size_t size) {
  const char *base = rgt__environment_get(env, xdg), *home = rgt__environment_get(env, RGT_ENV_HOME);
  if (base && base[0] == '/')
    snprintf(out, size, "%s/ragtune", base);
  else if (home && home[0] == '/')
    snprintf(out, size, "%s/%s/ragtune", home, below);
  else
    out[0] = 0;
}

static void choose_paths(rgt_ctx *ctx, const rgt_options *o) {
  char folder[700];
  const char *db = o->database ? o->database : rgt__environment_get(&ctx->env, RGT_ENV_RAGTUNE_DB);
  const char *cache = o->cache_dir ? o->cache_dir : rgt__environment_get(&ctx->env, RGT_ENV_RAGTUNE_CACHE);
  const char *templates = o->template_dir ? o->template_dir : rgt__environment_get(&ctx->env, RGT_ENV_RAGTUNE_TEMPLATES);
  const char *bundle = o->bundle ? o->bundle : rgt__environment_get(&ctx->env, RGT_ENV_RAGTUNE_BUNDLE);
  user_folder(&ctx->env, RGT_ENV_XDG_DATA_HOME, ".local/share", folder, sizeof folder);
  ctx->db_is_default = !db;
  if (db)
    snprintf(ctx->db_path, sizeof ctx->db_path, "%s", db);
  else if (folder[0])
    snprintf(ctx->db_path, sizeof ctx->db_path, "%s/tuned.db", folder);
  else {
    snprintf(ctx->db_path, sizeof ctx->db_path, ":memory:");
    rgt__context_log(ctx, RGT_LOG_WARNING,
                     "HOME and XDG_DATA_HOME are unset: results are kept in memory only; RAGTUNE_DB can name a file");
  }
  user_folder(&ctx->env, RGT_ENV_XDG_CACHE_HOME, ".cache", folder, sizeof folder);
  snprintf(ctx->cache_folder, sizeof ctx->cache_folder, "%s", cache ? cache : folder);
  snprintf(ctx->template_dir, sizeof ctx->template_dir, "%s", templates ? templates : "");
  snprintf(ctx->bundle_folder, sizeof ctx->bundle_folder, "%s", bundle ? bundle : "");
}

static rgt_status read_limits(rgt_ctx *ctx) {
  double mib = 1024;
  ctx->wait_s = -1;
  rgt_status status = rgt__environment_number(&ctx->env, RGT_ENV_RAGTUNE_WAIT_LIMIT_S, 1e6, &ctx->wait_s, &ctx->error);
  if (status == RGT_OK) status = rgt__environment_number(&ctx->env, RGT_ENV_RAGTUNE_CACHE_QUOTA_MIB, 1e9, &mib, &ctx->error);
  ctx->quota_bytes = mib > 0 ? (int64_t)(mib * 0x1p20) : -1;
  return status;
}

static rgt_status choose_sites(rgt_ctx *ctx, const rgt_options *o) {
  const char *sites = o->site_dbs ? o->site_dbs : rgt__environment_get(&ctx->env, RGT_ENV_RAGTUNE_SITE_DBS);
  if (!sites) return RGT_OK;
  ctx->site_dbs = rgt__strdup(sites);
  return ctx->site_dbs ? RGT_OK : rgt__error_nomem(&ctx->error, strlen(sites) + 1);
}

static rgt_status open_cache(rgt_ctx *ctx) {
  rgt__error why = {""};
  if (ctx->cache_folder[0]) {
    rgt_status status = rgt__code_cache_open(ctx->cache_folder, &ctx->cache, &why);
    if (status == RGT_OK) return RGT_OK;
    if (status == RGT_ENOMEM) return rgt__error_set(&ctx->error, status, "%s", why.text);
    rgt__context_log(ctx, RGT_LOG_WARNING, "%s; compiled code is not kept", why.text);
  }
  return rgt__code_cache_open(NULL, &ctx->cache, &ctx->error);
}

/* Is there a bundle with code for CUDA, of whatever target? */
static int bundle_has_cuda(const rgt_ctx *ctx) {
  rgt__bundle_table t = {0};
  int found = 0;
  if (!ctx->bundle_folder[0] || rgt__bundle_table_read(ctx->bundle_folder, &t, NULL) != RGT_OK) return 0;
  for (int i = 0; i < t.n_code; i++) found |= strncmp(t.code[i].made_for.target, "sm_", 3) == 0;
  rgt__bundle_table_free(&t);
  return found;
}

static rgt_status open_device(rgt_ctx *ctx, const rgt_options *o) {
  const char *name = o->device ? o->device : rgt__environment_get(&ctx->env, RGT_ENV_RAGTUNE_DEVICE);
  rgt__device_options device = {.env = &ctx->env, .threads = o->threads};
  if (!name || strcmp(name, "auto") == 0) name = rgt__device_cuda_present(&ctx->env, bundle_has_cuda(ctx)) ? "cuda" : "cpu";
  if (strcmp(name, "cpu") == 0) return rgt__device_cpu_open(&device, &ctx->device, &ctx->error);
  if (strncmp(name, "cuda", 4) == 0 && (name[4] == 0 || (name[4] == ':' && name[5]))) {
    char *end = NULL;
    errno = 0;
    long ordinal = name[4] ? strtol(name + 5, &end, 10) : 0;
    if ((!end || *end == 0) && ordinal >= 0 && ordinal < 1024 && !errno) {
      device.ordinal = (int)ordinal;
      return rgt__device_cuda_open(&device, &ctx->device, &ctx->error);
    }
  }
  return rgt__error_set(&ctx->error, RGT_EINVAL, "device is \"%s\"; it can be auto, cpu, cuda or cuda:N", name);
}

rgt_status rgt_open(const rgt_options *options, rgt_ctx **out) {
  static const rgt_options defaults = {.struct_size = sizeof defaults};
  const rgt_options *o = options ? options : &defaults;
  if (!out) return RGT_EINVAL;
  rgt_ctx *ctx = rgt__alloc_zero(1, sizeof *ctx);
  *out = ctx;
  if (!ctx) return RGT_ENOMEM;
  if (o->struct_size != sizeof *o)
    return rgt__error_set(&ctx->error, RGT_EINVAL, "rgt_options.struct_size is %zu; this library's is %zu", o->struct_size,
                          sizeof *o);
  ctx->log = o->log;
  ctx->log_user = o->log_user;
  rgt_status status = rgt__environment_read(&ctx->env, &ctx->error);
  if (status != RGT_OK) return status;
  choose_paths(ctx, o);
  status = choose_sites(ctx, o);
  if (status == RGT_OK) status = read_limits(ctx);
  if (status == RGT_OK)
    status = parse_mode(o->mode ? o->mode : rgt__environment_get(&ctx->env, RGT_ENV_RAGTUNE_MODE), &ctx->mode, &ctx->error);
  if (status == RGT_OK) status = open_device(ctx, o);
  if (status == RGT_OK) status = open_cache(ctx);
  if (status == RGT_OK && ctx->wait_s >= 0) rgt__code_cache_wait(ctx->cache, ctx->wait_s);
  return status;
}

void rgt_close(rgt_ctx *ctx) {
  if (!ctx) return;
  while (ctx->ops) rgt_op_free(ctx->ops);
  rgt__background_close(ctx);
  rgt__gc_keep_quota(ctx, 1);
  rgt__bundle_close(ctx->bundle);
  rgt__families_free(ctx->families);
  rgt__sources_free(ctx->sources);
  rgt__layers_close(ctx);
  rgt__tunedb_close(ctx->db);
  rgt__code_cache_free(ctx->cache);
  if (ctx->device) ctx->device->ops->close(ctx->device);
  rgt__environment_free(&ctx->env);
  rgt__free(ctx->site_dbs);
  rgt__free(ctx);
}

const char *rgt_errmsg(const rgt_ctx *ctx) {
  return ctx ? ctx->error.text : "out of memory";
}

const char *rgt_db_path(const rgt_ctx *ctx) {
  return ctx->db_path;
}

rgt_status rgt_op_parse(rgt_ctx *ctx, const char *text, rgt_op_desc *desc) {
  if (!text || !desc)
    return rgt__error_set(ctx ? &ctx->error : NULL, RGT_EINVAL,
                          "%s is NULL; it can be an op's text form and a description to fill", text ? "desc" : "text");
  return rgt__op_parse(text, desc, ctx ? &ctx->error : NULL);
}

rgt_status rgt_op_format(rgt_ctx *ctx, const rgt_op_desc *desc, char text[RGT_OP_TEXT_MAX]) {
  rgt__error *err = ctx ? &ctx->error : NULL;
  return !desc || !text ? rgt__error_null(err, desc ? "text" : "desc") : rgt__op_format(desc, text, err);
}
