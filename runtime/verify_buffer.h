/* verify_buffer.h -- one fenced array in device memory: made as an image on the host, compared after a call. */
#ifndef RGT_RUNTIME_VERIFY_BUFFER_H
#define RGT_RUNTIME_VERIFY_BUFFER_H

#include "runtime/verify_data.h"

typedef struct rgt__verify_shape {
  const char *name;
  size_t body;          /* bytes of the array, from its first to its last element */
  size_t front, behind; /* at least so many bytes of fence; behind 0: the allocation ends with the array */
  size_t align;         /* of the base: a power of two up to 32 */
  unsigned char fence;  /* byte that fences and gaps are filled with */
} rgt__verify_shape;

/* rgt__verify_buffer_image -- an image full of fence; the caller then fills in the array at image + front. */
rgt_status rgt__verify_buffer_image(const rgt__verify_shape *shape, rgt__verify_buffer *b, rgt__error *err);
/* rgt__verify_buffer_place -- copies packed rows of n bytes to strided ones. */
void rgt__verify_buffer_place(rgt__verify_buffer *b, size_t offset, size_t stride, const void *from, size_t n, int64_t rows);
/* rgt__verify_buffer_send -- allocates on the device and writes the image. */
rgt_status rgt__verify_buffer_send(rgt__device *device, rgt__verify_buffer *b, rgt__error *err);
void *rgt__verify_buffer_base(const rgt__verify_buffer *b); /* device address of the array */
void rgt__verify_buffer_free(rgt__device *device, rgt__verify_buffer *b);
/* rgt__verify_buffer_compare -- reads it back and compares with what was sent: everything, or the fences of a big one. *at:
 * offset from the array's base of the first byte that differs, in bytes; *same 0 if one does. */
rgt_status rgt__verify_buffer_compare(rgt__device *device, const rgt__verify_buffer *b, int *same, int64_t *at,
                                      rgt__error *err);

#endif
