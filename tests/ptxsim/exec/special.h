/* special.h -- the approximations' seed. */
#ifndef PTXSIM_SPECIAL_H
#define PTXSIM_SPECIAL_H
#include <stdint.h>
/* 0: results rounded to the nearest; else each is moved, by its bits and the seed, within the error that the PTX ISA documents.
 */
void sim__special_seed(uint64_t seed);
#endif
