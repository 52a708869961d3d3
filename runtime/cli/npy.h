/* npy.h -- NumPy's .npy files: arrays of numbers, little-endian, row-major, up to three dimensions. */
#ifndef RGT_CLI_NPY_H
#define RGT_CLI_NPY_H

#include "message.h"

typedef enum rgt__npy_type {
  RGT_NPY_F4, /* '<f4' */
  RGT_NPY_F2, /* '<f2' */
  RGT_NPY_F8, /* '<f8' */
  RGT_NPY_U2, /* '<u2': bits of bf16 */
  RGT_NPY_V2, /* '<V2' or '|V2': the same */
  RGT_NPY_I4, /* '<i4' */
  RGT_NPY_I8, /* '<i8' */
  RGT_N_NPY_TYPES
} rgt__npy_type;

#define RGT_NPY_DIMS_MAX 3
#define RGT_NPY_HEADER_MAX 65536 /* bytes of a header that is read */

typedef struct rgt__npy {
  rgt__npy_type type;
  int n_dims;
  int64_t shape[RGT_NPY_DIMS_MAX];
  size_t elems, bytes; /* of data */
  size_t data_offset;  /* in the file */
  void *data;          /* aligned to 64 bytes, owned; NULL in a parsed header */
} rgt__npy;

const char *rgt__npy_type_name(rgt__npy_type type); /* "<f4" */
size_t rgt__npy_type_bytes(rgt__npy_type type);
int64_t rgt__npy_integer(const rgt__npy *a, size_t i); /* element i of an array of RGT_NPY_I4 or RGT_NPY_I8 */

/* rgt__npy_parse -- the header in the first n bytes of a file (its whole or its first RGT_NPY_HEADER_MAX); name is what
 * messages call the file. Formats 1.0, 2.0 and 3.0. Never reads past n. RGT_EINVAL. */
rgt_status rgt__npy_parse(const unsigned char *bytes, size_t n, const char *name, rgt__npy *a, rgt__message *m);

/* rgt__npy_read -- a whole file. RGT_EIO: it cannot be read; RGT_EINVAL: it is not what was said above, or its length is not
 * that of its shape; RGT_ENOMEM. Free with rgt__npy_free, which takes a zeroed one too. */
rgt_status rgt__npy_read(const char *path, rgt__npy *a, rgt__message *m);
void rgt__npy_free(rgt__npy *a);

/* rgt__npy_shape -- "(8, 10)", as NumPy writes it. */
char *rgt__npy_shape(int n_dims, const int64_t *shape, char *out, size_t size);

/* rgt__npy_write -- format 1.0, in one step (out_file.h). RGT_EIO. */
rgt_status rgt__npy_write(const char *path, rgt__npy_type type, int n_dims, const int64_t *shape, const void *data,
                          rgt__message *m);

#endif
