/* accept.c -- what may be stored: nothing that a later reader would stumble over. */
#include "tunedb/accept.h"

#include "tunedb/clean.h"

#include <math.h>
#include <string.h>

#define RATIO_MAX_PPM ((int64_t)1000000000000)     /* a million times the default: beyond any use, and far from overflow */
#define TIME_MAX_PS ((int64_t)1000000000000000000) /* eleven days a call */
#define UTC_MAX_S ((int64_t)253402300799)          /* the last second of the year 9999 */

/* Lengths are those of the buffers of rgt__tunedb_winner and rgt__tunedb_standing, so that what is found is never cut. */
static rgt_status check_text(const char *what, const char *text, size_t max, int may_be_empty, rgt__error *err) {
  if (!text) return rgt__error_set(err, RGT_EINVAL, "tuned database: %s is NULL; give a text", what);
  size_t n = strlen(text);
  if (n == 0 && !may_be_empty) return rgt__error_set(err, RGT_EINVAL, "tuned database: %s is empty", what);
  if (n >= max) return rgt__error_set(err, RGT_EINVAL, "tuned database: %s has %zu bytes, at most %zu fit", what, n, max - 1);
  if (!rgt__clean_is(text))
    return rgt__error_set(err, RGT_EINVAL, "tuned database: %s holds control characters or is no UTF-8", what);
  return RGT_OK;
}

static rgt_status check_range(const char *what, int64_t v, int64_t low, int64_t high, rgt__error *err) {
  if (v >= low && v <= high) return RGT_OK;
  return rgt__error_set(err, RGT_EINVAL, "tuned database: %s is %lld, must be from %lld to %lld", what, (long long)v,
                        (long long)low, (long long)high);
}

rgt_status rgt__accept_signature(const rgt__tunedb_signature *sig, rgt__error *err) {
  if (!sig) return rgt__error_set(err, RGT_EINVAL, "tuned database: no signature");
  const struct {
    const char *what, *text;
    size_t max;
  } texts[] = {
      {"signature text", sig->text, sizeof((rgt__tunedb_winner *)0)->signature},
      {"signature's op text", sig->op_text, 256},
      {"signature's op class", sig->op_class, 256},
      {"signature's skew", sig->skew, 64},
      {"signature's weight form", sig->form, 64},
      {"signature's order", sig->order, 64},
  };
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    rgt_status s = check_text(texts[i].what, texts[i].text, texts[i].max, 0, err);
    if (s) return s;
  }
  const struct {
    const char *what;
    int64_t v, low;
  } numbers[] = {
      {"signature's n_in", sig->n_in, 1},     {"signature's n_hidden", sig->n_hidden, 0},
      {"signature's n_out", sig->n_out, 1},   {"signature's groups", sig->groups, 1},
      {"signature's bucket", sig->bucket, 1}, {"signature's align_bytes", sig->align_bytes, 1},
  };
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    rgt_status s = check_range(numbers[i].what, numbers[i].v, numbers[i].low, INT64_MAX, err);
    if (s) return s;
  }
  return RGT_OK;
}

rgt_status rgt__accept_place(const rgt__tunedb_place *place, rgt__error *err) {
  if (!place) return rgt__error_set(err, RGT_EINVAL, "tuned database: no place");
  rgt_status s = check_text("device class", place->device_class, sizeof((rgt__tunedb_winner *)0)->device_class, 0, err);
  if (s) return s;
  return check_text("policy", place->policy, sizeof((rgt__tunedb_winner *)0)->policy, 0, err);
}

static int64_t clamp(int64_t v, int64_t low, int64_t high) {
  return v < low ? low : v > high ? high : v;
}

rgt_status rgt__accept_run(const rgt__tunedb_run *run, rgt__accepted_run *out, rgt__error *err) {
  if (!run) return rgt__error_set(err, RGT_EINVAL, "tuned database: no run");
  rgt_status s = check_text("run's toolchain", run->toolchain, sizeof((rgt__tunedb_standing *)0)->toolchain, 1, err);
  if (!s) s = check_text("run's driver", run->driver, RGT_FREE_TEXT_MAX, 1, err);
  if (!s && !run->conditions) s = rgt__error_set(err, RGT_EINVAL, "tuned database: run's conditions is NULL; give a text");
  if (!s) s = check_text("run's version", run->version, RGT_FREE_TEXT_MAX, 1, err);
  if (s) return s;
  out->run = *run;
  out->run.conditions = rgt__clean_text(run->conditions, out->conditions, sizeof out->conditions);
  out->run.started_utc_s = clamp(run->started_utc_s, 0, UTC_MAX_S);
  return RGT_OK;
}

