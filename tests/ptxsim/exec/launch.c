/* launch.c -- a launch: blocks become resident in a seeded, fair order until all have run. */
#include "exec/machine.h"
#include "exec/special.h"

#include <stdio.h>
#include <stdlib.h>

/* Blocks that have begun and not ended. Few at first, so that their registers stay in the caches; more where none of them gets
 * done, since they may wait for a block that has not begun. */
enum { AT_FIRST = 4, PATIENCE = 64, BLOCK_TURN = 20000 };

static int refuse(sim_fault *f, const sim_launch *l, const char *format, uint64_t a, uint64_t b) {
  memset(f, 0, sizeof *f);
  f->kind = SIM_FAULT_LAUNCH;
  f->warp = f->lane = -1;
  snprintf(f->kernel, sizeof f->kernel, "%s", l->function->facts.name);
  snprintf(f->detail, sizeof f->detail, format, (unsigned long long)a, (unsigned long long)b);
  snprintf(f->text, sizeof f->text, "LAUNCH: %s (%s)\n  kernel  %s", sim_fault_text(SIM_FAULT_LAUNCH), f->detail, f->kernel);
  return -1;
}

static int check_launch(const sim_launch *l, sim_fault *f) {
  const sim_function_facts *x = &l->function->facts;
  const sim_profile *p = l->profile;
  uint64_t threads = 1;
  for (int k = 0; k < 3; k++) {
    if (l->grid[k] == 0 || l->block[k] == 0) return refuse(f, l, "an empty grid or block", 0, 0);
    if (p && (int64_t)l->grid[k] > p->max_grid[k])
      return refuse(f, l, "a grid of %llu blocks in one direction; the limit is %llu", l->grid[k], (uint64_t)p->max_grid[k]);
    if (p && (int)l->block[k] > p->max_block[k])
      return refuse(f, l, "a block of %llu threads in one direction; the limit is %llu", l->block[k],
                    (uint64_t)p->max_block[k]);
    threads *= l->block[k];
    if (x->reqntid[0] && l->block[k] != (uint64_t)(int64_t)x->reqntid[k])
      return refuse(f, l, "a block of %llu threads where .reqntid says %llu", l->block[k], (uint64_t)(int64_t)x->reqntid[k]);
  }
  const uint64_t most = x->maxntid[0] ? (uint64_t)x->maxntid[0] * (unsigned)x->maxntid[1] * (unsigned)x->maxntid[2] : 1024;
  if (threads > 1024 || threads > most)
    return refuse(f, l, "a block of %llu threads; the limit is %llu", threads, most < 1024 ? most : 1024);
  if (l->param_bytes < x->param_bytes)
    return refuse(f, l, "%llu bytes of parameters; the kernel takes %llu", l->param_bytes, x->param_bytes);
  const uint64_t shared = (uint64_t)l->function->shared_base_dynamic + l->dynamic_shared;
  if (p && (int64_t)shared > p->shared_optin_max)
    return refuse(f, l, "%llu bytes of shared memory; the limit is %llu", shared, (uint64_t)p->shared_optin_max);
  if (l->cluster[0] > 1 || l->cluster[1] > 1 || l->cluster[2] > 1) return refuse(f, l, "clusters are not simulated", 0, 0);
  return 0;
}

static void add_classes(const sim_machine *m) {
  sim_counters *c = m->counters;
  const uint64_t *n = m->class_count, *t = m->class_threads, *flop = m->class_flop;
  for (int k = 0; k < SIM_CLASSES; k++) {
    c->inst_executed += n[k];
    c->thread_inst_executed += t[k];
  }
  c->inst_integer = n[SIM_C_INTEGER];
  c->inst_fp32 = n[SIM_C_FP32];
  c->inst_fp16 = n[SIM_C_FP16];
  c->inst_fp64 = n[SIM_C_FP64];
  c->inst_special = n[SIM_C_SPECIAL];
  c->inst_convert = n[SIM_C_CONVERT];
  c->inst_load_store = n[SIM_C_MEMORY];
  c->inst_atomic = n[SIM_C_ATOMIC];
  c->inst_exchange = n[SIM_C_EXCHANGE];
  c->inst_control = n[SIM_C_CONTROL];
  c->inst_barrier = n[SIM_C_BARRIER];
  c->inst_mma = n[SIM_C_MMA];
  c->thread_inst_fp32 = t[SIM_C_FP32];
  c->thread_inst_integer = t[SIM_C_INTEGER];
  c->flop_fp32 = flop[SIM_C_FP32] + flop[SIM_C_SPECIAL];
  c->flop_fp16 = flop[SIM_C_FP16];
  c->flop_fp64 = flop[SIM_C_FP64];
}

