/* buffer.h -- bytes that grow. A failed grow is remembered: write on, ask once at the end. */
#ifndef RGT_BASE_BUFFER_H
#define RGT_BASE_BUFFER_H

#include <stddef.h>

typedef struct rgt__buffer {
  char *data;  /* NUL-terminated once anything was added; NULL before */
  size_t size; /* without the NUL */
  size_t capacity;
  int failed;  /* out of memory at some point: contents are incomplete */
} rgt__buffer; /* all zero is an empty buffer */

void rgt__buffer_free(rgt__buffer *b);  /* leaves it empty */
void rgt__buffer_clear(rgt__buffer *b); /* keeps the memory, forgets contents and failure */
void rgt__buffer_add(rgt__buffer *b, const void *bytes, size_t n);
void rgt__buffer_text(rgt__buffer *b, const char *text);
void rgt__buffer_format(rgt__buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *rgt__buffer_take(rgt__buffer *b,
                       size_t *size); /* data to the caller (rgt__free), buffer empty; NULL if failed; "" if empty */

#endif
