/* occupancy_calls.c -- cuOccupancy*. */
#include "call.h"
#include "module.h"

static int blocks_of(const sim_function_object *f, int threads, size_t dynamic_shared) {
  if (threads > sim_function_max_threads(f) || dynamic_shared > (size_t)f->max_dynamic_shared) return 0;
  sim_block_needs needs = sim_function_needs(f, threads, (int64_t)dynamic_shared);
  return sim_occupancy_blocks(f->module->context->device->model, &needs);
}

static CUresult active_blocks(int *out, CUfunction handle, int threads, size_t dynamic_shared) {
  CUresult result = CUDA_SUCCESS;
  const sim_function_object *f = sim_function_find(handle, &result);
  if (f == NULL) return result;
  if (out == NULL || threads < 1)
    return sim_refuse(CUDA_ERROR_INVALID_VALUE, "blocks of %d threads, or the address is NULL", threads);
  *out = blocks_of(f, threads, dynamic_shared);
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_CONTEXT, cuOccupancyMaxActiveBlocksPerMultiprocessor,
         (int *out, CUfunction function, int threads, size_t dynamic_shared), (out, function, threads, dynamic_shared)) {
  return active_blocks(out, function, threads, dynamic_shared);
}

SIM_CALL(SIM_CONTEXT, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
         (int *out, CUfunction function, int threads, size_t dynamic_shared, unsigned flags),
         (out, function, threads, dynamic_shared, flags)) {
  if (flags > 1) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "flags are %u, must be 0 or 1", flags);
  return active_blocks(out, function, threads, dynamic_shared);
}

/* Most threads resident at once; of equal ones the largest block, which is tried first. */
static CUresult best_block(int *min_grid, int *block, CUfunction handle, CUoccupancyB2DSize shared_of, size_t dynamic_shared,
                           int limit) {
  CUresult result = CUDA_SUCCESS;
  const sim_function_object *f = sim_function_find(handle, &result);
  if (f == NULL) return result;
  if (min_grid == NULL || block == NULL || limit < 0)
    return sim_refuse(CUDA_ERROR_INVALID_VALUE, "an address is NULL, or the limit of the block is negative");
  const sim_profile *p = &f->module->context->device->model->profile;
  int most = sim_function_max_threads(f), best = 0;
  if (limit > 0 && limit < most) most = limit;
  *min_grid = *block = 0;
  for (int threads = (most + p->warp_size - 1) / p->warp_size * p->warp_size; threads > 0; threads -= p->warp_size) {
    int tried = threads < most ? threads : most;
    int blocks = blocks_of(f, tried, shared_of != NULL ? shared_of(tried) : dynamic_shared);
    if (blocks * tried <= best) continue;
    best = blocks * tried;
    *block = tried;
    *min_grid = blocks * p->sm_count;
  }
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_CONTEXT, cuOccupancyMaxPotentialBlockSize,
         (int *min_grid, int *block, CUfunction function, CUoccupancyB2DSize shared_of, size_t dynamic_shared, int limit),
         (min_grid, block, function, shared_of, dynamic_shared, limit)) {
  return best_block(min_grid, block, function, shared_of, dynamic_shared, limit);
}

SIM_CALL(SIM_CONTEXT, cuOccupancyMaxPotentialBlockSizeWithFlags,
         (int *min_grid, int *block, CUfunction function, CUoccupancyB2DSize shared_of, size_t dynamic_shared, int limit,
          unsigned flags),
         (min_grid, block, function, shared_of, dynamic_shared, limit, flags)) {
  if (flags > 1) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "flags are %u, must be 0 or 1", flags);
  return best_block(min_grid, block, function, shared_of, dynamic_shared, limit);
}

/* The largest dynamic shared memory with which that many blocks fit: by halving, since more memory never fits more blocks. */
SIM_CALL(SIM_CONTEXT, cuOccupancyAvailableDynamicSMemPerBlock, (size_t * out, CUfunction handle, int n_blocks, int threads),
         (out, handle, n_blocks, threads)) {
  CUresult result = CUDA_SUCCESS;
  const sim_function_object *f = sim_function_find(handle, &result);
  if (f == NULL) return result;
  if (out == NULL || n_blocks < 1 || blocks_of(f, threads, 0) < n_blocks)
    return sim_refuse(CUDA_ERROR_INVALID_VALUE, "%d blocks of %d threads do not fit", n_blocks, threads);
  size_t fits = 0, fails = (size_t)f->max_dynamic_shared + 1;
  while (fails - fits > 1) {
    size_t middle = fits + (fails - fits) / 2;
    if (blocks_of(f, threads, middle) >= n_blocks)
      fits = middle;
    else
      fails = middle;
  }
  *out = fits;
  return CUDA_SUCCESS;
}
