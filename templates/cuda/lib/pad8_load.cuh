/* pad8_load.cuh -- operands from global memory to fragments, by the widest loads that a line allows. */

typedef float sums[SUB_TILES][STEPS][4]; /* of a chunk of outputs: the D fragments of every step and sub-tile */

/* p[c .. c + RUN) of a line of D elements, V a load. CUT: zeros from D on, and where !ok, from no memory. */
template <int V, int D, bool CUT> DEV void load_line(const elem *p, int c, bool ok, u32 (&run)[RUN_WORDS]) {
  if constexpr (V * (int)sizeof(elem) >= 4) {
    enum : int { N = V * (int)sizeof(elem) / 4 };
#pragma unroll
    for (int at = 0; at < RUN; at += V) {
      u32 w[N];
      if constexpr (CUT)
        load_words_if<N>(ok && c + at < D, p + c + at, w);
      else
        load_words<N>(p + c + at, w);
#pragma unroll
      for (int i = 0; i < N; i++) run[at * (int)sizeof(elem) / 4 + i] = w[i];
    }
  } else {
#pragma unroll
    for (int at = 0; at < RUN; at += 2) {
      u32 low, high;
      if constexpr (CUT) {
        low = load_half_word_if(ok && c + at < D, p + c + at);
        high = load_half_word_if(ok && c + at + 1 < D, p + c + at + 1);
      } else {
        low = load_half_word(p + c + at);
        high = load_half_word(p + c + at + 1);
      }
      run[at / 2] = low | high << 16;
    }
  }
}

/* An 8 x 8 block of elements, a pair of neighbours in each lane, turned (movmatrix says how). */
DEV void turn(const u32 (&pair)[QUAD / 2], u32 *turned) {
  if constexpr (QUAD == 2) {
    turned[0] = movmatrix(pair[0]);
  } else { /* 32 bits: the high halves and the low ones, each as a block of 16 bits */
    const u32 low = movmatrix(__byte_perm(pair[0], pair[1], 0x5410)), high = movmatrix(__byte_perm(pair[0], pair[1], 0x7632));
    turned[0] = __byte_perm(low, high, 0x5410);
    turned[1] = __byte_perm(low, high, 0x7632);
  }
}

/* A pair of f32, turned. */
DEV void turn_f32(float v0, float v1, float &to0, float &to1) {
  const u32 a = bits_of_f32(v0), b = bits_of_f32(v1);
  const u32 low = movmatrix(__byte_perm(a, b, 0x5410)), high = movmatrix(__byte_perm(a, b, 0x7632));
  to0 = f32_of_bits(__byte_perm(low, high, 0x5410));
  to1 = f32_of_bits(__byte_perm(low, high, 0x7632));
}

/* Elements i .. i + V - 1 of a run to global memory. */
template <int V> DEV void store_piece(elem *to, const u32 (&run)[RUN_WORDS], int i) {
  if constexpr (V * (int)sizeof(elem) >= 4) {
    u32 w[V * (int)sizeof(elem) / 4];
#pragma unroll
    for (int j = 0; j < V * (int)sizeof(elem) / 4; j++) w[j] = run[i * (int)sizeof(elem) / 4 + j];
    store_words(to, w);
  } else {
    *(u16 *)to = (u16)(run[i / 2] >> 16 * (i & 1));
  }
}

/* The A operand: layer LAYER's weights of one group, V elements a load. */
template <int LAYER, int V> struct operand {
  typedef shape<LAYER> S;
  const elem *w;
  i64 ld;

  /* Outputs of chunk m against inputs of chunk c. Outputs past the last repeat it (nk) or are 0 (kn): nobody looks at them.
   * Inputs past the last are 0. CUT: the chunk of inputs is the last one, and not whole. */
  template <bool CUT> __device__ __forceinline__ void load(int m, int c, frag_a (&a)[STEPS][STEPS]) const {
    if constexpr (LAYOUT == LAYOUT_NK)
      load_nk<CUT>(m, c, a);
    else
      load_kn<CUT>(m, c, a);
  }

  template <bool CUT> __device__ __forceinline__ void load_nk(int m, int c, frag_a (&a)[STEPS][STEPS]) const {
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
      u32 run[2][RUN_WORDS];
#pragma unroll
      for (int j = 0; j < 2; j++) {
        int o = m * CHUNK + in_chunk(lane_g() + 8 * j, s);
        if (S::N_TAIL && o > S::N - 1) o = S::N - 1;
        load_line<V, S::K, CUT>(w + o * ld, c * CHUNK + RUN * lane_t(), true, run[j]);
      }
#pragma unroll
      for (int q = 0; q < STEPS; q++) a[s][q] = make_a(run[0] + QUAD * q, run[1] + QUAD * q);
    }
  }

  template <bool CUT> __device__ __forceinline__ void load_kn(int m, int c, frag_a (&a)[STEPS][STEPS]) const {
#pragma unroll
    for (int q = 0; q < STEPS; q++) {
      u32 row[STEPS][2][QUAD]; /* of step s: row g, row g + 8 */
#pragma unroll
      for (int j = 0; j < 2; j++) {
        u32 run[RUN_WORDS];
        const int i = c * CHUNK + in_chunk(lane_g() + 8 * j, q);
        const bool ok = !CUT || i < S::K;
        load_line<V, S::N, CUT || S::N_TAIL>(w + (ok ? i : 0) * ld, m * CHUNK + RUN * lane_t(), ok, run);
#pragma unroll
        for (int s = 0; s < STEPS; s++)
#pragma unroll
          for (int h = 0; h < 2; h++) {
            u32 pair[QUAD / 2];
#pragma unroll
            for (int i = 0; i < QUAD / 2; i++) pair[i] = run[QUAD * s + QUAD / 2 * h + i];
            turn(pair, row[s][h] + QUAD / 2 * j);
          }
      }
#pragma unroll
      for (int s = 0; s < STEPS; s++) a[s][q] = make_a(row[s][0], row[s][1]);
    }
  }
};

