/* figures.c -- ptxsim's counters against the least that a call needs. */
#include "figures.h"

#include <math.h>

#include "runtime/base/number.h"

static int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

static int64_t weights_of_a_group(const rgt_op_desc *op) {
  return op->kind == RGT_MLP ? op->n_hidden * (op->n_in + op->n_out) : op->n_in * op->n_out;
}

static double mma_needed(const rgt_op_desc *op, const counted_rows *r) {
  int64_t n = 0;
  for (int64_t g = 0; g < r->groups; g++)
    n += ceil_div(r->of_group[g], 8) * (op->kind == RGT_MLP
                                            ? ceil_div(op->n_hidden, 16) * (ceil_div(op->n_in, 16) + ceil_div(op->n_out, 16))
                                            : ceil_div(op->n_in, 16) * ceil_div(op->n_out, 16));
  return (double)n;
}

static int64_t groups_with_rows(const counted_rows *r) {
  int64_t n = 0;
  for (int64_t g = 0; g < r->groups; g++) n += r->of_group[g] > 0;
  return n;
}

/* Each matrix row that a load touches has sectors of its own; flat, the 8 rows that a load of a fragment touches are one. So
 * what all of them ask for is 8/7 of the difference. */
static double weight_sectors(const rgt_op_desc *op, const counted_rows *r, const ptxsim_launches *last,
                             const ptxsim_launches *flat) {
  double asked = (double)(last->counters.global_load_sectors - flat->counters.global_load_sectors) * 8 / 7;
  return asked * 32 / (double)(groups_with_rows(r) * weights_of_a_group(op) * (int64_t)rgt__number_bytes(op->dtype));
}

static double compulsory_bytes(const rgt_op_desc *op, const counted_rows *r) {
  const int64_t biases =
      (op->bias & RGT_BIAS_1 ? (op->kind == RGT_MLP ? op->n_hidden : op->n_out) : 0) + (op->bias & RGT_BIAS_2 ? op->n_out : 0);
  const int64_t elements = r->n * (op->n_in + op->n_out) + groups_with_rows(r) * (weights_of_a_group(op) + biases);
  return (double)(elements * (int64_t)rgt__number_bytes(op->dtype) + r->n * 8);
}

void figures_of(counted_lab *lab, const char *op, const char *variant, const counted_rows *r, int flat, figures *out) {
  ptxsim_launches sum, last, flat_sum, flat_last;
  counted_code c;
  counted_code_open(lab, op, variant, &c);
  counted_run(lab, &c, r, &sum, &last, NULL);
  if (flat) counted_run_flat(lab, &c, r, &flat_sum, &flat_last);
  *out = (figures){.n_launches = (int)sum.n_launches,
                   .instructions = sum.counters.inst_executed,
                   .weight_sectors = flat ? weight_sectors(&c.op, r, &last, &flat_last) : (double)NAN,
                   .mma = (double)last.counters.inst_mma / mma_needed(&c.op, r),
                   .bank_passes = last.counters.shared_passes_least == 0
                                      ? 1
                                      : (double)last.counters.shared_passes / (double)last.counters.shared_passes_least,
                   .dram_bytes =
                       (double)(sum.counters.dram_read_bytes + sum.counters.dram_write_bytes) / compulsory_bytes(&c.op, r),
                   .busy = counted_busy(&last),
                   .least_busy = counted_least_busy(&last),
                   .time_ps = (int64_t)sum.time_ps,
                   .last_ps = (int64_t)last.time_ps};
  counted_code_close(lab, &c);
}
