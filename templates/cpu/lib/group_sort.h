/* group_sort.h -- a stable counting sort of row numbers by group, in two steps of n_parts parts each. Needs call.h.
 *
 *   count   each part counts the rows of its share, by group
 *   place   each part writes its rows' numbers to their places; rows that are masked or have a wrong index are done with there
 *
 * Workspace, all int: row_first [groups + 1] | tile_first [groups + 1] | rows_of_groups [rows] | counts and cursors, both
 * [n_parts][groups] and of no use after `place`. Rows of group g are rows_of_groups[row_first[g] .. row_first[g + 1]), in the
 * order of the call whatever n_parts is; its tiles are numbered tile_first[g] .. tile_first[g + 1]. */

typedef struct group_sort {
  int *row_first, *tile_first, *rows_of_groups;
  int *counts; /* 64-byte aligned if the workspace is: what follows may be used again */
} group_sort;

VEC_INLINE rgt_int64 sort_aligned(rgt_int64 n) {
  return (n + 15) / 16 * 16;
}

VEC_INLINE group_sort sort_layout(const rgt_kargs *k, void *workspace) {
  group_sort s;
  s.row_first = workspace;
  s.tile_first = s.row_first + sort_aligned(k->groups + 1);
  s.rows_of_groups = s.tile_first + sort_aligned(k->groups + 1);
  s.counts = s.rows_of_groups + sort_aligned(k->rows);
  return s;
}

static void sort_count(const rgt_kargs *k, const group_sort *s, int index_bits, rgt_int64 part, rgt_int64 n_parts) {
  int *count = s->counts + part * k->groups;
  for (rgt_int64 g = 0; g < k->groups; g++) count[g] = 0;
  const rgt_int64 end = call_share(k->rows, part + 1, n_parts);
  for (rgt_int64 r = call_share(k->rows, part, n_parts); r < end; r++) {
    const rgt_int64 g = call_index(k, index_bits, r);
    if (call_live(k, g)) count[g]++;
  }
}

/* Where this part's rows of each group begin. Every part adds up all counts for itself: no step more, and n_parts is small. */
VEC_INLINE void sort_begin(const rgt_kargs *k, const group_sort *s, int tile_rows, int *cursor, rgt_int64 part,
                           rgt_int64 n_parts) {
  int row = 0, tile = 0;
  for (rgt_int64 g = 0; g < k->groups; g++) {
    int n = 0, before = 0;
    for (rgt_int64 p = 0; p < n_parts; p++) {
      const int c = s->counts[p * k->groups + g];
      before += p < part ? c : 0;
      n += c;
    }
    cursor[g] = row + before;
    if (part == 0) {
      s->row_first[g] = row;
      s->tile_first[g] = tile;
    }
    row += n;
    tile += (n + tile_rows - 1) / tile_rows;
  }
  if (part == 0) {
    s->row_first[k->groups] = row;
    s->tile_first[k->groups] = tile;
  }
}

static void sort_place(const rgt_kargs *k, const group_sort *s, int index_bits, int tile_rows, rgt_int64 n_out, rgt_int64 part,
                       rgt_int64 n_parts) {
  int *cursor = s->counts + (n_parts + part) * k->groups;
  sort_begin(k, s, tile_rows, cursor, part, n_parts);
  const rgt_int64 end = call_share(k->rows, part + 1, n_parts);
  for (rgt_int64 r = call_share(k->rows, part, n_parts); r < end; r++) {
    const rgt_int64 g = call_index(k, index_bits, r);
    if (call_live(k, g)) {
      s->rows_of_groups[cursor[g]++] = (int)r;
    } else {
      call_report(k, g, r);
      call_none(k, r, n_out);
    }
  }
}

/* The group of a tile: the last one whose first tile is not past it; groups without rows have no tile of their own. */
VEC_INLINE rgt_int64 sort_group_of_tile(const rgt_kargs *k, const group_sort *s, rgt_int64 tile) {
  rgt_int64 low = 0, high = k->groups;
  while (high - low > 1) {
    const rgt_int64 middle = low + (high - low) / 2;
    if (s->tile_first[middle] <= tile)
      low = middle;
    else
      high = middle;
  }
  return low;
}
