/* launch_check.c -- what a launch may not be. The codes are the driver's: INVALID_VALUE for the device's limits,
 * LAUNCH_OUT_OF_RESOURCES where the kernel's registers or launch bounds are the reason. */
#include "call.h"
#include "launch.h"

static CUresult check_dims(const sim_profile *p, const char *name, const sim_kernel_work *k) {
  static const char axis[] = "xyz";
  for (int i = 0; i < 3; i++) {
    if (k->grid[i] == 0 || k->grid[i] > (uint64_t)p->max_grid[i])
      return sim_refuse(CUDA_ERROR_INVALID_VALUE, "%s: a grid of %u in %c; 1 to %lld are possible", name, k->grid[i], axis[i],
                        (long long)p->max_grid[i]);
    if (k->block[i] == 0 || k->block[i] > (unsigned)p->max_block[i])
      return sim_refuse(CUDA_ERROR_INVALID_VALUE, "%s: a block of %u in %c; 1 to %d are possible", name, k->block[i], axis[i],
                        p->max_block[i]);
  }
  return CUDA_SUCCESS;
}

static CUresult check_threads(const sim_function_object *f, const sim_profile *p, const sim_kernel_work *k, uint64_t threads) {
  const sim_function_facts *facts = f->facts;
  if (threads > (uint64_t)p->max_threads_per_block)
    return sim_refuse(CUDA_ERROR_INVALID_VALUE, "%s: blocks of %llu threads; %d are possible", facts->name,
                      (unsigned long long)threads, p->max_threads_per_block);
  if (facts->reqntid[0] > 0)
    for (int i = 0; i < 3; i++)
      if ((int)k->block[i] != (facts->reqntid[i] > 0 ? facts->reqntid[i] : 1))
        return sim_refuse(CUDA_ERROR_INVALID_VALUE, "%s: a block of %u x %u x %u; its .reqntid asks for %d x %d x %d",
                          facts->name, k->block[0], k->block[1], k->block[2], facts->reqntid[0], facts->reqntid[1],
                          facts->reqntid[2]);
  int most = sim_function_max_threads(f);
  if (threads > (uint64_t)most)
    return sim_refuse(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
                      "%s: blocks of %llu threads; its %d registers and launch bounds allow %d", facts->name,
                      (unsigned long long)threads, f->registers, most);
  return CUDA_SUCCESS;
}

static CUresult check_cluster(const sim_model *m, const sim_function_object *f, const sim_kernel_work *k) {
  uint64_t blocks = (uint64_t)k->cluster[0] * k->cluster[1] * k->cluster[2];
  int most = f->non_portable_cluster ? m->max_cluster_non_portable : m->max_cluster;
  if (blocks <= 1) return CUDA_SUCCESS;
  if (m->max_cluster == 1)
    return sim_refuse(CUDA_ERROR_NOT_SUPPORTED, "%s: %s has no clusters", f->facts->name, m->profile.name);
  if (blocks > (uint64_t)most)
    return sim_refuse(CUDA_ERROR_INVALID_CLUSTER_SIZE, "%s: clusters of %llu blocks; %d are possible", f->facts->name,
                      (unsigned long long)blocks, most);
  for (int i = 0; i < 3; i++)
    if (k->cluster[i] == 0 || k->grid[i] % k->cluster[i] != 0)
      return sim_refuse(CUDA_ERROR_INVALID_VALUE, "%s: a grid of %u x %u x %u is no multiple of the cluster %u x %u x %u",
                        f->facts->name, k->grid[0], k->grid[1], k->grid[2], k->cluster[0], k->cluster[1], k->cluster[2]);
  return CUDA_SUCCESS;
}

CUresult sim_launch_check(const sim_function_object *f, const sim_kernel_work *k) {
  const sim_model *m = f->module->context->device->model;
  uint64_t threads = (uint64_t)k->block[0] * k->block[1] * k->block[2];
  CUresult result = check_dims(&m->profile, f->facts->name, k);
  if (result == CUDA_SUCCESS) result = check_threads(f, &m->profile, k, threads);
  if (result == CUDA_SUCCESS) result = check_cluster(m, f, k);
  if (result != CUDA_SUCCESS) return result;
  if (k->dynamic_shared > (uint32_t)f->max_dynamic_shared)
    return sim_refuse(
        CUDA_ERROR_INVALID_VALUE,
        "%s: %u bytes of dynamic shared memory; %d are allowed beside %u static bytes (cuFuncSetAttribute raises it)",
        f->facts->name, k->dynamic_shared, f->max_dynamic_shared, f->facts->static_shared_bytes);
  sim_block_needs needs = sim_function_needs(f, (int)threads, k->dynamic_shared);
  int blocks = sim_occupancy_blocks(m, &needs);
  if (blocks == 0)
    return sim_refuse(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
                      "%s: not one block of %llu threads, %d registers and %lld shared bytes fits", f->facts->name,
                      (unsigned long long)threads, needs.registers, (long long)needs.shared_bytes);
  uint64_t grid = (uint64_t)k->grid[0] * k->grid[1] * k->grid[2], resident = (uint64_t)blocks * (uint64_t)m->profile.sm_count;
  if (k->cooperative && grid > resident)
    return sim_refuse(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "%s: %llu blocks; %llu are resident at once", f->facts->name,
                      (unsigned long long)grid, (unsigned long long)resident);
  return CUDA_SUCCESS;
}
