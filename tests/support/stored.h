/* stored.h -- trials that a test writes itself, so that winners are known. */
#ifndef RGT_TESTS_STORED_H
#define RGT_TESTS_STORED_H

#include "runtime/context.h"
#include "tests/support/front.h"

typedef struct stored_trial {
  const char *variant;
  int64_t ratio_ppm;
} stored_trial;

static SCRATCH_UNUSED rgt__tunedb_trial stored_fill(rgt_op *op, const stored_trial *t, char params[RGT_VARIANT_TEXT_MAX],
                                                    rgt__numeric *numeric) {
  rgt__families *families = NULL;
  rgt__error err = {""};
  rgt__variant v;
  assert_int_equal(rgt__context_families(op->ctx, &families), RGT_OK);
  if (rgt__variant_parse(families, op->ctx->device->ops->kind, t->variant, &v, &err) != RGT_OK) fail_msg("%s", err.text);
  assert_int_equal(rgt__variant_numeric(families, &v, &op->desc, numeric, &err), RGT_OK);
  rgt__variant_params_format(&v, params);
  return (rgt__tunedb_trial){.family = v.family->name,
                             .revision = v.family->revision,
                             .rank = v.family->rank,
                             .params = params,
                             .is_default = strcmp(t->variant, FRONT_DEFAULT) == 0,
                             .template_digest = v.family->template_digest,
                             .outcome = RGT_TRIAL_OK,
                             .reason = "",
                             .final = 1,
                             .time_ps = t->ratio_ppm,
                             .low_ps = t->ratio_ppm,
                             .high_ps = t->ratio_ppm,
                             .default_ps = 1000000,
                             .ratio_ppm = t->ratio_ppm,
                             .ratio_low_ppm = t->ratio_ppm,
                             .ratio_high_ppm = t->ratio_ppm,
                             .n_samples = 9,
                             .p1 = numeric->p1,
                             .p2 = numeric->p2,
                             .u_h = numeric->u_h,
                             .alpha = numeric->alpha,
                             .beta = numeric->beta,
                             .numeric_class = numeric->class_name};
}

/* One finished run of `bucket`; the default should be among its trials. */
static SCRATCH_UNUSED void stored_run(rgt_op *op, int64_t bucket, rgt_skew skew, const stored_trial *list, int n) {
  rgt__op_key key;
  rgt__tunedb *db = NULL;
  rgt__tunedb_trial trials[8];
  char params[8][RGT_VARIANT_TEXT_MAX];
  rgt__numeric numeric[8];
  rgt__error err = {""};
  rgt__tunedb_run run = {.toolchain = "cc", .driver = "", .conditions = "", .version = RGT_VERSION, .started_utc_s = 1};
  assert_true(n <= 8);
  assert_int_equal(rgt__context_db(op->ctx, &db), RGT_OK);
  assert_int_equal(rgt__tunedb_run_new(&run, &err), RGT_OK);
  assert_int_equal(rgt__op_key_make(op, bucket, skew, RGT_POLICY_WARM, &key, &err), RGT_OK);
  for (int i = 0; i < n; i++) trials[i] = stored_fill(op, &list[i], params[i], &numeric[i]);
  if (rgt__tunedb_put(db, &run, &key.signature, &key.place, trials, n, &err) != RGT_OK) fail_msg("%s", err.text);
}

/* `variant` wins the bucket, the default is second. */
static SCRATCH_UNUSED void stored_winner(rgt_op *op, int64_t bucket, const char *variant) {
  stored_run(op, bucket, RGT_SKEW_UNIFORM, (const stored_trial[]){{FRONT_DEFAULT, 1000000}, {variant, 500000}}, 2);
}

/* A variant of group_tiles that this CPU can run. */
static SCRATCH_UNUSED void stored_tiles(const front *f, char text[RGT_VARIANT_TEXT_MAX]) {
  int lanes = 4;
  const rgt__target *t = &f->ctx->device->info.target;
  for (int i = 0; i < t->n_facts; i++)
    if (strcmp(t->facts[i].name, "lanes_max") == 0 && t->facts[i].value >= 8) lanes = 8;
  snprintf(text, RGT_VARIANT_TEXT_MAX, "group_tiles:block=4,lanes=%d,over=0,packed=0,vectors=1", lanes);
}

#endif
