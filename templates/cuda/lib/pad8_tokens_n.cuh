/* pad8_tokens_n.cuh -- a tile's rows ("tokens") on the n side of the product: the weights are the A operand.
 *
 * A sub-tile is 8 rows, a row a column of the product; a step makes 16 outputs of it, which are A's rows. Turned, a lane's D
 * fragment is a quad of one row: the next layer's B, or a piece of y. */
typedef frag_a frag_w;
typedef frag_b frag_x;
enum : int { PIECES = 1 };                       /* D fragments of a step */
typedef float sums[SUB_TILES][STEPS][PIECES][4]; /* of a chunk of outputs */
static_assert(ROW_PARTS == 1, "the size that Lua knows");

/* Weights of outputs g and g + 8 of a step; x of a step, from a run of the lane's row. */
DEV frag_w make_w(const u32 *output_g, const u32 *output_g8) {
  return make_a(output_g, output_g8);
}
DEV frag_x make_x(const u32 (&run)[1][RUN_WORDS], int q) {
  return make_b(run[0] + QUAD_WORDS * q);
}
DEV void add_step(float (&c)[PIECES][4], const frag_w &w, const frag_x &x) {
  add_product(c[0], w, x);
}

/* c[n][s][p][i] is of output sum_output(s, p, which_output(i)) of its chunk. */
DEV int which_output(int i) {
  return i / 2;
}
DEV int sum_output(int s, int, int which) {
  return in_chunk(lane_g() + 8 * which, s);
}

/* A step's sums, as 4 neighbouring outputs of the lane's row. PART 0 is rounded, 1 is what that dropped. */
template <int PART> DEV void stored_quad(const float (&c)[PIECES][4], int, u32 *quad) {
#pragma unroll
  for (int j = 0; j < 2; j++) {
    u32 pair[QUAD_WORDS / 2];
    stored_pair<PART>(c[0][2 * j], c[0][2 * j + 1], pair);
    turn(pair, quad + QUAD_WORDS / 2 * j);
  }
}
DEV void value_quad(const float (&c)[PIECES][4], int, float *v) {
#pragma unroll
  for (int j = 0; j < 2; j++) turn_f32(c[0][2 * j], c[0][2 * j + 1], v[2 * j], v[2 * j + 1]);
}
