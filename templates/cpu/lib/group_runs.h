/* group_runs.h -- rows that come sorted by group need no sort: which of them, from one on, are of its group. Needs call.h. */

/* Rows r, r + 1, ... of row r's group *g, `most` of them at most; one where *g is no group. Rows of one share come in rising
 * order, *walk is 0 before the first of them. A sorted index is read row by row, so that one which is not sorted after all makes
 * shorter runs and nothing worse. */
VEC_INLINE rgt_int64 run_rows(const rgt_kargs *k, int order, int index_bits, rgt_int64 r, rgt_int64 most, rgt_int64 *walk,
                              rgt_int64 *g) {
  rgt_int64 n = 1;
  *g = call_row_group(k, order, index_bits, r, walk);
  if (!call_live(k, *g)) return 1;
  if (order == ORDER_OFFSETS) {
    const rgt_int64 left = call_index(k, index_bits, *g + 1) - r;
    return left < most ? left : most;
  }
  while (n < most && call_index(k, index_bits, r + n) == *g) n++;
  return n;
}
