/* why.c -- rgt_why: what dispatch would run, from which layer, how exact, and by what margin. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/background.h"
#include "runtime/base/alloc.h"
#include "runtime/base/number.h"
#include "runtime/bundle.h"
#include "runtime/fresh.h"
#include "runtime/wishes.h"

static void fill_times(const rgt__tunedb_standing *s, rgt_why_info *info) {
  rgt__context_variant_text(s, info->variant);
  info->time_ps = s->time_ps;
  info->low_ps = s->low_ps;
  info->high_ps = s->high_ps;
  info->ratio = (double)s->ratio_ppm / 1e6;
  info->n_runs = s->n_runs;
}

static void fill_found(const rgt__choice *c, rgt_why_info *info) {
  const rgt__tunedb_standing *w = &c->found.winner, *second = &c->found.runner_up;
  fill_times(w, info);
  snprintf(info->stored_signature, sizeof info->stored_signature, "%s", c->found.signature);
  snprintf(info->stored_device_class, sizeof info->stored_device_class, "%s", c->found.device_class);
  snprintf(info->stored_policy, sizeof info->stored_policy, "%s", c->found.policy);
  if (!c->found.has_runner_up) return;
  rgt__context_variant_text(second, info->runner_up);
  if (w->ratio_ppm > 0) info->margin = (double)second->ratio_ppm / (double)w->ratio_ppm - 1;
}

/* Nothing measured of what answers. */
static void clear_found(rgt_why_info *info) {
  info->time_ps = info->low_ps = info->high_ps = 0;
  info->ratio = info->margin = info->distance = 0;
  info->n_runs = info->layer = 0;
  info->match = RGT_MATCH_NONE;
  info->runner_up[0] = info->layer_path[0] = info->outdated[0] = 0;
  info->stored_device_class[0] = info->stored_policy[0] = 0;
}

/* Which file answers. */
static void fill_layer(const rgt_ctx *ctx, const rgt__choice *c, rgt_why_info *info) {
  const rgt__layer *l = &ctx->layers[c->layer];
  if (c->from == RGT_FROM_BUNDLE) {
    snprintf(info->layer_path, sizeof info->layer_path, "%.511s", ctx->bundle_folder);
  } else if (l->db) {
    info->layer = l->position;
    snprintf(info->layer_path, sizeof info->layer_path, "%.511s", rgt__tunedb_path(l->db));
  }
}

static void fill_note(const rgt_op *op, int64_t rows, const rgt__choice *c, rgt_why_info *info) {
  long long asked = (long long)rows, bucket = (long long)rgt__number_bucket(rows), tuned = (long long)c->bucket;
  if (c->from == RGT_FROM_DEFAULT)
    snprintf(info->note, sizeof info->note, "nothing stored for this op on this device%s",
             op->ctx->mode == RGT_MODE_OFF    ? ": the default variant is asked (mode off)"
             : op->ctx->mode == RGT_MODE_TUNE ? ": rgt_op_prepare tunes it first (mode tune)"
                                              : ": the default variant");
  else if (c->from == RGT_FROM_BUNDLE)
    snprintf(info->note, sizeof info->note, "%.160s chose it for %lld rows%s%s", op->ctx->bundle_folder, tuned,
             c->found.exact ? "" : " of another signature",
             strcmp(c->found.device_class, op->ctx->device->info.class_text) == 0 ? "" : ", measured on another device");
  else if (c->from == RGT_FROM_PIN)
    snprintf(info->note, sizeof info->note, "pinned for bucket %lld%s%s", bucket, info->runner_up[0] ? "; next " : "",
             info->runner_up[0] ? "what was measured" : "");
  else if (c->match == RGT_MATCH_DEVICE)
    snprintf(info->note, sizeof info->note, "tuned on another device of the same kind; bucket %lld answers for %lld rows",
             tuned, asked);
  else if (c->threads)
    snprintf(info->note, sizeof info->note, "tuned with %d thread%s, not with %d; bucket %lld answers for %lld rows",
             c->threads, c->threads == 1 ? "" : "s", op->ctx->device->info.n_threads, tuned, asked);
  else if (!c->found.exact)
    snprintf(info->note, sizeof info->note, "the nearest stored shape of the same kind and bucket, %.2f octaves away%s",
             c->found.distance, op->ctx->mode == RGT_MODE_TUNE ? "; rgt_op_prepare tunes this one first (mode tune)" : "");
  else if (tuned == bucket)
    snprintf(info->note, sizeof info->note, "%lld rows fall in the tuned bucket %lld", asked, tuned);
  else
    snprintf(info->note, sizeof info->note, "%lld rows fall in bucket %lld, which is not tuned; %lld is the %s tuned one",
             asked, bucket, tuned, tuned > bucket ? "next larger" : "largest");
}

