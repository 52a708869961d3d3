/* prelude.h -- what stands above every rendered template: a comment that says what the file is, and the constants. */
#ifndef RGT_GENERATOR_PRELUDE_H
#define RGT_GENERATOR_PRELUDE_H

#include "generator/render.h"

#define RGT_ENTRY_DIGEST_MAX 17

/* rgt__prelude_digest -- 16 hex digits that make entry names unlike: of everything that the text depends on. RGT_EINVAL: op. */
rgt_status rgt__prelude_digest(const rgt__variant *v, const rgt_op_desc *op, const rgt__target *target,
                               const rgt__render_facts *facts, char hex[RGT_ENTRY_DIGEST_MAX], rgt__error *err);
/* rgt__prelude_write -- appends comment and constants. All constants are #define: C's #if sees no enum, and CUDA's compiler
 * turns constexpr ints into variables. */
rgt_status rgt__prelude_write(const rgt__variant *v, const rgt_op_desc *op, const rgt__target *target,
                              const rgt__render_facts *facts, const char *digest, rgt__buffer *out, rgt__error *err);

#endif
