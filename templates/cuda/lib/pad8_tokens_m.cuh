/* pad8_tokens_m.cuh -- a tile's rows ("tokens") on the m side of the product: x is the A operand.
 *
 * A sub-tile is 16 rows; a step makes 16 outputs of them in two pieces of 8, which are B's columns. The columns have the order
 * of in_chunk, so that a lane's D fragments of both pieces are a quad of row g and one of row g + 8: the next layer's A, or
 * pieces of y, as they are. Nothing is turned but kn weights. */
struct frag_w {
  frag_b piece[2];
};
typedef frag_a frag_x;
enum : int { PIECES = 2 };                       /* D fragments of a step */
typedef float sums[SUB_TILES][STEPS][PIECES][4]; /* of a chunk of outputs */
static_assert(ROW_PARTS == 2, "the size that Lua knows");

/* Weights of outputs g and g + 8 of a step; x of a step, from runs of the lane's rows. */
DEV frag_w make_w(const u32 *output_g, const u32 *output_g8) {
  return {{make_b(output_g), make_b(output_g8)}};
}
DEV frag_x make_x(const u32 (&run)[2][RUN_WORDS], int q) {
  return make_a(run[0] + QUAD_WORDS * q, run[1] + QUAD_WORDS * q);
}
DEV void add_step(float (&c)[PIECES][4], const frag_w &w, const frag_x &x) {
#pragma unroll
  for (int p = 0; p < PIECES; p++) add_product(c[p], x, w.piece[p]);
}

/* c[n][s][p][i] is of output sum_output(s, p, which_output(i)) of its chunk, and of the lane's row i / 2. */
DEV int which_output(int i) {
  return i % 2;
}
DEV int sum_output(int s, int p, int which) {
  return RUN * lane_t() + 4 * s + 2 * p + which;
}

/* A step's sums, as 4 neighbouring outputs of the lane's row h. PART 0 is rounded, 1 is what that dropped. */
template <int PART> DEV void stored_quad(const float (&c)[PIECES][4], int h, u32 *quad) {
#pragma unroll
  for (int p = 0; p < PIECES; p++) {
    u32 pair[QUAD_WORDS / 2];
    stored_pair<PART>(c[p][2 * h], c[p][2 * h + 1], pair);
#pragma unroll
    for (int i = 0; i < QUAD_WORDS / 2; i++) quad[QUAD_WORDS / 2 * p + i] = pair[i];
  }
}
DEV void value_quad(const float (&c)[PIECES][4], int h, float *v) {
#pragma unroll
  for (int p = 0; p < PIECES; p++) {
    v[2 * p] = c[p][2 * h];
    v[2 * p + 1] = c[p][2 * h + 1];
  }
}
