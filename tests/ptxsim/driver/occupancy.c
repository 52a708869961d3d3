/* occupancy.c -- threads, blocks, registers and shared memory of an SM, each with its unit of allocation.
 *
 * Registers go to warps in units (256), within a quarter of the SM that holds a quarter of them; a block must find room for its
 * warps, spread over the quarters. Shared memory goes to blocks in units (128 bytes), with 1 KB of the driver's own for each.
 */
#include "occupancy.h"

#include <limits.h>

static int64_t round_up(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* Warps that fit into the registers of an SM. */
static int64_t warps_by_registers(const sim_model *m, int registers) {
  if (registers <= 0) return INT_MAX;
  int64_t of_warp = round_up((int64_t)registers * m->profile.warp_size, m->register_unit_per_warp);
  return m->profile.registers_per_sm / m->sub_partitions / of_warp * m->sub_partitions;
}

int sim_occupancy_blocks(const sim_model *m, const sim_block_needs *needs) {
  const sim_profile *p = &m->profile;
  int64_t warps = round_up(needs->threads, p->warp_size) / p->warp_size;
  if (warps <= 0 || needs->threads > p->max_threads_per_block) return 0;
  int64_t blocks = least(p->max_blocks_per_sm, p->max_threads_per_sm / p->warp_size / warps);
  if (needs->registers > 0) {
    if (needs->registers > m->max_registers_per_thread + 1) return 0;
    int64_t of_warp = round_up((int64_t)needs->registers * p->warp_size, m->register_unit_per_warp);
    if (of_warp * round_up(warps, m->sub_partitions) > p->registers_per_block) return 0;
    blocks = least(blocks, warps_by_registers(m, needs->registers) / warps);
  }
  if (needs->shared_bytes > p->shared_optin_max) return 0;
  int64_t shared = round_up(needs->shared_bytes + p->shared_reserved_per_block, m->shared_unit);
  return (int)least(blocks, p->shared_per_sm / shared);
}

int sim_occupancy_max_threads(const sim_model *m, int registers) {
  const sim_profile *p = &m->profile;
  int threads = p->max_threads_per_block;
  while (threads > 0 && sim_occupancy_blocks(m, &(sim_block_needs){.threads = threads, .registers = registers}) == 0)
    threads -= p->warp_size;
  return threads;
}
