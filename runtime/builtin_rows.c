/* builtin_rows.c -- row_gather with dims at run time: the template's own text, so the default variant's bits.
 *
 * CMake compiles this file once for each set of CPU features, with RGT_BUILTIN_SUFFIX as its name, -ffp-contract=off, and the
 * options that generated code of that target is compiled with. */
#include "runtime/builtin_rows.h"

#define LANES 8   /* the default of row_gather's `lanes` */
#define VECTORS 4 /* and of `vectors` */
enum { ACT_NONE = RGT_ACT_NONE, ACT_RELU = RGT_ACT_RELU, ACT_GELU = RGT_ACT_GELU };
enum { ACT_GELU_TANH = RGT_ACT_GELU_TANH, ACT_SILU = RGT_ACT_SILU, ACT_TANH = RGT_ACT_TANH };
#define ACT_AT_RUN_TIME

#include "templates/cpu/lib/vec.h"

#include "templates/cpu/lib/shuffle.h"

#include "templates/cpu/lib/act.h"

#include "templates/cpu/lib/call.h"

#include "templates/cpu/lib/layer_row.h"

#define PASTE(a, b) a##b
#define NAMED(suffix) PASTE(rgt__builtin_rows_, suffix)

/* Two calls for two layouts, not one with a test inside: each is compiled for its layout. */
static __attribute__((noinline)) void one_layer(int layout_kn, const float *w, int64_t ld, const float *b, const float *x,
                                                int64_t n_k, int64_t n_n, int act, float *y) {
  if (layout_kn)
    layer_row(1, w, ld, b, x, n_k, n_n, act, y, PAD_NONE);
  else
    layer_row(0, w, ld, b, x, n_k, n_n, act, y, PAD_NONE);
}

static void live_row(const rgt__builtin_call *c, int64_t r, int64_t g) {
  const rgt_kargs *k = c->k;
  const float *x = (const float *)k->x + r * k->ld_x;
  float *y = (float *)k->y + r * k->ld_y;
  const float *w1 = call_group(k->w1, c->pointers, k->stride_w1, g);
  const float *b1 = c->bias1 ? call_group(k->b1, (k->flags & RGT_KARGS_B1_POINTERS) != 0, k->stride_b1, g) : NULL;
  if (!c->mlp) {
    one_layer(c->layout_kn, w1, k->ld_w1, b1, x, c->n_in, c->n_out, c->act, y);
    return;
  }
  const float *w2 = call_group(k->w2, c->pointers, k->stride_w2, g);
  const float *b2 = c->bias2 ? call_group(k->b2, (k->flags & RGT_KARGS_B2_POINTERS) != 0, k->stride_b2, g) : NULL;
  one_layer(c->layout_kn, w1, k->ld_w1, b1, x, c->n_in, c->n_hidden, c->act, c->hidden);
  one_layer(c->layout_kn, w2, k->ld_w2, b2, c->hidden, c->n_hidden, c->n_out, ACT_NONE, y);
}

void NAMED(RGT_BUILTIN_SUFFIX)(const rgt__builtin_call *c, int64_t first, int64_t last) {
  for (int64_t r = first; r < last; r++) {
    int64_t g = call_index(c->k, c->index_bits, r);
    if (call_live(c->k, g)) {
      live_row(c, r, g);
    } else {
      call_report(c->k, g, r);
      call_zero((float *)c->k->y + r * c->k->ld_y, c->n_out);
    }
  }
}
