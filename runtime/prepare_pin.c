/* prepare_pin.c -- what a person pinned goes before what was measured, where it may run at all. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/base/number.h"
#include "runtime/prepare_choose.h"
#include "runtime/wishes.h"

typedef struct pinned {
  rgt__variant v;
  char params[RGT_VARIANT_TEXT_MAX];
} pinned;

static int is_pinned(void *user, const char *family, int revision, const char *params) {
  const pinned *p = user;
  return strcmp(p->v.family->name, family) == 0 && p->v.family->revision == revision && strcmp(p->params, params) == 0;
}

/* NULL: it may answer. */
static const char *pin_problem(rgt_op *op, const rgt__pin *pin, const char *numeric_class, pinned *p, rgt__numeric *numeric) {
  rgt_ctx *ctx = op->ctx;
  rgt__families *families = NULL;
  if (rgt__context_families(ctx, &families) != RGT_OK ||
      rgt__variant_parse(families, ctx->device->ops->kind, pin->variant, &p->v, NULL) != RGT_OK ||
      !rgt__family_fits(p->v.family, &op->desc))
    return "there is no such variant here";
  if (p->v.family->revision != pin->revision) return "its family has another revision here";
  if (rgt__wishes_ban(op, &p->v)) return "it is banned";
  if (rgt__wishes_bar(op, &p->v)) return "it was wrong or unusable here before";
  if (rgt__variant_numeric(families, &p->v, &op->desc, numeric, NULL) != RGT_OK ||
      !rgt__numeric_admits(numeric, op->desc.dtype, op->options.max_error))
    return "this op's error budget does not admit it";
  if (numeric_class && strcmp(numeric_class, numeric->class_name) != 0) return "it is of another numeric class";
  return NULL;
}

/* The pinned variant goes first, with its times where it has some; what was measured comes after it. */
static rgt_status put_pin_first(rgt_op *op, int64_t rows, const rgt__pin *pin, const pinned *p, const rgt__numeric *numeric,
                                rgt__choice *out) {
  rgt__tunedb_limits limits;
  rgt__choice *own = rgt__alloc_zero(1, sizeof *own);
  if (!own) return rgt__error_nomem(&op->ctx->error, sizeof *own);
  rgt__op_limits(op, &limits);
  limits.admit = is_pinned;
  limits.admit_is_fixed = 0;
  limits.admit_user = (void *)(uintptr_t)p;
  limits.may_lose = 1;
  rgt_status status = rgt__prepare_find(op, rgt__number_bucket(rows), rgt__prepare_here, &limits, own);
  if (status != RGT_OK) memset(own, 0, sizeof *own);
  if (status == RGT_OK || status == RGT_EMISS) {
    const rgt__family *f = p->v.family;
    rgt__tunedb_standing *w = &own->found.winner;
    snprintf(w->family, sizeof w->family, "%s", f->name);
    snprintf(w->params, sizeof w->params, "%.191s", p->params);
    snprintf(w->numeric_class, sizeof w->numeric_class, "%s", numeric->class_name);
    w->revision = f->revision;
    w->rank = f->rank;
    own->found.has_runner_up =
        out->from != RGT_FROM_DEFAULT &&
        !is_pinned((void *)(uintptr_t)p, out->found.winner.family, out->found.winner.revision, out->found.winner.params);
    if (own->found.has_runner_up) own->found.runner_up = out->found.winner;
    own->found.exact = 1;
    own->from = RGT_FROM_PIN;
    own->match = RGT_MATCH_EXACT;
    own->layer = pin->layer;
    own->bucket = rgt__number_bucket(rows);
    *out = *own;
    status = RGT_OK;
  }
  rgt__free(own);
  return status;
}

rgt_status rgt__prepare_pin(rgt_op *op, int64_t rows, const char *numeric_class, rgt__choice *out) {
  const rgt__pin *pin = rgt__wishes_pin(op, rgt__number_bucket(rows));
  if (!pin) return RGT_OK;
  pinned p;
  rgt__numeric numeric;
  out->pin_problem = pin_problem(op, pin, numeric_class, &p, &numeric);
  if (out->pin_problem) {
    snprintf(out->pin, sizeof out->pin, "%s", pin->variant);
    return RGT_OK;
  }
  rgt__variant_params_format(&p.v, p.params);
  return put_pin_first(op, rows, pin, &p, &numeric, out);
}
