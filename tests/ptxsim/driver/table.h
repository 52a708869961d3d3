/* table.h -- the counters as text: PTXSIM_REPORT=1 a table at exit, 2 a line for each launch as well. */
#ifndef SIM_DRIVER_TABLE_H
#define SIM_DRIVER_TABLE_H

#include "ptxsim.h"

void sim_table_print(void);
void sim_table_print_launch(const ptxsim_launches *launch);

#endif
