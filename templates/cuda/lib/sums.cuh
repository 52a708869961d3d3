/* sums.cuh -- OUTPUTS neighbouring outputs of one row, summed over k by LANES neighbouring threads.
 *
 * Lane l takes the runs of CHUNK values that begin at l * CHUNK, and every LANES * CHUNK further on, in rising order, one fma a
 * value; then the lanes' sums are added in a butterfly. The order hangs on LANES and CHUNK alone, so load widths, OUTPUTS and
 * the block's shape leave the bits as they are. A lane without work adds +0.
 */

/* Where a row's values come from: global memory, or the block's shared memory. */
template <class S, int A> struct from_global {
  const S *p;
  template <int V> __device__ __forceinline__ void get(int k, float (&v)[V]) const {
    load_run<V, V == 1 ? (int)sizeof(S) : A>(p + k, v);
  }
};
struct from_shared {
  const float *p;
  template <int V> __device__ __forceinline__ void get(int k, float (&v)[V]) const {
#pragma unroll
    for (int i = 0; i < V; i++) v[i] = p[k + i];
  }
};

/* p[o + i] into v[i]: a run of OUTPUTS of N values. One past the end is read as the last one, which is memory of the same
 * group, and what comes of it is dropped. */
template <int N> DEV void load_outputs(const elem *p, int o, float (&v)[OUTPUTS]) {
  if constexpr (N % OUTPUTS == 0) {
    load_run<OUTPUTS, OUTPUTS == 1 ? (int)sizeof(elem) : ALIGNED>(p + o, v);
  } else {
#pragma unroll
    for (int i = 0; i < OUTPUTS; i++) {
      float one[1];
      load_run<1, (int)sizeof(elem)>(p + (o + i < N ? o + i : N - 1), one);
      v[i] = one[0];
    }
  }
}

/* w[o + i][k + j] into v[i][j], for i < OUTPUTS, j < V. */
template <int N, int V> DEV void load_tile(const elem *w, i64 ld, int o, int k, float (&v)[OUTPUTS][V]) {
#pragma unroll
  for (int i = 0; LAYOUT == LAYOUT_NK && i < OUTPUTS; i++) {
    const int at = N % OUTPUTS == 0 || o + i < N ? o + i : N - 1;
    load_run<V, V == 1 ? (int)sizeof(elem) : ALIGNED>(w + at * ld + k, v[i]);
  }
#pragma unroll
  for (int j = 0; LAYOUT == LAYOUT_KN && j < V; j++) {
    float line[OUTPUTS];
    load_outputs<N>(w + (k + j) * ld, o, line);
#pragma unroll
    for (int i = 0; i < OUTPUTS; i++) v[i][j] = line[i];
  }
}

template <int N, int V, class X> DEV void add_run(const X &x, const elem *w, i64 ld, int o, int k, float (&sum)[OUTPUTS]) {
  float xv[V], wv[OUTPUTS][V];
  x.template get<V>(k, xv);
  load_tile<N, V>(w, ld, o, k, wv);
#pragma unroll
  for (int j = 0; j < V; j++)
#pragma unroll
    for (int i = 0; i < OUTPUTS; i++) sum[i] = __fmaf_rn(xv[j], wv[i][j], sum[i]);
}

/* This lane's part of the sums. The main loop has a constant count, and is unrolled only so far as keeps loads in flight. */
template <int K, int N, class X>
DEV void lane_sums(const X &x, const elem *w, i64 ld, int o, int lane, float (&sum)[OUTPUTS]) {
  enum : int { STEP = LANES * CHUNK, STEPS = K / STEP, UNROLL = OUTPUTS * CHUNK >= 8 ? 1 : 8 / (OUTPUTS * CHUNK) };
#pragma unroll UNROLL
  for (int s = 0; s < STEPS; s++) add_run<N, CHUNK>(x, w, ld, o, s * STEP + lane * CHUNK, sum);
  if constexpr (K % STEP != 0) {
    const int first = STEPS * STEP + lane * CHUNK;
#pragma unroll
    for (int j = 0; j < CHUNK; j++)
      if (first + j < K) add_run<N, 1>(x, w, ld, o, first + j, sum);
  }
}

/* Every lane ends with the same sum: at each level both partners add the same two numbers. Whole warps take part. */
DEV void add_lanes(float (&sum)[OUTPUTS]) {
#pragma unroll
  for (int apart = LANES / 2; apart > 0; apart /= 2)
#pragma unroll
    for (int i = 0; i < OUTPUTS; i++) sum[i] = __fadd_rn(sum[i], __shfl_xor_sync(0xffffffffu, sum[i], apart));
}
