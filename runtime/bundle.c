/* bundle.c -- code that was compiled elsewhere: found by what it was made for, without a compiler's stamp. */
#include "runtime/bundle.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/base/alloc.h"
#include "runtime/base/file.h"
#include "runtime/base/number.h"
#include "runtime/bundle_table.h"
#include "runtime/wishes.h"

struct rgt__bundle {
  rgt__bundle_table table;
  rgt__code_cache *code; /* NULL: there is no bundle, or none that can be used */
  int said_stale;
};

void rgt__bundle_close(rgt__bundle *b) {
  if (!b) return;
  rgt__bundle_table_free(&b->table);
  rgt__code_cache_free(b->code);
  rgt__free(b);
}

/* ---- which targets' code runs here ---- */

/* How much lesser than the device's own target the target of some code is: 0 its own, -1 none that runs here. A lesser one is
 * second to compiling for what is here. */
static int target_rank(rgt_ctx *ctx, const char *target) {
  static const char *const cpu[] = {"x86-64-avx512", "x86-64-avx2", "plain"};
  const char *own = ctx->device->info.target.name;
  char stamp[700];
  int here = -1, there = -1;
  if (strcmp(own, target) == 0) return 0;
  for (int i = 0; i < 3; i++) {
    if (strcmp(own, cpu[i]) == 0) here = i;
    if (strcmp(target, cpu[i]) == 0) there = i;
  }
  if (here < 0 || there < here) return -1;
  ctx->device->ops->compiler_stamp(ctx->device, stamp, sizeof stamp);
  return stamp[0] ? -1 : there - here;
}

/* What the bundle holds code for, each target once. */
static void list_targets(const rgt__bundle_table *t, char *text, size_t size) {
  size_t n = 0;
  text[0] = 0;
  for (int i = 0; i < t->n_code && n < size; i++) {
    int known = 0;
    for (int j = 0; j < i; j++) known |= strcmp(t->code[i].made_for.target, t->code[j].made_for.target) == 0;
    if (!known) n += (size_t)snprintf(text + n, size - n, "%s%s", n ? ", " : "", t->code[i].made_for.target);
  }
}

/* ---- opening ---- */

/* Somebody named the folder, and whoever can write there can run code here: not everybody shall. */
static rgt_status check_folder(const char *folder, rgt__error *err) {
  struct stat st;
  if (stat(folder, &st) == 0 && S_ISDIR(st.st_mode) && (st.st_mode & S_IWOTH))
    return rgt__error_set(err, RGT_EIO, "%s: everybody can write to it (mode %04o); chmod o-w makes it fit for code", folder,
                          (unsigned)(st.st_mode & 07777));
  return RGT_OK;
}

static rgt_status check_targets(rgt_ctx *ctx, const rgt__bundle_table *t, rgt__error *err) {
  char targets[256];
  for (int i = 0; i < t->n_code; i++)
    if (target_rank(ctx, t->code[i].made_for.target) >= 0) return RGT_OK;
  list_targets(t, targets, sizeof targets);
  return rgt__error_set(err, RGT_EIO, "%s holds code for %s; this device is %s", ctx->bundle_folder,
                        targets[0] ? targets : "nothing", ctx->device->info.target.name);
}

/* NULL: there is no bundle to ask. */
static rgt__bundle *ask(rgt_ctx *ctx) {
  rgt__error why = {""};
  if (!ctx->bundle_folder[0]) return NULL;
  if (ctx->bundle) return ctx->bundle->code ? ctx->bundle : NULL;
  rgt__bundle *b = rgt__alloc_zero(1, sizeof *b);
  if (!b) return NULL;
  rgt_status status = check_folder(ctx->bundle_folder, &why);
  if (status == RGT_OK) status = rgt__bundle_table_read(ctx->bundle_folder, &b->table, &why);
  if (status == RGT_OK) status = check_targets(ctx, &b->table, &why);
  if (status == RGT_OK) status = rgt__code_cache_open_bundle(ctx->bundle_folder, &b->code, &why);
  if (status == RGT_ENOMEM) { /* asked again next time */
    rgt__bundle_close(b);
    return NULL;
  }
  ctx->bundle = b;
  if (status != RGT_OK) rgt__context_log(ctx, RGT_LOG_WARNING, "bundle: %s; it is not used", why.text);
  return status == RGT_OK ? b : NULL;
}

