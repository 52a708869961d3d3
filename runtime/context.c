/* context.c -- what a context holds, each thing made at its first use. */
#include "runtime/context.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/file.h"
#include "runtime/fresh.h"
#include "runtime/wishes.h"

void rgt__context_log(rgt_ctx *ctx, rgt_log_level level, const char *format, ...) {
  char line[1200];
  if (!ctx->log) return;
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
  ctx->log(ctx->log_user, level, line);
}

rgt_status rgt__context_families(rgt_ctx *ctx, rgt__families **out) {
  rgt_status status = RGT_OK;
  if (!ctx->sources) status = rgt__sources_open(ctx->template_dir[0] ? ctx->template_dir : NULL, &ctx->sources, &ctx->error);
  if (status == RGT_OK && !ctx->families) status = rgt__families_open(ctx->sources, &ctx->families, &ctx->error);
  if (status == RGT_OK) *out = ctx->families;
  if (status == RGT_OK) rgt__context_tell_faults(ctx);
  return status;
}

void rgt__context_tell_faults(rgt_ctx *ctx) {
  const char *fault;
  while ((fault = rgt__families_fault(ctx->families, ctx->n_faults_told))) {
    ctx->n_faults_told++;
    rgt__context_log(ctx, RGT_LOG_WARNING, "%s; this family is left out", fault);
  }
}

int rgt__context_leave_out(rgt_ctx *ctx, const rgt__family *family, rgt_status status) {
  if (status != RGT_ETEMPLATE) return 0;
  rgt__families_leave_out(ctx->families, family, ctx->error.text);
  rgt__context_tell_faults(ctx);
  return 1;
}

/* The file, if it can be used; what is to be told of it then goes to the log. */
static rgt_status open_file(rgt_ctx *ctx, rgt__error *why) {
  rgt_status status = rgt__tunedb_open(ctx->db_path, ctx->db_is_default ? RGT_TUNEDB_OWN_PLACE : 0, &ctx->db, why);
  if (status == RGT_OK && rgt__tunedb_notice(ctx->db)[0])
    rgt__context_log(ctx, RGT_LOG_WARNING, "%s", rgt__tunedb_notice(ctx->db));
  return status;
}

rgt_status rgt__context_db(rgt_ctx *ctx, rgt__tunedb **out) {
  rgt__error why = {""};
  if (!ctx->db) {
    rgt_status status = open_file(ctx, &why);
    if (status == RGT_ENOMEM) return rgt__error_nomem(&ctx->error, 0);
    if (status != RGT_OK) {
      rgt__context_log(ctx, RGT_LOG_WARNING, "%s; results are kept in memory only", why.text);
      snprintf(ctx->db_path, sizeof ctx->db_path, ":memory:");
      ctx->db_fell_back = 1;
      status = rgt__tunedb_open(NULL, 0, &ctx->db, &ctx->error);
      if (status != RGT_OK) return status;
    }
  }
  *out = ctx->db;
  return RGT_OK;
}

rgt_status rgt__context_own_db(rgt_ctx *ctx, const char *what, rgt__tunedb **out) {
  rgt__error why = {"the tuned database could not be used"};
  rgt_status status = ctx->db ? RGT_OK : open_file(ctx, &why);
  if (status == RGT_ENOMEM) return rgt__error_nomem(&ctx->error, 0);
  if (status != RGT_OK || ctx->db_fell_back) return rgt__error_set(&ctx->error, RGT_EDB, "%s; nothing was %s", why.text, what);
  *out = ctx->db;
  return RGT_OK;
}

rgt_status rgt__context_toolchain(rgt_ctx *ctx, const char **out) {
  if (!ctx->toolchain[0]) {
    rgt_status status = ctx->device->ops->toolchain(ctx->device, ctx->toolchain, sizeof ctx->toolchain, &ctx->error);
    if (status != RGT_OK) {
      ctx->toolchain[0] = 0;
      return status;
    }
    rgt__fresh_remember(ctx->cache, ctx->device, ctx->toolchain);
  }
  *out = ctx->toolchain;
  return RGT_OK;
}

rgt_status rgt__context_device(rgt_ctx *ctx, const char *target, rgt__device **out, int *owned) {
  const rgt__device *own = ctx->device;
  *owned = 0;
  if (!target || strcmp(target, own->ops->kind) == 0 || strcmp(target, own->info.target.name) == 0) {
    *out = ctx->device;
    return RGT_OK;
  }
  rgt__device_options o = {.env = &ctx->env};
  rgt_status status;
  if (strcmp(target, "cpu") == 0)
    status = rgt__device_cpu_open(&o, out, &ctx->error);
  else if (strncmp(target, "sm_", 3) == 0)
    status = rgt__device_offline_cuda(&o, target, out, &ctx->error);
  else
    return rgt__error_set(&ctx->error, RGT_EINVAL, "target \"%s\" is unknown: cpu, %s, or sm_XX (sm_80, sm_90, ...)", target,
                          own->info.target.name);
  if (status == RGT_OK) *owned = 1;
  return status;
}

static void fill_place(const rgt_op *op, rgt_policy policy, rgt__op_key *out) {
  const rgt__device_info *info = &op->ctx->device->info;
  snprintf(out->policy, sizeof out->policy, "%s:%s:threads=%d", policy == RGT_POLICY_COLD ? "cold" : "warm",
           policy == RGT_POLICY_GRAPH ? "graph" : "stream", info->n_threads);
  out->place = (rgt__tunedb_place){.device_class = info->class_text, .policy = out->policy};
}

