/* buffer.c -- bytes that grow. */
#include "runtime/base/buffer.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/alloc.h"

void rgt__buffer_free(rgt__buffer *b) {
  rgt__free(b->data);
  *b = (rgt__buffer){0};
}

void rgt__buffer_clear(rgt__buffer *b) {
  b->size = 0;
  b->failed = 0;
  if (b->data) b->data[0] = 0;
}

/* Room for n more bytes and the NUL; capacity doubles, so that many small additions stay linear. 1 if there is room. */
static int reserve(rgt__buffer *b, size_t n) {
  if (b->failed) return 0;
  if (b->capacity > b->size && n < b->capacity - b->size) return 1;
  size_t need;
  if (__builtin_add_overflow(b->size, n, &need) || need > SIZE_MAX / 2 - 1) {
    b->failed = 1;
    return 0;
  }
  need++;
  size_t capacity = b->capacity * 2 > need ? b->capacity * 2 : need;
  if (capacity < 64) capacity = 64;
  char *data = rgt__realloc(b->data, capacity);
  if (!data) {
    b->failed = 1;
    return 0;
  }
  b->data = data;
  b->capacity = capacity;
  return 1;
}

void rgt__buffer_add(rgt__buffer *b, const void *bytes, size_t n) {
  if (!reserve(b, n)) return;
  if (n) memcpy(b->data + b->size, bytes, n);
  b->size += n;
  b->data[b->size] = 0;
}

void rgt__buffer_text(rgt__buffer *b, const char *text) {
  rgt__buffer_add(b, text, strlen(text));
}

/* Measured first, then printed in place: twice the formatting, but no limit on the length. */
void rgt__buffer_format(rgt__buffer *b, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, format, args);
  if (n < 0) {
    b->failed = 1;
  } else if (reserve(b, (size_t)n)) {
    vsnprintf(b->data + b->size, (size_t)n + 1, format, again);
    b->size += (size_t)n;
  }
  va_end(again);
  va_end(args);
}

char *rgt__buffer_take(rgt__buffer *b, size_t *size) {
  rgt__buffer_add(b, "", 0); /* an empty buffer gets its NUL */
  if (b->failed) {
    rgt__buffer_free(b);
    return NULL;
  }
  char *data = b->data;
  if (size) *size = b->size;
  *b = (rgt__buffer){0};
  return data;
}