/* ---- code ---- */

static int same_but_groups(const char *op_text, const rgt_op_desc *op, int64_t *groups) {
  rgt_op_desc other;
  char a[RGT_OP_TEXT_MAX], b[RGT_OP_TEXT_MAX];
  if (rgt__op_parse(op_text, &other, NULL) != RGT_OK) return 0;
  rgt_op_desc own = *op;
  *groups = other.groups;
  own.groups = other.groups = 1;
  return rgt__op_format(&own, a, NULL) == RGT_OK && rgt__op_format(&other, b, NULL) == RGT_OK && strcmp(a, b) == 0;
}

/* Are the op's calls of the form that something was made for? */
static int made_for_calls_of(const rgt_op *op, const rgt__bundle_for *m) {
  return m->form == op->options.weight_form && m->order == op->options.order && m->align_bytes <= op->options.align_bytes;
}

/* Code of this very variant that other templates made: the bundle is older or newer than the library. Said once. */
static void say_stale(rgt_op *op, rgt__bundle *b, const char *variant) {
  int64_t groups;
  if (b->said_stale) return;
  for (int i = 0; i < b->table.n_code; i++) {
    const rgt__bundle_code *c = &b->table.code[i];
    if (strcmp(c->variant, variant) != 0 || target_rank(op->ctx, c->made_for.target) < 0 ||
        !made_for_calls_of(op, &c->made_for) || !same_but_groups(c->made_for.op, &op->desc, &groups))
      continue;
    b->said_stale = 1;
    rgt__context_log(op->ctx, RGT_LOG_WARNING,
                     "bundle: %s was made from other templates than this library's: its %s is not used; make it again with "
                     "ragtune compile -o",
                     op->ctx->bundle_folder, variant);
    return;
  }
}

/* The code of one variant for one target; what promises less about addresses serves those who promise more. */
static rgt__bundle_code *find_for(rgt_op *op, rgt__bundle *b, const rgt__variant *v, const char *target) {
  char params[RGT_VARIANT_TEXT_MAX];
  rgt__variant_params_format(v, params);
  for (int align = op->options.align_bytes; align > 0; align /= 2) {
    rgt__render_facts facts = {op->options.weight_form, align, op->options.order};
    rgt__digest local;
    rgt__candidate_local_key(v->family->name, v->family->revision, params, &op->desc, &facts, &v->family->template_digest, "",
                             target, &local);
    for (int i = 0; i < b->table.n_code; i++)
      if (rgt__digest_equal(&b->table.code[i].local, &local)) return &b->table.code[i];
  }
  return NULL;
}

/* Of all targets that run here the best. */
static rgt__bundle_code *find(rgt_op *op, rgt__bundle *b, const rgt__variant *v) {
  char stamp[700];
  op->ctx->device->ops->compiler_stamp(op->ctx->device, stamp, sizeof stamp);
  rgt__bundle_code *best = NULL;
  int best_rank = 0;
  for (int i = 0; i < b->table.n_code; i++) {
    const char *target = b->table.code[i].made_for.target;
    int rank = target_rank(op->ctx, target);
    if (rank < 0 || (best && rank >= best_rank)) continue;
    rgt__bundle_code *c = find_for(op, b, v, target);
    if (!c || c->spoilt || (stamp[0] && !c->verified)) continue;
    best = c;
    best_rank = rank;
  }
  return best;
}

static rgt_status check_ptx(const rgt__bundle_code *c, const rgt__code_entry *e, rgt__error *err) {
  enum { PTX_MAX = 256 << 20 };
  char path[sizeof e->path];
  rgt__buffer text = {0};
  rgt__digest have;
  if (!c->has_ptx) return RGT_OK;
  rgt__code_cache_ptx_path(e->path, path, sizeof path);
  rgt_status status = rgt__file_read(path, PTX_MAX, &text, err);
  if (status == RGT_OK) {
    rgt__digest_of(text.data, text.size, &have);
    if (!rgt__digest_equal(&have, &c->ptx)) status = rgt__error_set(err, RGT_EIO, "%s is damaged", path);
  }
  rgt__buffer_free(&text);
  return status;
}

