/* row_gather.c -- every row reads its own group's weights: nothing is sorted, nothing is shared between rows.
 *
 *     linear   step 0   y[r] = act( W1[g] . x[r] + b1[g] )
 *     mlp      fused=0  step 0: hidden[r] into the workspace [rows, n_hidden];  step 1: y[r]
 *              fused=1  step 0: both layers, hidden on the stack
 *
 * hidden is f32 whatever the storage type is. Work items are (row, block of COLUMNS outputs); each output is summed by itself, so bits do not depend on the split. */
//% include("lib/kargs.h")

//% include("cpu/lib/vec.h")
//% include("cpu/lib/elem.h")
//% include("cpu/lib/shuffle.h")
//% include("cpu/lib/act.h")
//% include("cpu/lib/call.h")
//% include("cpu/lib/groups.h")
//% include("cpu/lib/layer_row.h")

enum { COLUMNS = 512 }; /* outputs of one work item: a row with large weights is shared by threads. The spec's grid knows it. */

/* One layer of row r, outputs of block `block` only. */
VEC_INLINE void layer_block(const elem *w, rgt_int64 ld, const elem *b, const void *x, rgt_int64 n_k, rgt_int64 n_n,
                            rgt_int64 block, int act, void *y, int ours, int add) {
  rgt_int64 n = block * COLUMNS;
  rgt_int64 count = n_n <= COLUMNS ? n_n : n_n - n < COLUMNS ? n_n - n : COLUMNS; /* a constant where there is one block */
  layer_row(LAYOUT == LAYOUT_KN, w + (LAYOUT == LAYOUT_KN ? n : n * ld), ld, b ? b + n : b, x, n_k, count, act,
            val_to(y, n, ours & OURS_Y), ours, add);
}

/* Row r, block `block` of step `step`'s outputs; g is r's group. */
VEC_INLINE void live_row(const rgt_kargs *k, float *hidden, int step, rgt_int64 r, rgt_int64 g, rgt_int64 block) {
  const elem *x = call_x(k, r);
  elem *y = call_y(k, r);
  const int add = call_adds(k);
  if (!IS_MLP) {
    layer_block(weights1(k, g), k->ld_w1, bias1(k, g), x, N_IN, N_OUT, block, ACT, y, OURS_NONE, add);
  } else if (FUSED) {
    float h[(FUSED && IS_MLP ? N_HIDDEN : 1) + LANES];
    layer_row(LAYOUT == LAYOUT_KN, weights1(k, g), k->ld_w1, bias1(k, g), x, N_IN, N_HIDDEN, ACT, h,
              OURS_Y | PAD_Y, 0);
    layer_row(LAYOUT == LAYOUT_KN, weights2(k, g), k->ld_w2, bias2(k, g), h, N_HIDDEN, N_OUT, ACT_NONE, y,
              OURS_X | PAD_X, add);
  } else if (step == 0) {
    layer_block(weights1(k, g), k->ld_w1, bias1(k, g), x, N_IN, N_HIDDEN, block, ACT, hidden + r * N_HIDDEN,
                OURS_Y, 0);
  } else {
    layer_block(weights2(k, g), k->ld_w2, bias2(k, g), hidden + r * N_HIDDEN, N_HIDDEN, N_OUT, block, ACT_NONE, y,
                OURS_X, add);
  }
}

__attribute__((visibility("default"))) void KERNEL(row_gather)(const rgt_kargs *k, void *workspace, int step, rgt_int64 part,
                                                               rgt_int64 n_parts) {
  const int last_step = !IS_MLP || FUSED || step == 1; /* the step that writes y */
  const rgt_int64 n_n = last_step ? N_OUT : N_HIDDEN;
  const rgt_int64 n_blocks = IS_MLP && FUSED ? 1 : (n_n + COLUMNS - 1) / COLUMNS;
  const rgt_int64 end = call_share(k->rows * n_blocks, part + 1, n_parts);
  rgt_int64 walk = 0;
  for (rgt_int64 item = call_share(k->rows * n_blocks, part, n_parts); item < end; item++) {
    const rgt_int64 r = item / n_blocks, block = item % n_blocks;
    const rgt_int64 g = call_row_group(k, ORDER, INDEX_BITS, r, &walk);
    if (call_live(k, g)) {
      live_row(k, workspace, step, r, g, block);
    } else if (last_step && block == 0) {
      call_report(k, g, r);
      call_none(k, r, N_OUT);
    }
  }
}
