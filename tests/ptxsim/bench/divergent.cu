// Lanes that take different ways through a loop, with loads and stores of f32 in global memory.
extern "C" __global__ void divergent(const float *x, float *out, int turns) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, state = i;
  float sum = 0;
  for (int t = 0; t < turns; t++) {
    state = state * 1103515245 + 12345;
    int way = (state >> 16) & 3;
    if (way == 0)
      sum += x[(i + t) & 1023];
    else if (way == 1)
      sum = sum * 0.5f + (float)(state & 255);
    else if (way == 2)
      for (int k = 0; k < (state >> 18 & 3); k++) sum -= 0.125f * k;
    else
      sum = fabsf(sum) + 1.0f;
  }
  out[i] = sum;
}