/* The entry's own hashes show that it is whole, the table's that it is the one which was put there. */
static rgt_status read_checked(rgt__bundle *b, const rgt__bundle_code *c, rgt__code_entry *e, rgt__error *err) {
  rgt_status status = rgt__code_cache_get(b->code, &c->key, e, err);
  if (status == RGT_OK && (int64_t)e->code_bytes != c->bytes)
    status = rgt__error_set(err, RGT_EIO, "%s is another file than the bundle's table says", e->path);
  if (status == RGT_OK) {
    rgt__buffer binary = {0};
    rgt__digest have;
    status = rgt__file_read(e->path, (size_t)c->bytes, &binary, err);
    if (status == RGT_OK) {
      rgt__digest_of(binary.data, binary.size, &have);
      if (!rgt__digest_equal(&have, &c->binary))
        status = rgt__error_set(err, RGT_EIO, "%s is another file than the bundle's table says", e->path);
    }
    rgt__buffer_free(&binary);
  }
  return status == RGT_OK ? check_ptx(c, e, err) : status;
}

int rgt__bundle_has(rgt_op *op, const rgt__variant *v) {
  rgt__bundle *b = ask(op->ctx);
  return b && find(op, b, v) != NULL;
}

rgt_status rgt__bundle_load(rgt_op *op, const rgt__variant *v, rgt__ready *out) {
  rgt_ctx *ctx = op->ctx;
  rgt__error why = {""};
  rgt__bundle *b = ask(ctx);
  if (!b) return RGT_EMISS;
  rgt__bundle_code *c = find(op, b, v);
  if (!c) {
    char text[RGT_VARIANT_TEXT_MAX];
    rgt__variant_format(v, text);
    int made = 0;
    for (int i = 0; i < b->table.n_code && !made; i++) made = find_for(op, b, v, b->table.code[i].made_for.target) != NULL;
    if (!made) say_stale(op, b, text);
    return RGT_EMISS;
  }
  rgt__code_entry *e = rgt__alloc_zero(1, sizeof *e);
  if (!e) return rgt__error_nomem(&ctx->error, sizeof *e);
  rgt_status status = read_checked(b, c, e, &why);
  if (status == RGT_OK) {
    out->program = e->program;
    status = ctx->device->ops->load(ctx->device, e->path, NULL, 0, &out->program, &out->module, &why);
  }
  rgt__code_entry_free(e);
  rgt__free(e);
  if (status == RGT_OK) {
    if (!c->verified)
      rgt__context_log(ctx, RGT_LOG_INFO, "bundle: %s was not verified on a device when %s was made", c->variant,
                       ctx->bundle_folder);
    return RGT_OK;
  }
  if (status == RGT_ENOMEM) return rgt__error_set(&ctx->error, status, "%s", why.text);
  c->spoilt = 1;
  rgt__context_log(ctx, RGT_LOG_WARNING, "bundle: %s; its %s is not used", why.text, c->variant);
  return RGT_EMISS;
}

/* ---- choices ---- */

/* The variant as it is here: its family in the bundle's revision, under the op's limits, and not banned. */
static int admitted(rgt_op *op, const char *variant, rgt__variant *v, rgt__numeric *numeric) {
  rgt__families *families = NULL;
  return rgt__context_families(op->ctx, &families) == RGT_OK &&
         rgt__variant_parse(families, op->ctx->device->ops->kind, variant, v, NULL) == RGT_OK &&
         rgt__family_fits(v->family, &op->desc) && rgt__variant_numeric(families, v, &op->desc, numeric, NULL) == RGT_OK &&
         rgt__numeric_admits(numeric, op->desc.dtype, op->options.max_error) && !rgt__wishes_ban(op, v);
}

static int log2_of(int64_t n) {
  int at = 0;
  while (n > 1) n /= 2, at++;
  return at;
}

/* How far a choice is from what is asked; -1: it does not answer. What counts is, in this order: the target, the number of
 * groups, the skew, the alignment, the device on which it was measured. */
