/* number.cuh -- runs of elements between memory and f32 registers. */

DEV float f32_of(u16 v) {
  if constexpr (DTYPE == DTYPE_F16)
    return f32_of_f16(v);
  else
    return f32_of_bits((u32)v << 16);
}

DEV void store(float *p, float v) { *p = v; }
DEV void store(u16 *p, float v) {
  if constexpr (DTYPE == DTYPE_F16)
    *p = f16_of_f32(v);
  else
    *p = bf16_of_f32<DEVICE_SM>(v);
}

/* V elements of global memory, read in the widest pieces that an address of A-byte alignment allows. Both are powers of two. */
template <int V, int A> DEV void load_run(const float *p, float (&v)[V]) {
  enum : int { N = least<V, A / 4>::value };
#pragma unroll
  for (int at = 0; at < V; at += N) {
    u32 w[N];
    load_words<N>(p + at, w);
#pragma unroll
    for (int i = 0; i < N; i++) v[at + i] = f32_of_bits(w[i]);
  }
}

template <int V, int A> DEV void load_run(const u16 *p, float (&v)[V]) {
  if constexpr (V == 1 || A == 2) {
#pragma unroll
    for (int i = 0; i < V; i++) v[i] = f32_of(load_half_word(p + i));
  } else {
    enum : int { N = least<V / 2, A / 4>::value };
#pragma unroll
    for (int at = 0; at < V; at += 2 * N) {
      u32 w[N];
      load_words<N>(p + at, w);
#pragma unroll
      for (int i = 0; i < N; i++) {
        v[at + 2 * i] = f32_of((u16)(w[i] & 0xffffu));
        v[at + 2 * i + 1] = f32_of((u16)(w[i] >> 16));
      }
    }
  }
}
