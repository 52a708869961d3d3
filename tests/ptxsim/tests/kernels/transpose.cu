// y[c][r] = x[r][c] by way of a padded tile, 4 rows a thread; and the same without padding, whose columns meet in one bank.
template <int PAD> __device__ void transpose(const float *x, float *y, int rows, int columns) {
  __shared__ float tile[32][32 + PAD];
  int c = blockIdx.x * 32 + threadIdx.x;
  for (int i = threadIdx.y; i < 32; i += 8) {
    int r = blockIdx.y * 32 + i;
#ifdef PLANT_OFF_BY_ONE
    if (r <= rows && c < columns)
#else
    if (r < rows && c < columns)
#endif
      tile[i][threadIdx.x] = x[(long long)r * columns + c];
  }
  __syncthreads();
  int r = blockIdx.y * 32 + threadIdx.x;
  for (int i = threadIdx.y; i < 32; i += 8) {
    int to = blockIdx.x * 32 + i;
    if (r < rows && to < columns) y[(long long)to * rows + r] = tile[threadIdx.x][i];
  }
}

extern "C" __global__ void transpose_padded(const float *x, float *y, int rows, int columns) { transpose<1>(x, y, rows, columns); }
extern "C" __global__ void transpose_plain(const float *x, float *y, int rows, int columns) { transpose<0>(x, y, rows, columns); }
