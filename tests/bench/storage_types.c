/* storage_types.c -- what 16-bit storage brings: one op in f32, f16 and bf16, several variants, their calls interleaved.
 *
 *   bench_storage_types OP ROWS [SECONDS [VARIANT...]]     OP's own type is of no matter; VARIANT as `ragtune show` names it
 *
 * Prints the least processor time of a call (all threads together: on a shared machine, waiting for a core says nothing of the
 * code) of each variant in each type, and for each type its best against f32's best. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/ragtune.h"

enum { N_TYPES = 3, VARIANTS_MAX = 32 };
static const char *const type_names[N_TYPES] = {"f32", "f16", "bf16"};
static const size_t type_bytes[N_TYPES] = {4, 2, 2};

static void fail(const char *what, rgt_ctx *ctx) {
  fprintf(stderr, "bench_storage_types: %s: %s\n", what, ctx ? rgt_errmsg(ctx) : "");
  exit(1);
}

static double now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint32_t state = 1;
static float draw(void) { /* in [-1, 1) */
  state = state * 1664525u + 1013904223u;
  return (float)(state >> 8) / 8388608.0f - 1;
}

static void *values(rgt_dtype dtype, int64_t n, float scale) {
  void *p = aligned_alloc(64, ((size_t)n * type_bytes[dtype] + 127) / 64 * 64);
  if (!p) fail("out of memory", NULL);
  state = 1;
  for (int64_t i = 0; i < n; i++) {
    float v = scale * draw();
    rgt_from_float(dtype, &v, (char *)p + (size_t)i * type_bytes[dtype], 1);
  }
  return p;
}

static rgt_args arguments(const rgt_op_desc *d, int64_t rows) {
  rgt_args a = {.struct_size = sizeof a, .rows = rows};
  const int64_t mid = d->kind == RGT_MLP ? d->n_hidden : d->n_out;
  a.x = values(d->dtype, rows * d->n_in, 1);
  a.y = values(d->dtype, rows * d->n_out, 0);
  a.layer1.w = values(d->dtype, d->groups * d->n_in * mid, 0.1f);
  if (d->bias & RGT_BIAS_1) a.layer1.b = values(d->dtype, d->groups * mid, 0.1f);
  if (d->kind == RGT_MLP) a.layer2.w = values(d->dtype, d->groups * mid * d->n_out, 0.1f);
  if (d->bias & RGT_BIAS_2) a.layer2.b = values(d->dtype, d->groups * d->n_out, 0.1f);
  int64_t *index = malloc((size_t)rows * sizeof *index);
  if (!index) fail("out of memory", NULL);
  for (int64_t r = 0; r < rows; r++) index[r] = (int64_t)((uint64_t)r * 2654435761u % (uint64_t)d->groups);
  a.index = index;
  return a;
}

static double one_batch(rgt_op *op, const rgt_args *a, int n, rgt_ctx *ctx) {
  const double start = now(CLOCK_PROCESS_CPUTIME_ID);
  for (int i = 0; i < n; i++)
    if (rgt_op_run(op, a, NULL) != RGT_OK) fail("run", ctx);
  return (now(CLOCK_PROCESS_CPUTIME_ID) - start) / n;
}

int main(int argc, char **argv) {
  static const char *const usual[] = {"row_gather", "builtin"};
  rgt_ctx *ctx = NULL;
  rgt_op_desc desc;
  rgt_op *op[N_TYPES][VARIANTS_MAX];
  rgt_args args[N_TYPES];
  double least[N_TYPES][VARIANTS_MAX], best[N_TYPES];
  int size[N_TYPES][VARIANTS_MAX], which[N_TYPES] = {0};
  if (argc < 3) return fprintf(stderr, "usage: bench_storage_types OP ROWS [SECONDS [VARIANT...]]\n"), 2;
  const int64_t rows = atoll(argv[2]);
  const double seconds = argc > 3 ? atof(argv[3]) : 5;
  const char *const *variant = argc > 4 ? (const char *const *)argv + 4 : usual;
  const int n_variants = argc > 4 ? argc - 4 : 2;
  if (n_variants > VARIANTS_MAX) fail("too many variants", NULL);
  if (rgt_open(NULL, &ctx) != RGT_OK) fail("open", ctx);
  if (rgt_op_parse(ctx, argv[1], &desc) != RGT_OK) fail("op", ctx);
  desc.index_type = RGT_I64;
  for (int t = 0; t < N_TYPES; t++) {
    desc.dtype = (rgt_dtype)t;
    args[t] = arguments(&desc, rows);
    for (int v = 0; v < n_variants; v++) {
      if (rgt_op_new(ctx, &desc, NULL, &op[t][v]) != RGT_OK) fail("op", ctx);
      if (rgt_op_prepare_variant(op[t][v], variant[v], rows) != RGT_OK) fail(variant[v], ctx);
      const double once = one_batch(op[t][v], &args[t], 1, ctx);
      size[t][v] = once > 2e-4 ? 1 : (int)(2e-4 / once) + 1;
      least[t][v] = 1e9;
    }
  }
  for (const double end = now(CLOCK_MONOTONIC) + seconds; now(CLOCK_MONOTONIC) < end;)
    for (int v = 0; v < n_variants; v++)
      for (int t = 0; t < N_TYPES; t++) {
        one_batch(op[t][v], &args[t], size[t][v] / 3 + 1, ctx);
        const double time = one_batch(op[t][v], &args[t], size[t][v], ctx);
        if (time < least[t][v]) least[t][v] = time;
      }
  printf("%s, %" PRId64 " rows, processor time of a call in microseconds, least of many\n%10s %10s %10s\n", argv[1], rows,
         "f32", "f16", "bf16");
  for (int v = 0; v < n_variants; v++) {
    for (int t = 0; t < N_TYPES; t++) {
      printf("%10.2f ", 1e6 * least[t][v]);
      if (v == 0 || least[t][v] < best[t]) best[t] = least[t][v], which[t] = v;
    }
    printf(" %s\n", variant[v]);
  }
  for (int t = 0; t < N_TYPES; t++)
    printf("best %-4s  %10.2f us  %.2f of f32's  %s\n", type_names[t], 1e6 * best[t], best[t] / best[0], variant[which[t]]);
  rgt_close(ctx);
  return 0;
}