static int distance(rgt_op *op, const rgt__bundle_choice *c) {
  int64_t groups = 0;
  int rank = target_rank(op->ctx, c->made_for.target);
  if (rank < 0 || !made_for_calls_of(op, &c->made_for) || !same_but_groups(c->made_for.op, &op->desc, &groups)) return -1;
  int apart = log2_of(groups) - log2_of(op->desc.groups);
  int other_groups = groups == op->desc.groups ? 0 : 1 + (apart < 0 ? -apart : apart);
  return rank * 100000 + other_groups * 1000 + (c->skew != op->options.skew) * 100 +
         (log2_of(op->options.align_bytes) - log2_of(c->made_for.align_bytes)) * 10 +
         (strcmp(c->device_class, op->ctx->device->info.class_text) != 0);
}

static void fill_standing(const rgt__bundle *b, const rgt__bundle_choice *c, const char *variant, const rgt__variant *v,
                          const rgt__numeric *numeric, rgt__tunedb_standing *out) {
  char params[RGT_VARIANT_TEXT_MAX];
  rgt__variant_params_format(v, params);
  snprintf(out->family, sizeof out->family, "%s", v->family->name);
  snprintf(out->params, sizeof out->params, "%.191s", params);
  snprintf(out->numeric_class, sizeof out->numeric_class, "%s", numeric->class_name);
  out->revision = v->family->revision;
  out->rank = v->family->rank;
  out->template_digest = v->family->template_digest;
  for (int i = 0; i < b->table.n_code; i++)
    if (strcmp(b->table.code[i].variant, variant) == 0 && strcmp(b->table.code[i].made_for.target, c->made_for.target) == 0)
      out->revision = b->table.code[i].revision;
}

static const rgt__bundle_choice *nearest(rgt_op *op, const rgt__bundle *b, int64_t rows, int *far) {
  const rgt__bundle_choice *best = NULL;
  int64_t wanted = op->options.batch_invariant ? INT64_MAX : rgt__number_bucket(rows);
  *far = INT32_MAX;
  for (int i = 0; i < b->table.n_choices; i++) {
    const rgt__bundle_choice *c = &b->table.choices[i];
    rgt__variant v;
    rgt__numeric numeric;
    int d = distance(op, c);
    if (d < 0 || d > *far || !admitted(op, c->variant, &v, &numeric)) continue;
    int better =
        d < *far || (best->bucket < wanted ? c->bucket > best->bucket : c->bucket >= wanted && c->bucket < best->bucket);
    if (!better) continue;
    best = c;
    *far = d;
  }
  return best;
}

rgt_status rgt__bundle_choose(rgt_op *op, int64_t rows, rgt__choice *out) {
  rgt__bundle *b = ask(op->ctx);
  int far = 0;
  if (!b) return RGT_EMISS;
  const rgt__bundle_choice *c = nearest(op, b, rows, &far);
  if (!c) return RGT_EMISS;
  rgt__variant v;
  rgt__numeric numeric;
  rgt__signature s = {.op = op->desc,
                      .bucket = c->bucket,
                      .skew = c->skew == RGT_SKEW_UNKNOWN ? RGT_SKEW_UNIFORM : c->skew,
                      .form = c->made_for.form,
                      .align_bytes = c->made_for.align_bytes,
                      .order = c->made_for.order};
  memset(out, 0, sizeof *out);
  out->from = RGT_FROM_BUNDLE;
  out->bucket = c->bucket;
  out->found.exact = far % 100000 < 10; /* another device or a lesser target is still this very signature */
  rgt__op_parse(c->made_for.op, &s.op, NULL);
  rgt__signature_format(&s, out->found.signature, NULL);
  snprintf(out->found.device_class, sizeof out->found.device_class, "%s", c->device_class);
  if (!admitted(op, c->variant, &v, &numeric)) return RGT_EMISS;
  fill_standing(b, c, c->variant, &v, &numeric, &out->found.winner);
  out->found.winner.time_ps = c->time_ps;
  out->found.winner.low_ps = c->low_ps;
  out->found.winner.high_ps = c->high_ps;
  out->found.winner.ratio_ppm = c->ratio_ppm;
  out->found.winner.n_runs = c->n_runs;
  if (c->runner_up[0] && !op->options.batch_invariant && admitted(op, c->runner_up, &v, &numeric)) {
    fill_standing(b, c, c->runner_up, &v, &numeric, &out->found.runner_up);
    out->found.runner_up.ratio_ppm = c->second_ppm;
    out->found.has_runner_up = 1;
  }
  return RGT_OK;
}
