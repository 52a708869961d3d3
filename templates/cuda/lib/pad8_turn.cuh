/* pad8_turn.cuh -- pairs of neighbours: as they are stored, and turned from lane to lane. */

/* A pair of neighbours as it is stored. */
DEV void rounded(float v0, float v1, u32 (&pair)[QUAD_WORDS / 2]) {
  if constexpr (QUAD_WORDS == 2) {
    pair[0] = pair_of_f32(v0, v1);
  } else {
    pair[0] = bits_of_f32(v0);
    pair[QUAD_WORDS / 2 - 1] = bits_of_f32(v1);
  }
}

/* Part 0 of it, or part 1: what rounding dropped of a pair of 16-bit values. */
template <int PART> DEV void stored_pair(float v0, float v1, u32 (&pair)[QUAD_WORDS / 2]) {
  rounded(v0, v1, pair);
  if constexpr (PART == 1)
    rounded(__fsub_rn(v0, f32_of((u16)(pair[0] & 0xffffu))), __fsub_rn(v1, f32_of((u16)(pair[0] >> 16))), pair);
}

/* An 8 x 8 block of 32-bit values, a pair of neighbours in each lane, turned (movmatrix says how): the high halves and the low
 * ones, each as a block of 16 bits. */
DEV void turn_words(u32 v0, u32 v1, u32 &to0, u32 &to1) {
  const u32 low = movmatrix(__byte_perm(v0, v1, 0x5410)), high = movmatrix(__byte_perm(v0, v1, 0x7632));
  to0 = __byte_perm(low, high, 0x5410);
  to1 = __byte_perm(low, high, 0x7632);
}

/* The same of elements. */
DEV void turn(const u32 (&pair)[QUAD_WORDS / 2], u32 *turned) {
  if constexpr (QUAD_WORDS == 2) {
    turned[0] = movmatrix(pair[0]);
  } else {
    turn_words(pair[0], pair[1], turned[0], turned[1]);
  }
}

/* A pair of f32, turned. */
DEV void turn_f32(float v0, float v1, float &to0, float &to1) {
  u32 w0, w1;
  turn_words(bits_of_f32(v0), bits_of_f32(v1), w0, w1);
  to0 = f32_of_bits(w0);
  to1 = f32_of_bits(w1);
}