/* What an unprepared op would get where that is not simply the choice. */
static void fill_mode(rgt_op *op, const rgt__choice *c, rgt_why_info *info) {
  char stamp[700], near[RGT_REASON_MAX];
  rgt__families *families = NULL;
  rgt__variant v;
  rgt__device *d = op->ctx->device;
  if (op->ctx->mode == RGT_MODE_REPLAY && !c->found.exact) {
    snprintf(near, sizeof near, "%s", info->variant);
    clear_found(info);
    info->from = RGT_FROM_NOTHING;
    info->variant[0] = 0;
    snprintf(info->note, sizeof info->note, "mode replay: rgt_op_prepare fails with RGT_EMISS; mode cache would take %.100s",
             near);
    return;
  }
  d->ops->compiler_stamp(d, stamp, sizeof stamp);
  if (stamp[0] || !rgt__prepare_has_builtin(op)) return;
  if (rgt__context_families(op->ctx, &families) == RGT_OK &&
      rgt__variant_parse(families, d->ops->kind, info->variant, &v, NULL) == RGT_OK && rgt__bundle_has(op, &v))
    return;
  clear_found(info);
  info->from = RGT_FROM_BUILTIN;
  snprintf(info->note, sizeof info->note, "no compiler was found: the built-in kernel");
  snprintf(info->variant, sizeof info->variant, "builtin");
}

/* After prepare the answer is what calls take now, whatever was hoped for. */
static void fill_prepared(rgt_op *op, int64_t rows, const rgt__choice *c, rgt_why_info *info) {
  int b = __builtin_ctzll((unsigned long long)rgt__number_bucket(rows));
  rgt__prepare_pick_up(op);
  const rgt__ready *ready = op->by_bucket[b], *hoped = NULL;
  for (int place = RGT_N_PLACES - 1; place >= 0; place--)
    if (op->prefer[b][place]) hoped = op->prefer[b][place];
  if (ready == hoped) { /* as it was prepared; trials stored since, or a variant named by hand, may differ from the lookup */
    const char *text = ready ? ready->variant : "builtin";
    if (!ready) info->from = RGT_FROM_BUILTIN;
    if (strcmp(info->variant, text) == 0) return;
    clear_found(info);
    snprintf(info->note, sizeof info->note, "prepared with this; a new rgt_op_prepare would take %.160s", info->variant);
    snprintf(info->variant, sizeof info->variant, "%s", text);
    return;
  }
  if (!ready || strcmp(info->variant, ready->variant) != 0) { /* else the lookup knows already that hoped is lost */
    char second[RGT_VARIANT_TEXT_MAX] = "";
    clear_found(info);
    if (c->found.has_runner_up) rgt__context_variant_text(&c->found.runner_up, second);
    if (ready && strcmp(second, ready->variant) == 0) {
      fill_times(&c->found.runner_up, info);
    } else {
      info->from = ready ? RGT_FROM_DEFAULT : RGT_FROM_BUILTIN;
      snprintf(info->variant, sizeof info->variant, "%s", ready ? ready->variant : "builtin");
    }
  }
  rgt__background_lock();
  if (hoped->state == RGT_READY_REFUSED || hoped->state == RGT_READY_FAILED)
    snprintf(info->note, sizeof info->note, "not used: %.240s", hoped->why.text);
  else
    snprintf(info->note, sizeof info->note, "%.160s is being compiled and verified; this answers until then", hoped->variant);
  rgt__background_unlock();
}

static void add_note(rgt_why_info *info, const char *format, ...) {
  size_t at = strlen(info->note);
  va_list args;
  if (at) at += (size_t)snprintf(info->note + at, sizeof info->note - at, "; ");
  va_start(args, format);
  if (at < sizeof info->note) vsnprintf(info->note + at, sizeof info->note - at, format, args);
  va_end(args);
}

static void add_notes(const rgt__choice *c, rgt_why_info *info) {
  if (c->pin_problem) add_note(info, "pinned is %.80s, not used: %s", c->pin, c->pin_problem);
  if (info->outdated[0]) add_note(info, "to be validated again: other %s since", info->outdated);
}

