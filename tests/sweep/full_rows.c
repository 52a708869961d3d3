/* full_rows.c -- the full sweep's rows. */
#include "full_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generator/render.h"
#include "named_ops.h"
#include "runtime/base/number.h"
#include "runtime/base/random.h"
#include "runtime/cuda_target.h"

/* Weight form, order and the rest, in turn over the numbers of rows; their counts have no common divisor that would pair them.
 */
static void draw_call(sweep_row *row) {
  rgt__random r;
  rgt__random_seed(&r, sweep_row_seed(row, 0));
  row->form = rgt__random_below(&r, 2) ? RGT_POINTERS : RGT_STACKED;
  row->order = (rgt_order)rgt__random_below(&r, (uint64_t)sweep_factor_values(SWEEP_ORDER));
  row->align_bytes = rgt__random_below(&r, 2) ? 16 : 0;
  row->x_div = sweep_factor_values(SWEEP_X_DIV) > 1 && !rgt__random_below(&r, 4) ? 3 : 1;
  row->y_mode = sweep_factor_values(SWEEP_Y_MODE) > 1 && !rgt__random_below(&r, 4) ? RGT_Y_ADD : RGT_Y_SET;
}

static rgt_status add_op(rgt__families *families, const rgt_op_desc *op, int target, sweep_rows *rows, rgt__error *err) {
  rgt__target t;
  rgt__space space = {0};
  sweep_row row = {.op = *op, .x_div = 1};
  rgt__cuda_target_make(rgt__cuda_target_number(sweep_target_name(target)), &t);
  snprintf(row.target, sizeof row.target, "%s", sweep_target_name(target));
  rgt_status status = rgt__space_enumerate(families, op, &t, NULL, NULL, 0, &space, err);
  for (int i = 0; i < space.n && status == RGT_OK; i++) {
    rgt__variant_format(&space.variants[i], row.variant);
    draw_call(&row);
    status = sweep_rows_add(rows, &row, err);
  }
  rgt__space_free(&space);
  return status;
}

/* The same order for every part, of which each then keeps its own. */
static void keep_part(sweep_rows *rows, uint64_t seed, int part, int n_parts) {
  rgt__random r;
  int kept = 0;
  rgt__random_seed(&r, seed);
  for (int i = rows->n - 1; i > 0; i--) {
    int j = (int)rgt__random_below(&r, (uint64_t)i + 1);
    sweep_row swap = rows->row[i];
    rows->row[i] = rows->row[j];
    rows->row[j] = swap;
  }
  for (int i = part - 1; i < rows->n; i += n_parts) rows->row[kept++] = rows->row[i];
  rows->n = kept;
}

rgt_status sweep_full_rows(rgt__families *families, uint64_t seed, int part, int n_parts, sweep_rows *rows, rgt__error *err) {
  rgt_status status = RGT_OK;
  for (int i = 0; i < SWEEP_N_NAMED; i++)
    for (int type = 0; type < 3; type++)
      for (int target = 0; target < SWEEP_TARGETS && status == RGT_OK; target++) {
        rgt_op_desc op;
        status = rgt__op_parse(sweep_named_ops[i], &op, err);
        op.dtype = (rgt_dtype)type;
        if (status == RGT_OK) status = add_op(families, &op, target, rows, err);
      }
  if (status == RGT_OK) keep_part(rows, seed, part, n_parts);
  return status;
}

rgt_status sweep_full_digest(rgt__families *families, const sweep_row *row, char digest[SWEEP_DIGEST_SIZE], rgt__error *err) {
  int element = (int)rgt__number_bytes(row->op.dtype);
  rgt__render_facts facts = {row->form, row->align_bytes > element ? row->align_bytes : element, row->order};
  char hex[RGT_DIGEST_HEX_MAX];
  rgt__target target;
  rgt__variant v;
  rgt__rendered rendered;
  rgt__cuda_target_make(rgt__cuda_target_number(row->target), &target);
  rgt_status status = rgt__variant_parse(families, "cuda", row->variant, &v, err);
  if (status == RGT_OK) status = rgt__render(families, &v, &row->op, &target, &facts, &rendered, err);
  if (status != RGT_OK) return status;
  rgt__digest_hex(&rendered.digest, hex);
  snprintf(digest, SWEEP_DIGEST_SIZE, "%.16s", hex);
  rgt__rendered_free(&rendered);
  return RGT_OK;
}
