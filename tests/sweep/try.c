/* try.c -- one row tried. */
#include "try.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "cases.h"
#include "clock.h"
#include "ragged.h"
#include "runtime/base/number.h"
#include "runtime/callable.h"
#include "tests/ptxsim/ptxsim.h"

const char *sweep_state_word(sweep_state state) {
  static const char *const words[SWEEP_N_STATES] = {"waiting",   "trying",        "right",  "wrong",   "reported",
                                                    "not valid", "compile error", "failed", "crashed", "timed out"};
  return words[state];
}

typedef struct trying {
  rgt_ctx *ctx;
  const sweep_row *row;
  const sweep_try_options *o;
  sweep_result *r;
  rgt__candidate_maker maker;
  rgt__candidate c, twin; /* twin: the same where the op is its own */
  int has_twin;
  char toolchain[256];
} trying;

static void end_with(trying *t, sweep_state state, const char *where, const char *reason) {
  if (t->r->state != SWEEP_TRYING) return; /* the first failure counts */
  t->r->state = state;
  snprintf(t->r->where, sizeof t->r->where, "%s", where);
  snprintf(t->r->reason, sizeof t->r->reason, "%.*s", (int)sizeof t->r->reason - 1, reason);
}

static int failed(trying *t, rgt_status status, const char *where) {
  if (status == RGT_OK) return 0;
  end_with(t,
           status == RGT_ECRASH        ? SWEEP_CRASHED
           : status == RGT_EINFEASIBLE ? SWEEP_NOT_VALID
                                       : SWEEP_FAILED,
           where, t->ctx->error.text);
  return 1;
}

static int wrong(trying *t, const rgt__verify_result *v, const char *where) {
  char at[160];
  if (v->status == RGT_OK) return 0;
  snprintf(at, sizeof at, "%.120s: pass %s, row %lld, column %lld", where, v->pass, (long long)v->row, (long long)v->column);
  end_with(t, SWEEP_WRONG, at, v->reason);
  return 1;
}

/* A variant that spills is run as well: the simulator runs its PTX, and what it computes is to be right too. */
static int compile(trying *t, rgt__candidate *c) {
  if (failed(t, rgt__candidate_compile(&t->maker, c, 0, &t->ctx->error), "compile")) return 0;
  if (c->milliseconds > 0)
    t->r->n_compiled++;
  else
    t->r->n_cached++;
  if (c->outcome == RGT_TRIAL_INFEASIBLE && c->spill_bytes + c->stack_bytes > 0) {
    t->r->spilled = 1;
    c->outcome = RGT_TRIAL_OK;
  }
  if (c->outcome == RGT_TRIAL_OK) return !failed(t, rgt__candidate_load(&t->maker, c, &t->ctx->error), "load");
  end_with(t, SWEEP_NO_COMPILE, "compile", c->reason);
  return 0;
}

static int make(trying *t) {
  rgt__error *err = &t->ctx->error;
  rgt__variant v;
  rgt_op_desc relu = rgt__op_relu_twin(&t->row->op);
  rgt_status status = rgt__context_families(t->ctx, &t->maker.families);
  if (status == RGT_OK) status = rgt__variant_parse(t->maker.families, "cuda", t->row->variant, &v, err);
  if (status == RGT_OK) snprintf(t->r->family, sizeof t->r->family, "%s", v.family->name);
  if (status == RGT_OK) status = t->maker.device->ops->toolchain(t->maker.device, t->toolchain, sizeof t->toolchain, err);
  if (status == RGT_OK) status = rgt__candidate_render(&t->maker, &v, &t->row->op, &t->c, err);
  t->has_twin = relu.act != t->row->op.act;
  if (status == RGT_OK && t->has_twin) status = rgt__candidate_render(&t->maker, &v, &relu, &t->twin, err);
  if (failed(t, status, "render")) return 0;
  if (t->c.outcome != RGT_TRIAL_OK) {
    end_with(t, SWEEP_NO_COMPILE, "render", t->c.reason);
    return 0;
  }
  t->r->admitted = rgt__numeric_admits(&t->c.numeric, t->row->op.dtype, 0);
  return compile(t, &t->c) && (!t->has_twin || compile(t, &t->twin));
}

