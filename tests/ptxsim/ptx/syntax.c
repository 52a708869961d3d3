/* syntax.c -- types, look-ups and messages that the parser and the decoder share. */
#include "ptx/syntax.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
  const char *name;
  ptx_type type;
} types[] = {
    {"pred", {PTX_PRED, 1, 0}},       {"b8", {PTX_BITS, 8, 0}},       {"b16", {PTX_BITS, 16, 0}},
    {"b32", {PTX_BITS, 32, 0}},       {"b64", {PTX_BITS, 64, 0}},     {"b128", {PTX_BITS, 128, 0}},
    {"u8", {PTX_UNSIGNED, 8, 0}},     {"u16", {PTX_UNSIGNED, 16, 0}}, {"u32", {PTX_UNSIGNED, 32, 0}},
    {"u64", {PTX_UNSIGNED, 64, 0}},   {"s8", {PTX_SIGNED, 8, 0}},     {"s16", {PTX_SIGNED, 16, 0}},
    {"s32", {PTX_SIGNED, 32, 0}},     {"s64", {PTX_SIGNED, 64, 0}},   {"f16", {PTX_REAL, 16, 0}},
    {"f32", {PTX_REAL, 32, 0}},       {"f64", {PTX_REAL, 64, 0}},     {"bf16", {PTX_BFLOAT, 16, 0}},
    {"tf32", {PTX_TF32, 32, 0}},      {"f16x2", {PTX_REAL, 32, 1}},   {"bf16x2", {PTX_BFLOAT, 32, 1}},
    {"u16x2", {PTX_UNSIGNED, 32, 1}}, {"s16x2", {PTX_SIGNED, 32, 1}},
};

ptx_type ptx__type_of(const char *word) {
  if (*word == '.') word++;
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (strcmp(types[i].name, word) == 0) return types[i].type;
  return (ptx_type){PTX_BITS, 0, 0};
}

void ptx__quote(const char *text, size_t bytes, int line, char *out, size_t room) {
  const char *at = text, *end = text + bytes;
  for (int i = 1; i < line && at; i++) {
    at = memchr(at, '\n', (size_t)(end - at));
    if (at) at++;
  }
  size_t n = 0;
  if (at && line > 0) {
    while (at < end && (*at == ' ' || *at == '\t')) at++;
    while (at < end && *at != '\n' && *at && n + 1 < room) {
      out[n++] = *at == '\t' ? ' ' : *at;
      at++;
    }
    while (n > 0 && (out[n - 1] == ' ' || out[n - 1] == '\r')) n--;
  }
  if (room) out[n] = 0;
}

int ptx__error(ptx_module *module, int line, const char *format, ...) {
  if (module->log_bytes == 0 || module->log[0]) return -1; /* the first one counts */
  char quoted[256], why[512];
  ptx__quote(module->text, module->text_bytes, line, quoted, sizeof quoted);
  va_list list;
  va_start(list, format);
  vsnprintf(why, sizeof why, format, list);
  va_end(list);
  snprintf(module->log, module->log_bytes, "ptxsim: line %d: `%s`: %s", line, quoted, why);
  return -1;
}

ptx_label *ptx__find_label(const ptx_scope *scope, const char *name) {
  for (; scope; scope = scope->outer)
    for (ptx_label *l = scope->labels; l; l = l->next)
      if (strcmp(l->name, name) == 0) return l;
  return NULL;
}

ptx_function *ptx__find_function(const ptx_module *module, const char *name) {
  ptx_function *found = NULL;
  for (ptx_function *f = module->functions; f; f = f->next)
    if (strcmp(f->name, name) == 0 && (!found || f->has_body)) found = f;
  return found;
}

ptx_var *ptx__find_var(const ptx_module *module, const char *name) {
  for (ptx_var *v = module->vars; v; v = v->next)
    if (strcmp(v->name, name) == 0) return v;
  return NULL;
}
