/* time_model.c -- how long a kernel takes: what its busiest resource needs, a part of what the others need, and at least what
 * one warp after the other needs to wait.
 *
 * Every term is a sum of counters with positive factors, and the whole is a sum and a maximum of terms: it never falls when a
 * counter rises. Doubles, no contraction, one rounding at the end: the same counters give the same picoseconds. */
#include "time_model.h"

#include <math.h>

/* Cycles from one dependent instruction of a warp to the next, by what it does. */
#define LATENCY_ARITHMETIC 4.5
#define LATENCY_SHARED 24.0
#define LATENCY_L2 260.0
#define LATENCY_DRAM 300.0 /* on top of L2 */
#define LATENCY_MMA 18.0
#define LATENCY_BARRIER 20.0
#define LATENCY_ATOMIC 300.0
#define LOADS_IN_FLIGHT 4.0 /* of a warp, on average */
#define OVERLAP_LOSS 0.15   /* of what the other resources need */
#define BLOCK_START 300.0   /* cycles of an SM */

static double of(uint64_t count) {
  return (double)count;
}

static double larger(double a, double b) {
  return a > b ? a : b;
}

/* SMs that work, as a fraction of an even spread: the last round of blocks may be short. */
static double busy_sms(const sim_model *m, double blocks) {
  double rounds = ceil(blocks / (double)m->profile.sm_count);
  return rounds < 1 ? 1 : blocks / rounds;
}

typedef struct need {
  double most, sum; /* cycles of the busiest resource, of all */
} need;

static void add(need *n, double cycles) {
  n->most = larger(n->most, cycles);
  n->sum += cycles;
}

/* Cycles that the parts of an SM are busy, if the work is spread over the SMs that work. */
static need of_sms(const sim_model *m, const sim_counters *c, double sms) {
  const sim_rates *r = &m->rates;
  need n = {0, 0};
  double sectors =
      of(c->global_load_sectors + c->global_store_sectors) + 4 * of(c->local_load_requests + c->local_store_requests);
  double bytes = of(c->global_load_bytes + c->global_store_bytes) / 32;
  double passes =
      of(c->shared_passes) + of(c->shared_passes_least) * 0.01 + 0.01 * of(c->shared_load_requests + c->shared_store_requests);
  add(&n, of(c->inst_executed) / r->issue / sms);
  add(&n, of(c->inst_fp32) / r->fp32 / sms + of(c->flop_fp32 + c->thread_inst_fp32) * 1e-4 / sms);
  add(&n, of(c->inst_integer) / r->integer / sms + of(c->thread_inst_integer) * 1e-4 / sms);
  add(&n, of(c->inst_fp16) / r->fp16 / sms + of(c->flop_fp16) * 1e-4 / sms);
  add(&n, of(c->inst_fp64) / r->fp64 / sms + of(c->flop_fp64) * 1e-4 / sms);
  add(&n, of(c->inst_special) / r->special / sms);
  add(&n, of(c->inst_convert) / r->convert / sms);
  add(&n, of(c->inst_load_store + c->cp_async_requests) / r->load_store / sms);
  add(&n, of(c->inst_exchange) / r->exchange / sms);
  add(&n, of(c->inst_control + c->branches + c->calls) / r->control / sms);
  add(&n, (of(c->inst_barrier) + of(c->warp_syncs)) / sms);
  add(&n, of(c->flop_mma) / r->mma_flop / sms + of(c->inst_mma) * 0.25 / sms);
  add(&n, passes / r->shared_passes / sms);
  add(&n, (sectors + bytes * 0.01) / r->l1_sectors / sms);
  add(&n, of(c->thread_inst_executed) / 32 / r->issue / sms);
  return n;
}

/* Cycles of what the SMs share. */
static void add_shared_parts(need *n, const sim_model *m, const sim_counters *c) {
  const sim_rates *r = &m->rates;
  double hz = (double)m->profile.clock_khz * 1e3;
  add(n, (of(c->l2_hit_sectors) + of(c->l2_miss_sectors) * 1.01 + of(c->global_unique_sectors) * 0.01) / r->l2_sectors_device);
  add(n, of(c->global_atomic_sectors + c->inst_atomic) / r->atomic_sectors_device);
  add(n, of(c->dram_read_bytes + c->dram_write_bytes) / r->dram_bytes_per_s * hz);
}

/* Cycles that an average warp waits if it is alone, times the rounds of resident warps. */
static double waiting(const sim_model *m, const sim_launched *l, double blocks, double warps) {
  const sim_counters *c = &l->counters;
  double loads = of(c->global_load_requests + c->global_store_requests + c->local_load_requests + c->local_store_requests);
  double cycles = of(c->inst_executed) * LATENCY_ARITHMETIC;
  cycles += loads * LATENCY_L2 / LOADS_IN_FLIGHT + of(c->l2_miss_sectors) * LATENCY_DRAM / 32;
  cycles += of(c->shared_load_requests + c->shared_store_requests) * LATENCY_SHARED / LOADS_IN_FLIGHT;
  cycles +=
      of(c->inst_mma) * LATENCY_MMA + of(c->barriers) * LATENCY_BARRIER + of(c->inst_atomic) * LATENCY_ATOMIC / LOADS_IN_FLIGHT;
  cycles += of(c->branches_divergent) * LATENCY_ARITHMETIC;
  double resident = larger(1, (double)l->blocks_per_sm) * (double)m->profile.sm_count;
  return cycles / warps * ceil(blocks / resident);
}

uint64_t sim_time_kernel_ps(const sim_model *m, const sim_launched *l) {
  const sim_counters *c = &l->counters;
  double blocks = of((uint64_t)l->grid[0] * l->grid[1] * l->grid[2]);
  double warps = larger(1, blocks * (double)((l->threads + 31) / 32));
  double sms = busy_sms(m, blocks);
  need n = of_sms(m, c, sms);
  add_shared_parts(&n, m, c);
  add(&n, of(c->block_most_inst) / m->rates.issue);
  add(&n, waiting(m, l, blocks, warps));
  double cycles = n.most + OVERLAP_LOSS * (n.sum - n.most) + BLOCK_START * ceil(blocks / sms);
  cycles += of(c->blocks) * 0.01 + of(c->warps) * 0.001;
  return (uint64_t)llround(cycles / (double)m->profile.clock_khz * 1e9);
}

uint64_t sim_time_submit_graph_ps(size_t n_nodes) {
  return SIM_TIME_SUBMIT_KERNEL_PS + UINT64_C(100000) * n_nodes;
}

/* A copy engine: 1 us to begin; over the bus 25 GB/s, on the device read and write at the memory's speed. */
uint64_t sim_time_copy_ps(const sim_model *m, uint64_t bytes, int on_device) {
  double per_s = on_device ? m->rates.dram_bytes_per_s / 2 : 25e9;
  return UINT64_C(1000000) + (uint64_t)llround((double)bytes / per_s * 1e12);
}

uint64_t sim_time_fill_ps(const sim_model *m, uint64_t bytes) {
  return UINT64_C(1000000) + (uint64_t)llround((double)bytes / m->rates.dram_bytes_per_s * 1e12);
}
