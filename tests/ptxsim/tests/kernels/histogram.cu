// Counts of bytes: atomics in shared memory, then in global memory. And sums by key with red on floats that add exactly.
extern "C" __global__ void histogram(const unsigned char *x, int n, unsigned *counts) {
  __shared__ unsigned own[256];
#ifdef PLANT_UNWRITTEN_TAIL
  for (int i = threadIdx.x; i < 192; i += blockDim.x) own[i] = 0;
#else
  for (int i = threadIdx.x; i < 256; i += blockDim.x) own[i] = 0;
#endif
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[x[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    if (own[i] != 0) atomicAdd(&counts[i], own[i]);
}

extern "C" __global__ void sums_by_key(const int *key, const float *value, int n, float *sums, int *least, int *most) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  atomicAdd(&sums[key[i]], value[i]);
  atomicMin(&least[key[i]], i);
  atomicMax(&most[key[i]], i);
}

// A float maximum by compare and swap.
extern "C" __global__ void most_by_swap(const float *x, int n, int *most_bits) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int seen = *(volatile int *)most_bits;
  while (__int_as_float(seen) < x[i]) {
    int before = atomicCAS(most_bits, seen, __float_as_int(x[i]));
    if (before == seen) break;
    seen = before;
  }
}
