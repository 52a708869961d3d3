/* launch.c -- running a kernel: resident blocks from the occupancy, the executor, counters, time, the fault's code. */
#include "launch.h"

#include "call.h"
#include "counters.h"
#include "report.h"
#include "settings.h"
#include "time_model.h"

static CUresult code_of(sim_fault_kind kind) {
  switch (kind) {
  case SIM_FAULT_MISALIGNED:
    return CUDA_ERROR_MISALIGNED_ADDRESS;
  case SIM_FAULT_TIME_LIMIT:
  case SIM_FAULT_DEADLOCK:
    return CUDA_ERROR_LAUNCH_TIMEOUT;
  case SIM_FAULT_TRAP:
    return CUDA_ERROR_LAUNCH_FAILED;
  case SIM_FAULT_STACK:
    return CUDA_ERROR_HARDWARE_STACK_ERROR;
  case SIM_FAULT_BAD_CALL:
    return CUDA_ERROR_INVALID_PC;
  case SIM_FAULT_NO_MEMORY:
    return CUDA_ERROR_OUT_OF_MEMORY;
  case SIM_FAULT_LAUNCH:
    return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  case SIM_FAULT_DIVERGED:
  case SIM_FAULT_EXITED_LANE:
  case SIM_FAULT_BAD_MASK:
  case SIM_FAULT_BARRIER:
    return CUDA_ERROR_ILLEGAL_INSTRUCTION;
  default:
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  }
}

CUresult sim_launch_kernel(sim_context *context, const sim_kernel_work *k, uint64_t *duration_ps) {
  const sim_settings *settings = sim_settings_get();
  const sim_model *model = context->device->model;
  CUresult result = CUDA_SUCCESS;
  const sim_function_object *f = sim_function_find(k->function, &result);
  if (f == NULL) return result;
  int threads = (int)(k->block[0] * k->block[1] * k->block[2]);
  sim_block_needs needs = sim_function_needs(f, threads, k->dynamic_shared);
  sim_launched done = {
      .name = f->facts->name, .registers = f->registers, .registers_from_cubin = f->cubin != NULL, .threads = threads};
  done.blocks_per_sm = sim_occupancy_blocks(model, &needs);
  sim_launch launch = {.function = f->code,
                       .profile = &model->profile,
                       .memory = context->memory,
                       .dynamic_shared = k->dynamic_shared,
                       .params = k->params,
                       .param_bytes = k->param_bytes,
                       .registers = f->registers,
                       .resident_blocks = done.blocks_per_sm * model->profile.sm_count,
                       .seed = settings->seed + context->n_launches++,
                       .checks = settings->checks,
                       .instruction_limit = settings->instruction_limit};
  for (int i = 0; i < 3; i++) {
    launch.grid[i] = done.grid[i] = k->grid[i];
    launch.block[i] = k->block[i];
    launch.cluster[i] = k->cluster[i];
  }
  sim_fault fault = {0};
  int failed = sim_launch_run(&launch, &done.counters, &fault) != 0;
  *duration_ps = done.time_ps = sim_time_kernel_ps(model, &done);
  sim_counters_add(&done);
  if (!failed) return CUDA_SUCCESS;
  sim_report_fault(fault.text);
  return code_of(fault.kind);
}
