/* keys.c -- every key: a digest of the row's own fields.
 *
 * A key begins with what it is and the version of its form, so that no two kinds can meet. Each field is length-prefixed
 * (rgt__hash_*). A double enters as the 8 bytes of its IEEE form; accept.c has made it canonical (no NaN, no -0). A changed
 * order or set of fields changes every key: tests/tunedb/test_keys.c pins them.
 */
#include "tunedb/keys.h"

#include <string.h>

static const char *const outcome_words[RGT_N_OUTCOMES] = {"ok", "infeasible", "compile_error", "wrong", "crashed", "timed_out"};

const char *rgt__keys_outcome(rgt_outcome outcome) {
  return outcome_words[outcome];
}

int rgt__keys_outcome_parse(const char *word, rgt_outcome *out) {
  for (int i = 0; i < RGT_N_OUTCOMES; i++) {
    if (strcmp(word, outcome_words[i]) == 0) {
      *out = (rgt_outcome)i;
      return 1;
    }
  }
  return 0;
}

rgt__tunedb_place rgt__keys_any_policy(const char *device_class) {
  return (rgt__tunedb_place){.device_class = device_class, .policy = "*"};
}

static void hash_double(rgt__hash *h, double v) {
  int64_t bits;
  memcpy(&bits, &v, sizeof bits);
  rgt__hash_int(h, bits);
}

static void hash_digest(rgt__hash *h, const rgt__digest *d) {
  rgt__hash_bytes(h, d->bytes, sizeof d->bytes);
}

void rgt__keys_signature(const rgt__tunedb_signature *sig, rgt__digest *key) {
  rgt__hash h;
  rgt__hash_init(&h);
  rgt__hash_text(&h, "ragtune signature 1");
  rgt__hash_text(&h, sig->text);
  rgt__hash_text(&h, sig->op_text);
  rgt__hash_text(&h, sig->op_class);
  rgt__hash_int(&h, sig->n_in);
  rgt__hash_int(&h, sig->n_hidden);
  rgt__hash_int(&h, sig->n_out);
  rgt__hash_int(&h, sig->groups);
  rgt__hash_int(&h, sig->bucket);
  rgt__hash_text(&h, sig->skew);
  rgt__hash_text(&h, sig->form);
  rgt__hash_text(&h, sig->order);
  rgt__hash_int(&h, sig->align_bytes);
  rgt__hash_end(&h, key);
}

void rgt__keys_place(const rgt__tunedb_place *place, const char *clock, rgt__digest *key) {
  rgt__hash h;
  rgt__hash_init(&h);
  rgt__hash_text(&h, "ragtune place 1");
  rgt__hash_text(&h, place->device_class);
  rgt__hash_text(&h, place->policy);
  rgt__hash_text(&h, clock);
  rgt__hash_end(&h, key);
}

void rgt__keys_variant(const char *family, int revision, const char *params, rgt__digest *key) {
  rgt__hash h;
  rgt__hash_init(&h);
  rgt__hash_text(&h, "ragtune variant 1");
  rgt__hash_text(&h, family);
  rgt__hash_int(&h, revision);
  rgt__hash_text(&h, params);
  rgt__hash_end(&h, key);
}

void rgt__keys_run(const rgt__tunedb_run *run, const rgt__digest *signature, const rgt__digest *place, rgt__digest *key) {
  rgt__hash h;
  rgt__hash_init(&h);
  rgt__hash_text(&h, "ragtune run 1");
  hash_digest(&h, &run->id);
  hash_digest(&h, signature);
  hash_digest(&h, place);
  rgt__hash_text(&h, run->toolchain);
  rgt__hash_text(&h, run->driver);
  rgt__hash_text(&h, run->conditions);
  rgt__hash_text(&h, run->version);
  rgt__hash_int(&h, run->started_utc_s);
  rgt__hash_end(&h, key);
}

void rgt__keys_trial(const rgt__tunedb_trial *t, const rgt__digest *run, const rgt__digest *variant, rgt__digest *key) {
  rgt__hash h;
  rgt__hash_init(&h);
  rgt__hash_text(&h, "ragtune trial 1");
  hash_digest(&h, run);
  hash_digest(&h, variant);
  rgt__hash_int(&h, t->rank);
  rgt__hash_int(&h, t->is_default);
  hash_digest(&h, &t->template_digest);
  hash_digest(&h, &t->code);
  rgt__hash_text(&h, rgt__keys_outcome(t->outcome));
  rgt__hash_text(&h, t->reason);
  rgt__hash_int(&h, t->final);
  const int64_t numbers[] = {t->time_ps,   t->low_ps,        t->high_ps,        t->default_ps,
                             t->ratio_ppm, t->ratio_low_ppm, t->ratio_high_ppm, t->n_samples};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) rgt__hash_int(&h, numbers[i]);
  const double reals[] = {t->error_share, t->p1, t->p2, t->u_h, t->alpha, t->beta};
  for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++) hash_double(&h, reals[i]);
  rgt__hash_text(&h, t->numeric_class);
  rgt__hash_end(&h, key);
}
