/* builtin_rows.c -- row_gather with dims at run time: the template's own text, so the default variant's bits.
 *
 * CMake compiles this file once for each set of CPU features and each storage type, with RGT_BUILTIN_SUFFIX as its name, the
 * type as DTYPE, -ffp-contract=off, and the options that generated code of that target is compiled with. */
#include "runtime/builtin_rows.h"

#define LANES 8   /* the default of row_gather's `lanes` */
#define VECTORS 4 /* and of `vectors` */
enum { ACT_NONE = RGT_ACT_NONE, ACT_RELU = RGT_ACT_RELU, ACT_GELU = RGT_ACT_GELU };
enum { ACT_GELU_TANH = RGT_ACT_GELU_TANH, ACT_SILU = RGT_ACT_SILU, ACT_TANH = RGT_ACT_TANH };
enum { ORDER_OFFSETS = RGT_ORDER_OFFSETS };
#define ACT_AT_RUN_TIME
#define DTYPE_F32 0 /* as rgt_dtype, for #if */
#define DTYPE_F16 1
#define DTYPE_BF16 2
_Static_assert(DTYPE_F32 == RGT_F32 && DTYPE_F16 == RGT_F16 && DTYPE_BF16 == RGT_BF16, "storage types");

#include "templates/cpu/lib/vec.h"

#include "templates/cpu/lib/elem.h"

#include "templates/cpu/lib/shuffle.h"

#include "templates/cpu/lib/act.h"

#include "templates/cpu/lib/call.h"

#include "templates/cpu/lib/layer_row.h"

#define PASTE(a, b) a##b
#define NAMED(suffix) PASTE(rgt__builtin_rows_, suffix)

/* Two calls for two layouts, not one with a test inside: each is compiled for its layout. */
VEC_INLINE void layer_of_layout(int layout_kn, const elem *w, int64_t ld, const elem *b, const void *x, int64_t n_k,
                                int64_t n_n, int act, void *y, int ours, int add) {
  if (layout_kn)
    layer_row(1, w, ld, b, x, n_k, n_n, act, y, ours, add);
  else
    layer_row(0, w, ld, b, x, n_k, n_n, act, y, ours, add);
}

/* And where storage is not f32, one call for each place of our own floats. */
static __attribute__((noinline)) void one_layer(int layout_kn, const elem *w, int64_t ld, const elem *b, const void *x,
                                                int64_t n_k, int64_t n_n, int act, void *y, int ours, int add) {
  if (DTYPE == DTYPE_F32 || ours == OURS_NONE)
    layer_of_layout(layout_kn, w, ld, b, x, n_k, n_n, act, y, OURS_NONE, add);
  else if (ours == OURS_X)
    layer_of_layout(layout_kn, w, ld, b, x, n_k, n_n, act, y, OURS_X, add);
  else
    layer_of_layout(layout_kn, w, ld, b, x, n_k, n_n, act, y, OURS_Y, add);
}

static void live_row(const rgt__builtin_call *c, int64_t r, int64_t g) {
  const rgt_kargs *k = c->k;
  const elem *x = call_x(k, r);
  elem *y = call_y(k, r);
  const int add = call_adds(k);
  const elem *w1 = call_group(k->w1, c->pointers, k->stride_w1, g);
  const elem *b1 = c->bias1 ? call_group(k->b1, (k->flags & RGT_KARGS_B1_POINTERS) != 0, k->stride_b1, g) : NULL;
  if (!c->mlp) {
    one_layer(c->layout_kn, w1, k->ld_w1, b1, x, c->n_in, c->n_out, c->act, y, OURS_NONE, add);
    return;
  }
  const elem *w2 = call_group(k->w2, c->pointers, k->stride_w2, g);
  const elem *b2 = c->bias2 ? call_group(k->b2, (k->flags & RGT_KARGS_B2_POINTERS) != 0, k->stride_b2, g) : NULL;
  one_layer(c->layout_kn, w1, k->ld_w1, b1, x, c->n_in, c->n_hidden, c->act, c->hidden, OURS_Y, 0);
  one_layer(c->layout_kn, w2, k->ld_w2, b2, c->hidden, c->n_hidden, c->n_out, ACT_NONE, y, OURS_X, add);
}

void NAMED(RGT_BUILTIN_SUFFIX)(const rgt__builtin_call *c, int64_t first, int64_t last) {
  rgt_int64 walk = 0;
  for (int64_t r = first; r < last; r++) {
    int64_t g = call_row_group(c->k, c->order, c->index_bits, r, &walk);
    if (call_live(c->k, g)) {
      live_row(c, r, g);
    } else {
      call_report(c->k, g, r);
      call_none(c->k, r, c->n_out);
    }
  }
}
