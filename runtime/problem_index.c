/* problem_index.c -- which row belongs to which group: made by skew, read back, classified. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "runtime/base/alloc.h"
#include "runtime/problem_parts.h"

#define ZIPF_EXPONENT 1.1
#define ZIPF_GROUPS_MAX ((int64_t)1 << 20) /* groups that a zipf index can name: its table stays small */

static int64_t index_load(const void *index, rgt_index_type type, int64_t row) {
  return type == RGT_I64 ? ((const int64_t *)index)[row] : ((const int32_t *)index)[row];
}

int64_t rgt__problem_index_at(const rgt__problem *p, int64_t row) {
  return index_load(p->index, p->op.index_type, row);
}

void rgt__problem_index_set(rgt__problem *p, int64_t row, int64_t group) {
  if (p->op.index_type == RGT_I64) {
    ((int64_t *)p->index)[row] = group;
  } else {
    ((int32_t *)p->index)[row] = (int32_t)group;
  }
}

/* Ranks 0 .. n-1 with the running sum of their weights, and the group that each rank stands for. */
typedef struct zipf {
  int64_t n, step; /* step: from one group that can be drawn to the next */
  double *sum;
  int64_t *group;
} zipf;

static void zipf_free(zipf *z) {
  rgt__free(z->sum);
  rgt__free(z->group);
}

static rgt_status zipf_make(zipf *z, int64_t groups, rgt__random *r, rgt__error *err) {
  z->n = groups < ZIPF_GROUPS_MAX ? groups : ZIPF_GROUPS_MAX;
  z->step = groups / z->n;
  size_t bytes = (size_t)z->n * sizeof(double);
  z->sum = rgt__alloc(bytes);
  z->group = rgt__alloc(bytes);
  if (!z->sum || !z->group) return rgt__error_nomem(err, bytes);
  double sum = 0;
  for (int64_t i = 0; i < z->n; i++) {
    z->sum[i] = sum += pow((double)(i + 1), -ZIPF_EXPONENT);
    z->group[i] = i * z->step;
  }
  for (int64_t i = z->n - 1; i > 0; i--) { /* Fisher and Yates */
    int64_t j = (int64_t)rgt__random_below(r, (uint64_t)i + 1), t = z->group[i];
    z->group[i] = z->group[j];
    z->group[j] = t;
  }
  return RGT_OK;
}

static int64_t zipf_draw(const zipf *z, rgt__random *r) {
  double v = rgt__random_unit(r) * z->sum[z->n - 1];
  int64_t low = 0, high = z->n - 1;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (z->sum[middle] > v) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return z->group[low];
}

/* Masked rows are drawn by going through the rows once: a row is masked with the chance that what is still to be masked has
 * among the rows still to come, which ends at exactly n_masked. Skew one: every 20th live row goes anywhere, the rest to one
 * group, so that the largest share is 0.95 or more whatever the number of rows. */
rgt_status rgt__problem_index_make(rgt__problem *p, rgt_skew skew, int64_t n_masked, int64_t first, int64_t n, rgt__random *r,
                                   rgt__error *err) {
  zipf z = {0};
  rgt_status status = RGT_OK;
  if (skew == RGT_SKEW_ZIPF) status = zipf_make(&z, n, r, err);
  int64_t main_group = (int64_t)rgt__random_below(r, (uint64_t)n), live = 0;
  for (int64_t row = 0; status == RGT_OK && row < p->rows; row++) {
    int64_t group;
    if ((int64_t)rgt__random_below(r, (uint64_t)(p->rows - row)) < n_masked) {
      n_masked--;
      rgt__problem_index_set(p, row, -1);
      continue;
    }
    if (skew == RGT_SKEW_ZIPF) {
      group = zipf_draw(&z, r);
    } else if (skew == RGT_SKEW_ONE && live % 20 != 19) {
      group = main_group;
    } else {
      group = (int64_t)rgt__random_below(r, (uint64_t)n);
    }
    live++;
    rgt__problem_index_set(p, row, first + group);
  }
  zipf_free(&z);
  return status;
}

static int compare(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* Where a row stands by its index: groups in rising order, then what is no group. */
static int64_t rank_of(int64_t g, int64_t groups) {
  return g >= 0 && g < groups ? g : groups;
}

void rgt__problem_offsets(const rgt__problem *p, void *offsets) {
  int64_t row = 0;
  for (int64_t g = 0; g <= p->op.groups; g++) {
    while (row < p->rows && rank_of(rgt__problem_index_at(p, row), p->op.groups) < g) row++;
    if (p->op.index_type == RGT_I64) {
      ((int64_t *)offsets)[g] = row;
    } else {
      ((int32_t *)offsets)[g] = (int32_t)row;
    }
  }
}

int64_t rgt__problem_index_unsorted(const rgt__problem *p) {
  for (int64_t row = 1; row < p->rows; row++) {
    if (rank_of(rgt__problem_index_at(p, row - 1), p->op.groups) > rank_of(rgt__problem_index_at(p, row), p->op.groups))
      return row;
  }
  return -1;
}

/* As unsigned numbers those below 0 come last, -1 behind all. */
static int compare_i64(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static int compare_i32(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

void rgt__problem_index_sort(rgt__problem *p) {
  int wide = p->op.index_type == RGT_I64;
  for (int64_t row = 0; p->order == RGT_ORDER_OFFSETS && row < p->rows; row++) {
    if (rank_of(rgt__problem_index_at(p, row), p->op.groups) == p->op.groups) rgt__problem_index_set(p, row, -1);
  }
  qsort(p->index, (size_t)p->rows, wide ? 8 : 4, wide ? compare_i64 : compare_i32);
}

/* Sorted, equal groups stand together: memory by rows, whatever the number of groups. No memory: unknown. */
rgt_skew rgt__problem_skew_of(const void *index, rgt_index_type type, int64_t rows, int64_t groups) {
  int64_t live = 0, largest = 0, run = 0;
  int64_t *sorted = rgt__alloc_zero(rows > 0 ? (size_t)rows : 0, sizeof *sorted);
  if (!sorted) return RGT_SKEW_UNKNOWN;
  for (int64_t row = 0; row < rows; row++) {
    int64_t g = index_load(index, type, row);
    if (g >= 0 && g < groups) sorted[live++] = g;
  }
  qsort(sorted, (size_t)live, sizeof *sorted, compare);
  for (int64_t i = 0; i < live; i++) {
    run = i && sorted[i] == sorted[i - 1] ? run + 1 : 1;
    if (run > largest) largest = run;
  }
  rgt__free(sorted);
  if (live > 8 && groups > 1 && (__int128)largest * 10 > (__int128)live * 9) return RGT_SKEW_ONE;
  if ((__int128)(largest - 8) * groups <= (__int128)live * 2) return RGT_SKEW_UNIFORM;
  return RGT_SKEW_ZIPF;
}
