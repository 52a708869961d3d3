/* planted.h -- trials that a test writes into the database itself, so that winners are known; and what an op made of them. */
#ifndef RGT_TESTS_PLANTED_H
#define RGT_TESTS_PLANTED_H

#include "runtime/context.h"
#include "tests/support/front.h"

/* A group_tiles that this CPU can run. */
static SCRATCH_UNUSED void planted_tiles(const front *f, char text[RGT_VARIANT_TEXT_MAX]) {
  int lanes = 4;
  const rgt__target *t = &f->ctx->device->info.target;
  for (int i = 0; i < t->n_facts; i++)
    if (strcmp(t->facts[i].name, "lanes_max") == 0 && t->facts[i].value >= 8) lanes = 8;
  snprintf(text, RGT_VARIANT_TEXT_MAX, "group_tiles:block=4,lanes=%d,over=0,packed=0,vectors=1", lanes);
}

typedef struct entry {
  const char *variant;
  int64_t ratio_ppm;
  double p;
} entry;

/* What store() says of the run where it is not to be this context's own. */
static SCRATCH_UNUSED struct planted_run {
  const char *device_class, *policy, *toolchain, *driver;
  rgt_skew skew; /* RGT_SKEW_UNKNOWN: uniform */
  rgt__digest template_digest;
  int has_template_digest;
} planted_run;

/* One finished run of `bucket`, the default among its trials. */
static SCRATCH_UNUSED void store(rgt_op *op, int64_t bucket, const entry *list, int n) {
  rgt__op_key key;
  rgt__tunedb *db = NULL;
  rgt__families *families = NULL;
  rgt__tunedb_trial trials[8];
  char params[8][RGT_VARIANT_TEXT_MAX];
  rgt__numeric numeric[8];
  rgt__error err = {""};
  const struct planted_run *own = &planted_run;
  rgt__tunedb_run run = {.toolchain = own->toolchain ? own->toolchain : "cc",
                         .driver = own->driver ? own->driver : "",
                         .conditions = "",
                         .version = RGT_VERSION,
                         .started_utc_s = 1};
  assert_int_equal(rgt__context_db(op->ctx, &db), RGT_OK);
  assert_int_equal(rgt__context_families(op->ctx, &families), RGT_OK);
  assert_int_equal(rgt__tunedb_run_new(&run, &err), RGT_OK);
  assert_int_equal(rgt__op_key_make(op, bucket, own->skew ? own->skew : RGT_SKEW_UNIFORM, RGT_POLICY_WARM, &key, &err), RGT_OK);
  if (own->device_class) key.place.device_class = own->device_class;
  if (own->policy) key.place.policy = own->policy;
  for (int i = 0; i < n; i++) {
    rgt__variant v;
    if (rgt__variant_parse(families, "cpu", list[i].variant, &v, &err) != RGT_OK) fail_msg("%s", err.text);
    assert_int_equal(rgt__variant_numeric(families, &v, &op->desc, &numeric[i], &err), RGT_OK);
    rgt__variant_params_format(&v, params[i]);
    int is_default = strcmp(list[i].variant, FRONT_DEFAULT) == 0;
    trials[i] =
        (rgt__tunedb_trial){.family = v.family->name,
                            .revision = v.family->revision,
                            .rank = v.family->rank,
                            .params = params[i],
                            .is_default = is_default,
                            .template_digest = own->has_template_digest ? own->template_digest : v.family->template_digest,
                            .outcome = RGT_TRIAL_OK,
                            .reason = "",
                            .final = 1,
                            .time_ps = list[i].ratio_ppm,
                            .low_ps = list[i].ratio_ppm,
                            .high_ps = list[i].ratio_ppm,
                            .default_ps = 1000000,
                            .ratio_ppm = list[i].ratio_ppm,
                            .ratio_low_ppm = list[i].ratio_ppm,
                            .ratio_high_ppm = list[i].ratio_ppm,
                            .n_samples = 9,
                            .p1 = list[i].p,
                            .p2 = list[i].p,
                            .alpha = numeric[i].alpha,
                            .beta = numeric[i].beta,
                            .numeric_class = numeric[i].class_name};
  }
  if (rgt__tunedb_put(db, &run, &key.signature, &key.place, trials, n, &err) != RGT_OK) fail_msg("%s", err.text);
}

static SCRATCH_UNUSED void store_one(rgt_op *op, int64_t bucket, const char *variant) {
  store(op, bucket, (const entry[]){{FRONT_DEFAULT, 1000000, 0}, {variant, 500000, 0}}, 2);
}

/* What is ready for `rows`: NULL for the built-in kernel. */
static SCRATCH_UNUSED const char *ready_for(const rgt_op *op, int64_t rows) {
  int bucket = 0;
  while (((int64_t)1 << bucket) < rows) bucket++;
  return op->by_bucket[bucket] ? op->by_bucket[bucket]->variant : NULL;
}

#endif