static int run_blocks(sim_machine *m, uint64_t n_blocks, uint64_t resident) {
  sim_block **running = sim__alloc((size_t)resident * sizeof *running);
  uint64_t n = 0, next = 0, width = AT_FIRST < resident ? AT_FIRST : resident, fruitless = 0;
  int bad = 0;
  while (!bad && (n > 0 || next < n_blocks)) {
    while (n < width && next < n_blocks) running[n++] = sim__block_start(m, next++);
    const uint64_t at = sim__random(&m->random) % n;
    const uint64_t turn = n == 1 && next == n_blocks ? UINT64_MAX : 1 + sim__random(&m->random) % BLOCK_TURN;
    const sim_outcome outcome = sim__block_run(running[at], turn);
    if (outcome == SIM_O_FAULT) bad = 1;
    if (outcome == SIM_O_FINISHED) {
      sim__block_end(running[at]);
      running[at] = running[--n];
      fruitless = 0;
    } else if (++fruitless > PATIENCE * width && width < resident) {
      width = 2 * width < resident ? 2 * width : resident;
      fruitless = 0;
    }
  }
  for (uint64_t k = 0; k < n; k++) sim__block_end(running[k]);
  free(running);
  return bad ? -1 : 0;
}

static void begin(sim_machine *m, const sim_launch *l, sim_counters *counters, sim_fault *fault) {
  memset(m, 0, sizeof *m);
  memset(counters, 0, sizeof *counters);
  memset(fault, 0, sizeof *fault);
  fault->warp = fault->lane = -1;
  m->launch = l;
  m->function = l->function;
  m->code = l->function->code;
  m->memory = l->memory;
  m->counters = counters;
  m->fault = fault;
  m->checks = l->checks;
  m->serial = ++l->memory->launches;
  m->limit = l->instruction_limit ? l->instruction_limit : 4000000000ull;
  m->random = l->seed * 0x9E3779B97F4A7C15ull + 1;
  m->time = 1;
  m->threads = l->block[0] * l->block[1] * l->block[2];
  m->n_warps = (m->threads + SIM_LANES - 1) / SIM_LANES;
  m->shared_bytes =
      (l->function->shared_base_dynamic > l->function->shared_static && !l->dynamic_shared ? l->function->shared_static
                                                                                           : l->function->shared_base_dynamic) +
      l->dynamic_shared;
  if (l->checks & SIM_COUNT_CACHE) m->cache = sim__cache_new(l->profile ? (uint64_t)l->profile->l2_bytes : 40u << 20);
  sim__special_seed(l->seed);
  sim__templates_make(m);
}

static void end(sim_machine *m) {
  sim__cache_flush(m);
  sim__cache_free(m->cache);
  sim__blocks_free(m);
  sim__templates_free(m);
  sim__arena_clear(&m->arena);
  for (int k = 0; k < SIM_RELEASE_BUCKETS; k++) free(m->releases[k].all);
}

int sim_launch_run(const sim_launch *l, sim_counters *counters, sim_fault *fault) {
  memset(counters, 0, sizeof *counters);
  if (check_launch(l, fault) != 0) return -1;
  sim_machine *m = sim__alloc(sizeof *m);
  begin(m, l, counters, fault);
  const uint64_t n_blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
  uint64_t resident = l->resident_blocks > 0                   ? (uint64_t)l->resident_blocks
                      : l->profile && l->profile->sm_count > 0 ? (uint64_t)l->profile->sm_count
                                                               : 16;
  if (resident > n_blocks) resident = n_blocks;
  const int bad = run_blocks(m, n_blocks, resident);
  add_classes(m);
  end(m);
  if (bad) sim__fault_finish(m);
  free(m);
  return bad;
}
