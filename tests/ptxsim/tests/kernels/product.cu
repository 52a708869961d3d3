// Behind the core's product.cuh: a warp a block, c[16][8] = a[16][k] . b[8][k], k a multiple of 16; elements as they are stored.
extern "C" __global__ void product_tile(const elem *a, const elem *b, float *c, int k) {
  const int lane = threadIdx.x, g = lane / 4, t = lane % 4;
  a += (i64)blockIdx.x * 16 * k;
  b += (i64)blockIdx.x * 8 * k;
  c += (i64)blockIdx.x * 16 * 8;
  float s[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll 1
  for (int k0 = 0; k0 < k; k0 += 16) {
    u32 row[3][QUAD_WORDS];
    for (int r = 0; r < 3; r++)
      for (int i = 0; i < QUAD_WORDS; i++) {
        const elem *line = r == 0 ? a + g * k : r == 1 ? a + (g + 8) * k : b + g * k;
        row[r][i] = ((const u32 *)(line + k0 + 4 * t))[i];
      }
    add_product(s, make_a(row[0], row[1]), make_b(row[2]));
  }
  c[g * 8 + 2 * t] = s[0];
  c[g * 8 + 2 * t + 1] = s[1];
  c[(g + 8) * 8 + 2 * t] = s[2];
  c[(g + 8) * 8 + 2 * t + 1] = s[3];
}

#if ELEM_BYTES == 2
// The same by ldmatrix, from rows that cp.async brought, with and without turning; b is [k][8]. k is at most 64.
extern "C" __global__ void product_shared(const elem *a, const elem *b, float *c, int k) {
  __shared__ __align__(16) elem sa[16][72], sb[64][8];
  const int lane = threadIdx.x, g = lane / 4, t = lane % 4;
  for (int i = lane; i < 16 * k / 8; i += 32) copy_async<16>(&sa[i / (k / 8)][i % (k / 8) * 8], a + i * 8, true);
  copy_async_commit();
  for (int i = lane; i < 16 * 64 / 4; i += 32) /* zeros past k, and where there is no memory */
    if (i % 16 * 4 >= k) copy_async<8>(&sa[i / 16][i % 16 * 4], a, false);
  for (int i = lane; i < 64 * 8 / 2; i += 32) copy_async<4>(&sb[i / 4][i % 4 * 2], i / 4 < k ? b + i * 2 : b, i / 4 < k);
  copy_async_commit();
  copy_async_wait<1>();
  copy_async_wait<0>();
  __syncwarp();
  float s[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  for (int k0 = 0; k0 < 64; k0 += 16) {
    u32 wa[4], wb[2], half[2], one[1];
    ldmatrix<4, false>(&sa[lane % 16][k0 + lane / 16 * 8], wa);
    if (k0 % 32 == 0) {
      ldmatrix<2, true>(&sb[k0 + lane % 16][0], wb);
    } else { /* block by block, and turned by hand */
      ldmatrix<1, true>(&sb[k0 + lane % 8][0], one);
      wb[0] = one[0];
      ldmatrix<1, false>(&sb[k0 + 8 + lane % 8][0], one);
      wb[1] = movmatrix(one[0]);
    }
    if (k0 >= 32) { /* in two halves */
      for (int h = 0; h < 2; h++) {
        half[0] = wa[2 * h];
        half[1] = wa[2 * h + 1];
        if (DTYPE == DTYPE_F16)
          mma_f16_k8(s, half, wb[h]);
        else
          mma_bf16_k8(s, half, wb[h]);
      }
    } else if (DTYPE == DTYPE_F16) {
      mma_f16(s, wa, wb);
    } else {
      mma_bf16(s, wa, wb);
    }
  }
  c[g * 8 + 2 * t] = s[0];
  c[g * 8 + 2 * t + 1] = s[1];
  c[(g + 8) * 8 + 2 * t] = s[2];
  c[(g + 8) * 8 + 2 * t + 1] = s[3];
}
#endif
