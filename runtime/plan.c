/* plan.c -- a program's formulas evaluated for one call. */
#include <string.h>

#include "runtime/device.h"

/* A memset beyond the workspace would be a wild write: such a program is not valid for the call. */
static int memset_fits(const rgt__plan *plan, int step) {
  int64_t offset = plan->steps[step].offset, bytes = plan->steps[step].bytes;
  return offset >= 0 && bytes >= 0 && bytes <= plan->workspace_bytes && offset <= plan->workspace_bytes - bytes;
}

/* What CUDA launches at all: blocks in x to 2^31-1, threads of a block to 1024, clusters of 8 that divide the grid (larger ones
 * need the device's leave), and shared memory that a block may opt in to. A step of no blocks is skipped. */
static int launch_fits(const rgt__plan *plan, int step, int64_t shared_max) {
  enum { BLOCK_MAX = 1024, CLUSTER_MAX = 8 };
  int64_t grid = plan->steps[step].grid, block = plan->steps[step].block, cluster = plan->steps[step].cluster;
  if (grid == 0) return 1;
  if (grid < 0 || grid > INT32_MAX || block < 1 || block > BLOCK_MAX) return 0;
  if (cluster < 0 || cluster > CLUSTER_MAX || (cluster > 1 && grid % cluster != 0)) return 0;
  return plan->steps[step].shared >= 0 && plan->steps[step].shared <= shared_max;
}

static int64_t shared_max(const rgt__target *t) {
  for (int i = 0; i < t->n_facts; i++)
    if (strcmp(t->facts[i].name, "shared_optin_max") == 0) return t->facts[i].value;
  return 0;
}

static void fill_vars(const rgt__device_info *info, int64_t rows, int64_t groups, int64_t vars[RGT_N_VARS]) {
  memset(vars, 0, RGT_N_VARS * sizeof *vars);
  vars[RGT_VAR_ROWS] = rows;
  vars[RGT_VAR_GROUPS] = groups;
  vars[RGT_VAR_THREADS] = info->n_threads;
  vars[RGT_VAR_SM_COUNT] = info->sm_count;
  vars[RGT_VAR_OCCUPANCY] = 1;
}

static int step_fits(const rgt__step *s, const rgt__device_info *info, const rgt__plan *plan, int i) {
  if (s->kind == RGT_STEP_MEMSET) return memset_fits(plan, i);
  return strcmp(info->target.device, "cuda") != 0 || launch_fits(plan, i, shared_max(&info->target));
}

/* A division by zero anywhere leaves a number that means nothing: not valid either. */
void rgt__plan_make(const rgt__program *program, const rgt__device_info *info, int64_t rows, int64_t groups, rgt__plan *plan) {
  int64_t vars[RGT_N_VARS], valid = 0;
  fill_vars(info, rows, groups, vars);
  plan->rows = rows;
  plan->groups = groups;
  int good = rgt__formula_eval_checked(&program->valid, vars, &valid);
  good &= rgt__formula_eval_checked(&program->workspace, vars, &plan->workspace_bytes);
  good &= plan->workspace_bytes >= 0;
  for (int i = 0; i < program->n_steps; i++) {
    const rgt__step *s = &program->steps[i];
    good &= rgt__formula_eval_checked(&s->grid, vars, &plan->steps[i].grid);
    good &= rgt__formula_eval_checked(&s->block, vars, &plan->steps[i].block);
    good &= rgt__formula_eval_checked(&s->shared, vars, &plan->steps[i].shared);
    good &= rgt__formula_eval_checked(&s->cluster, vars, &plan->steps[i].cluster);
    good &= rgt__formula_eval_checked(&s->offset, vars, &plan->steps[i].offset);
    good &= rgt__formula_eval_checked(&s->bytes, vars, &plan->steps[i].bytes);
    good &= step_fits(s, info, plan, i);
  }
  plan->valid = good && valid != 0;
}

void rgt__plan_make_on(rgt__device *d, rgt__module *m, const rgt__program *program, int64_t rows, int64_t groups,
                       rgt__plan *plan) {
  int64_t vars[RGT_N_VARS];
  rgt__plan_make(program, &d->info, rows, groups, plan);
  if (!d->ops->occupancy || !plan->valid) return;
  fill_vars(&d->info, rows, groups, vars);
  for (int i = 0; i < program->n_steps; i++) {
    const rgt__step *s = &program->steps[i];
    if (s->kind != RGT_STEP_KERNEL || !rgt__formula_uses(&s->grid, RGT_VAR_OCCUPANCY)) continue;
    vars[RGT_VAR_OCCUPANCY] = d->ops->occupancy(d, m, i, plan->steps[i].block, plan->steps[i].shared);
    plan->valid &= rgt__formula_eval_checked(&s->grid, vars, &plan->steps[i].grid) && step_fits(s, &d->info, plan, i);
  }
}
