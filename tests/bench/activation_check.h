/* activation_check.h -- the activations in every compiled form, against float64 and against one another. */
#ifndef RGT_TESTS_ACTIVATION_CHECK_H
#define RGT_TESTS_ACTIVATION_CHECK_H

#include <stdint.h>

#include "runtime/ragtune.h"

#define N_ACTIVATIONS (RGT_ACT_TANH + 1)
enum { WITHOUT_FMA, WITH_FMA, N_ROUNDINGS }; /* forms of one rounding must agree bit for bit */

typedef struct activation_form {
  const char *name;
  int rounding;
  void (*run)(int act, const float *z, float *y, int n);
} activation_form;

/* activation_forms -- those that this processor can run; *n of them. */
const activation_form *activation_forms(int *n);

typedef struct activation_error { /* of templates/lib/act_error.lua */
  double alpha, beta;
} activation_error;

const char *activation_name(int act);
double activation_reference(int act, double z); /* infinities give the limit */
/* activation_errors -- reads the declared errors. Returns 0, or -1 with a line in message. */
int activation_errors(activation_error errors[N_ACTIVATIONS], char message[256]);

typedef struct activation_worst {
  double share; /* largest (error - 2^-150) / (alpha |act| + beta |z|) */
  float share_at;
  double alpha; /* largest (error - 2^-150) / |act| where z > 0 */
  float alpha_at;
  double beta; /* largest (error - 2^-150 - alpha |act|) / |z|, with the declared alpha */
  float beta_at;
} activation_worst;

typedef struct activation_result {
  int64_t n_checked, n_wrong;
  char first_wrong[256];
  activation_worst worst[N_ROUNDINGS];
} activation_result;

/* activation_check -- bit patterns first, first + step, ... (n of them, wrapping) through every form, added to *result (zeroed
 * by the caller before the first use). Wrong is: over the declared error; NaN or an infinity lost or made; a wrong sign;
 * act > z > 0; |tanh| > 1; a form that differs from another of its rounding. */
void activation_check(int act, const activation_error *declared, uint32_t first, uint32_t step, int64_t n,
                      activation_result *result);
/* activation_merge -- adds what one thread found to another's. */
void activation_merge(activation_result *into, const activation_result *from);

#endif
