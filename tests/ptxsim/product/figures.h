/* figures.h -- what a call asks of the machine against what it must ask at least, from ptxsim's counters. */
#ifndef PTXSIM_PRODUCT_FIGURES_H
#define PTXSIM_PRODUCT_FIGURES_H

#include "counted.h"

typedef struct figures {
  int n_launches;
  uint64_t instructions;   /* of warps, all launches */
  double weight_sectors;   /* that the last launch asked for, over those that the weights of all groups with rows fill */
  double mma;              /* issued, over what rows padded to 8, and k and outputs padded to 16, need */
  double bank_passes;      /* of shared memory in the last launch, over the least for its accesses; 1 where it has none */
  double dram_bytes;       /* over x, y, index, weights and biases of every group once each */
  double busy, least_busy; /* in the last launch: instructions of the average and of the idlest block over the busiest one's */
  int64_t time_ps, last_ps;
} figures;

/* figures_of -- one call of rows r with a variant, on the lab's device. `flat`: run it once more for weight_sectors, which is
 * NAN else. nk weights without padding; each matrix row at least 32 bytes and a multiple of that. */
void figures_of(counted_lab *lab, const char *op, const char *variant, const counted_rows *r, int flat, figures *out);

#endif
