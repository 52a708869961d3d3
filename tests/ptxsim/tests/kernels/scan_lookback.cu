// Inclusive scan of ints in one pass: each block publishes its sum, then looks back over the blocks before it. Blocks take their number
// from a counter, so that those before a block have begun; resident blocks must make progress.
struct state {
  unsigned long long value; // 0: nothing; 1 << 32 | sum: of the block; 2 << 32 | sum: of all up to the block
};

extern "C" __global__ void scan_lookback(const int *x, int *y, int n, unsigned *counter, state *states) {
  __shared__ int warp_sums[32];
  __shared__ unsigned tile_shared;
  __shared__ int before_shared;
  if (threadIdx.x == 0) tile_shared = atomicAdd(counter, 1u);
  __syncthreads();
  unsigned tile = tile_shared;
  int i = tile * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x / 32;
  int v = i < n ? x[i] : 0;
  for (int d = 1; d < 32; d *= 2) {
    int other = __shfl_up_sync(0xffffffff, v, d);
    if (lane >= d) v += other;
  }
  if (lane == 31) warp_sums[warp] = v;
  __syncthreads();
  if (warp == 0) {
    int s = lane < (int)blockDim.x / 32 ? warp_sums[lane] : 0;
    for (int d = 1; d < 32; d *= 2) {
      int other = __shfl_up_sync(0xffffffff, s, d);
      if (lane >= d) s += other;
    }
    warp_sums[lane] = s;
  }
  __syncthreads();
  if (warp > 0) v += warp_sums[warp - 1];
  int block_sum = warp_sums[blockDim.x / 32 - 1];
  if (threadIdx.x == 0) {
    int before = 0;
    if (tile == 0) {
      atomicExch(&states[0].value, 2ull << 32 | (unsigned)block_sum);
    } else {
      atomicExch(&states[tile].value, 1ull << 32 | (unsigned)block_sum);
      for (int t = tile - 1;;) {
        unsigned long long seen = atomicAdd(&states[t].value, 0ull);
        if (seen == 0) continue;
        before += (int)(unsigned)seen;
        if (seen >> 32 == 2) break;
        t--;
      }
      atomicExch(&states[tile].value, 2ull << 32 | (unsigned)(before + block_sum));
    }
    before_shared = before;
  }
  __syncthreads();
  if (i < n) y[i] = v + before_shared;
}