/* Was the code of what answers verified on this machine? What is loaded was. */
static int is_verified(rgt_op *op, const char *text) {
  rgt__families *families = NULL;
  rgt__variant v;
  rgt__digest key, code;
  if (strcmp(text, "builtin") == 0) return 1;
  rgt__background_lock();
  int loaded = 0;
  for (const rgt__ready *r = op->ready; r; r = r->next) loaded |= r->state == RGT_READY_LOADED && strcmp(r->variant, text) == 0;
  rgt__background_unlock();
  if (loaded) return 1;
  return rgt__context_families(op->ctx, &families) == RGT_OK &&
         rgt__variant_parse(families, op->ctx->device->ops->kind, text, &v, NULL) == RGT_OK &&
         rgt__prepare_local_key(op, &v, &key) && rgt__code_cache_map_get(op->ctx->cache, &key, &code) == RGT_OK;
}

static rgt_status fill(rgt_op *op, int64_t rows, const rgt__choice *choice, rgt_why_info *out) {
  rgt_ctx *ctx = op->ctx;
  rgt__op_key key;
  rgt__variant v;
  rgt_status status = rgt__op_key_make(op, rgt__number_bucket(rows), op->options.skew, RGT_POLICY_WARM, &key, &ctx->error);
  if (status != RGT_OK) return status;
  out->from = choice->from;
  out->match = choice->match;
  out->distance = choice->match == RGT_MATCH_SHAPE ? choice->found.distance : 0;
  out->exact = choice->from != RGT_FROM_DEFAULT && choice->found.exact && choice->bucket == rgt__number_bucket(rows);
  snprintf(out->signature, sizeof out->signature, "%s", key.text);
  snprintf(out->device_class, sizeof out->device_class, "%s", ctx->device->info.class_text);
  if (choice->from != RGT_FROM_DEFAULT) {
    fill_found(choice, out);
    fill_layer(ctx, choice, out);
    status = rgt__fresh_outdated(op, choice, out->outdated);
    if (status != RGT_OK) return status;
  }
  fill_note(op, rows, choice, out);
  add_notes(choice, out);
  if (choice->from == RGT_FROM_DEFAULT) {
    status = rgt__prepare_default(op, ctx->device->ops->kind, &v);
    if (status == RGT_OK) rgt__variant_format(&v, out->variant);
    if (status == RGT_ETEMPLATE && rgt__prepare_has_builtin(op)) { /* no family is left: calls are answered all the same */
      out->from = RGT_FROM_BUILTIN;
      snprintf(out->variant, sizeof out->variant, "builtin");
      snprintf(out->note, sizeof out->note, "%.250s", ctx->error.text);
      return RGT_OK;
    }
  }
  if (status != RGT_OK) return status;
  if (op->prepared != RGT_PREPARED_NOT && rows <= op->max_rows)
    fill_prepared(op, rows, choice, out);
  else
    fill_mode(op, choice, out);
  return RGT_OK;
}

rgt_status rgt_why(rgt_op *op, int64_t rows, rgt_why_info *info) {
  rgt_ctx *ctx = op->ctx;
  char class_name[64] = "";
  int one_class = op->options.batch_invariant && ctx->mode != RGT_MODE_OFF;
  if (!info) return rgt__error_null(&ctx->error, "info");
  if (info->struct_size != sizeof *info)
    return rgt__error_set(&ctx->error, RGT_EINVAL, "rgt_why_info.struct_size is %zu; this library's is %zu", info->struct_size,
                          sizeof *info);
  rgt_status status = rgt__op_rows_check(op, "rows", rows);
  if (status != RGT_OK) return status;
  rgt__choice *choice = rgt__alloc_zero(1, sizeof *choice);
  if (!choice) return rgt__error_nomem(&ctx->error, sizeof *choice);
  rgt_why_info out;
  memset(&out, 0, sizeof out);
  out.struct_size = sizeof out;
  status = rgt__wishes_load(op);
  if (status == RGT_OK && one_class) status = rgt__prepare_class(op, class_name, sizeof class_name);
  if (status == RGT_OK) status = rgt__prepare_choose(op, rows, one_class ? class_name : NULL, choice);
  if (status == RGT_OK) status = fill(op, rows, choice, &out);
  if (status == RGT_OK && out.variant[0]) out.verified = is_verified(op, out.variant);
  if (status == RGT_OK) *info = out;
  rgt__free(choice);
  return status;
}
