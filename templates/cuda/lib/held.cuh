/* held.cuh -- weights of one group that stay in registers: a lane of a team keeps every TEAM-th output of a layer.
 *
 * A sum runs over k in rising order, one fma a value, from 0; then the bias is added. So the bits are those of row_gather with
 * one lane, whatever TEAM and AT_ONCE are. */

template <int LAYER> struct held {
  typedef layer<LAYER> L;
  enum : int { OUTPUTS = (L::N + TEAM - 1) / TEAM, K = L::K };
  float w[OUTPUTS][K], b[OUTPUTS];
};

/* The i-th output of a lane. One past the last is read as the last one, and what comes of it is dropped. */
DEV int output_of(int lane, int i) { return lane + i * TEAM; }
template <int N> DEV bool has_output(int o) { return N % TEAM == 0 || o < N; }
template <int N> DEV int output_read(int lane, int i) {
  const int o = output_of(lane, i);
  return has_output<N>(o) ? o : N - 1;
}

template <int LAYER> DEV void hold(const rgt_kargs &k, i64 group, int lane, held<LAYER> &h) {
  typedef layer<LAYER> L;
  const elem *w = weights_of<LAYER>(k, group);
  const i64 ld = L::ld(k);
#pragma unroll
  for (int i = 0; i < held<LAYER>::OUTPUTS; i++) {
    const int o = output_read<L::N>(lane, i);
    if constexpr (LAYOUT == LAYOUT_NK) {
      load_line<L::K>(w + o * ld, h.w[i]);
    } else {
#pragma unroll
      for (int j = 0; j < L::K; j++) h.w[i][j] = load_one(w + j * ld + o);
    }
    if constexpr (L::BIAS) h.b[i] = load_one(bias_of<LAYER>(k, group) + o);
  }
}

template <int LAYER, int V, class X>
DEV void add_held(const held<LAYER> &h, const X &x, int at, float (&sum)[AT_ONCE][held<LAYER>::OUTPUTS]) {
#pragma unroll
  for (int row = 0; row < AT_ONCE; row++) {
    float v[V];
    x.template get<V>(row, at, v);
#pragma unroll
    for (int j = 0; j < V; j++)
#pragma unroll
      for (int i = 0; i < held<LAYER>::OUTPUTS; i++) sum[row][i] = __fmaf_rn(v[j], h.w[i][at + j], sum[row][i]);
  }
}

/* The lane's outputs of AT_ONCE rows: sums, bias, activation. */
template <int LAYER, class X>
DEV void apply_held(const held<LAYER> &h, const X &x, float (&sum)[AT_ONCE][held<LAYER>::OUTPUTS]) {
  typedef layer<LAYER> L;
  enum : int { FOURS = L::K / 4 * 4 };
#pragma unroll
  for (int row = 0; row < AT_ONCE; row++)
#pragma unroll
    for (int i = 0; i < held<LAYER>::OUTPUTS; i++) sum[row][i] = 0.0f;
#pragma unroll
  for (int at = 0; at < FOURS; at += 4) add_held<LAYER, 4>(h, x, at, sum);
#pragma unroll
  for (int at = FOURS; at < L::K; at++) add_held<LAYER, 1>(h, x, at, sum);
#pragma unroll
  for (int row = 0; row < AT_ONCE; row++)
#pragma unroll
    for (int i = 0; i < held<LAYER>::OUTPUTS; i++) {
      if constexpr (L::BIAS) sum[row][i] = __fadd_rn(sum[row][i], h.b[i]);
      if constexpr (L::ACTIVE) sum[row][i] = act_f32(sum[row][i]);
    }
}

/* ---- a tile: the rows of one group that a team has in hand ---- */

enum : int { HIDDEN_PITCH = N_HIDDEN + 1, HIDDEN_FLOATS = IS_MLP ? AT_ONCE * HIDDEN_PITCH : 1 }; /* of a team */

struct held_weights {
  i64 group; /* -1: none yet */
  held<1> one;
  held<LAST> two;
};

DEV void take_weights(const rgt_kargs &k, i64 group, int lane, held_weights &w) {
  if (w.group == group) return;
  w.group = group;
  hold<1>(k, group, lane, w.one);
  if constexpr (IS_MLP) hold<LAST>(k, group, lane, w.two);
}

/* Teams of a warp run in step. */
DEV void team_sync() {
  if constexpr (TEAM <= 32)
    __syncwarp();
  else
    __syncthreads();
}
DEV bool any_left(bool left) {
  if constexpr (TEAM < 32) return __any_sync(0xffffffffu, left);
  return left;
}

/* A lane's outputs of the first n rows, to y. */
template <int N, int OUTPUTS>
DEV void put_held(const rgt_kargs &k, const i64 (&row)[AT_ONCE], int n, int lane, const float (&v)[AT_ONCE][OUTPUTS]) {
#pragma unroll
  for (int r = 0; r < AT_ONCE; r++) {
#pragma unroll
    for (int i = 0; i < OUTPUTS; i++) {
      const int o = output_of(lane, i);
      const float one[1] = {v[r][i]};
      if (r < n && has_output<N>(o)) put<1>(k, y_of(k, row[r]) + o, one);
    }
  }
}

/* AT_ONCE rows, of which n are there (n <= 0: none; the lanes come for the others' sake). */
DEV void do_rows(const rgt_kargs &k, const held_weights &w, const i64 (&row)[AT_ONCE], int n, int lane, float *hidden) {
  rows_of_x x;
#pragma unroll
  for (int r = 0; r < AT_ONCE; r++) x.p[r] = x_of(k, row[r]);
  float one[AT_ONCE][held<1>::OUTPUTS];
  if (n > 0) apply_held<1>(w.one, x, one);
  if constexpr (!IS_MLP) {
    put_held<N_OUT>(k, row, n, lane, one);
  } else {
#pragma unroll
    for (int r = 0; r < AT_ONCE; r++)
#pragma unroll
      for (int i = 0; i < held<1>::OUTPUTS; i++)
        if (n > 0 && has_output<N_HIDDEN>(output_of(lane, i))) hidden[r * HIDDEN_PITCH + output_of(lane, i)] = one[r][i];
    team_sync();
    float two[AT_ONCE][held<LAST>::OUTPUTS];
    if (n > 0) {
      apply_held<LAST>(w.two, rows_of_shared{hidden, HIDDEN_PITCH}, two);
      put_held<N_OUT>(k, row, n, lane, two);
    }
    team_sync();
  }
}
