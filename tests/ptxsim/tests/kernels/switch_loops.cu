// A switch that splits the warp, in loops of different lengths, with breaks, continues and early returns.
extern "C" __global__ void switch_loops(const int *program, int length, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int acc = i, spins = 0;
  for (int pc = 0; pc < length; pc++) {
    int op = program[(pc * 7 + i) % length];
    switch (op) {
    case 0: acc += pc; break;
    case 1: acc ^= i << (pc & 7); break;
    case 2:
      for (int k = 0; k < (i & 15); k++) {
        if (((acc + k) & 31) == 5) break;
        if (k & 1) continue;
        acc += k * 3;
      }
      break;
    case 3:
      while ((acc & 3) != 0 && spins < 1000) {
        acc = acc * 5 + 1;
        spins++;
      }
      break;
    case 4:
      if (acc < 0) {
        out[i] = acc ^ 0x55;
        return;
      }
      acc = -acc;
      break;
    case 5: acc = (int)((unsigned)acc >> 3 | (unsigned)acc << 29); // falls through
    case 6: acc -= 17; break;
    default: acc = acc % 1009 + op;
    }
  }
  out[i] = acc + spins;
}
