/* call.h -- a call's arguments: a row's group, x and y, a group's weights, a part's share of the work. Needs elem.h, kargs.h, and
 * ORDER_OFFSETS with its like (the prelude). */

/* Row r reads x[r / x_div]. */
VEC_INLINE const elem *call_x(const rgt_kargs *k, rgt_int64 r) {
  return (const elem *)k->x + (__builtin_expect(k->x_div == 1, 1) ? r : r / k->x_div) * k->ld_x;
}
VEC_INLINE elem *call_y(const rgt_kargs *k, rgt_int64 r) {
  return (elem *)k->y + r * k->ld_y;
}

/* Is what y holds added to? Rows without a group then stay as they are. */
VEC_INLINE int call_adds(const rgt_kargs *k) {
  return k->y_mode != 0;
}

/* Value `r` of the index, or of the offsets, at its own width: 2^32 in an int64 index is out of range, never 0. */
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

/* The first group from g on that ends past row r; k->groups where none does: such rows are masked. Groups before g end at or
 * before r. Steps double until one goes too far, so that the next group is found at once and a far one soon. Whatever the offsets
 * hold, only offsets[1 .. groups] are read. */
VEC_INLINE rgt_int64 call_group_from(const rgt_kargs *k, int bits, rgt_int64 r, rgt_int64 g) {
  rgt_int64 high = k->groups;
  for (rgt_int64 step = 1; g + step <= k->groups; step *= 2) {
    if (call_index(k, bits, g + step) > r) {
      high = g + step - 1;
      break;
    }
    g += step;
  }
  while (g < high) {
    const rgt_int64 middle = g + (high - g) / 2;
    if (call_index(k, bits, middle + 1) > r)
      high = middle;
    else
      g = middle + 1;
  }
  return g;
}

/* Row r's group, or what stands in its place; `order` is a constant. Rows come in rising order, and *walk is 0 before the first
 * of them. */
VEC_INLINE rgt_int64 call_row_group(const rgt_kargs *k, int order, int bits, rgt_int64 r, rgt_int64 *walk) {
  if (order != ORDER_OFFSETS) return call_index(k, bits, r);
  *walk = call_group_from(k, bits, r, *walk);
  return *walk < k->groups ? *walk : -1;
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

/* y of row r, which has no group. */
VEC_INLINE void call_none(const rgt_kargs *k, rgt_int64 r, rgt_int64 n) {
  elem *y = call_y(k, r);
  if (call_adds(k)) return;
  for (rgt_int64 i = 0; i < n; i++) y[i] = 0;
}
