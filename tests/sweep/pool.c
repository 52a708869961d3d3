/* pool.c -- what is feasible. */
#include "pool.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/cuda_target.h"

static rgt_status add(sweep_pool *pool, const sweep_point *p, rgt__error *err) {
  if (pool->n == pool->capacity) {
    int64_t capacity = pool->capacity ? 2 * pool->capacity : 4096;
    sweep_point *grown = rgt__realloc(pool->point, (size_t)capacity * sizeof *grown);
    if (!grown) return rgt__error_nomem(err, (size_t)capacity * sizeof *grown);
    pool->point = grown;
    pool->capacity = capacity;
  }
  pool->point[pool->n++] = *p;
  return RGT_OK;
}

/* A space file without the families that are not looked at. */
static void leave_out_others(const rgt__families *families, const sweep_factors *f, char *text, size_t size) {
  size_t n = (size_t)snprintf(text, size, "return {");
  for (int i = 0; i < rgt__families_count(families) && n < size; i++) {
    const rgt__family *family = rgt__families_at(families, i);
    if (strcmp(family->device, "cuda") || sweep_family_place(f, family) >= 0) continue;
    n += (size_t)snprintf(text + n, size - n, " %s = false,", family->name);
  }
  if (n < size) snprintf(text + n, size - n, " }");
}

static rgt_status add_cell(sweep_pool *pool, const char *narrow, const sweep_point *cell, rgt__error *err) {
  sweep_point p = *cell;
  rgt__space space = {0};
  rgt_op_desc op;
  sweep_point_op(p.value, &op);
  rgt_status status =
      rgt__space_enumerate(pool->families, &op, &pool->target[p.value[SWEEP_TARGET]], narrow, "families", 0, &space, err);
  for (int i = 0; status == RGT_OK && i < space.n; i++) {
    p.variant = space.variants[i];
    status = add(pool, &p, err);
  }
  rgt__space_free(&space);
  return status;
}

/* The cell's own number tells what is drawn, so that each activation meets each dims, layout and target. */
static void draw_rest(sweep_point *p, int cell) {
  static const unsigned char one_bias[] = {RGT_BIAS_NONE, RGT_BIAS_1};
  int dims = p->value[SWEEP_DIMS];
  p->value[SWEEP_ACT] = (unsigned char)((cell + dims) % sweep_factor_values(SWEEP_ACT));
  p->value[SWEEP_BIAS] = (unsigned char)((cell / 3 + dims) % 4);
  if (p->value[SWEEP_KIND] == RGT_LINEAR) p->value[SWEEP_BIAS] = one_bias[p->value[SWEEP_BIAS] % 2];
  p->value[SWEEP_INDEX] = (unsigned char)((cell / 2 + dims) % 2);
}

rgt_status sweep_pool_make(rgt__families *families, const sweep_factors *f, sweep_pool *out, rgt__error *err) {
  sweep_pool pool = {.families = families};
  sweep_point p;
  rgt_status status = RGT_OK;
  int n_cells = 1;
  char narrow[SWEEP_FAMILIES_MAX * (RGT_NAME_MAX + 16)];
  leave_out_others(families, f, narrow, sizeof narrow);
  for (int i = 0; i <= SWEEP_TARGET; i++) n_cells *= sweep_factor_values(i);
  for (int i = 0; i < SWEEP_TARGETS; i++) rgt__cuda_target_make(rgt__cuda_target_number(sweep_target_name(i)), &pool.target[i]);
  for (int cell = 0; cell < n_cells && status == RGT_OK; cell++) {
    memset(&p, 0, sizeof p);
    for (int i = SWEEP_TARGET, rest = cell; i >= 0; i--) {
      p.value[i] = (unsigned char)(rest % sweep_factor_values(i));
      rest /= sweep_factor_values(i);
    }
    draw_rest(&p, cell);
    status = add_cell(&pool, narrow, &p, err);
  }
  if (status == RGT_OK && rgt__families_fault(families, 0))
    status = rgt__error_set(err, RGT_ETEMPLATE, "%s", rgt__families_fault(families, 0));
  if (status == RGT_OK) {
    *out = pool;
  } else {
    sweep_pool_free(&pool);
  }
  return status;
}

void sweep_pool_free(sweep_pool *pool) {
  rgt__free(pool->point);
  memset(pool, 0, sizeof *pool);
}

int sweep_pool_feasible(const sweep_pool *pool, const sweep_point *p) {
  rgt_op_desc op;
  if (!sweep_point_op(p->value, &op) || !rgt__family_fits(p->variant.family, &op)) return 0;
  return rgt__variant_check(pool->families, &p->variant, &op, &pool->target[p->value[SWEEP_TARGET]], NULL) == RGT_OK;
}
