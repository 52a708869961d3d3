/* walk.cuh -- what rows that walk past a group's weights are read by. */

enum : int { LAST = IS_MLP ? 2 : 1 }; /* layer */

DEV float load_raw(const float *p) {
  u32 w[1];
  load_words<1>(p, w);
  return f32_of_bits(w[0]);
}
DEV u16 load_raw(const u16 *p) { return load_half_word(p); }

DEV float load_one(const elem *p) {
  float one[1];
  load_run<1, (int)sizeof(elem)>(p, one);
  return one[0];
}

/* K neighbouring values, in runs as wide as the promised alignment allows. */
template <int K> DEV void load_line(const elem *p, float (&v)[K]) {
  enum : int { FOURS = K / 4 * 4 };
#pragma unroll
  for (int at = 0; at < FOURS; at += 4) {
    float four[4];
    load_run<4, ALIGNED>(p + at, four);
#pragma unroll
    for (int i = 0; i < 4; i++) v[at + i] = four[i];
  }
#pragma unroll
  for (int at = FOURS; at < K; at++) v[at] = load_one(p + at);
}

/* V values from k on of the AT_ONCE rows in work: of x, or hidden ones in shared memory. */
struct rows_of_x {
  const elem *p[AT_ONCE];
  template <int V> __device__ __forceinline__ void get(int row, int k, float (&v)[V]) const {
    load_run<V, V == 1 ? (int)sizeof(elem) : ALIGNED>(p[row] + k, v);
  }
};
struct rows_of_shared {
  const float *p;
  int pitch;
  template <int V> __device__ __forceinline__ void get(int row, int k, float (&v)[V]) const {
#pragma unroll
    for (int i = 0; i < V; i++) v[i] = p[row * pitch + k + i];
  }
};
