/* groups.h -- a group's weights and biases in the op's form, which the prelude's constants say. Needs call.h. */

VEC_INLINE const elem *weights1(const rgt_kargs *k, rgt_int64 g) {
  return call_group(k->w1, WEIGHTS == WEIGHTS_POINTERS, k->stride_w1, g);
}
VEC_INLINE const elem *weights2(const rgt_kargs *k, rgt_int64 g) {
  return call_group(k->w2, WEIGHTS == WEIGHTS_POINTERS, k->stride_w2, g);
}
VEC_INLINE const elem *bias1(const rgt_kargs *k, rgt_int64 g) {
  return BIAS1 ? call_group(k->b1, (k->flags & RGT_KARGS_B1_POINTERS) != 0, k->stride_b1, g) : (const elem *)0;
}
VEC_INLINE const elem *bias2(const rgt_kargs *k, rgt_int64 g) {
  return BIAS2 ? call_group(k->b2, (k->flags & RGT_KARGS_B2_POINTERS) != 0, k->stride_b2, g) : (const elem *)0;
}
