/* plan.c -- a program's formulas evaluated for one call. */
#include "runtime/device.h"

void rgt__plan_make(const rgt__program *program, const rgt__device_info *info, int64_t rows, int64_t groups, rgt__plan *plan) {
  int64_t vars[RGT_N_VARS] = {0};
  vars[RGT_VAR_ROWS] = rows;
  vars[RGT_VAR_GROUPS] = groups;
  vars[RGT_VAR_THREADS] = info->n_threads;
  vars[RGT_VAR_SM_COUNT] = info->sm_count;
  vars[RGT_VAR_OCCUPANCY] = 1;
  plan->rows = rows;
  plan->groups = groups;
  plan->valid = rgt__formula_eval(&program->valid, vars) != 0;
  plan->workspace_bytes = rgt__formula_eval(&program->workspace, vars);
  for (int i = 0; i < program->n_steps; i++) {
    const rgt__step *s = &program->steps[i];
    plan->steps[i].grid = rgt__formula_eval(&s->grid, vars);
    plan->steps[i].block = rgt__formula_eval(&s->block, vars);
    plan->steps[i].shared = rgt__formula_eval(&s->shared, vars);
    plan->steps[i].cluster = rgt__formula_eval(&s->cluster, vars);
    plan->steps[i].offset = rgt__formula_eval(&s->offset, vars);
    plan->steps[i].bytes = rgt__formula_eval(&s->bytes, vars);
  }
}

