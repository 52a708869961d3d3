/* dynlib.h -- libraries found at run time: open one of several names, fill a table of symbols, say where it came from. */
#ifndef RGT_RUNTIME_DYNLIB_H
#define RGT_RUNTIME_DYNLIB_H

#include "runtime/base/buffer.h"

#include <stddef.h>
#include <stdint.h>

typedef struct rgt__dynlib_symbol {
  const char *name;
  size_t offset; /* of the function pointer in the table */
} rgt__dynlib_symbol;

/* rgt__dynlib_open -- dlopen; on failure NULL, and "name (reason)" is added to why, after ", " where something stands already.
 */
void *rgt__dynlib_open(const char *name, rgt__buffer *why);
/* rgt__dynlib_why -- adds such an entry for a library that opened but will not do. */
void rgt__dynlib_why(rgt__buffer *why, const char *name, const char *reason);
void rgt__dynlib_close(void *lib); /* NULL is allowed */
/* rgt__dynlib_symbols -- every symbol into table. NULL when all are there, else the name of the first that is not. */
const char *rgt__dynlib_symbols(void *lib, const rgt__dynlib_symbol *symbols, size_t n, void *table);
/* rgt__dynlib_path -- the file, links resolved, that holds `address` (of a loaded function). 1 if known and it fits. */
int rgt__dynlib_path(const void *address, char *path, size_t path_size);

#endif
