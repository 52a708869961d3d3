// A 5-point stencil in f64 over a tile with a border, constants from constant memory, more shared memory than 48 KB (opt in).
__constant__ double weights[5] = {0.5, 0.125, 0.125, 0.125, 0.125};
__device__ int n_blocks_done;

extern "C" __global__ void stencil(const double *x, double *y, int rows, int columns) {
  extern __shared__ double tile[];
  const int W = 66, H = 98;
  int r0 = blockIdx.y * (H - 2), c0 = blockIdx.x * (W - 2);
  for (int i = threadIdx.x; i < W * H; i += blockDim.x) {
    int r = r0 + i / W - 1, c = c0 + i % W - 1;
    tile[i] = r >= 0 && r < rows && c >= 0 && c < columns ? x[(long long)r * columns + c] : 0;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < (W - 2) * (H - 2); i += blockDim.x) {
    int r = i / (W - 2) + 1, c = i % (W - 2) + 1;
    if (r0 + r - 1 >= rows || c0 + c - 1 >= columns) continue;
    const double *t = tile + r * W + c;
    y[(long long)(r0 + r - 1) * columns + c0 + c - 1] =
        weights[0] * t[0] + weights[1] * t[-1] + weights[2] * t[1] + weights[3] * t[-W] + weights[4] * t[W];
  }
  if (threadIdx.x == 0) atomicAdd(&n_blocks_done, 1);
}