/* The B operand, from where x lies: one row of x a column. Where addresses do not allow wide loads, there are many narrow ones,
 * and the text stays short by unrolling nothing. */
template <bool WIDE> struct x_direct {
  enum : int { UNROLL = WIDE ? 4 : 1, V = load_piece<WIDE, N_IN>::value };
  const elem *p[SUB_TILES];

  __device__ __forceinline__ void open(const rgt_kargs &k, const tile &at) {
#pragma unroll
    for (int n = 0; n < SUB_TILES; n++) p[n] = x_of(k, column_row(at, n));
  }
  template <bool CUT> __device__ __forceinline__ void get(int c, int n, frag_b (&b)[STEPS]) const {
    u32 run[RUN_WORDS];
    load_line<V, N_IN, CUT>(p[n], c * CHUNK + RUN * lane_t(), true, run);
#pragma unroll
    for (int q = 0; q < STEPS; q++) b[q] = make_b(run + QUAD * q);
  }
};

/* The same, kept in registers: c must be a constant. */
struct x_kept {
  enum : int { CHUNKS = shape<1>::K_CHUNKS, UNROLL = CHUNKS };
  frag_b b[CHUNKS][SUB_TILES][STEPS];

  template <bool WIDE> __device__ __forceinline__ void open(const x_direct<WIDE> &x) {
#pragma unroll
    for (int n = 0; n < SUB_TILES; n++) {
#pragma unroll
      for (int c = 0; c < N_IN / CHUNK; c++) x.template get<false>(c, n, b[c][n]);
      if constexpr (shape<1>::K_TAIL) x.template get<true>(CHUNKS - 1, n, b[CHUNKS - 1][n]);
    }
  }
  template <bool CUT> __device__ __forceinline__ void get(int c, int n, frag_b (&to)[STEPS]) const {
#pragma unroll
    for (int q = 0; q < STEPS; q++) to[q] = b[c][n][q];
  }
};

/* Rows in shared memory, PITCH bytes apart, zeros where nothing is. */
template <int PITCH> struct in_shared {
  enum : int { UNROLL = 2 };
  const unsigned char *p;

  template <bool CUT> __device__ __forceinline__ void get(int c, int n, frag_b (&b)[STEPS]) const {
    u32 run[RUN_WORDS];
    load_shared<RUN_WORDS>(p + (n * 8 + lane_g()) * PITCH + (c * CHUNK + RUN * lane_t()) * (int)sizeof(elem), run);
#pragma unroll
    for (int q = 0; q < STEPS; q++) b[q] = make_b(run + QUAD * q);
  }
};

/* The tile's rows of x to shared memory: zeros from N_IN on, and in the rows that fill up the last sub-tile. */
template <bool WIDE> DEV void stage_rows(const rgt_kargs &k, const tile &at, unsigned char *to) {
  enum : int { V = load_piece<WIDE, N_IN>::value, PER_ROW = shape<1>::K_CHUNKS * CHUNK / V, THREADS = 32 * SHARERS };
  const int thread = SHARERS > 1 ? (int)threadIdx.x : lane_id(), pieces = (at.n + 7) / 8 * 8 * PER_ROW;
#pragma unroll 1
  for (int first = 0; first < pieces; first += THREADS) {
    const int i = first + thread, r = i / PER_ROW, c = i % PER_ROW * V;
    const i64 row = __shfl_sync(0xffffffffu, at.row, i < pieces ? r : 0);
    const bool ok = r < at.n && c < N_IN;
    const elem *from = x_of(k, row) + (ok ? c : 0);
    unsigned char *place = to + r * X_PITCH + c * (int)sizeof(elem);
    if (i < pieces) {
      if constexpr (V * (int)sizeof(elem) >= 4)
        copy_async<V * (int)sizeof(elem)>(place, from, ok);
      else
        *(u16 *)place = load_half_word_if(ok, from);
    }
    __syncwarp();
  }
  copy_async_commit();
  copy_async_wait<0>();
  tile_barrier();
}
