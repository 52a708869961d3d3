/* row_order.c -- a problem's rows in the order that the op has. */
#include "row_order.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void set_value(rgt__npy *a, int64_t i, int64_t v) {
  if (a->type == RGT_NPY_I4)
    ((int32_t *)a->data)[i] = (int32_t)v;
  else
    ((int64_t *)a->data)[i] = v;
}

/* masked rows come last */
static int64_t rank_of(const rgt__npy *index, int64_t row, int64_t groups) {
  int64_t g = rgt__npy_integer(index, (size_t)row);
  return g < 0 ? groups : g;
}

static rgt_status no_memory(size_t bytes, rgt__message *m) {
  return rgt__message_set(m, RGT_ENOMEM, "no memory for %zu bytes", bytes);
}

/* The stable order of a counting sort: from[i] is the row that comes i-th. */
static rgt_status find_order(rgt__data *d, rgt__message *m) {
  int64_t groups = d->desc.groups;
  size_t bytes = ((size_t)groups + 2) * sizeof(int64_t);
  int64_t *next = calloc((size_t)groups + 2, sizeof *next);
  d->from = malloc(((size_t)d->rows + 1) * sizeof *d->from);
  if (!next || !d->from) {
    free(next);
    return no_memory(bytes + ((size_t)d->rows + 1) * sizeof *d->from, m);
  }
  for (int64_t row = 0; row < d->rows; row++) next[rank_of(&d->index, row, groups) + 1]++;
  for (int64_t g = 0; g <= groups; g++) next[g + 1] += next[g];
  for (int64_t row = 0; row < d->rows; row++) d->from[next[rank_of(&d->index, row, groups)]++] = row;
  free(next);
  return RGT_OK;
}

/* Rows of `bytes` each, from their places to those of the order, or back. */
static rgt_status move_rows(const rgt__data *d, void *rows, size_t bytes, int back, rgt__message *m) {
  size_t all = (size_t)d->rows * bytes;
  unsigned char *copy = malloc(all + 1), *to = rows;
  if (!copy) return no_memory(all, m);
  memcpy(copy, rows, all);
  for (size_t i = 0; i < (size_t)d->rows; i++) {
    size_t from = (size_t)d->from[i];
    memcpy(to + (back ? from : i) * bytes, copy + (back ? i : from) * bytes, bytes);
  }
  free(copy);
  return RGT_OK;
}

rgt_status rgt__row_order_sort(rgt_order order, rgt__data *d, rgt__message *m) {
  rgt__npy *arrays[] = {&d->x, &d->y, &d->index};
  if (order == RGT_ORDER_RAW) return RGT_OK;
  rgt_status s = find_order(d, m);
  for (int i = 0; i < 3 && s == RGT_OK; i++)
    if (arrays[i]->data && d->rows) s = move_rows(d, arrays[i]->data, arrays[i]->bytes / (size_t)d->rows, 0, m);
  return s;
}

rgt_status rgt__row_order_undo(const rgt__data *d, void *y, size_t row_bytes, rgt__message *m) {
  return d->from ? move_rows(d, y, row_bytes, 1, m) : RGT_OK;
}

rgt_status rgt__row_order_offsets(rgt__data *d, rgt__message *m) {
  rgt__npy offsets = d->index;
  int64_t row = 0, groups = d->desc.groups;
  offsets.elems = (size_t)groups + 1;
  offsets.shape[0] = groups + 1;
  offsets.bytes = offsets.elems * rgt__npy_type_bytes(offsets.type);
  offsets.data = aligned_alloc(64, (offsets.bytes + 64) / 64 * 64);
  if (!offsets.data) return no_memory(offsets.bytes, m);
  for (int64_t g = 0; g <= groups; g++) {
    while (row < d->rows && rank_of(&d->index, row, groups) < g) row++;
    set_value(&offsets, g, row);
  }
  rgt__npy_free(&d->index);
  d->index = offsets;
  return RGT_OK;
}

rgt_status rgt__row_order_check_index(const char *path, const rgt__npy *index, int64_t groups, rgt__message *m) {
  for (int64_t row = 1; row < (int64_t)index->elems; row++)
    if (rank_of(index, row, groups) < rank_of(index, row - 1, groups))
      return rgt__message_set(m, RGT_EINVAL,
                              "%s: row %" PRId64 " has index %" PRId64 " after %" PRId64
                              "; with --order sorted groups must rise, and -1 (masked) comes last",
                              path, row, rgt__npy_integer(index, (size_t)row), rgt__npy_integer(index, (size_t)row - 1));
  return RGT_OK;
}

rgt_status rgt__row_order_check_offsets(const char *path, const rgt__npy *offsets, int64_t rows, rgt__message *m) {
  for (size_t g = 0; g < offsets->elems; g++) {
    int64_t at = rgt__npy_integer(offsets, g), least = g ? rgt__npy_integer(offsets, g - 1) : 0, most = g ? rows : 0;
    if (at < least || at > most)
      return rgt__message_set(m, RGT_EINVAL,
                              "%s: offset %zu is %" PRId64 "; want %" PRId64 " to %" PRId64
                              " (offsets begin with 0, never fall, and end at the number of rows or before)",
                              path, g, at, least, most);
  }
  return RGT_OK;
}
