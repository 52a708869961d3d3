/* activations_all.c -- every f32 through every activation in every compiled form, against float64.
 *
 *     activations_all [ACTIVATION [STEP]]     all activations, every STEP-th bit pattern (1); 20 minutes of one core
 *
 * A line for each activation and rounding: the largest share of the declared error, and where; then what alpha alone would be
 * needed for z > 0, and what beta next to the declared alpha, both in units of 2^-24. Exit status 1 if anything is wrong. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "activation_check.h"

enum { MAX_THREADS = 64 };
#define PART ((int64_t)1 << 20) /* patterns that a thread takes at a time */

typedef struct sweep {
  int act;
  activation_error declared;
  uint32_t step;
  int64_t n; /* patterns */
  int64_t next;
} sweep;

typedef struct sweeper {
  sweep *sweep;
  activation_result result;
} sweeper;

static void *sweep_parts(void *user) {
  sweeper *self = user;
  sweep *s = self->sweep;
  for (;;) {
    int64_t first = __atomic_fetch_add(&s->next, PART, __ATOMIC_RELAXED);
    if (first >= s->n) return NULL;
    int64_t n = s->n - first < PART ? s->n - first : PART;
    activation_check(s->act, &s->declared, (uint32_t)((uint64_t)first * s->step), s->step, n, &self->result);
  }
}

static void print_result(int act, const activation_error *declared, const activation_result *result) {
  static const char *const roundings[N_ROUNDINGS] = {"without FMA", "with FMA"};
  for (int r = 0; r < N_ROUNDINGS; r++) {
    const activation_worst *w = &result->worst[r];
    printf("%-9s %-11s alpha %.3g beta %.3g (of 2^-24): largest share %.4f at %.9g (%a); alone, z > 0: alpha %.4g at %.9g; "
           "beta beside alpha: %.4g at %.9g\n",
           activation_name(act), roundings[r], declared->alpha * 0x1p24, declared->beta * 0x1p24, w->share, (double)w->share_at,
           (double)w->share_at, w->alpha * 0x1p24, (double)w->alpha_at, w->beta * 0x1p24, (double)w->beta_at);
  }
  printf("%-9s %" PRId64 " values, %" PRId64 " wrong%s%s\n", activation_name(act), result->n_checked, result->n_wrong,
         result->n_wrong ? ", the first: " : "", result->first_wrong);
  fflush(stdout);
}

int main(int argc, char **argv) {
  activation_error errors[N_ACTIVATIONS];
  char message[256];
  static sweeper sweepers[MAX_THREADS];
  long n_threads = sysconf(_SC_NPROCESSORS_ONLN);
  int status = 0, n_done = 0;
  if (n_threads < 1) n_threads = 1;
  if (n_threads > MAX_THREADS) n_threads = MAX_THREADS;
  unsigned long step = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
  if (step < 1 || step > 1u << 24) {
    fprintf(stderr, "activations_all: STEP is %s; it must be 1 .. 16777216\n", argv[2]);
    return 2;
  }
  if (activation_errors(errors, message) != 0) {
    fprintf(stderr, "activations_all: %s\n", message);
    return 3;
  }
  for (int act = 0; act < N_ACTIVATIONS; act++) {
    if (argc > 1 && strcmp(argv[1], "all") != 0 && strcmp(argv[1], activation_name(act)) != 0) continue;
    sweep s = {act, errors[act], (uint32_t)step, (int64_t)((((uint64_t)1 << 32) + step - 1) / step), 0};
    pthread_t threads[MAX_THREADS];
    int n_started = 0;
    memset(sweepers, 0, sizeof sweepers);
    for (long t = 0; t < n_threads; t++) sweepers[t].sweep = &s;
    while (n_started + 1 < n_threads &&
           pthread_create(&threads[n_started + 1], NULL, sweep_parts, &sweepers[n_started + 1]) == 0)
      n_started++;
    sweep_parts(&sweepers[0]);
    for (int t = 1; t <= n_started; t++) {
      pthread_join(threads[t], NULL);
      activation_merge(&sweepers[0].result, &sweepers[t].result);
    }
    print_result(act, &errors[act], &sweepers[0].result);
    if (sweepers[0].result.n_wrong) status = 1;
    n_done++;
  }
  if (n_done == 0) {
    fprintf(stderr, "activations_all: no activation is named '%s'; try all, none, relu, gelu, gelu_tanh, silu or tanh\n",
            argv[1]);
    return 2;
  }
  return status;
}
