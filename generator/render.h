/* render.h -- template to text: one self-contained source file, and the program that runs it.
 *
 * A line that begins `//%` (after white space) is Lua; `$(expr)` inserts a value; `//% include("cpu/lib/vec.h")` inserts a file
 * of templates/ (rendered by the same rules). Line numbers survive: `#line N "templates/cpu/row_gather.c"` where they jump, so
 * Lua and compiler errors name the template's own line.
 * Before the template comes a prelude of constants: one enum of ints (params in upper case, N_IN N_HIDDEN N_OUT, IS_MLP, ACT and
 * ACT_*, BIAS1 BIAS2, LAYOUT_NK LAYOUT_KN, WEIGHTS_STACKED WEIGHTS_POINTERS, INDEX_BITS, DTYPE and DTYPE_*, ALIGN_BYTES) and
 * #define KERNEL(name) name##_<digest> for entry names. */
#ifndef RGT_GENERATOR_RENDER_H
#define RGT_GENERATOR_RENDER_H

#include "generator/program.h"
#include "generator/space.h"

typedef struct rgt__rendered {
  char *text; /* owned */
  size_t size;
  rgt__program program;
  rgt__digest digest; /* of text: the source's part of the code key */
} rgt__rendered;

typedef struct rgt__render_facts { /* what of a signature reaches the source; rows and groups never do */
  rgt_weight_form form;
  int align_bytes;
} rgt__render_facts;

rgt_status rgt__render(rgt__families *f, const rgt__variant *v, const rgt_op_desc *op, const rgt__target *target, const rgt__render_facts *facts, rgt__rendered *out, rgt__error *err);
void rgt__rendered_free(rgt__rendered *r);

#endif
