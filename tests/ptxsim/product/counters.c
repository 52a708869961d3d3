/* counters.c -- what the CUDA families ask of the machine, as a table: figures of named calls, from ptxsim's counters.
 *
 *     ptxsim_counters        prints the table in Markdown; tests/ptxsim/COUNTERS.md is what it printed last
 */
#include "figures.h"

#include "../tests/support/nvrtc.h"

#include <math.h>
#include <stdio.h>

typedef struct job {
  const char *about, *op;
  int64_t groups, low, high; /* low to high rows of each group */
  int flat;                  /* weight sectors are counted */
  const char *variants[6];
} job;

#define PAD8(parts, shared, plan, run, share, tiles, tokens, warps)                                            \
  "pad8:hidden_parts=" #parts ",hidden_shared=" #shared ",plan=" #plan ",product=0,run=" #run ",share=" #share \
  ",stage_x=0,sub_tiles=" #tiles ",tokens=" #tokens ",warps=" #warps
#define STATIONARY(at_once, held, plan, team, threads, tile) \
  "weight_stationary:at_once=" #at_once ",held=" #held ",plan=" #plan ",team=" #team ",threads=" #threads ",tile=" #tile
#define GATHER(chunk, fused, in_registers, lanes, outputs)                                                              \
  "row_gather:chunk=" #chunk ",fused_rows=" #fused ",in_registers=" #in_registers ",lanes=" #lanes ",outputs=" #outputs \
  ",threads=128"

static const job jobs[] = {
    {"64 groups, 1 to 8 rows each",
     "mlp:64-128-64:g64:bf16:relu:b12:nk:i64",
     64,
     1,
     8,
     1,
     {PAD8(1, 0, 0, 4, 0, 1, 0, 1), PAD8(1, 1, 0, 8, 1, 1, 0, 4), PAD8(1, 0, 1, 4, 0, 1, 0, 1), PAD8(1, 0, 1, 4, 1, 4, 0, 2)}},
    {"64 groups, 1 to 8 rows each",
     "mlp:64-128-64:g64:bf16:relu:b12:nk:i64",
     64,
     1,
     8,
     0,
     {GATHER(1, 0, 0, 8, 1), STATIONARY(1, 0, 1, 128, 128, 16)}},
    {"3 groups, 2 or 3 rows each",
     "mlp:10-20-5:g3:bf16:relu:b12:nk:i64",
     3,
     2,
     3,
     0,
     {PAD8(1, 0, 0, 4, 0, 1, 0, 1), GATHER(1, 1, 0, 8, 1), GATHER(1, 0, 1, 8, 4), STATIONARY(1, 1, 0, 8, 128, 16),
      GATHER(1, 0, 0, 8, 1)}},
    {"20,000 groups, 0 to 3 rows each",
     "mlp:6-12-2:g20000:f32:relu:b12:nk:i64",
     20000,
     0,
     3,
     0,
     {STATIONARY(1, 1, 1, 2, 128, 4), STATIONARY(1, 1, 1, 2, 128, 16), STATIONARY(1, 1, 1, 4, 128, 4),
      STATIONARY(1, 1, 1, 8, 128, 4), GATHER(1, 0, 0, 8, 1)}},
    {"64 groups, 1 to 1,023 rows each",
     "mlp:64-128-64:g64:bf16:relu:b12:nk:i64",
     64,
     1,
     1023,
     0,
     {PAD8(1, 0, 1, 4, 0, 4, 0, 1), PAD8(1, 1, 1, 4, 1, 4, 0, 4), PAD8(1, 0, 1, 4, 0, 2, 1, 1), PAD8(1, 1, 1, 4, 1, 2, 1, 4),
      GATHER(1, 0, 0, 8, 1)}},
};

static void ratio(double v) {
  if (isnan(v) || v == 0)
    printf(" |");
  else
    printf(" %.3f |", v);
}

int main(void) {
  counted_lab lab;
  if (sim_nvrtc_missing() != NULL) {
    fprintf(stderr, "ptxsim_counters: %s\n", sim_nvrtc_missing());
    return 3;
  }
  counted_lab_open(&lab);
  printf("| call | variant | launches | warp instructions | weight sectors | mma | bank passes | DRAM bytes | average, idlest "
         "block | modelled us | last kernel us |\n"
         "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
  for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
    const job *j = &jobs[i];
    counted_rows r = counted_rows_make(j->groups, j->low, j->high, 0);
    for (int v = 0; v < 6 && j->variants[v]; v++) {
      figures f;
      figures_of(&lab, j->op, j->variants[v], &r, j->flat, &f);
      printf("| %s, `%s` | `%s` | %d | %llu |", j->about, j->op, j->variants[v], f.n_launches,
             (unsigned long long)f.instructions);
      ratio(f.weight_sectors);
      ratio(f.mma);
      ratio(f.bank_passes);
      ratio(f.dram_bytes);
      printf(" %.3f, %.3f | %.2f | %.2f |\n", f.busy, f.least_busy, (double)f.time_ps / 1e6, (double)f.last_ps / 1e6);
      fflush(stdout);
    }
    counted_rows_free(&r);
  }
  counted_lab_close(&lab);
  return 0;
}
