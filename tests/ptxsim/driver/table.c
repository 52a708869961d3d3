/* table.c -- one block of lines a kernel: what a profiler would show first, then every counter that is not zero. */
#include "table.h"

#include "counters.h"
#include "report.h"

#include <stdio.h>

static double ratio(uint64_t a, uint64_t b) {
  return b == 0 ? 0 : (double)a / (double)b;
}

void sim_table_print_launch(const ptxsim_launches *l) {
  const sim_counters *c = &l->counters;
  sim_report_say(
      "launch %s <<<%u %u %u, %d>>> %.3f us, %d registers%s, %d blocks an SM, %llu warp instructions, %llu sectors, %llu DRAM "
      "bytes",
      l->kernel, l->grid[0], l->grid[1], l->grid[2], l->threads, (double)l->time_ps * 1e-6, l->registers,
      l->registers_from_cubin ? "" : " (estimated)", l->blocks_per_sm, (unsigned long long)c->inst_executed,
      (unsigned long long)(c->global_load_sectors + c->global_store_sectors),
      (unsigned long long)(c->dram_read_bytes + c->dram_write_bytes));
}

static void print_kernel(const ptxsim_launches *k, void *user) {
  const sim_counters *c = &k->counters;
  (void)user;
  sim_report_say("kernel %s: %llu launches, %.3f us each (modelled)", k->kernel, (unsigned long long)k->n_launches,
                 (double)k->time_ps * 1e-6 / (double)k->n_launches);
  sim_report_say("  block of %d threads, %d registers%s, %d blocks an SM", k->threads, k->registers,
                 k->registers_from_cubin ? " (cubin)" : " (estimated: no cubin was seen)", k->blocks_per_sm);
  sim_report_say("  lanes active %.1f of 32, branches that split a warp %.1f %%",
                 ratio(c->thread_inst_executed, c->inst_executed), 100 * ratio(c->branches_divergent, c->branches));
  if (c->shared_passes_least > 0)
    sim_report_say("  passes over the banks %.2f times the least", ratio(c->shared_passes, c->shared_passes_least));
  sim_report_say(
      "  bytes asked for in a 32-byte sector: loads %.1f, stores %.1f; sectors asked for %.2f times the distinct ones",
      ratio(c->global_load_bytes, c->global_load_sectors), ratio(c->global_store_bytes, c->global_store_sectors),
      ratio(c->global_load_sectors + c->global_store_sectors, c->global_unique_sectors));
  const char *name, *text;
  uint64_t value = 0;
  for (int i = 0; ptxsim_counter(i, c, &name, &text, &value) == 0; i++)
    if (value != 0) sim_report_say("  %16llu  %-24s %s", (unsigned long long)value, name, text);
}

void sim_table_print(void) {
  sim_report_counts counts = sim_report_count();
  sim_counters_each(print_kernel, NULL);
  sim_report_say("reports: %llu faults, %llu calls refused, %llu findings", (unsigned long long)counts.faults,
                 (unsigned long long)counts.misuses, (unsigned long long)counts.findings);
}
