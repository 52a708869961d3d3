/* space.c -- the variants of an op on a target: every combination of values that the named constraints allow. */
#include "generator/space.h"

#include <string.h>

#include "generator/families.h"
#include "generator/space_file.h"
#include "runtime/base/alloc.h"
#include "runtime/base/random.h"

#define LIMIT_DEFAULT 10000
#define REJECTED_MAX 1000000 /* combinations that constraints may refuse: a spec beyond that is written the wrong way round */

struct building {
  rgt__families *f;
  const rgt_op_desc *op;
  const rgt__target *target;
  int limit, capacity;
  rgt__space space;
  int too_many; /* the failure is the space's size, not a constraint's Lua */
};

static rgt_status append(struct building *b, const rgt__variant *v, rgt__error *err) {
  if (b->space.n == b->limit) {
    b->too_many = 1;
    return rgt__error_set(err, RGT_ETEMPLATE, "space: more than %d variants, at family %s of %s; narrow it with a space file",
                          b->limit, v->family->name, v->family->device);
  }
  if (b->space.n == b->capacity) {
    int capacity = b->capacity ? b->capacity * 2 : 64;
    rgt__variant *grown = rgt__realloc(b->space.variants, (size_t)capacity * sizeof *grown);
    if (!grown) return rgt__error_nomem(err, (size_t)capacity * sizeof *grown);
    b->space.variants = grown;
    b->capacity = capacity;
  }
  b->space.variants[b->space.n++] = *v;
  return RGT_OK;
}

/* consider -- appends the variant if its constraints hold. */
static rgt_status consider(struct building *b, const rgt__variant *v, rgt__error *err) {
  rgt_status status = rgt__variant_check(b->f, v, b->op, b->target, err);
  if (status == RGT_OK) return append(b, v, err);
  if (status != RGT_EINFEASIBLE) return status;
  if (err) err->text[0] = '\0'; /* a refusal is no failure */
  if (++b->space.n_rejected > REJECTED_MAX) {
    b->too_many = 1;
    return rgt__error_set(
        err, RGT_ETEMPLATE,
        "space: constraints refused more than %d combinations, at family %s of %s; narrow it with a space file", REJECTED_MAX,
        v->family->name, v->family->device);
  }
  return RGT_OK;
}

/* next -- the odometer's next reading; the last param turns fastest. Values outside the mask are passed over. 0 at the end. */
static int next(const rgt__space_mask *mask, rgt__variant *v) {
  for (int i = v->family->n_params - 1; i >= 0; i--) {
    while (++v->value[i] < v->family->params[i].n_values) {
      if (mask->values[i] >> v->value[i] & 1) return 1;
    }
    v->value[i] = 0;
    while (!(mask->values[i] >> v->value[i] & 1)) v->value[i]++;
  }
  return 0;
}

static int allowed(const rgt__space_mask *mask, const rgt__variant *v) {
  for (int i = 0; i < v->family->n_params; i++) {
    if (!(mask->values[i] >> v->value[i] & 1)) return 0;
  }
  return 1;
}

/* add_family -- its default variant first, then the others in canonical order. */
static rgt_status add_family(struct building *b, const rgt__family *family, const rgt__space_mask *mask, rgt__error *err) {
  rgt__variant first, v = {.family = family};
  rgt__variant_default(family, &first);
  int has_default = allowed(mask, &first);
  rgt_status status = has_default ? consider(b, &first, err) : RGT_OK;
  for (int i = 0; i < family->n_params; i++) {
    while (!(mask->values[i] >> v.value[i] & 1)) v.value[i]++;
  }
  for (int more = 1; more && status == RGT_OK; more = next(mask, &v)) {
    if (has_default && memcmp(v.value, first.value, sizeof v.value) == 0) continue;
    status = consider(b, &v, err);
  }
  return status;
}

rgt_status rgt__space_enumerate(rgt__families *f, const rgt_op_desc *op, const rgt__target *target, const char *narrow,
                                const char *narrow_name, int limit, rgt__space *out, rgt__error *err) {
  int n = rgt__families_count(f);
  struct building b = {.f = f, .op = op, .target = target, .limit = limit ? limit : LIMIT_DEFAULT};
  rgt_status status = rgt__op_check(op, err), broken = RGT_OK;
  if (status != RGT_OK) return status;
  rgt__space_mask *masks = rgt__alloc_zero((size_t)n + 1, sizeof *masks);
  if (!masks) return rgt__error_nomem(err, (size_t)n * sizeof *masks);
  for (int i = 0; i < n; i++) rgt__space_mask_all(rgt__families_at(f, i), &masks[i]);
  if (narrow) status = rgt__space_file_read(f, narrow, narrow_name ? narrow_name : "space file", masks, err);
  for (int i = 0; i < n && status == RGT_OK; i++) {
    const rgt__family *family = rgt__families_at(f, i);
    if (strcmp(family->device, target->device) || !rgt__family_fits(family, op) || masks[i].removed) continue;
    int before = b.space.n;
    rgt__error why = {""};
    status = add_family(&b, family, &masks[i], &why);
    if (status == RGT_ETEMPLATE && !b.too_many) {
      rgt__families_leave_out(f, family, why.text);
      b.space.n = before;
      broken = rgt__error_set(err, RGT_ETEMPLATE, "%s", why.text);
      status = RGT_OK;
    } else if (status != RGT_OK) {
      rgt__error_set(err, status, "%s", why.text);
    }
  }
  if (status == RGT_OK && b.space.n == 0 && broken != RGT_OK) status = broken;
  if (status == RGT_OK && broken != RGT_OK && err) err->text[0] = '\0';
  rgt__free(masks);
  if (status != RGT_OK) {
    rgt__space_free(&b.space);
    return status;
  }
  *out = b.space;
  return RGT_OK;
}

static int is_default(const rgt__variant *v) {
  rgt__variant d;
  rgt__variant_default(v->family, &d);
  return memcmp(v->value, d.value, sizeof d.value) == 0;
}

/* Selection sampling: each of the others is taken with the chance (still wanted) / (still to come), which keeps their order. */
void rgt__space_sample(rgt__space *s, int n, uint64_t seed) {
  int n_defaults = 0, kept = 0;
  for (int i = 0; i < s->n; i++) n_defaults += is_default(&s->variants[i]);
  int others = s->n - n_defaults, wanted = n > n_defaults ? n - n_defaults : 0;
  if (wanted >= others) return;
  rgt__random random;
  rgt__random_seed(&random, seed);
  for (int i = 0; i < s->n; i++) {
    int keep = is_default(&s->variants[i]);
    if (!keep) {
      keep = rgt__random_below(&random, (uint64_t)others) < (uint64_t)wanted;
      others--;
      wanted -= keep;
    }
    if (keep) s->variants[kept++] = s->variants[i];
  }
  s->n = kept;
}

void rgt__space_drop(rgt__space *s, const rgt__family *family) {
  int kept = 0;
  for (int i = 0; i < s->n; i++)
    if (s->variants[i].family != family) s->variants[kept++] = s->variants[i];
  s->n = kept;
}

void rgt__space_free(rgt__space *s) {
  if (!s) return;
  rgt__free(s->variants);
  *s = (rgt__space){0};
}
