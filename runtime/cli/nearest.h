/* nearest.h -- which known word a mistyped one was meant to be. */
#ifndef RGT_CLI_NEAREST_H
#define RGT_CLI_NEAREST_H

#include <stddef.h>

/* rgt__nearest_try -- sets *near to known where it is close to typed (length bytes) and closer than *best changes. Begin with
 * *best at INT32_MAX and *near NULL. Close: at most two changes (one letter more, less, other, or two swapped), and at
 * most half as many as known has letters. */
void rgt__nearest_try(const char *typed, size_t length, const char *known, int *best, const char **near);

#endif
