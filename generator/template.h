/* template.h -- a template's text as a Lua chunk: one Lua line for each template line, so that errors name the template's own.
 */
#ifndef RGT_GENERATOR_TEMPLATE_H
#define RGT_GENERATOR_TEMPLATE_H

#include "generator/source.h"
#include "runtime/base/buffer.h"

/* rgt__template_translate -- appends the chunk to out. It takes (op, p, device, emit, include) and calls, for each text line,
 *     emit(line, text [, value, expression, text]...)
 * `shown` names the file in messages. RGT_ETEMPLATE: "file:line: $( without ) ...". Out of memory shows in out->failed. */
rgt_status rgt__template_translate(const rgt__source_file *file, const char *shown, rgt__buffer *out, rgt__error *err);

#endif
