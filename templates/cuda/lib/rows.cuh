/* rows.cuh -- a row's x, y and group, whatever the call's x_div, y_mode and order are.
 *
 * ORDER is a constant (the op's order reaches source); x_div and y_mode are the call's, so their tests are uniform. Before it
 * come base.cuh, ptx.cuh and number.cuh.
 */

/* Row r reads x[r / x_div]; both fit 32 bits. */
DEV const elem *x_of(const rgt_kargs &k, i64 row) {
  const i64 at = k.x_div == 1 ? row : (i64)((u32)row / (u32)k.x_div);
  return (const elem *)k.x + at * k.ld_x;
}
DEV elem *y_of(const rgt_kargs &k, i64 row) { return (elem *)k.y + row * k.ld_y; }

/* y_mode is add: a live row's y becomes round(y + value), the sum formed once, in f32, by the one thread that has the value; a
 * row without a group stays as it is. Else y is set, and a row without a group is 0. */
DEV bool adds(const rgt_kargs &k) { return k.y_mode != 0; }

/* v to V neighbouring outputs of a live row, set or added. `to` is a multiple of A bytes, the V values lie in the row; V and A
 * are powers of two. */
template <int V, int A = (int)sizeof(elem)> DEV void put(const rgt_kargs &k, elem *to, const float (&v)[V]) {
  float sum[V], old[V];
#pragma unroll
  for (int i = 0; i < V; i++) sum[i] = v[i];
  if (adds(k)) {
    load_back<V, A>(to, old);
#pragma unroll
    for (int i = 0; i < V; i++) sum[i] = __fadd_rn(old[i], sum[i]);
  }
  store_run<V, A>(to, sum);
}

/* The first n of the V values: the end of a row. */
template <int V> DEV void put_first(const rgt_kargs &k, elem *to, const float (&v)[V], int n) {
#pragma unroll
  for (int i = 0; i < V; i++) {
    const float one[1] = {v[i]};
    if (i < n) put<1>(k, to + i, one);
  }
}

/* Zeros to the first n of V outputs of a row that has no group. */
template <int V> DEV void put_none(const rgt_kargs &k, elem *to, int n) {
#pragma unroll
  for (int i = 0; i < V; i++)
    if (i < n && !adds(k)) store(to + i, 0.0f);
}

DEV i64 index_value(const rgt_kargs &k, i64 at) { /* of the index, or of the offsets */
  if constexpr (INDEX_BITS == 64) {
    return load_i64((const i64 *)k.index + at);
  } else {
    u32 w[1];
    load_words<1>((const int *)k.index + at, w);
    return (int)w[0];
  }
}

DEV void count_index_error(const rgt_kargs &k, i64 row) {
  atomicAdd((u64 *)k.n_index_errors, (u64)1);
  atomicMin(k.first_index_error, row);
}

/* The group whose rows begin at or before `row` and end past it, by bisection of the ends offsets[1 .. groups]: whatever they
 * hold, only they and the group's begin are read. Rows from offsets[groups] on are masked; a row that the search leads to a
 * group that begins later (offsets that do not rise) has none and is counted. */
DEV i64 group_of_offsets(const rgt_kargs &k, i64 row, bool count) {
  i64 low = 0, high = k.groups; /* ends before low lie at or before the row, those from high on past it */
#pragma unroll 1
  while (low < high) {
    const i64 mid = (low + high) / 2;
    if (index_value(k, mid + 1) > row)
      high = mid;
    else
      low = mid + 1;
  }
  if (low == k.groups) return -1;
  if (index_value(k, low) <= row) return low;
  if (count) count_index_error(k, row);
  return -1;
}

/* The row's group; -1 when it is masked or its index, compared at its own width, is out of range. `count` is true for one
 * thread of a row: it reports an index that is wrong. */
DEV i64 group_of(const rgt_kargs &k, i64 row, bool count) {
  if constexpr (ORDER == ORDER_OFFSETS) {
    return group_of_offsets(k, row, count);
  } else {
    const i64 g = index_value(k, row);
    if (g >= 0 && g < k.groups) return g;
    if (g != -1 && count) count_index_error(k, row);
    return -1;
  }
}
