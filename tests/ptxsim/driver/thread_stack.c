/* thread_stack.c -- what is current in this thread. */
#include "thread_stack.h"

enum { DEPTH = 64 };
static __thread CUcontext stack[DEPTH];
static __thread int depth;
static __thread unsigned long long number;

CUcontext sim_thread_stack_top(void) {
  return depth == 0 ? NULL : stack[depth - 1];
}

void sim_thread_stack_set(CUcontext context) {
  if (depth > 0) depth--;
  if (context != NULL) stack[depth++] = context;
}

int sim_thread_stack_push(CUcontext context) {
  if (depth == DEPTH) return 0;
  stack[depth++] = context;
  return 1;
}

CUcontext sim_thread_stack_pop(void) {
  return depth == 0 ? NULL : stack[--depth];
}

unsigned long long sim_thread_number(void) {
  static unsigned long long last;
  if (number == 0) number = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
  return number;
}
