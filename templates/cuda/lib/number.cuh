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

DEV u32 pair_of_f32(float low, float high) { /* two elements of 16 bits, in the order of memory */
  if constexpr (DTYPE == DTYPE_F16)
    return f16x2_of_f32<DEVICE_SM>(low, high);
  else
    return bf16x2_of_f32<DEVICE_SM>(low, high);
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

/* V elements to global memory, in the widest pieces that an address of A-byte alignment allows. */
template <int V, int A> DEV void store_run(float *p, const float (&v)[V]) {
  enum : int { N = least<V, A / 4>::value };
#pragma unroll
  for (int at = 0; at < V; at += N) {
    u32 w[N];
#pragma unroll
    for (int i = 0; i < N; i++) w[i] = bits_of_f32(v[at + i]);
    store_words<N>(p + at, w);
  }
}

template <int V, int A> DEV void store_run(u16 *p, const float (&v)[V]) {
  if constexpr (V == 1 || A == 2) {
#pragma unroll
    for (int i = 0; i < V; i++) store(p + i, v[i]);
  } else {
    enum : int { N = least<V / 2, A / 4>::value };
#pragma unroll
    for (int at = 0; at < V; at += 2 * N) {
      u32 w[N];
#pragma unroll
      for (int i = 0; i < N; i++) w[i] = pair_of_f32(v[at + 2 * i], v[at + 2 * i + 1]);
      store_words<N>(p + at, w);
    }
  }
}

/* V elements that this kernel may write: what y holds before something is added. */
template <int V, int A> DEV void load_back(const float *p, float (&v)[V]) {
  enum : int { N = least<V, A / 4>::value };
#pragma unroll
  for (int at = 0; at < V; at += N) {
    u32 w[N];
    load_words_back<N>(p + at, w);
#pragma unroll
    for (int i = 0; i < N; i++) v[at + i] = f32_of_bits(w[i]);
  }
}

template <int V, int A> DEV void load_back(const u16 *p, float (&v)[V]) {
  if constexpr (V == 1 || A == 2) {
#pragma unroll
    for (int i = 0; i < V; i++) v[i] = f32_of(p[i]);
  } else {
    enum : int { N = least<V / 2, A / 4>::value };
#pragma unroll
    for (int at = 0; at < V; at += 2 * N) {
      u32 w[N];
      load_words_back<N>(p + at, w);
#pragma unroll
      for (int i = 0; i < N; i++) {
        v[at + 2 * i] = f32_of((u16)(w[i] & 0xffffu));
        v[at + 2 * i + 1] = f32_of((u16)(w[i] >> 16));
      }
    }
  }
}
