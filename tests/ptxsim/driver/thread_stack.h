/* thread_stack.h -- each thread's stack of current contexts, and its number. */
#ifndef SIM_DRIVER_THREAD_STACK_H
#define SIM_DRIVER_THREAD_STACK_H

#include "cuda_types.h"

CUcontext sim_thread_stack_top(void);         /* NULL: empty */
void sim_thread_stack_set(CUcontext context); /* replaces the top; NULL takes it away */
int sim_thread_stack_push(CUcontext context); /* 0: full */
CUcontext sim_thread_stack_pop(void);
unsigned long long sim_thread_number(void); /* from 1, never used twice */

#endif
