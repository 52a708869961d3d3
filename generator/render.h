/* render.h -- template to text: one self-contained source file, and the program that runs it.
 *
 * A line that begins `//%` (after white space) is Lua and emits nothing; `$(expr)` inserts a text or a whole number;
 * `//% include("cpu/lib/vec.h")` inserts a file of templates/, rendered by the same rules, the first time that it is named. The
 * name is one literal text, so that the family's digest covers the file; so is that of `shared "lib/act_error.lua"`, the value
 * of a Lua file, which specs and templates can read. Line numbers survive: `#line N "templates/cpu/row_gather.c"` where they
 * jump, so Lua and compiler errors name the template's own. Lua sees op, p and device; and as plain names what formulas see:
 * params, n_in n_hidden n_out elem_bytes, device facts.
 *
 * Before the template comes a prelude: a comment that says what the file is and how to compile it by hand, and, as #define,
 * N_IN N_HIDDEN N_OUT IS_MLP BIAS1 BIAS2 ELEM_BYTES INDEX_BITS ALIGN_BYTES; DTYPE ACT LAYOUT WEIGHTS ORDER with a name for each
 * value (DTYPE_F32 ..., ACT_NONE ..., LAYOUT_NK LAYOUT_KN, WEIGHTS_STACKED WEIGHTS_POINTERS, ORDER_RAW ORDER_SORTED
 * ORDER_OFFSETS); every param in upper case; DEVICE_<FACT>; and KERNEL(name), which makes the entry's name: name_<digest>.
 */
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
  rgt_order order;
} rgt__render_facts;

/* rgt__render -- the text depends on nothing else than these arguments and the sources. The variant's constraints are not asked
 * (rgt__variant_check). RGT_EINVAL (op, target, facts), RGT_ETEMPLATE "file:line: what", RGT_ENOMEM. Free with
 * rgt__rendered_free. */
rgt_status rgt__render(rgt__families *f, const rgt__variant *v, const rgt_op_desc *op, const rgt__target *target,
                       const rgt__render_facts *facts, rgt__rendered *out, rgt__error *err);
void rgt__rendered_free(rgt__rendered *r);

#endif
