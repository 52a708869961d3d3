// C[m][n] = sum over k of A[m][k] * B[k][n], f32, tiles of 16 x 16 in shared memory; no size is a multiple of the tile.
extern "C" __global__ void matmul_tiled(const float *a, const float *b, float *c, int m, int n, int k) {
  __shared__ float a_tile[16][17], b_tile[16][17];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float sum = 0;
  for (int k0 = 0; k0 < k; k0 += 16) {
    a_tile[y][x] = row < m && k0 + x < k ? a[row * k + k0 + x] : 0;
    b_tile[y][x] = column < n && k0 + y < k ? b[(k0 + y) * n + column] : 0;
    __syncthreads();
    for (int i = 0; i < 16; i++) sum += a_tile[y][i] * b_tile[i][x];
#ifndef PLANT_NO_BARRIER
    __syncthreads();
#endif
  }
  if (row < m && column < n) c[row * n + column] = sum;
}
