/* template.c -- template to Lua: `//%` lines as they are, all others as calls that emit them. */
#include "generator/template.h"

#include <stdio.h>
#include <string.h>

/* quote -- text as a Lua string, on one line. */
static void quote(rgt__buffer *out, const char *text, size_t n) {
  rgt__buffer_add(out, "\"", 1);
  size_t begin = 0;
  for (size_t i = 0; i < n; i++) {
    unsigned char c = (unsigned char)text[i];
    if (c >= ' ' && c != '"' && c != '\\' && c != 0x7f) continue;
    rgt__buffer_add(out, text + begin, i - begin);
    rgt__buffer_format(out, "\\%03d", c);
    begin = i + 1;
  }
  rgt__buffer_add(out, text + begin, n - begin);
  rgt__buffer_add(out, "\"", 1);
}

/* after_string -- the place behind the quoted text that begins at `at`, or NULL if it does not end before `end`. */
static const char *after_string(const char *at, const char *end) {
  char mark = *at;
  for (at++; at < end; at++) {
    if (*at == '\\') {
      at++;
    } else if (*at == mark) {
      return at + 1;
    }
  }
  return NULL;
}

/* closing -- the ')' that ends the expression that begins at `at`; parentheses nest, and quoted texts may hold them. NULL and a
 * reason if there is none before `end`. */
static const char *closing(const char *at, const char *end, const char **reason) {
  int depth = 0;
  *reason = "$( without a ) on its line";
  while (at && at < end) {
    if (*at == '"' || *at == '\'') {
      at = after_string(at, end);
      if (!at) *reason = "a quoted text inside $( ) does not end on its line";
      continue;
    }
    if (at + 1 < end && at[0] == '-' && at[1] == '-') {
      *reason = "no comment inside $( ): write - -x for a double minus";
      return NULL;
    }
    if (*at == ')' && depth == 0) return at;
    depth += (*at == '(') - (*at == ')');
    at++;
  }
  return NULL;
}

static rgt_status text_line(const char *line, const char *end, int number, const char *shown, rgt__buffer *out,
                            rgt__error *err) {
  rgt__buffer_format(out, "emit(%d,", number);
  const char *begin = line;
  for (const char *at = line; at + 1 < end; at++) {
    if (at[0] != '$' || at[1] != '(') continue;
    const char *reason, *close = closing(at + 2, end, &reason);
    if (!close) return rgt__error_set(err, RGT_ETEMPLATE, "%s:%d: %s", shown, number, reason);
    quote(out, begin, (size_t)(at - begin));
    rgt__buffer_text(out, ",(");
    rgt__buffer_add(out, at + 2, (size_t)(close - at - 2));
    rgt__buffer_text(out, "),");
    quote(out, at + 2, (size_t)(close - at - 2));
    rgt__buffer_text(out, ",");
    at = close;
    begin = close + 1;
  }
  quote(out, begin, (size_t)(end - begin));
  rgt__buffer_text(out, ");");
  return RGT_OK;
}

rgt_status rgt__template_translate(const rgt__source_file *file, const char *shown, rgt__buffer *out, rgt__error *err) {
  const char *line = file->text, *end = file->text + file->size;
  rgt__buffer_text(out, "local op,p,device,emit,include=...;");
  for (int number = 1; line < end; number++) {
    const char *stop = memchr(line, '\n', (size_t)(end - line));
    if (!stop) stop = end;
    const char *text = line;
    while (text < stop && (*text == ' ' || *text == '\t')) text++;
    if (number > 1) rgt__buffer_text(out, "\n");
    if (stop - text >= 3 && memcmp(text, "//%", 3) == 0) {
      rgt__buffer_add(out, text + 3, (size_t)(stop - text - 3));
    } else {
      rgt_status status = text_line(line, stop, number, shown, out, err);
      if (status != RGT_OK) return status;
    }
    line = stop + 1;
  }
  return RGT_OK;
}
