/* plan.c -- a program's formulas evaluated for one call. */
#include "runtime/device.h"

/* A memset beyond the workspace would be a wild write: such a program is not valid for the call. */
static int memset_fits(const rgt__plan *plan, int step) {
  int64_t offset = plan->steps[step].offset, bytes = plan->steps[step].bytes;
  return offset >= 0 && bytes >= 0 && bytes <= plan->workspace_bytes && offset <= plan->workspace_bytes - bytes;
}

/* A division by zero anywhere leaves a number that means nothing: not valid either. */
void rgt__plan_make(const rgt__program *program, const rgt__device_info *info, int64_t rows, int64_t groups, rgt__plan *plan) {
  int64_t vars[RGT_N_VARS] = {0}, valid = 0;
  vars[RGT_VAR_ROWS] = rows;
  vars[RGT_VAR_GROUPS] = groups;
  vars[RGT_VAR_THREADS] = info->n_threads;
  vars[RGT_VAR_SM_COUNT] = info->sm_count;
  vars[RGT_VAR_OCCUPANCY] = 1;
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
  }
  plan->valid = good && valid != 0;
}
