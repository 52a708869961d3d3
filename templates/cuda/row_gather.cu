/* row_gather.cu -- every row reads its own group's weights; LANES threads make OUTPUTS neighbouring outputs of one row.
 *
 * A slot is LANES threads of a block. Work is numbered row by row, in tiles of OUTPUTS outputs. The linear op is one kernel.
 * The MLP is two, with the hidden values [rows, n_hidden] in the workspace as f32; or, fused, one in which a block keeps the
 * hidden values of FUSED_ROWS rows in shared memory. Both forms of the MLP run the same sums in the same order.
 *
 * Or, IN_REGISTERS, one in which hidden values are kept nowhere: a thread has its row's x in registers, computes every LANES-th
 * hidden unit by itself, and adds it into its OUTPUTS sums at once. Layer 1 is then a chain over k whatever LANES is.
 */
//% include("cuda/lib/base.cuh")
//% include("cuda/lib/ptx.cuh")
//% include("cuda/lib/number.cuh")
//% include("cuda/lib/act.cuh")
//% include("cuda/lib/rows.cuh")
//% include("cuda/lib/layer.cuh")
//% include("cuda/lib/sums.cuh")

enum : int { SLOTS = THREADS / LANES };
static_assert(THREADS % 32 == 0 && 32 % LANES == 0 && 4 % CHUNK == 0 && 16 % OUTPUTS == 0, "shapes that the sums know");

template <int LAYER> struct tiles {
  enum : int { per_row = (layer<LAYER>::N + OUTPUTS - 1) / OUTPUTS };
};

DEV from_global<elem, ALIGNED> x_row(const rgt_kargs &k, i64 row) { return {x_of(k, row)}; }

/* The tile that a slot works on, of those that begin at `first`: work is numbered row by row. */
struct place {
  i64 row;
  int tile;
  bool live; /* false past the last tile: such threads only take part in the shuffles */
};

/* The one 64-bit division is of the block's first tile; what lies past it fits 32 bits. */
template <int LAYER> DEV place place_of(const rgt_kargs &k, i64 first) {
  enum : int { PER_ROW = tiles<LAYER>::per_row };
  const i64 row = first / PER_ROW;
  const u32 slot = threadIdx.x / LANES, past = (u32)(first - row * PER_ROW) + slot;
  return {row + past / PER_ROW, (int)(past % PER_ROW), first + slot < k.rows * PER_ROW};
}

/* The same where a block works on the FUSED_ROWS rows from `first` on, and stands at their tile `at`. */
template <int LAYER> DEV place place_in_block(const rgt_kargs &k, i64 first, int at) {
  enum : int { PER_ROW = tiles<LAYER>::per_row };
  const int tile = at + (int)threadIdx.x / LANES, r = tile / PER_ROW;
  return {first + r, tile % PER_ROW, tile < FUSED_ROWS * PER_ROW && first + r < k.rows};
}

DEV i64 group_at(const rgt_kargs &k, const place &p, bool count) {
  return p.live ? group_of(k, p.row, count && p.tile == 0 && threadIdx.x % LANES == 0) : -1;
}

/* Bias and activation. */
template <int LAYER> DEV void finish(const rgt_kargs &k, i64 group, int o, float (&sum)[OUTPUTS]) {
  typedef layer<LAYER> L;
  if constexpr (L::BIAS) {
    float bias[OUTPUTS];
    load_outputs<L::N>(bias_of<LAYER>(k, group), o, bias);
#pragma unroll
    for (int i = 0; i < OUTPUTS; i++) sum[i] = __fadd_rn(sum[i], bias[i]);
  }
  if constexpr (L::ACTIVE) {
#pragma unroll
    for (int i = 0; i < OUTPUTS; i++) sum[i] = act_f32(sum[i]);
  }
}

/* Where a tile goes: a row of y, or a row of hidden values, which nothing reads of a row without a group. */
struct to_y {
  elem *p;
  template <int N> __device__ __forceinline__ void put_tile(const rgt_kargs &k, int o, const float (&v)[OUTPUTS]) const {
    if constexpr (N % OUTPUTS == 0)
      put<OUTPUTS, least<ALIGNED, OUTPUTS * (int)sizeof(elem)>::value>(k, p + o, v);
    else
      put_first<OUTPUTS>(k, p + o, v, N - o);
  }
  template <int N> __device__ __forceinline__ void put_nothing(const rgt_kargs &k, int o) const {
    put_none<OUTPUTS>(k, p + o, N - o);
  }
};
struct to_hidden {
  float *p;
  template <int N> __device__ __forceinline__ void put_tile(const rgt_kargs &, int o, const float (&v)[OUTPUTS]) const {
#pragma unroll
    for (int i = 0; i < OUTPUTS; i++)
      if (N % OUTPUTS == 0 || o + i < N) p[o + i] = v[i];
  }
  template <int N> __device__ __forceinline__ void put_nothing(const rgt_kargs &, int) const {}
};

