// Sums and maxima of rows: a warp a row, shuffles, votes; the last warp of a block may have fewer rows than warps.
extern "C" __global__ void warp_reduce(const float *x, float *sum, float *most, int *positive, int rows, int columns) {
  int lane = threadIdx.x & 31, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  if (row >= rows) return; // whole warps
  float s = 0, m = -__int_as_float(0x7f800000);
  int count = 0;
  for (int i = lane; i < (columns + 31) / 32 * 32; i += 32) {
    float v = i < columns ? x[(long long)row * columns + i] : 0;
    s += v;
    m = i < columns ? fmaxf(m, v) : m;
    count += __popc(__ballot_sync(0xffffffff, i < columns && v > 0));
  }
  for (int d = 16; d > 0; d /= 2) {
#ifdef PLANT_LANE_MISSING
    if (lane != 5) s += __shfl_xor_sync(0xffffffff, s, d);
#else
    s += __shfl_xor_sync(0xffffffff, s, d);
#endif
    m = fmaxf(m, __shfl_down_sync(0xffffffff, m, d));
  }
  if (lane == 0) {
    sum[row] = s;
    most[row] = m;
    positive[row] = count;
  }
}

// The first lane that has the same key as this one, by match; and the sum over the lanes of the same key.
extern "C" __global__ void warp_match(const int *key, int *first, int *total, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int k = i < n ? key[i] : -1;
  unsigned same = __match_any_sync(0xffffffff, k);
  int sum = 0;
  for (unsigned rest = same; rest != 0; rest &= rest - 1) sum += __ffs(rest);
  if (i < n) {
    first[i] = __ffs(same) - 1;
    total[i] = sum;
  }
}
