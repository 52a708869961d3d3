/* pad8_layers.cuh -- the body of a tile: sums of both layers, whichever side of the product its rows are on.
 *
 * Before it comes pad8_tokens_n.cuh or pad8_tokens_m.cuh, which say what fragments are and where a lane's sums belong. Each row
 * is summed by itself, so its bits hang on nothing else in its tile. */

/* Biases are where the sums begin; nothing where `first` is false (another warp has them). */
template <int LAYER, int V> DEV void begin_sums(const operand<LAYER, V> &w, int m, bool first, sums &c) {
  typedef shape<LAYER> S;
#pragma unroll
  for (int s = 0; s < STEPS; s++)
#pragma unroll
    for (int p = 0; p < PIECES; p++) {
      float bias[2] = {0.0f, 0.0f};
      if constexpr (layer<LAYER>::BIAS) {
#pragma unroll
        for (int j = 0; j < 2; j++) {
          int o = m * CHUNK + sum_output(s, p, j);
          if (S::N_TAIL && o > S::N - 1) o = S::N - 1;
          float one[1] = {0.0f};
          if (first) load_run<1, (int)sizeof(elem)>(w.bias + o, one);
          bias[j] = one[0];
        }
      }
#pragma unroll
      for (int n = 0; n < SUB_TILES; n++)
#pragma unroll
        for (int i = 0; i < 4; i++) c[n][s][p][i] = bias[which_output(i)];
    }
}

/* c += a chunk of weights times a chunk of rows. */
DEV void add_chunk(int n, const frag_w (&w)[STEPS][STEPS], const frag_x (&x)[STEPS], sums &c) {
#pragma unroll
  for (int s = 0; s < STEPS; s++)
#pragma unroll
    for (int q = 0; q < STEPS; q++) add_step(c[n][s], w[s][q], x[q]);
}

template <bool CUT, int LAYER, int V, class X>
DEV void one_chunk(const tile &at, const operand<LAYER, V> &w, const typename operand<LAYER, V>::lines &lines, int m,
                   const X &x, int chunk, sums &c) {
  frag_w fw[STEPS][STEPS];
  w.template load<CUT>(lines, m, chunk, fw);
#pragma unroll
  for (int n = 0; n < SUB_TILES; n++) {
    if (!sub_tile_live(at, n)) continue; /* in shared memory nobody wrote its rows */
    frag_x fx[STEPS];
    x.template get<CUT>(chunk, n, fx);
    add_chunk(n, fw, fx, c);
  }
}

/* c += chunk m of the outputs, summed over all k. UNROLL: chunks of k that the compiler sees together. */
template <int UNROLL, int LAYER, int V, class X>
DEV void all_chunks(const tile &at, const operand<LAYER, V> &w, int m, const X &x, sums &c) {
  typedef shape<LAYER> S;
  const typename operand<LAYER, V>::lines lines = w.at(m);
#pragma unroll UNROLL
  for (int chunk = 0; chunk < S::K / CHUNK; chunk++) one_chunk<false>(at, w, lines, m, x, chunk, c);
  if constexpr (S::K_TAIL) one_chunk<true>(at, w, lines, m, x, S::K / CHUNK, c);
}

template <int LAYER> DEV void activate(int m, sums &c) {
  typedef shape<LAYER> S;
#pragma unroll
  for (int n = 0; n < SUB_TILES; n++)
#pragma unroll
    for (int s = 0; s < STEPS; s++)
#pragma unroll
      for (int p = 0; p < PIECES; p++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
          float &v = c[n][s][p][i];
          v = act_f32(v);
          if (S::N_TAIL && m * CHUNK + sum_output(s, p, which_output(i)) >= S::N) v = 0.0f; /* the next layer's k */
        }
}

/* What this lane has of row h of sub-tile n, as a run of words: part 0 is rounded, part 1 what that dropped. */
template <int PART> DEV void stored_run(const sums &c, int n, int h, u32 (&run)[RUN_WORDS]) {
#pragma unroll
  for (int s = 0; s < STEPS; s++) stored_quad<PART>(c[n][s], h, run + QUAD_WORDS * s);
}

/* A lane's run of a row of y, from column o on, set or added. */
template <int V> DEV void store_values(const rgt_kargs &k, elem *to, int o, const float (&v)[RUN]) {
#pragma unroll
  for (int i = 0; i < RUN; i += V)
    if (N_OUT % CHUNK == 0 || o + i < N_OUT) {
      float part[V];
#pragma unroll
      for (int j = 0; j < V; j++) part[j] = v[i + j];
      put<V, V * (int)sizeof(elem)>(k, to + i, part);
    }
}

