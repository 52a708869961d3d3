/* pad8_turn.cuh -- pairs of neighbours: as they are stored, and turned from lane to lane. */

/* A pair of neighbours as it is stored. */
DEV void rounded(float v0, float v1, u32 (&pair)[QUAD / 2]) {
  if constexpr (QUAD == 2) {
    pair[0] = pair_of_f32(v0, v1);
  } else {
    pair[0] = bits_of_f32(v0);
    pair[QUAD / 2 - 1] = bits_of_f32(v1);
  }
}

/* Part 0 of it, or part 1: what rounding dropped of a pair of 16-bit values. */
template <int PART> DEV void stored_pair(float v0, float v1, u32 (&pair)[QUAD / 2]) {
  rounded(v0, v1, pair);
  if constexpr (PART == 1)
    rounded(__fsub_rn(v0, f32_of((u16)(pair[0] & 0xffffu))), __fsub_rn(v1, f32_of((u16)(pair[0] >> 16))), pair);
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
