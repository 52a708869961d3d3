// y = a * x + y on pairs of halves, 16 bytes a thread where they fit, single halves at the end; bf16 the same way.
typedef unsigned int word;

__device__ word fma_half2(word a, word x, word y) {
  word r;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(x), "r"(y));
  return r;
}
__device__ word fma_bf162(word a, word x, word y) {
  word r;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(x), "r"(y));
  return r;
}

template <word (*FMA)(word, word, word)> __device__ void axpy(unsigned short a, const unsigned short *x, unsigned short *y, int n) {
  word aa = a | (word)a << 16;
#ifdef PLANT_MISALIGNED
  int i = (blockIdx.x * blockDim.x + threadIdx.x) * 8 + 1;
#else
  int i = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
#endif
  if (i + 8 <= n) {
    uint4 u = *(const uint4 *)(x + i), v = *(const uint4 *)(y + i);
    v.x = FMA(aa, u.x, v.x);
    v.y = FMA(aa, u.y, v.y);
    v.z = FMA(aa, u.z, v.z);
    v.w = FMA(aa, u.w, v.w);
    *(uint4 *)(y + i) = v;
  } else {
    for (; i < n; i++) y[i] = (unsigned short)FMA(aa, x[i], y[i]);
  }
}

extern "C" __global__ void axpy_half(unsigned short a, const unsigned short *x, unsigned short *y, int n) {
  axpy<fma_half2>(a, x, y, n);
}
extern "C" __global__ void axpy_bf16(unsigned short a, const unsigned short *x, unsigned short *y, int n) {
  axpy<fma_bf162>(a, x, y, n);
}