/* The end of a tile: bias, activation, and where it goes. Called by the one lane that has the sums of all. */
template <int LAYER, class Y> DEV void end_tile(const rgt_kargs &k, i64 group, int o, float (&sum)[OUTPUTS], const Y &to) {
  enum : int { N = layer<LAYER>::N };
  if (group >= 0) {
    finish<LAYER>(k, group, o, sum);
    to.template put_tile<N>(k, o, sum);
  } else {
    to.template put_nothing<N>(k, o);
  }
}

/* One tile of one row. Called by whole warps. */
template <int LAYER, class X, class Y> DEV void do_tile(const rgt_kargs &k, const place &p, i64 group, const X &x, const Y &to) {
  typedef layer<LAYER> L;
  const int lane = (int)threadIdx.x % LANES, o = p.tile * OUTPUTS;
  float sum[OUTPUTS];
#pragma unroll
  for (int i = 0; i < OUTPUTS; i++) sum[i] = 0.0f;
  if (group >= 0) lane_sums<L::K, L::N>(x, weights_of<LAYER>(k, group), L::ld(k), o, lane, sum);
  if constexpr (LANES > 1) add_lanes(sum);
  if (p.live && lane == 0) end_tile<LAYER>(k, group, o, sum, to);
}

//% if in_registers > 0 then
enum : int { RUN = 4, WHOLE_RUNS = N_IN / RUN * RUN }; /* k that are read at once, where they lie side by side */

DEV void load_x(const elem *p, float (&x)[N_IN]) {
#pragma unroll
  for (int at = 0; at < N_IN; at += RUN) {
    float run[RUN];
    if (at < WHOLE_RUNS) {
      load_run<RUN, ALIGNED>(p + at, run);
#pragma unroll
      for (int i = 0; i < RUN && at + i < N_IN; i++) x[at + i] = run[i];
    } else {
#pragma unroll
      for (int i = at; i < N_IN; i++) {
        float one[1];
        load_run<1, (int)sizeof(elem)>(p + i, one);
        x[i] = one[0];
      }
    }
  }
}

/* W1[j] . x, one chain over k. */
DEV float unit_sum(const elem *w, i64 ld, int j, const float (&x)[N_IN]) {
  float sum = 0.0f;
#pragma unroll
  for (int at = 0; at < N_IN; at += RUN) {
    float run[RUN];
    if (LAYOUT == LAYOUT_NK && at < WHOLE_RUNS) load_run<RUN, ALIGNED>(w + j * ld + at, run);
#pragma unroll
    for (int i = 0; i < RUN && at + i < N_IN; i++) {
      float one[1] = {run[i]};
      if (LAYOUT == LAYOUT_KN) load_run<1, (int)sizeof(elem)>(w + (at + i) * ld + j, one);
      if (LAYOUT == LAYOUT_NK && at >= WHOLE_RUNS) load_run<1, (int)sizeof(elem)>(w + j * ld + at + i, one);
      sum = __fmaf_rn(x[at + i], one[0], sum);
    }
  }
  return sum;
}

/* This lane's hidden units, each added to the OUTPUTS sums from o on. */
DEV void add_units(const rgt_kargs &k, const place &p, i64 group, int o, float (&sum)[OUTPUTS]) {
  const elem *w1 = weights_of<1>(k, group), *w2 = weights_of<2>(k, group);
  float x[N_IN];
  load_x(x_of(k, p.row), x);
#pragma unroll 1
  for (int j = (int)threadIdx.x % LANES; j < N_HIDDEN; j += LANES) {
    float h = unit_sum(w1, k.ld_w1, j, x), w[OUTPUTS][1];
    if constexpr (layer<1>::BIAS) {
      float bias[1];
      load_run<1, (int)sizeof(elem)>(bias_of<1>(k, group) + j, bias);
      h = __fadd_rn(h, bias[0]);
    }
    h = act_f32(h);
    load_tile<N_OUT, 1>(w2, k.ld_w2, o, j, w);
#pragma unroll
    for (int i = 0; i < OUTPUTS; i++) sum[i] = __fmaf_rn(h, w[i][0], sum[i]);
  }
}

