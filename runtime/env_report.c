/* env_report.c -- rgt_env: devices, compilers, versions, files and environment variables, a line each. */
#include <stdio.h>
#include <string.h>

#include "runtime/context.h"
#include "runtime/cuda_api.h"
#include "runtime/nvrtc.h"
#include "runtime/worker_find.h"

static void number(rgt_env_fn fn, void *user, const char *section, const char *name, int64_t value) {
  char text[32];
  snprintf(text, sizeof text, "%lld", (long long)value);
  fn(user, section, name, text);
}

static void report_library(rgt_ctx *ctx, rgt_env_fn fn, void *user) {
  static const char *const modes[] = {"cache", "tune", "replay", "off"};
  fn(user, "ragtune", "version", RGT_VERSION);
  fn(user, "ragtune", "mode", modes[ctx->mode]);
}

static void report_device(rgt_ctx *ctx, rgt_env_fn fn, void *user) {
  const rgt__device_info *info = &ctx->device->info;
  fn(user, "device", "kind", ctx->device->ops->kind);
  fn(user, "device", "class", info->class_text);
  fn(user, "device", "target", info->target.name);
  if (info->n_threads) number(fn, user, "device", "threads", info->n_threads);
  number(fn, user, "device", "free memory, MiB", info->free_bytes >> 20);
}

static void report_compiler(rgt_ctx *ctx, rgt_env_fn fn, void *user) {
  rgt__error why;
  const char *toolchain = NULL;
  char stamp[700];
  ctx->device->ops->compiler_stamp(ctx->device, stamp, sizeof stamp);
  stamp[strcspn(stamp, "|")] = 0;
  why = ctx->error;
  if (rgt__context_toolchain(ctx, &toolchain) == RGT_OK) {
    fn(user, "compiler", "program", stamp);
    fn(user, "compiler", "toolchain", toolchain);
  } else {
    fn(user, "compiler", "toolchain", ctx->error.text);
  }
  ctx->error = why;
}

static void report_cuda(rgt_ctx *ctx, rgt_env_fn fn, void *user) {
  rgt__error why = {""};
  rgt__nvrtc *nvrtc = NULL;
  rgt__device *device = NULL;
  rgt__device_options o = {.env = &ctx->env};
  if (rgt__nvrtc_open(&ctx->env, &nvrtc, &why) == RGT_OK) {
    char text[256], targets[256] = "";
    int sm[64], n = rgt__nvrtc_targets(nvrtc, sm, 64);
    size_t at = 0;
    for (int i = 0; i < n && at < sizeof targets - 16; i++)
      at += (size_t)snprintf(targets + at, sizeof targets - at, "%ssm_%d", i ? " " : "", sm[i]);
    rgt__nvrtc_version(nvrtc, text, sizeof text);
    fn(user, "cuda", "nvrtc", rgt__nvrtc_path(nvrtc));
    fn(user, "cuda", "nvrtc version", text);
    fn(user, "cuda", "nvrtc targets", targets);
    rgt__nvrtc_close(nvrtc);
  } else {
    fn(user, "cuda", "nvrtc", why.text);
  }
  if (rgt__device_cuda_open(&o, &device, &why) == RGT_OK) {
    fn(user, "cuda", "driver", device->info.driver);
    device->ops->close(device);
  } else {
    fn(user, "cuda", "driver", why.text);
  }
}

/* Where candidates would be run, or where the program for that was looked for. */
static void report_worker(rgt_ctx *ctx, rgt_env_fn fn, void *user) {
  rgt__error why = {""};
  rgt__worker_where where;
  char path[1024];
  if (rgt__worker_find(&ctx->env, &where, path, sizeof path, &why) != RGT_OK)
    fn(user, "files", "worker", why.text);
  else
    fn(user, "files", "worker", where == RGT_WORKER_INSIDE ? "inside: candidates run in this process" : path);
}

static void report_files(rgt_ctx *ctx, rgt_env_fn fn, void *user) {
  fn(user, "files", "tuned database", ctx->db_path);
  fn(user, "files", "site databases", ctx->site_dbs && ctx->site_dbs[0] ? ctx->site_dbs : "none");
  fn(user, "files", "code cache", rgt__code_cache_folder(ctx->cache)[0] ? rgt__code_cache_folder(ctx->cache) : "none");
  fn(user, "files", "bundle", ctx->bundle_folder[0] ? ctx->bundle_folder : "none");
  fn(user, "files", "templates", ctx->template_dir[0] ? ctx->template_dir : "built in");
  report_worker(ctx, fn, user);
}

static void report_environment(rgt_ctx *ctx, rgt_env_fn fn, void *user) {
  for (int i = 0; i < RGT_N_ENVIRONMENT; i++) {
    rgt__environment_name name = (rgt__environment_name)i;
    const char *value = rgt__environment_get(&ctx->env, name);
    fn(user, "environment", rgt__environment_label(name), value ? value : "unset");
  }
}

static const struct {
  const char *name;
  void (*report)(rgt_ctx *ctx, rgt_env_fn fn, void *user);
} sections[] = {{"ragtune", report_library}, {"device", report_device}, {"compiler", report_compiler},
                {"cuda", report_cuda},       {"files", report_files},   {"environment", report_environment}};
enum { N_SECTIONS = sizeof sections / sizeof sections[0] };

rgt_status rgt_env(rgt_ctx *ctx, const char *section, rgt_env_fn fn, void *user) {
  int n = 0;
  if (!fn) return rgt__error_null(&ctx->error, "fn");
  if (!ctx->device)
    return rgt__error_set(&ctx->error, RGT_EINVAL, "the context could not be opened; close it and open another");
  for (int i = 0; i < N_SECTIONS; i++) {
    if (section && strcmp(section, sections[i].name) != 0) continue;
    sections[i].report(ctx, fn, user);
    n++;
  }
  return n ? RGT_OK
           : rgt__error_set(&ctx->error, RGT_EINVAL,
                            "section \"%s\" is unknown: ragtune, device, compiler, cuda, files or environment", section);
}
