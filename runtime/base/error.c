/* error.c -- the one line that says what went wrong. */
#include "runtime/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Copies `from` as one line: runs of line breaks become "; " (none at the end), other control characters a space, so that a
 * name with odd bytes in it cannot disturb a terminal or a log. Text that does not fit ends in "...". */
static void copy_line(char *to, size_t size, const char *from) {
  size_t n = 0, limit = size - 4; /* room for "..." */
  for (; *from; from++) {
    unsigned char c = (unsigned char)*from;
    char piece[3] = {(char)c, 0, 0};
    if (c == '\n' || c == '\r') {
      while (from[1] == '\n' || from[1] == '\r') from++;
      if (!from[1]) break;
      memcpy(piece, "; ", 3);
    } else if (c < 0x20 || c == 0x7f) {
      piece[0] = ' ';
    }
    size_t length = strlen(piece);
    if (n + length > limit) {
      memcpy(to + n, "...", 4);
      return;
    }
    memcpy(to + n, piece, length);
    n += length;
  }
  to[n] = 0;
}

/* Formats into a buffer of its own first: the arguments may point into err->text. */
rgt_status rgt__error_set(rgt__error *err, rgt_status status, const char *format, ...) {
  if (!err) return status;
  char raw[2 * sizeof err->text];
  va_list args;
  va_start(args, format);
  vsnprintf(raw, sizeof raw, format, args);
  va_end(args);
  copy_line(err->text, sizeof err->text, raw);
  return status;
}

rgt_status rgt__error_prefix(rgt__error *err, rgt_status status, const char *format, ...) {
  if (!err) return status;
  char prefix[sizeof err->text], raw[2 * sizeof err->text + 4];
  va_list args;
  va_start(args, format);
  vsnprintf(prefix, sizeof prefix, format, args);
  va_end(args);
  snprintf(raw, sizeof raw, "%s%s%s", prefix, err->text[0] ? ": " : "", err->text);
  copy_line(err->text, sizeof err->text, raw);
  return status;
}

rgt_status rgt__error_null(rgt__error *err, const char *name) {
  return rgt__error_set(err, RGT_EINVAL, "%s is NULL; the call needs it", name);
}

rgt_status rgt__error_nomem(rgt__error *err, size_t bytes) {
  return rgt__error_set(err, RGT_ENOMEM, "out of memory: %zu bytes were asked for", bytes);
}
