/* pad8_load.cuh -- operands from global memory to fragments, by the widest loads that a line allows. */

/* p[0 .. RUN), V elements a load. CUT: from `left` on, which may be 0 or less, zeros from no memory. */
template <int V, bool CUT> DEV void load_line(const elem *p, int left, u32 (&run)[RUN_WORDS]) {
  if constexpr (V * (int)sizeof(elem) >= 4) {
    enum : int { N = V * (int)sizeof(elem) / 4 };
#pragma unroll
    for (int at = 0; at < RUN; at += V) {
      u32 w[N];
      if constexpr (CUT)
        load_words_if<N>(at < left, p + at, w);
      else
        load_words<N>(p + at, w);
#pragma unroll
      for (int i = 0; i < N; i++) run[at * (int)sizeof(elem) / 4 + i] = w[i];
    }
  } else {
#pragma unroll
    for (int at = 0; at < RUN; at += 2) run[at / 2] = CUT ? load_pair_if(left - at, p + at) : load_pair(p + at);
  }
}

/* Layer LAYER's weights of one group, V elements a load, and its biases. */
template <int LAYER, int V> struct operand {
  typedef shape<LAYER> S;
  const elem *w, *bias; /* w: from the lane's own first element of a line on */
  i64 ld;

  static __device__ __forceinline__ operand of(const rgt_kargs &k, i64 group) {
    const elem *bias = nullptr;
    if constexpr (layer<LAYER>::BIAS) bias = bias_of<LAYER>(k, group);
    return {weights_of<LAYER>(k, group) + RUN * lane_t(), bias, layer<LAYER>::ld(k)};
  }

  /* Where the lane begins to read for chunk m of the outputs: lines g and g + 8 of a step; of outputs (nk), or of k (kn). */
  struct lines {
    const elem *p[STEPS][2];
  };
  __device__ __forceinline__ lines at(int m) const {
    lines l;
#pragma unroll
    for (int s = 0; s < STEPS; s++)
#pragma unroll
      for (int j = 0; j < 2; j++) {
        const int i = in_chunk(lane_g() + 8 * j, s);
        if constexpr (LAYOUT == LAYOUT_KN)
          l.p[s][j] = w + i * ld + m * CHUNK;
        else if constexpr (S::N_TAIL)
          l.p[s][j] = w + (m * CHUNK + i < S::N ? m * CHUNK + i : S::N - 1) * ld;
        else
          l.p[s][j] = w + m * CHUNK * ld + i * ld;
      }
    return l;
  }

  /* Outputs of chunk m, whose lines l are, against inputs of chunk c. Outputs past the last repeat it (nk) or are 0 (kn):
   * nobody looks at them. Inputs past the last are 0. CUT: the chunk of inputs is the last one, and not whole. */
  template <bool CUT> __device__ __forceinline__ void load(const lines &l, int m, int c, frag_w (&a)[STEPS][STEPS]) const {
    if constexpr (LAYOUT == LAYOUT_NK)
      load_nk<CUT>(l, c, a);
    else
      load_kn<CUT>(l, m, c, a);
  }

  template <bool CUT> __device__ __forceinline__ void load_nk(const lines &l, int c, frag_w (&a)[STEPS][STEPS]) const {
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
      u32 run[2][RUN_WORDS];
#pragma unroll
      for (int j = 0; j < 2; j++) load_line<V, CUT>(l.p[s][j] + c * CHUNK, S::K - c * CHUNK - RUN * lane_t(), run[j]);
#pragma unroll
      for (int q = 0; q < STEPS; q++) a[s][q] = make_w(run[0] + QUAD_WORDS * q, run[1] + QUAD_WORDS * q);
    }
  }

  template <bool CUT> __device__ __forceinline__ void load_kn(const lines &l, int m, int c, frag_w (&a)[STEPS][STEPS]) const {
#pragma unroll
    for (int q = 0; q < STEPS; q++) {
      u32 row[STEPS][2][QUAD_WORDS]; /* of step s: row g, row g + 8 */
#pragma unroll
      for (int j = 0; j < 2; j++) {
        u32 run[RUN_WORDS];
        const bool ok = !CUT || c * CHUNK + in_chunk(lane_g() + 8 * j, q) < S::K;
        load_line<V, CUT || S::N_TAIL>(l.p[q][j] + c * CHUNK * ld, ok ? S::N - m * CHUNK - RUN * lane_t() : 0, run);
#pragma unroll
        for (int s = 0; s < STEPS; s++)
#pragma unroll
          for (int h = 0; h < 2; h++) {
            u32 pair[QUAD_WORDS / 2];
#pragma unroll
            for (int i = 0; i < QUAD_WORDS / 2; i++) pair[i] = run[QUAD_WORDS * s + QUAD_WORDS / 2 * h + i];
            turn(pair, row[s][h] + QUAD_WORDS / 2 * j);
          }
      }
#pragma unroll
      for (int s = 0; s < STEPS; s++) a[s][q] = make_w(row[s][0], row[s][1]);
    }
  }
};

