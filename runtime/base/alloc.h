/* alloc.h -- every allocation of the library goes through here (rgt_set_alloc hooks it). */
#ifndef RGT_BASE_ALLOC_H
#define RGT_BASE_ALLOC_H

#include <stddef.h>

void *rgt__alloc(size_t bytes);                   /* NULL when out of memory; bytes 0 gives a valid pointer */
void *rgt__alloc_zero(size_t count, size_t size); /* zeroed; NULL on overflow too */
void *rgt__realloc(void *p, size_t bytes);        /* on failure NULL, and p stays valid */
char *rgt__strdup(const char *text);
char *rgt__strjoin(const char *a, const char *b); /* b behind a, in memory of its own */
void rgt__free(void *p);

#endif
