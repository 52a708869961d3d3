/* alloc.c -- every allocation of the library, behind the one hook of rgt_set_alloc. */
#include "runtime/base/alloc.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/ragtune.h"

static rgt_realloc_fn hook; /* NULL: the C library */
static void *hook_user;

void rgt_set_alloc(rgt_realloc_fn realloc_fn, void *user) {
  hook = realloc_fn;
  hook_user = user;
}

void *rgt__realloc(void *p, size_t bytes) {
  if (!bytes) bytes = 1; /* 0 means "free" to the hook, and is undefined for realloc */
  return hook ? hook(hook_user, p, bytes) : realloc(p, bytes);
}

void *rgt__alloc(size_t bytes) {
  return rgt__realloc(NULL, bytes);
}

/* calloc where there is no hook: its big blocks come zeroed from the system, untouched until used. */
void *rgt__alloc_zero(size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) return NULL;
  if (!hook) return calloc(1, bytes ? bytes : 1);
  void *p = rgt__alloc(bytes);
  if (p) memset(p, 0, bytes);
  return p;
}

char *rgt__strdup(const char *text) {
  size_t bytes = strlen(text) + 1;
  char *copy = rgt__alloc(bytes);
  if (copy) memcpy(copy, text, bytes);
  return copy;
}

char *rgt__strjoin(const char *a, const char *b) {
  size_t n = strlen(a), m = strlen(b) + 1;
  char *text = rgt__alloc(n + m);
  if (!text) return NULL;
  memcpy(text, a, n);
  memcpy(text + n, b, m);
  return text;
}

void rgt__free(void *p) {
  if (!p) return;
  if (hook) {
    hook(hook_user, p, 0);
  } else {
    free(p);
  }
}

void rgt_free(void *p) {
  rgt__free(p);
}
