/* call.h -- a call's arguments: a row's group, a group's weights, a part's share of the work. Needs elem.h, kargs.h. */

/* Value `r` of the index at its own width: 2^32 in an int64 index is out of range, never 0. */
VEC_INLINE rgt_int64 call_index(const rgt_kargs *k, int bits, rgt_int64 r) {
  return bits == 64 ? ((const rgt_int64 *)k->index)[r] : ((const int *)k->index)[r];
}

/* -1 is a masked row; another value outside [0, groups) is the caller's error. One comparison covers both. */
VEC_INLINE int call_live(const rgt_kargs *k, rgt_int64 g) {
  return (unsigned long long)g < (unsigned long long)k->groups;
}

/* Counts row r if its index is an error and not a mask. Rare: the atomics cost nothing in a good call. */
static __attribute__((noinline, unused)) void call_report(const rgt_kargs *k, rgt_int64 g, rgt_int64 r) {
  if (g == -1) return;
  __atomic_fetch_add(k->n_index_errors, 1, __ATOMIC_RELAXED);
  rgt_int64 seen = __atomic_load_n(k->first_index_error, __ATOMIC_RELAXED);
  while (r < seen && !__atomic_compare_exchange_n(k->first_index_error, &seen, r, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

/* Group g's matrix or bias: stacked, or by pointer. Only for a group that a row uses: other entries may be NULL. */
VEC_INLINE const elem *call_group(const void *base, int pointers, rgt_int64 stride, rgt_int64 g) {
  return pointers ? ((const elem *const *)base)[g] : (const elem *)base + g * stride;
}

/* First of `n` items that part `part` of `n_parts` does; its last is one before the next part's first. */
VEC_INLINE rgt_int64 call_share(rgt_int64 n, rgt_int64 part, rgt_int64 n_parts) {
  if (n_parts == 1) return n * part; /* a small call: three divisions cost as much as a row */
  return n / n_parts * part + n % n_parts * part / n_parts;
}

VEC_INLINE void call_zero(elem *y, rgt_int64 n) {
  for (rgt_int64 i = 0; i < n; i++) y[i] = 0;
}
