/* three_mlps.c -- three MLPs 10-20-5 over eight rows that belong to them, unsorted, one row masked. */
#include <ragtune.h>
#include <stdio.h>

enum { ROWS = 8, IN = 10, HIDDEN = 20, OUT = 5, GROUPS = 3 };

int main(void) {
  static float x[ROWS][IN], w1[GROUPS][HIDDEN][IN], b1[GROUPS][HIDDEN], w2[GROUPS][OUT][HIDDEN], b2[GROUPS][OUT], y[ROWS][OUT];
  const int64_t index[ROWS] = {2, 0, 1, 1, -1, 0, 2, 0};
  for (int r = 0; r < ROWS; r++)
    for (int i = 0; i < IN; i++) x[r][i] = (float)(r + 1) / 4;
  for (int g = 0; g < GROUPS; g++)
    for (int h = 0; h < HIDDEN; h++) {
      for (int i = 0; i < IN; i++) w1[g][h][i] = (float)(g + 1) / 10;
      for (int o = 0; o < OUT; o++) w2[g][o][h] = 0.05f;
    }

  rgt_ctx *ctx = NULL;
  rgt_op *op = NULL;
  rgt_op_desc desc;
  rgt_options options = {.struct_size = sizeof options, .device = "cpu"}; /* NULL for all of it takes a GPU where one is */
  rgt_status status = rgt_open(&options, &ctx);
  if (status == RGT_OK) status = rgt_op_parse(ctx, "mlp:10-20-5:g3:f32:relu:b12:nk:i64", &desc);
  if (status == RGT_OK) status = rgt_op_new(ctx, &desc, NULL, &op);
  if (status == RGT_OK) status = rgt_op_prepare(op, ROWS, 0); /* the stored winner, else the nearest, else the default */

  rgt_args args = {.struct_size = sizeof args, .rows = ROWS, .x = x, .index = index, .y = y};
  args.layer1 = (rgt_layer){.w = w1, .b = b1}; /* stacked and packed; leading dimensions and strides can be given */
  args.layer2 = (rgt_layer){.w = w2, .b = b2};
  if (status == RGT_OK) status = rgt_op_run(op, &args, NULL); /* allocates nothing, compiles nothing */

  if (status == RGT_OK)
    for (int r = 0; r < ROWS; r++) printf("row %d of group %2d: y[0] = %.3f\n", r, (int)index[r], (double)y[r][0]);
  else
    fprintf(stderr, "%s: %s\n", rgt_status_name(status), rgt_errmsg(ctx));
  rgt_close(ctx); /* frees the op too */
  return status == RGT_OK ? 0 : 1;
}
