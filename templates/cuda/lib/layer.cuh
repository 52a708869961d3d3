/* layer.cuh -- a layer of the op as constants, and where a row's group keeps its weights and bias. */

template <int LAYER> struct layer; /* K values in, N values out; ACTIVE: the activation follows */
template <> struct layer<1> {
  enum : int { K = N_IN, N = IS_MLP ? N_HIDDEN : N_OUT, BIAS = BIAS1, ACTIVE = 1, B_POINTERS = RGT_KARGS_B1_POINTERS };
  DEV const void *w(const rgt_kargs &k) { return k.w1; }
  DEV const void *b(const rgt_kargs &k) { return k.b1; }
  DEV i64 ld(const rgt_kargs &k) { return k.ld_w1; }
  DEV i64 stride_w(const rgt_kargs &k) { return k.stride_w1; }
  DEV i64 stride_b(const rgt_kargs &k) { return k.stride_b1; }
};
template <> struct layer<2> {
  enum : int { K = N_HIDDEN, N = N_OUT, BIAS = BIAS2, ACTIVE = 0, B_POINTERS = RGT_KARGS_B2_POINTERS };
  DEV const void *w(const rgt_kargs &k) { return k.w2; }
  DEV const void *b(const rgt_kargs &k) { return k.b2; }
  DEV i64 ld(const rgt_kargs &k) { return k.ld_w2; }
  DEV i64 stride_w(const rgt_kargs &k) { return k.stride_w2; }
  DEV i64 stride_b(const rgt_kargs &k) { return k.stride_b2; }
};

DEV const elem *pointer_at(const void *list, i64 i) { return (const elem *)load_i64((const i64 *)list + i); }

template <int LAYER> DEV const elem *weights_of(const rgt_kargs &k, i64 group) {
  typedef layer<LAYER> L;
  if constexpr (WEIGHTS == WEIGHTS_POINTERS)
    return pointer_at(L::w(k), group);
  else
    return (const elem *)L::w(k) + group * L::stride_w(k);
}

template <int LAYER> DEV const elem *bias_of(const rgt_kargs &k, i64 group) { /* a uniform test: the form is a flag */
  typedef layer<LAYER> L;
  if (k.flags & L::B_POINTERS) return pointer_at(L::b(k), group);
  return (const elem *)L::b(k) + group * L::stride_b(k);
}
