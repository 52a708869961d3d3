/* counters.c -- sums by kernel, and the calls that read them. */
#include "counters.h"

#include "call.h"
#include "report.h"
#include "settings.h"
#include "table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct kernel_sum {
  struct kernel_sum *next;
  ptxsim_launches sum;
} kernel_sum;

static kernel_sum *kernels, **end = &kernels;
static ptxsim_launches last, total;

static const struct {
  const char *name, *text;
  size_t offset;
} fields[] = {
#define FIELD(name, text) {#name, text, offsetof(sim_counters, name)},
    SIM_COUNTERS(FIELD)
#undef FIELD
};
enum { N_FIELDS = sizeof fields / sizeof fields[0] };

static void add(ptxsim_launches *sum, const sim_launched *l) {
  const uint64_t most = sum->counters.block_most_inst, least = sum->counters.block_least_inst;
  sum->n_launches++;
  sum->time_ps += l->time_ps;
#define ADD(name, text) sum->counters.name += l->counters.name;
  SIM_COUNTERS(ADD)
#undef ADD
  sum->counters.block_most_inst = most > l->counters.block_most_inst ? most : l->counters.block_most_inst;
  sum->counters.block_least_inst =
      sum->n_launches > 1 && least < l->counters.block_least_inst ? least : l->counters.block_least_inst;
  snprintf(sum->kernel, sizeof sum->kernel, "%s", l->name);
  memcpy(sum->grid, l->grid, sizeof sum->grid);
  sum->threads = l->threads;
  sum->registers = l->registers;
  sum->registers_from_cubin = l->registers_from_cubin;
  sum->blocks_per_sm = l->blocks_per_sm;
}

static kernel_sum *find(const char *name) {
  kernel_sum *k = kernels;
  while (k != NULL && strcmp(k->sum.kernel, name) != 0) k = k->next;
  return k;
}

void sim_counters_add(const sim_launched *launch) {
  kernel_sum *k = find(launch->name);
  if (k == NULL && (k = calloc(1, sizeof *k)) != NULL) {
    *end = k;
    end = &k->next;
  }
  memset(&last, 0, sizeof last);
  add(&last, launch);
  add(&total, launch);
  if (k != NULL) add(&k->sum, launch);
  if (sim_settings_get()->report >= 2) sim_table_print_launch(&last);
}

void sim_counters_reset(void) {
  while (kernels != NULL) {
    kernel_sum *k = kernels;
    kernels = k->next;
    free(k);
  }
  end = &kernels;
  memset(&last, 0, sizeof last);
  memset(&total, 0, sizeof total);
}

int sim_counters_last(ptxsim_launches *out) {
  *out = last;
  return last.n_launches == 0 ? -1 : 0;
}

int sim_counters_total(const char *kernel, ptxsim_launches *out) {
  const kernel_sum *k = kernel == NULL ? NULL : find(kernel);
  memset(out, 0, sizeof *out);
  if (kernel == NULL)
    *out = total;
  else if (k != NULL)
    *out = k->sum;
  return out->n_launches == 0 ? -1 : 0;
}

void sim_counters_each(void (*see)(const ptxsim_launches *kernel, void *user), void *user) {
  for (const kernel_sum *k = kernels; k != NULL; k = k->next) see(&k->sum, user);
}

/* ---- what is exported
 * --------------------------------------------------------------------------------------------------------------- */

SIM_EXPORT int ptxsim_last_launch(ptxsim_launches *out) {
  sim_call_enter(SIM_ALWAYS, __func__);
  int found = sim_counters_last(out);
  sim_call_leave(CUDA_SUCCESS);
  return found;
}

SIM_EXPORT int ptxsim_total(const char *kernel, ptxsim_launches *out) {
  sim_call_enter(SIM_ALWAYS, __func__);
  int found = sim_counters_total(kernel, out);
  sim_call_leave(CUDA_SUCCESS);
  return found;
}

SIM_EXPORT void ptxsim_report(ptxsim_reports *out) {
  sim_call_enter(SIM_ALWAYS, __func__);
  sim_report_counts counts = sim_report_count();
  *out = (ptxsim_reports){.misuses = counts.misuses, .findings = counts.findings, .faults = counts.faults};
  snprintf(out->last, sizeof out->last, "%s", sim_report_last());
  sim_call_leave(CUDA_SUCCESS);
}

SIM_EXPORT void ptxsim_reset(void) {
  sim_call_enter(SIM_ALWAYS, __func__);
  sim_counters_reset();
  sim_report_reset();
  sim_call_leave(CUDA_SUCCESS);
}

SIM_EXPORT int ptxsim_counter(int i, const sim_counters *of, const char **name, const char **text, uint64_t *value) {
  if (i < 0 || i >= N_FIELDS) return -1;
  if (name != NULL) *name = fields[i].name;
  if (text != NULL) *text = fields[i].text;
  if (value != NULL && of != NULL) memcpy(value, (const char *)of + fields[i].offset, sizeof *value);
  return 0;
}
