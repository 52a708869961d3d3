/* staged.cuh -- weights of one group that stay in the block's shared memory, k after k; a thread makes 4 neighbouring outputs of
 * AT_ONCE rows. The sums are those of held.cuh, in the same order. */

/* A line holds one k's weights. Its pitch is 4 modulo 8: then 8 lines of 4 neighbouring words lie in 32 banks. */
template <int N> struct line_of { enum : int { PITCH = (N + 3) / 4 * 4 + ((N + 3) / 4 % 2 == 0 ? 4 : 0), QUADS = (N + 3) / 4 }; };

/* What a block keeps; elements, then hidden values. Each begins at a multiple of 16 bytes. */
enum : int {
  STAGED_ONE = layer<1>::K * line_of<layer<1>::N>::PITCH,
  STAGED_TWO = IS_MLP ? N_HIDDEN * line_of<N_OUT>::PITCH : 0,
  HIDDEN_PITCH = (N_HIDDEN + 3) / 4 * 4,
};

/* Weights to shared memory, zeros to a line's last quad. Where k runs along memory a warp takes 8 k of 4 outputs: whole sectors,
 * and every bank once. */
template <int LAYER> DEV void stage(const rgt_kargs &k, i64 group, elem *to) {
  typedef layer<LAYER> L;
  enum : int { PITCH = line_of<L::N>::PITCH, QUADS = line_of<L::N>::QUADS, EIGHTHS = (L::K + 7) / 8 };
  const elem *w = weights_of<LAYER>(k, group);
  const i64 ld = L::ld(k);
  if constexpr (LAYOUT == LAYOUT_NK) {
    const int lane = threadIdx.x % 32;
#pragma unroll 4
    for (int i = threadIdx.x / 32; i < EIGHTHS * QUADS; i += THREADS / 32) {
      const int at = i % EIGHTHS * 8 + lane / 4, o = i / EIGHTHS * 4 + lane % 4;
      if (at < L::K) to[at * PITCH + o] = o < L::N ? load_raw(w + o * ld + at) : (elem)0;
    }
  } else {
#pragma unroll 4
    for (int i = threadIdx.x; i < L::K * QUADS * 4; i += THREADS) {
      const int at = i / (QUADS * 4), o = i % (QUADS * 4);
      to[at * PITCH + o] = o < L::N ? load_raw(w + at * ld + o) : (elem)0;
    }
  }
}

DEV void read_four(const float *p, float (&v)[4]) {
  const float4 f = *(const float4 *)p;
  v[0] = f.x, v[1] = f.y, v[2] = f.z, v[3] = f.w;
}
DEV void read_four(const u16 *p, float (&v)[4]) {
  const uint2 f = *(const uint2 *)p;
  v[0] = f32_of((u16)f.x), v[1] = f32_of((u16)(f.x >> 16)), v[2] = f32_of((u16)f.y), v[3] = f32_of((u16)(f.y >> 16));
}

template <int PITCH, int V, class X> DEV void add_staged(const elem *w, const X &x, int at, float (&sum)[AT_ONCE][4]) {
  float line[V][4];
#pragma unroll
  for (int j = 0; j < V; j++) read_four(w + (at + j) * PITCH, line[j]);
#pragma unroll
  for (int row = 0; row < AT_ONCE; row++) {
    float v[V];
    x.template get<V>(row, at, v);
#pragma unroll
    for (int j = 0; j < V; j++)
#pragma unroll
      for (int i = 0; i < 4; i++) sum[row][i] = __fmaf_rn(v[j], line[j][i], sum[row][i]);
  }
}

/* Outputs o .. o + 3 of AT_ONCE rows: sums, bias, activation. Those past the last are of nothing. */
template <int LAYER, class X>
DEV void apply_staged(const rgt_kargs &k, const elem *w, i64 group, const X &x, int o, float (&sum)[AT_ONCE][4]) {
  typedef layer<LAYER> L;
  enum : int { PITCH = line_of<L::N>::PITCH, FOURS = L::K / 4 * 4 };
#pragma unroll
  for (int row = 0; row < AT_ONCE; row++)
#pragma unroll
    for (int i = 0; i < 4; i++) sum[row][i] = 0.0f;
#pragma unroll 2
  for (int at = 0; at < FOURS; at += 4) add_staged<PITCH, 4>(w + o, x, at, sum);
#pragma unroll
  for (int at = FOURS; at < L::K; at++) add_staged<PITCH, 1>(w + o, x, at, sum);
#pragma unroll
  for (int i = 0; i < 4; i++) {
    float bias = 0.0f;
    if constexpr (L::BIAS) bias = load_one(bias_of<LAYER>(k, group) + (o + i < L::N ? o + i : L::N - 1));
#pragma unroll
    for (int row = 0; row < AT_ONCE; row++) {
      if constexpr (L::BIAS) sum[row][i] = __fadd_rn(sum[row][i], bias);
      if constexpr (L::ACTIVE) sum[row][i] = act_f32(sum[row][i]);
    }
  }
}

/* Hidden values of the tile's rows from r on; one past the n-th is read as the last. */
struct rows_of_tile {
  const float *p;
  int r, n;
  template <int V> __device__ __forceinline__ void get(int row, int k, float (&v)[V]) const {
    const int at = r + row < n ? r + row : n - 1;
#pragma unroll
    for (int i = 0; i < V; i++) v[i] = p[at * HIDDEN_PITCH + k + i];
  }
};

template <int N> DEV void put_quad(const rgt_kargs &k, i64 row, int o, const float (&v)[4]) {
  elem *to = y_of(k, row) + o;
  if (N % 4 == 0 || o + 4 <= N)
    put<4, least<ALIGNED, 4 * (int)sizeof(elem)>::value>(k, to, v);
  else
    put_first<4>(k, to, v, N - o);
}

/* Every thread takes 4 outputs of AT_ONCE of the tile's n rows, until all are done: f(first row, output). */
template <int N, class F> DEV void each_quad(int n, F f) {
  enum : int { QUADS = line_of<N>::QUADS };
#pragma unroll 1
  for (int i = threadIdx.x; i < (n + AT_ONCE - 1) / AT_ONCE * QUADS; i += THREADS) f(i / QUADS * AT_ONCE, i % QUADS * 4);
}

/* A tile of n rows of the group whose weights are staged; the block's. rows: the row of each, in shared memory. */
DEV void do_staged(const rgt_kargs &k, i64 group, const elem *one, const elem *two, float *hidden, const u32 *rows, int n) {
  each_quad<layer<1>::N>(n, [&](int r, int o) {
    float sum[AT_ONCE][4];
    rows_of_x x;
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) x.p[i] = x_of(k, rows[r + i < n ? r + i : n - 1]);
    apply_staged<1>(k, one, group, x, o, sum);
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) {
      if (r + i >= n) break;
      if constexpr (IS_MLP)
        *(float4 *)(hidden + (r + i) * HIDDEN_PITCH + o) = make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
      else
        put_quad<N_OUT>(k, rows[r + i], o, sum[i]);
    }
  });
  if constexpr (IS_MLP) {
    __syncthreads();
    each_quad<N_OUT>(n, [&](int r, int o) {
      float sum[AT_ONCE][4];
      apply_staged<LAST>(k, two, group, rows_of_tile{hidden, r, n}, o, sum);
#pragma unroll
      for (int i = 0; i < AT_ONCE; i++) {
        if (r + i >= n) break;
        put_quad<N_OUT>(k, rows[r + i], o, sum[i]);
      }
    });
  }
}