ENTRY __launch_bounds__(THREADS, 1) KERNEL(row_gather)(const __grid_constant__ rgt_kargs k, void *workspace) {
  const i64 n = k.rows * tiles<2>::per_row;
  (void)workspace;
#pragma unroll 1
  for (i64 first = (i64)blockIdx.x * SLOTS; first < n; first += (i64)gridDim.x * SLOTS) {
    const place p = place_of<2>(k, first);
    const i64 group = group_at(k, p, true);
    const int o = p.tile * OUTPUTS;
    float sum[OUTPUTS];
#pragma unroll
    for (int i = 0; i < OUTPUTS; i++) sum[i] = 0.0f;
    if (group >= 0) add_units(k, p, group, o, sum);
    if constexpr (LANES > 1) add_lanes(sum);
    if (p.live && threadIdx.x % LANES == 0) end_tile<2>(k, group, o, sum, to_y{y_of(k, p.row)});
  }
}
//% elseif fused_rows > 0 then
enum : int { HIDDEN_PITCH = (N_HIDDEN + 3) / 4 * 4 };

ENTRY __launch_bounds__(THREADS, 1) KERNEL(row_gather)(const __grid_constant__ rgt_kargs k, void *workspace) {
  __shared__ float hidden[FUSED_ROWS * HIDDEN_PITCH];
  (void)workspace;
#pragma unroll 1
  for (i64 first = (i64)blockIdx.x * FUSED_ROWS; first < k.rows; first += (i64)gridDim.x * FUSED_ROWS) {
#pragma unroll 1
    for (int at = 0; at < FUSED_ROWS * tiles<1>::per_row; at += SLOTS) {
      const place p = place_in_block<1>(k, first, at);
      const to_hidden h = {hidden + (int)(p.row - first) * HIDDEN_PITCH};
      do_tile<1>(k, p, group_at(k, p, true), x_row(k, p.row), h);
    }
    __syncthreads();
#pragma unroll 1
    for (int at = 0; at < FUSED_ROWS * tiles<2>::per_row; at += SLOTS) {
      const place p = place_in_block<2>(k, first, at);
      const from_shared h = {hidden + (int)(p.row - first) * HIDDEN_PITCH};
      do_tile<2>(k, p, group_at(k, p, false), h, to_y{y_of(k, p.row)});
    }
    __syncthreads();
  }
}
//% elseif n_hidden > 0 then
ENTRY __launch_bounds__(THREADS, 1) KERNEL(row_gather_hidden)(const __grid_constant__ rgt_kargs k, void *workspace) {
  const i64 n = k.rows * tiles<1>::per_row;
#pragma unroll 1
  for (i64 first = (i64)blockIdx.x * SLOTS; first < n; first += (i64)gridDim.x * SLOTS) {
    const place p = place_of<1>(k, first);
    do_tile<1>(k, p, group_at(k, p, true), x_row(k, p.row), to_hidden{(float *)workspace + p.row * N_HIDDEN});
  }
}

ENTRY __launch_bounds__(THREADS, 1) KERNEL(row_gather_out)(const __grid_constant__ rgt_kargs k, void *workspace) {
  enum : int { ALIGN = 4 * power_of_two_in<N_HIDDEN>::value }; /* of a hidden row; the workspace's own is 64 or more */
  const i64 n = k.rows * tiles<2>::per_row;
#pragma unroll 1
  for (i64 first = (i64)blockIdx.x * SLOTS; first < n; first += (i64)gridDim.x * SLOTS) {
    const place p = place_of<2>(k, first);
    const from_global<float, least<ALIGN, 16>::value> h = {(const float *)workspace + p.row * N_HIDDEN};
    do_tile<2>(k, p, group_at(k, p, false), h, to_y{y_of(k, p.row)});
  }
}
//% else
ENTRY __launch_bounds__(THREADS, 1) KERNEL(row_gather)(const __grid_constant__ rgt_kargs k, void *workspace) {
  const i64 n = k.rows * tiles<1>::per_row;
  (void)workspace;
#pragma unroll 1
  for (i64 first = (i64)blockIdx.x * SLOTS; first < n; first += (i64)gridDim.x * SLOTS) {
    const place p = place_of<1>(k, first);
    do_tile<1>(k, p, group_at(k, p, true), x_row(k, p.row), to_y{y_of(k, p.row)});
  }
}
//% end