/* Chunks first ... first + CHUNKS - 1 of y's columns. Every lane takes part, those that have a row store. */
template <int V, int CHUNKS> DEV void store_chunks(const rgt_kargs &k, const tile &at, int first, const sums *c) {
#pragma unroll
  for (int n = 0; n < SUB_TILES; n++)
    if (sub_tile_live(at, n)) {
#pragma unroll
      for (int h = 0; h < ROW_PARTS; h++) {
        elem *to = y_of(k, row_of(at, n, h)) + RUN * lane_t();
#pragma unroll
        for (int m = 0; m < CHUNKS; m++) {
          const int o = (first + m) * CHUNK;
          float v[RUN];
#pragma unroll
          for (int s = 0; s < STEPS; s++) value_quad(c[m][n][s], h, v + 4 * s);
          if (place_of(n, h) < at.n) store_values<V>(k, to + o, o + RUN * lane_t(), v);
          __syncwarp();
        }
      }
    }
}

//% if op.kind == "mlp" and p.hidden_shared == 0 then
enum : int { OUT_CHUNKS = shape<2>::N_CHUNKS };

/* Outputs += what chunk u of the hidden values, in registers, gives. */
template <int PART, int V>
DEV void add_hidden(const tile &at, const operand<2, V> &w, int u, const sums &hidden, sums (&out)[OUT_CHUNKS]) {
  frag_x fx[SUB_TILES][STEPS];
#pragma unroll
  for (int n = 0; n < SUB_TILES; n++) {
    u32 run[ROW_PARTS][RUN_WORDS];
#pragma unroll
    for (int h = 0; h < ROW_PARTS; h++) stored_run<PART>(hidden, n, h, run[h]);
#pragma unroll
    for (int q = 0; q < STEPS; q++) fx[n][q] = make_x(run, q);
  }
#pragma unroll
  for (int m = 0; m < OUT_CHUNKS; m++) {
    frag_w fw[STEPS][STEPS];
    w.template load<shape<2>::K_TAIL>(w.at(m), m, u, fw);
#pragma unroll
    for (int n = 0; n < SUB_TILES; n++)
      if (sub_tile_live(at, n)) add_chunk(n, fw, fx[n], out[m]);
  }
}

/* The sharers' outputs, added in their order; each of them stores some. */
template <int V>
DEV void store_partials(const rgt_kargs &k, const tile &at, unsigned char *shared, const sums (&out)[OUT_CHUNKS]) {
  float *partial = (float *)(shared + PARTIALS_AT) + lane_id();
  enum : int { OF_STEP = PIECES * 4, EACH = SUB_TILES * STEPS * OF_STEP, ALL = OUT_CHUNKS * EACH };
#pragma unroll
  for (int i = 0; i < ALL; i++)
    partial[(sharer() * ALL + i) * 32] =
        out[i / EACH][i / (STEPS * OF_STEP) % SUB_TILES][i / OF_STEP % STEPS][i / 4 % PIECES][i % 4];
  tile_barrier();
#pragma unroll 1
  for (int m = sharer(); m < OUT_CHUNKS; m += SHARERS) {
    sums c;
#pragma unroll
    for (int i = 0; i < EACH; i++) {
      float sum = partial[(m * EACH + i) * 32];
#pragma unroll
      for (int j = 1; j < SHARERS; j++) sum = __fadd_rn(sum, partial[(j * ALL + m * EACH + i) * 32]);
      c[i / (STEPS * OF_STEP)][i / OF_STEP % STEPS][i / 4 % PIECES][i % 4] = sum;
    }
    store_chunks<V, 1>(k, at, m, &c);
  }
  tile_barrier();
}

/* The MLP with its hidden values in registers, a chunk at a time; each sharer takes its own chunks. */
template <bool WIDE, class X> DEV void layers(const rgt_kargs &k, const tile &at, unsigned char *shared, const X &x) {
  const auto w1 = operand<1, load_piece<WIDE, shape<1>::LINE>::value>::of(k, at.group);
  const auto w2 = operand<2, load_piece<WIDE, shape<2>::LINE>::value>::of(k, at.group);
  enum : int { V_OUT = load_piece<WIDE, N_OUT>::value };
  sums out[OUT_CHUNKS];
#pragma unroll
  for (int m = 0; m < OUT_CHUNKS; m++) begin_sums(w2, m, sharer() == 0, out[m]);
#pragma unroll 1
  for (int u = sharer(); u < shape<1>::N_CHUNKS; u += SHARERS) {
    sums hidden;
    begin_sums(w1, u, true, hidden);
    all_chunks<X::UNROLL>(at, w1, u, x, hidden);
    activate<1>(u, hidden);
    add_hidden<0>(at, w2, u, hidden, out);
    if constexpr (HIDDEN_PARTS == 2) add_hidden<1>(at, w2, u, hidden, out);
  }
  if constexpr (SHARERS > 1) {
    store_partials<V_OUT>(k, at, shared, out);
  } else {
    store_chunks<V_OUT, OUT_CHUNKS>(k, at, 0, out);
  }
}
//% elseif op.kind == "mlp" then