/* What `ragtune verify` does: all passes on generated problems, and the case. */
static int verify(trying *t, const rgt__callable *bound, const rgt__callable *exact, const rgt_case *data) {
  rgt__error *err = &t->ctx->error;
  rgt__verify_plan plan = {.op = t->row->op,
                           .form = t->row->form,
                           .order = t->row->order,
                           .seed = sweep_row_seed(t->row, t->o->seed),
                           .data = data,
                           .align_bytes = t->row->align_bytes};
  rgt__verify *v = NULL;
  rgt__verify_result r = {.status = RGT_OK};
  rgt_status status = rgt__verify_open(&plan, &v, err);
  if (status == RGT_OK) status = rgt__verify_bound(v, bound, &t->c.numeric, &r, err);
  int ok = !failed(t, status, "verify, bound pass") && !wrong(t, &r, "verify");
  t->r->error_share = r.error_share;
  if (ok) ok = !failed(t, rgt__verify_exact(v, exact, &r, err), "verify, exact pass") && !wrong(t, &r, "verify");
  rgt__verify_free(v);
  return ok;
}

static int ragged(trying *t, const rgt__callable *bound, const rgt__callable *exact) {
  uint64_t seed = sweep_row_seed(t->row, t->o->seed);
  for (int i = 0; i < t->o->n_ragged; i++) {
    rgt__verify_result r;
    sweep_ragged about;
    int is_exact = i % 2;
    rgt_status status = sweep_ragged_run(t->row, seed, t->o->first_ragged + i, is_exact, is_exact ? exact : bound,
                                         &t->c.numeric, &about, &r, &t->ctx->error);
    if (status == RGT_EINFEASIBLE) {
      t->r->n_ragged_not_valid++;
      continue;
    }
    if (failed(t, status, about.about) || wrong(t, &r, about.about)) return 0;
    t->r->n_ragged++;
  }
  return 1;
}

static void run(trying *t) {
  rgt__candidate_callable self = {.candidate = &t->c, .form = t->row->form},
                          twin = {.candidate = &t->twin, .form = t->row->form};
  rgt__callable bound = rgt__callable_candidate(&self, t->maker.device),
                exact = t->has_twin ? rgt__callable_candidate(&twin, t->maker.device) : bound;
  sweep_case *data = NULL;
  if (t->row->case_name[0] && failed(t, sweep_case_open(t->row, &data, &t->ctx->error), "case")) return;
  t->r->has_case = data != NULL;
  if (verify(t, &bound, &exact, sweep_case_data(data))) ragged(t, &bound, &exact);
  sweep_case_free(data);
}

/* What the simulator has to say of calls since the last time: nothing, in a right program. */
static void ask_simulator(trying *t) {
  const char *path = rgt__environment_get(&t->ctx->env, RGT_ENV_RAGTUNE_LIBCUDA);
  void *library = path ? dlopen(path, RTLD_NOLOAD | RTLD_NOW) : NULL;
  void (*report)(ptxsim_reports *) = NULL;
  void (*reset)(void) = NULL;
  static ptxsim_reports reports; /* 4 KiB */
  if (library) {
    *(void **)&report = dlsym(library, "ptxsim_report");
    *(void **)&reset = dlsym(library, "ptxsim_reset");
    dlclose(library);
  }
  if (!report || !reset) {
    end_with(t, SWEEP_FAILED, "report", "RAGTUNE_LIBCUDA is not ptxsim's library: nothing checks what kernels do");
    return;
  }
  report(&reports);
  reset();
  if (reports.misuses + reports.findings + reports.faults == 0) return;
  for (char *p = reports.last; *p; p++)
    if (*p == '\n') *p = ' ';
  if (t->r->state == SWEEP_TRYING) {
    end_with(t, SWEEP_REPORTED, "ptxsim", reports.last);
  } else { /* it says more than the driver's code does */
    snprintf(t->r->reason, sizeof t->r->reason, "%.*s", (int)sizeof t->r->reason - 1, reports.last);
  }
}

void sweep_try(rgt_ctx *ctx, const sweep_row *row, const sweep_try_options *o, sweep_result *result) {
  double begin = sweep_clock_s();
  int element = (int)rgt__number_bytes(row->op.dtype), align = row->align_bytes > element ? row->align_bytes : element;
  trying t = {.ctx = ctx, .row = row, .o = o, .r = result};
  rgt__device *device = ctx->device;
  memset(result, 0, sizeof *result);
  result->state = SWEEP_TRYING;
  t.maker = (rgt__candidate_maker){.device = device,
                                   .target = device->info.target,
                                   .cache = ctx->cache,
                                   .toolchain = t.toolchain,
                                   .facts = {row->form, align, row->order}};
  if (strcmp(device->info.target.name, row->target) != 0) {
    end_with(&t, SWEEP_FAILED, "device", device->info.target.name);
  } else if (make(&t)) {
    run(&t);
  }
  ask_simulator(&t);
  rgt__candidate_free(device, &t.c);
  rgt__candidate_free(device, &t.twin);
  if (result->state == SWEEP_TRYING) result->state = SWEEP_RIGHT;
  result->seconds = sweep_clock_s() - begin;
}
