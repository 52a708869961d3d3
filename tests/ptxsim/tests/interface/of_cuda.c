/* of_cuda.c -- the numbers and symbols of the toolkit's cuda.h. */
#include <cuda.h>
#include <stddef.h>

#include "names.h"

#define ROW(name) {#name, (long)(name)},
const interface_number interface_of_cuda[] = {INTERFACE_CONSTANTS(ROW) INTERFACE_SIZES(ROW){NULL, 0}};

#define TEXT(name) #name,
#define SYMBOL(name) TEXT(name)
const char *const interface_symbols[] = {INTERFACE_CALLS(SYMBOL) NULL};
