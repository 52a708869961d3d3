/* pad8_product.cuh -- fragments of one step: 4 values of k of two rows (A), of one column (B), as they lie in memory. */
struct frag_a {
  u32 w[4];
};
struct frag_b {
  u32 w[2];
};
DEV frag_a make_a(const u32 *row_g, const u32 *row_g8) {
  return {{row_g[0], row_g8[0], row_g[1], row_g8[1]}};
}
DEV frag_b make_b(const u32 *column) {
  return {{column[0], column[1]}};
}
DEV void add_product(float (&c)[4], const frag_a &a, const frag_b &b) {
  if constexpr (DTYPE == DTYPE_F16)
    mma_f16(c, a.w, b.w);
  else
    mma_bf16(c, a.w, b.w);
}
