/* beside.h -- files that lie where the library or the program does: an installed tree finds its parts wherever it was moved. */
#ifndef RGT_RUNTIME_BESIDE_H
#define RGT_RUNTIME_BESIDE_H

#include <stddef.h>

enum { RGT_BESIDE_MAX = 1024 };

/* rgt__beside_library, rgt__beside_program -- "<folder of it>/<below>/<name>"; "" where that is not known or too long. A
 * library that is linked into a program lies where the program does. */
void rgt__beside_library(const char *below, const char *name, char out[RGT_BESIDE_MAX]);
void rgt__beside_program(const char *below, const char *name, char out[RGT_BESIDE_MAX]);

#endif
