/* copy.c -- copies and fills when their turn comes; a range that was freed since the call is a fault, as on a device. */
#include "copy.h"

#include "call.h"
#include "report.h"

#include <stdio.h>

static void describe(const sim_memory *memory, uint64_t address, char *text, size_t size) {
  const sim_allocation *a = sim_memory_nearest(memory, address);
  if (a == NULL)
    snprintf(text, size, "nothing is allocated");
  else
    snprintf(text, size, "the nearest allocation is 0x%llx with %llu bytes%s, offset %lld", (unsigned long long)a->base,
             (unsigned long long)a->bytes, a->state == SIM_FREED ? ", freed" : "", (long long)(address - a->base));
}

CUresult sim_copy_check_device(const sim_context *context, uint64_t address, uint64_t bytes, const char *what) {
  const sim_allocation *a = sim_memory_find(context->memory, address);
  char where[160];
  if (bytes == 0) return CUDA_SUCCESS;
  if (a != NULL && a->state == SIM_LIVE && bytes <= a->bytes - (address - a->base)) return CUDA_SUCCESS;
  describe(context->memory, address, where, sizeof where);
  return sim_refuse(CUDA_ERROR_INVALID_VALUE, "%s 0x%llx with %llu bytes is not within one allocation; %s", what,
                    (unsigned long long)address, (unsigned long long)bytes, where);
}

static CUresult fail(const sim_context *context, const char *what, uint64_t address, uint64_t bytes) {
  char text[512], where[160];
  describe(context->memory, address, where, sizeof where);
  snprintf(text, sizeof text, "a queued %s finds 0x%llx with %llu bytes no longer allocated; %s", what,
           (unsigned long long)address, (unsigned long long)bytes, where);
  sim_report_fault(text);
  return CUDA_ERROR_ILLEGAL_ADDRESS;
}

/* What the host reads back and nobody wrote is legal, and nearly always wrong. */
static void look_for_undefined(const sim_context *context, uint64_t from, uint64_t bytes) {
  uint64_t first = sim_memory_first_undefined(context->memory, from, bytes);
  if (first == UINT64_MAX) return;
  const sim_allocation *a = sim_memory_find(context->memory, first);
  sim_report_finding(
      "the host reads 0x%llx with %llu bytes; byte %llu of them was never written (offset %llu of the allocation 0x%llx "
      "with %llu bytes)",
      (unsigned long long)from, (unsigned long long)bytes, (unsigned long long)(first - from),
      a == NULL ? 0ULL : (unsigned long long)(first - a->base), a == NULL ? 0ULL : (unsigned long long)a->base,
      a == NULL ? 0ULL : (unsigned long long)a->bytes);
}

CUresult sim_copy_run(sim_context *context, const sim_copy_work *copy) {
  sim_memory *memory = context->memory;
  if (copy->bytes == 0) return CUDA_SUCCESS;
  if (copy->to_device != 0 && copy->from_device != 0) {
    if (sim_memory_copy(memory, copy->to_device, copy->from_device, copy->bytes) == 0) return CUDA_SUCCESS;
    return fail(context, "copy", sim_memory_find(memory, copy->from_device) == NULL ? copy->from_device : copy->to_device,
                copy->bytes);
  }
  if (copy->to_device != 0) {
    const void *from = copy->staged != NULL ? copy->staged : copy->from_host;
    if (sim_memory_write(memory, copy->to_device, from, copy->bytes) == 0) return CUDA_SUCCESS;
    return fail(context, "copy from the host", copy->to_device, copy->bytes);
  }
  if (sim_memory_read(memory, copy->to_host, copy->from_device, copy->bytes) != 0)
    return fail(context, "copy to the host", copy->from_device, copy->bytes);
  look_for_undefined(context, copy->from_device, copy->bytes);
  return CUDA_SUCCESS;
}

CUresult sim_fill_run(sim_context *context, const sim_work *work) {
  uint64_t bytes = work->fill.units * (uint64_t)work->fill.unit_bytes;
  if (bytes == 0) return CUDA_SUCCESS;
  if (sim_memory_fill(context->memory, work->fill.to, &work->fill.value, work->fill.unit_bytes, work->fill.units) == 0)
    return CUDA_SUCCESS;
  return fail(context, "memset", work->fill.to, bytes);
}

CUresult sim_release_run(sim_context *context, uint64_t address) {
  if (sim_memory_release(context->memory, address) == 0) return CUDA_SUCCESS;
  return fail(context, "free", address, 0);
}
