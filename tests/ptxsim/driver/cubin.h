/* cubin.h -- what can be read in a cubin, which cannot be run: registers, shared and local bytes of each kernel. */
#ifndef SIM_DRIVER_CUBIN_H
#define SIM_DRIVER_CUBIN_H

#include <stddef.h>
#include <stdint.h>

typedef struct sim_cubin_kernel {
  char name[256];
  int registers;         /* of a thread */
  uint32_t shared_bytes; /* static */
  uint32_t stack_bytes;  /* of a thread: spills and local arrays */
  int sm;                /* what it was compiled for: 90 */
} sim_cubin_kernel;

int sim_cubin_is(const void *image, size_t bytes); /* an ELF file for this kind of machine */
/* sim_cubin_size -- of an image of which only the address is known: the end of the last thing that its headers name. */
size_t sim_cubin_size(const void *image);
/* sim_cubin_read -- up to `most` kernels; how many there are, or -1: the file is damaged. */
int sim_cubin_read(const void *image, size_t bytes, sim_cubin_kernel *kernels, int most);

/* Kernels of cubins that were refused, by name: PTX has no register counts. The last one of a name counts. */
void sim_cubin_remember(const sim_cubin_kernel *kernel);
const sim_cubin_kernel *sim_cubin_recall(const char *name); /* NULL: none of that name was seen */

#endif
