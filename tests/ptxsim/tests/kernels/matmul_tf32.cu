// One warp: C[16][8] = A[16][k] . B[k][8] with mma.m16n8k8 in tf32, fragments straight from global memory; k a multiple of 8.
__device__ unsigned to_tf32(float v) {
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(v));
  return bits;
}

extern "C" __global__ void matmul_tf32(const float *a, const float *b, float *c, int k) {
  int lane = threadIdx.x, g = lane / 4, t = lane % 4;
  float s[4] = {};
  for (int k0 = 0; k0 < k; k0 += 8) {
    unsigned fa[4] = {to_tf32(a[g * k + k0 + t]), to_tf32(a[(g + 8) * k + k0 + t]), to_tf32(a[g * k + k0 + t + 4]),
                      to_tf32(a[(g + 8) * k + k0 + t + 4])};
    unsigned fb[2] = {to_tf32(b[(k0 + t) * 8 + g]), to_tf32(b[(k0 + t + 4) * 8 + g])};
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3])
                 : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
  }
  c[g * 8 + 2 * t] = s[0];
  c[g * 8 + 2 * t + 1] = s[1];
  c[(g + 8) * 8 + 2 * t] = s[2];
  c[(g + 8) * 8 + 2 * t + 1] = s[3];
}