/* The op's kind without its dims: nearest looks among these. */
static void fill_class(const rgt_op_desc *d, rgt__op_key *out) {
  static const char *const bias[] = {"b0", "b1", "b2", "b12"};
  snprintf(out->op_class, sizeof out->op_class, "%s:%s:%s:%s:%s:%s", d->kind == RGT_MLP ? "mlp" : "linear",
           rgt__op_dtype_word(d->dtype), rgt__op_act_word(d->act), bias[d->bias & 3], rgt__op_layout_word(d->layout),
           rgt__op_index_word(d->index_type));
}

rgt_status rgt__op_rows_check(rgt_op *op, const char *name, int64_t rows) {
  if (rows >= 1 && rows <= RGT_COUNT_MAX) return RGT_OK;
  return rgt__error_set(&op->ctx->error, RGT_EINVAL, "%s is %lld; it can be 1 to 2147483647", name, (long long)rows);
}

rgt_status rgt__op_key_make(const rgt_op *op, int64_t bucket, rgt_skew skew, rgt_policy policy, rgt__op_key *out,
                            rgt__error *err) {
  const rgt_op_desc *d = &op->desc;
  rgt__signature s = {.op = *d,
                      .bucket = bucket,
                      .skew = skew == RGT_SKEW_UNKNOWN ? RGT_SKEW_UNIFORM : skew,
                      .form = op->options.weight_form,
                      .align_bytes = op->options.align_bytes,
                      .order = op->options.order};
  rgt_status status = rgt__signature_format(&s, out->text, err);
  if (status == RGT_OK) status = rgt__op_format(d, out->op_text, err);
  if (status != RGT_OK) return status;
  fill_class(d, out);
  fill_place(op, policy, out);
  out->signature = (rgt__tunedb_signature){.text = out->text,
                                           .op_text = out->op_text,
                                           .op_class = out->op_class,
                                           .n_in = d->n_in,
                                           .n_hidden = d->n_hidden,
                                           .n_out = d->n_out,
                                           .groups = d->groups,
                                           .bucket = bucket,
                                           .skew = rgt__op_skew_word(skew),
                                           .form = rgt__op_form_word(s.form),
                                           .order = rgt__op_order_word(s.order),
                                           .align_bytes = s.align_bytes};
  return RGT_OK;
}

void rgt__context_variant_join(const char *family, const char *params, char text[RGT_VARIANT_TEXT_MAX]) {
  snprintf(text, RGT_VARIANT_TEXT_MAX, "%.63s%s%.180s", family, params[0] ? ":" : "", params);
}

void rgt__context_variant_text(const rgt__tunedb_standing *s, char text[RGT_VARIANT_TEXT_MAX]) {
  rgt__context_variant_join(s->family, s->params, text);
}

/* A stored variant is of use only where its family, that very revision, and its params are here, and nothing bars it. */
static int known_here(void *user, const char *family, int revision, const char *params) {
  const rgt_op *op = user;
  rgt_ctx *ctx = op->ctx;
  rgt__families *families = NULL;
  rgt__variant v;
  char text[RGT_VARIANT_TEXT_MAX];
  if (rgt__context_families(ctx, &families) != RGT_OK) return 0;
  rgt__context_variant_join(family, params, text);
  return rgt__variant_parse(families, ctx->device->ops->kind, text, &v, NULL) == RGT_OK && v.family->revision == revision &&
         !rgt__wishes_bar(op, &v);
}

rgt__tunedb_trial rgt__context_trial_of(const rgt__candidate *c, const char *params) {
  const rgt__family *family = c->variant.family;
  const rgt__numeric *n = &c->numeric;
  return (rgt__tunedb_trial){.family = family->name,
                             .revision = family->revision,
                             .rank = family->rank,
                             .params = params,
                             .template_digest = family->template_digest,
                             .code = c->code,
                             .outcome = c->outcome,
                             .reason = c->reason,
                             .p1 = n->p1,
                             .p2 = n->p2,
                             .u_h = n->u_h,
                             .alpha = n->alpha,
                             .beta = n->beta,
                             .numeric_class = n->class_name};
}

rgt__render_facts rgt__op_facts(const rgt_op *op) {
  return (rgt__render_facts){
      .form = op->options.weight_form, .align_bytes = op->options.align_bytes, .order = op->options.order};
}

/* verify.md's admission in the database's words; the handle's max_error replaces all of them. */
void rgt__op_limits(rgt_op *op, rgt__tunedb_limits *out) {
  double e = op->options.max_error;
  if (e > 0) {
    *out = (rgt__tunedb_limits){.max_p = e, .max_u_h = e, .max_alpha = e, .max_beta = e};
  } else if (op->desc.dtype == RGT_F32) {
    *out = (rgt__tunedb_limits){.max_p = 0x1p-20, .max_alpha = 0x1p-21, .max_beta = 0x1p-21};
  } else {
    double u = op->desc.dtype == RGT_F16 ? 0x1p-11 : 0x1p-8;
    *out = (rgt__tunedb_limits){.max_u_h = u, .max_alpha = u, .max_beta = u};
  }
  out->admit = known_here;
  out->admit_user = op;
  out->admit_is_fixed = !op->wishes || op->wishes->n_barred == 0;
}
