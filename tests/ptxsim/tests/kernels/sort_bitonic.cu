// Sorts 512 keys and their places in shared memory that the launch gives: dynamic, two arrays in it.
extern "C" __global__ void sort_bitonic(const float *keys, float *sorted, int *places, int n) {
  extern __shared__ char raw[];
  float *k = (float *)raw;
  int *p = (int *)(k + 512), base = blockIdx.x * 512;
  for (int i = threadIdx.x; i < 512; i += blockDim.x) {
    k[i] = base + i < n ? keys[base + i] : __int_as_float(0x7f800000);
    p[i] = base + i;
  }
  __syncthreads();
  for (int size = 2; size <= 512; size *= 2)
    for (int stride = size / 2; stride > 0; stride /= 2) {
      int i = 2 * threadIdx.x - (threadIdx.x & (stride - 1)), j = i + stride;
      bool up = (i & size) == 0;
      if ((k[i] > k[j]) == up) {
        float t = k[i];
        k[i] = k[j];
        k[j] = t;
        int q = p[i];
        p[i] = p[j];
        p[j] = q;
      }
      __syncthreads();
    }
  for (int i = threadIdx.x; i < 512; i += blockDim.x)
    if (base + i < n) {
      sorted[base + i] = k[i];
      places[base + i] = p[i];
    }
}
