// C[m][n] = A[m][k] . B[k][n] with 16-bit inputs and f32 sums: stages filled by cp.async (zero fill at the edges), ldmatrix, mma.m16n8k16.
// A block of 4 warps makes 64 x 64; a warp 32 x 32. n and k are multiples of 8, m is anything. BF16 chooses the type.
#ifndef STAGES
#define STAGES 3
#endif
#ifndef WAIT
#define WAIT (STAGES - 2)
#endif
typedef unsigned short half_bits;
typedef unsigned int word;

enum : int { BM = 64, BN = 64, BK = 32, PITCH_A = BK + 8, PITCH_B = BN + 8 };

__device__ word shared_address(const void *p) { return (word)__cvta_generic_to_shared(p); }

__device__ void copy16(void *to, const void *from, bool inside) {
  int bytes = inside ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(bytes) : "memory");
}

__device__ void load_a(word (&a)[4], const half_bits *at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
               : "r"(shared_address(at))
               : "memory");
}

__device__ void load_b(word (&b)[2], const half_bits *at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(b[0]), "=r"(b[1])
               : "r"(shared_address(at))
               : "memory");
}

__device__ void multiply(float (&c)[4], const word (&a)[4], const word (&b)[2]) {
#ifdef BF16
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
#else
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
#endif
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

struct stage {
  alignas(16) half_bits a[BM][PITCH_A];
  alignas(16) half_bits b[BK][PITCH_B];
};

__device__ void fill(stage &s, const half_bits *a, const half_bits *b, int m, int n, int k, int k0) {
  for (int i = threadIdx.x; i < BM * BK / 8; i += blockDim.x) {
    int r = i / (BK / 8), c = i % (BK / 8) * 8, row = blockIdx.y * BM + r;
    bool inside = row < m && k0 + c < k;
    copy16(&s.a[r][c], inside ? a + (long long)row * k + k0 + c : a, inside);
  }
  for (int i = threadIdx.x; i < BK * BN / 8; i += blockDim.x) {
    int r = i / (BN / 8), c = i % (BN / 8) * 8, column = blockIdx.x * BN + c;
    bool inside = k0 + r < k && column < n;
    copy16(&s.b[r][c], inside ? b + (long long)(k0 + r) * n + column : b, inside);
  }
}

extern "C" __global__ void __launch_bounds__(128, 1)
    matmul_mma(const half_bits *a, const half_bits *b, float *c, int m, int n, int k) {
  extern __shared__ unsigned char raw[];
  stage *stages = (stage *)raw;
  int lane = threadIdx.x & 31, warp = threadIdx.x / 32, row0 = warp / 2 * 32, column0 = warp % 2 * 32;
  float sums[2][4][4] = {};
  int steps = (k + BK - 1) / BK;
  for (int s = 0; s < STAGES - 1; s++) {
    if (s < steps) fill(stages[s], a, b, m, n, k, s * BK);
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  for (int step = 0; step < steps; step++) {
    asm volatile("cp.async.wait_group %0;" ::"n"(WAIT) : "memory");
    __syncthreads();
    int next = step + STAGES - 1;
    if (next < steps) fill(stages[next % STAGES], a, b, m, n, k, next * BK);
    asm volatile("cp.async.commit_group;" ::: "memory");
    const stage &s = stages[step % STAGES];
    for (int kk = 0; kk < BK; kk += 16) {
      word fa[2][4], fb[4][2];
      for (int i = 0; i < 2; i++) load_a(fa[i], &s.a[row0 + 16 * i + (lane & 15)][kk + lane / 16 * 8]);
      for (int j = 0; j < 4; j++) load_b(fb[j], &s.b[kk + (lane & 15)][column0 + 8 * j]);
      for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++) multiply(sums[i][j], fa[i], fb[j]);
    }
  }
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 4; j++)
      for (int e = 0; e < 4; e++) {
        int row = blockIdx.y * BM + row0 + 16 * i + lane / 4 + e / 2 * 8;
        int column = blockIdx.x * BN + column0 + 8 * j + lane % 4 * 2 + e % 2;
        if (row < m && column < n) c[(long long)row * n + column] = sums[i][j][e];
      }
}