static rgt_status check_times(const rgt__tunedb_trial *t, rgt__error *err) {
  const struct {
    const char *what;
    int64_t v, low, high;
  } numbers[] = {
      {"trial's time_ps", t->time_ps, 1, INT64_MAX},
      {"trial's low_ps", t->low_ps, 0, INT64_MAX},
      {"trial's high_ps", t->high_ps, 0, INT64_MAX},
      {"trial's default_ps", t->default_ps, 0, INT64_MAX},
      {"trial's ratio_ppm", t->ratio_ppm, 1, RATIO_MAX_PPM},
      {"trial's ratio_low_ppm", t->ratio_low_ppm, 0, RATIO_MAX_PPM},
      {"trial's ratio_high_ppm", t->ratio_high_ppm, 0, RATIO_MAX_PPM},
      {"trial's n_samples", t->n_samples, 1, INT32_MAX},
  };
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    rgt_status s = check_range(numbers[i].what, numbers[i].v, numbers[i].low, numbers[i].high, err);
    if (s) return s;
  }
  return RGT_OK;
}

/* Adding +0 turns -0 into +0 and leaves the rest as it is. */
static rgt_status canonical_real(const char *what, double *v, rgt__error *err) {
  if (!isfinite(*v) || *v < 0)
    return rgt__error_set(err, RGT_EINVAL, "tuned database: trial's %s is %g, must be finite and not negative", what, *v);
  *v += 0.0;
  return RGT_OK;
}

static rgt_status canonical_numbers(rgt__tunedb_trial *t, rgt__error *err) {
  if (t->outcome == RGT_TRIAL_OK) {
    rgt_status s = check_times(t, err);
    if (s) return s;
    int64_t *const times[] = {&t->time_ps, &t->low_ps, &t->high_ps, &t->default_ps};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) *times[i] = clamp(*times[i], 0, TIME_MAX_PS);
  } else {
    t->time_ps = t->low_ps = t->high_ps = t->default_ps = 0;
    t->ratio_ppm = t->ratio_low_ppm = t->ratio_high_ppm = 0;
    t->n_samples = 0;
  }
  t->is_default = t->is_default != 0;
  t->final = t->final != 0;
  /* A wrong variant's share may be anything: what cannot be compared counts as the worst. */
  if (isnan(t->error_share) || t->error_share < 0) t->error_share = INFINITY;
  t->error_share += 0.0;
  rgt_status s = canonical_real("p1", &t->p1, err);
  if (!s) s = canonical_real("p2", &t->p2, err);
  if (!s) s = canonical_real("u_h", &t->u_h, err);
  if (!s) s = canonical_real("alpha", &t->alpha, err);
  if (!s) s = canonical_real("beta", &t->beta, err);
  return s;
}

rgt_status rgt__accept_trial(const rgt__tunedb_trial *trial, rgt__accepted_trial *out, rgt__error *err) {
  rgt_status s = check_text("trial's family", trial->family, sizeof((rgt__tunedb_standing *)0)->family, 0, err);
  if (!s) s = check_text("trial's params", trial->params, sizeof((rgt__tunedb_standing *)0)->params, 1, err);
  if (!s)
    s = check_text("trial's numeric class", trial->numeric_class, sizeof((rgt__tunedb_standing *)0)->numeric_class, 1, err);
  if (!s && !trial->reason) s = rgt__error_set(err, RGT_EINVAL, "tuned database: trial's reason is NULL; give a text");
  if (!s) s = check_range("trial's outcome", (int64_t)trial->outcome, 0, RGT_N_OUTCOMES - 1, err);
  if (s) return s;
  out->trial = *trial;
  out->trial.reason = rgt__clean_text(trial->reason, out->reason, sizeof out->reason);
  return canonical_numbers(&out->trial, err);
}
