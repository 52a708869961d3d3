// Softmax of rows, a block a row: maximum and sum over the block, ex2.approx and a true division.
__device__ float over_block(float v, float *shared, bool most) {
  for (int d = 16; d > 0; d /= 2) {
    float other = __shfl_xor_sync(0xffffffff, v, d);
    v = most ? fmaxf(v, other) : v + other;
  }
  if ((threadIdx.x & 31) == 0) shared[threadIdx.x / 32] = v;
  __syncthreads();
  v = shared[0];
  for (int i = 1; i < (int)blockDim.x / 32; i++) v = most ? fmaxf(v, shared[i]) : v + shared[i];
  __syncthreads();
  return v;
}

extern "C" __global__ void softmax(const float *x, float *y, int columns) {
  __shared__ float shared[32];
  const float *from = x + (long long)blockIdx.x * columns;
  float *to = y + (long long)blockIdx.x * columns;
  float most = -__int_as_float(0x7f800000);
  for (int i = threadIdx.x; i < columns; i += blockDim.x) most = fmaxf(most, from[i]);
  most = over_block(most, shared, true);
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += exp2f((from[i] - most) * 1.44269504f);
  sum = over_block(sum, shared, false);
#ifdef PLANT_ROW_WRITTEN_TWICE
  if (blockIdx.x == 1) to = y;
#endif
  for (int i = threadIdx.x; i < columns; i += blockDim.x) to[i] = exp2f((from[i] - most) * 1.44269504f) / sum;
}