/* Chunk m of the hidden values to shared memory. */
template <int PART> DEV void keep_hidden(unsigned char *shared, int m, const sums &c) {
  enum : int { AT = HIDDEN_AT + PART * TILE_ROWS * HIDDEN_PITCH };
#pragma unroll
  for (int n = 0; n < SUB_TILES; n++)
#pragma unroll
    for (int h = 0; h < ROW_PARTS; h++) {
      u32 run[RUN_WORDS];
      stored_run<PART>(c, n, h, run);
      store_shared<RUN_WORDS>(shared + AT + place_of(n, h) * HIDDEN_PITCH + (m * CHUNK + RUN * lane_t()) * (int)sizeof(elem),
                              run);
    }
}

/* The MLP with its hidden values in shared memory: sharers take chunks of hidden values, then of outputs. */
template <bool WIDE, class X> DEV void layers(const rgt_kargs &k, const tile &at, unsigned char *shared, const X &x) {
  const auto w1 = operand<1, load_piece<WIDE, shape<1>::LINE>::value>::of(k, at.group);
  const auto w2 = operand<2, load_piece<WIDE, shape<2>::LINE>::value>::of(k, at.group);
  const in_shared<HIDDEN_PITCH> high = {shared + HIDDEN_AT}, low = {shared + HIDDEN_AT + TILE_ROWS * HIDDEN_PITCH};
#pragma unroll 1
  for (int m = sharer(); m < shape<1>::N_CHUNKS; m += SHARERS) {
    sums c;
    begin_sums(w1, m, true, c);
    all_chunks<X::UNROLL>(at, w1, m, x, c);
    activate<1>(m, c);
    keep_hidden<0>(shared, m, c);
    if constexpr (HIDDEN_PARTS == 2) keep_hidden<1>(shared, m, c);
  }
  tile_barrier();
#pragma unroll 1
  for (int m = sharer(); m < shape<2>::N_CHUNKS; m += SHARERS) {
    sums c;
    begin_sums(w2, m, true, c);
    all_chunks<2>(at, w2, m, high, c);
    if constexpr (HIDDEN_PARTS == 2) all_chunks<2>(at, w2, m, low, c);
    store_chunks<load_piece<WIDE, N_OUT>::value, 1>(k, at, m, &c);
  }
  tile_barrier();
}
//% else

/* The linear layer: sharers take chunks of outputs. */
template <bool WIDE, class X> DEV void layers(const rgt_kargs &k, const tile &at, unsigned char *, const X &x) {
  const auto w = operand<1, load_piece<WIDE, shape<1>::LINE>::value>::of(k, at.group);
#pragma unroll 1
  for (int m = sharer(); m < shape<1>::N_CHUNKS; m += SHARERS) {
    sums c;
    begin_sums(w, m, true, c);
    all_chunks<X::UNROLL>(at, w, m, x, c);
    activate<1>(m, c);
    store_chunks<load_piece<WIDE, N_OUT>::value, 1>(k, at, m, &c);
  }
}
//% end

/* Both layers for a tile that has a group; WIDE: all addresses allow the widest loads. */
template <bool WIDE> DEV void tile_body(const rgt_kargs &k, const tile &at, unsigned char *shared) {
  if constexpr (STAGE_X) {
    stage_rows<WIDE>(k, at, shared);
    layers<WIDE>(k, at, shared, in_shared<X_PITCH>{shared});
    if constexpr (!IS_MLP) tile_barrier(); /* the MLP ends with one */
  } else {
    x_direct<WIDE> x;
    x.open(k, at);
    if constexpr (X_KEPT && WIDE) {
      x_kept kept;
      kept.open(x);
      layers<WIDE>(k, at, shared, kept);
    } else {
      layers<WIDE>(k, at, shared, x);
    }
  }
}
