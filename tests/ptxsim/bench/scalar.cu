// A loop of f32 arithmetic: 16 fused multiply-adds a turn, no memory in it.
extern "C" __global__ void scalar(float *out, int turns) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float a = i * 0.001f, b = a + 0.5f, c = a - 0.25f, d = 1.0f - a;
  for (int t = 0; t < turns; t++) {
#pragma unroll
    for (int k = 0; k < 4; k++) {
      a = a * 0.999f + b;
      b = b * 0.998f - c;
      c = c * 0.997f + d;
      d = d * 0.996f - a * 0.001f;
    }
  }
  out[i] = a + b + c + d;
}