/* The other operand, from where x lies. Where addresses do not allow wide loads, there are many narrow ones, and the text stays
 * short by unrolling nothing. */
template <bool WIDE> struct x_direct {
  enum : int { UNROLL = WIDE ? 4 : 1, V = load_piece<WIDE, N_IN>::value };
  const elem *p[SUB_TILES][ROW_PARTS];

  __device__ __forceinline__ void open(const rgt_kargs &k, const tile &at) {
#pragma unroll
    for (int n = 0; n < SUB_TILES; n++)
#pragma unroll
      for (int h = 0; h < ROW_PARTS; h++) p[n][h] = x_of(k, row_of(at, n, h)) + RUN * lane_t();
  }
  template <bool CUT> __device__ __forceinline__ void get(int c, int n, frag_x (&x)[STEPS]) const {
    u32 run[ROW_PARTS][RUN_WORDS];
#pragma unroll
    for (int h = 0; h < ROW_PARTS; h++) load_line<V, CUT>(p[n][h] + c * CHUNK, N_IN - c * CHUNK - RUN * lane_t(), run[h]);
#pragma unroll
    for (int q = 0; q < STEPS; q++) x[q] = make_x(run, q);
  }
};

/* The same, kept in registers: c must be a constant. */
struct x_kept {
  enum : int { CHUNKS = shape<1>::K_CHUNKS, UNROLL = CHUNKS };
  frag_x x[CHUNKS][SUB_TILES][STEPS];

  template <bool WIDE> __device__ __forceinline__ void open(const x_direct<WIDE> &from) {
#pragma unroll
    for (int n = 0; n < SUB_TILES; n++) {
#pragma unroll
      for (int c = 0; c < N_IN / CHUNK; c++) from.template get<false>(c, n, x[c][n]);
      if constexpr (shape<1>::K_TAIL) from.template get<true>(CHUNKS - 1, n, x[CHUNKS - 1][n]);
    }
  }
  template <bool CUT> __device__ __forceinline__ void get(int c, int n, frag_x (&to)[STEPS]) const {
#pragma unroll
    for (int q = 0; q < STEPS; q++) to[q] = x[c][n][q];
  }
};

/* Rows in shared memory, PITCH bytes apart, zeros where nothing is. */
template <int PITCH> struct in_shared {
  enum : int { UNROLL = 2 };
  const unsigned char *p;

  template <bool CUT> __device__ __forceinline__ void get(int c, int n, frag_x (&x)[STEPS]) const {
    u32 run[ROW_PARTS][RUN_WORDS];
#pragma unroll
    for (int h = 0; h < ROW_PARTS; h++)
      load_shared<RUN_WORDS>(p + place_of(n, h) * PITCH + (c * CHUNK + RUN * lane_t()) * (int)sizeof(elem), run[h]);
#pragma unroll
    for (int q = 0; q < STEPS; q++) x[q] = make_x(run, q);
  }
};

/* The tile's rows of x to shared memory: zeros from N_IN on, and in the rows that fill up the last sub-tile. */
template <bool WIDE> DEV void stage_rows(const rgt_kargs &k, const tile &at, unsigned char *to) {
  enum : int { V = load_piece<WIDE, N_IN>::value, PER_ROW = shape<1>::K_CHUNKS * CHUNK / V, THREADS = 32 * SHARERS };
  const int thread = SHARERS > 1 ? (int)threadIdx.x : lane_id(), pieces = (at.n + SUB_ROWS - 1) / SUB_ROWS * SUB_ROWS * PER_ROW;
#pragma unroll 1
  for (int first = 0; first < pieces; first += THREADS) {
    const int i = first + thread, r = i / PER_ROW, c = i % PER_ROW * V;
    const i64 row = __shfl_sync(0xffffffffu, at.row, i < pieces ? r : 0);
    const bool ok = r < at.n && c < N_IN;
    const elem *from = x_of(k, row) + (ok ? c : 0);
    unsigned char *place = to + r * X_PITCH + c * (int)sizeof(elem);
    if (i < pieces) {
      if constexpr (V * (int)sizeof(elem) >= 4)
        copy_async<V *(int)sizeof(elem)>(place, from, ok);
      else
        *(u16 *)place = load_half_word_if(ok, from);
    }
    __syncwarp();
  }
  copy_async_commit();
  copy_async_wait<0>();
  tile_barrier();
}
