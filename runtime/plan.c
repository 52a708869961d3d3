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

/* A division by zero anywhere leaves a number that means nothing: not valid either. */
void rgt__plan_make(const rgt__program *program, const rgt__device_info *info, int64_t rows, int64_t groups, rgt__plan *plan) {
  int64_t vars[RGT_N_VARS] = {0}, valid = 0;
  vars[RGT_VAR_ROWS] = rows;
  vars[RGT_VAR_GROUPS] = groups;
  vars[RGT_VAR_THREADS] = info->n_threads;
  vars[RGT_VAR_SM_COUNT] = info->sm_count;
  vars[RGT_VAR_OCCUPANCY] = 1;
  int cuda = strcmp(info->target.device, "cuda") == 0;
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
    if (s->kind == RGT_STEP_MEMSET) good &= memset_fits(plan, i);
    if (s->kind == RGT_STEP_KERNEL && cuda) good &= launch_fits(plan, i, shared_max(&info->target));
  }
  plan->valid = good && valid != 0;
}
