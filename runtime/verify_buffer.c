/* verify_buffer.c -- one fenced array in device memory. */
#include "runtime/verify_buffer.h"

#include <string.h>

#include "runtime/base/alloc.h"

#define KEEP_BYTES ((size_t)4 << 20) /* larger images are not kept, and only their fences compared */
#define UNIT 64                      /* allocations are whole multiples: devices align so much, and fence at such a border */

static size_t round_up(size_t n, size_t unit) {
  return (n + unit - 1) / unit * unit;
}

/* With a fence behind, the base is an odd multiple of `align`, so that a kernel which counts on more than was promised is seen.
 * Without one the array is moved back until it ends, up to its alignment, where the allocation ends. */
rgt_status rgt__verify_buffer_image(const rgt__verify_shape *shape, rgt__verify_buffer *b, rgt__error *err) {
  *b = (rgt__verify_buffer){.name = shape->name, .fence = shape->fence, .body = shape->body};
  size_t fences = shape->front + shape->behind + 4 * UNIT;
  if (shape->body > SIZE_MAX / 4 || fences > SIZE_MAX / 4) return rgt__error_nomem(err, shape->body);
  if (shape->behind) {
    b->front = round_up(shape->front, UNIT) + shape->align;
    b->bytes = round_up(b->front + shape->body + shape->behind, UNIT);
  } else {
    b->bytes = round_up(shape->front + shape->align + shape->body, UNIT);
    b->front = (b->bytes - shape->body) / shape->align * shape->align;
  }
  b->image = rgt__alloc(b->bytes);
  if (!b->image) return rgt__error_nomem(err, b->bytes);
  memset(b->image, shape->fence, b->bytes);
  return RGT_OK;
}

void rgt__verify_buffer_place(rgt__verify_buffer *b, size_t offset, size_t stride, const void *from, size_t n, int64_t rows) {
  unsigned char *to = b->image + b->front + offset;
  const unsigned char *source = from;
  for (int64_t i = 0; i < rows; i++) memcpy(to + (size_t)i * stride, source + (size_t)i * n, n);
}

rgt_status rgt__verify_buffer_send(rgt__device *device, rgt__verify_buffer *b, rgt__error *err) {
  rgt_status status = device->ops->mem_alloc(device, b->bytes, &b->device, err);
  if (status != RGT_OK) return status;
  status = device->ops->mem_write(device, b->device, b->image, b->bytes, err);
  if (b->bytes > KEEP_BYTES) {
    rgt__free(b->image);
    b->image = NULL;
  }
  return status;
}

void *rgt__verify_buffer_base(const rgt__verify_buffer *b) {
  return (unsigned char *)b->device + b->front;
}

void rgt__verify_buffer_free(rgt__device *device, rgt__verify_buffer *b) {
  if (b->device) device->ops->mem_free(device, b->device);
  rgt__free(b->image);
  memset(b, 0, sizeof *b);
}

/* Compares n bytes at offset with the image, or with the fence byte. */
static rgt_status compare_range(rgt__device *device, const rgt__verify_buffer *b, size_t offset, size_t n, unsigned char *room,
                                int *same, int64_t *at, rgt__error *err) {
  rgt_status status = n ? device->ops->mem_read(device, room, (unsigned char *)b->device + offset, n, err) : RGT_OK;
  if (status != RGT_OK) return status;
  if (b->image && !memcmp(room, b->image + offset, n)) return RGT_OK;
  for (size_t i = 0; i < n; i++) {
    if (room[i] == (b->image ? b->image[offset + i] : b->fence)) continue;
    *same = 0;
    *at = (int64_t)(offset + i) - (int64_t)b->front;
    break;
  }
  return RGT_OK;
}

rgt_status rgt__verify_buffer_compare(rgt__device *device, const rgt__verify_buffer *b, int *same, int64_t *at,
                                      rgt__error *err) {
  *same = 1;
  *at = 0;
  if (!b->device) return RGT_OK;
  size_t behind = b->front + b->body, most = b->bytes - behind;
  if (b->image) most = b->bytes;
  if (b->front > most) most = b->front;
  unsigned char *room = rgt__alloc(most);
  if (!room) return rgt__error_nomem(err, most);
  rgt_status status;
  if (b->image) {
    status = compare_range(device, b, 0, b->bytes, room, same, at, err);
  } else {
    status = compare_range(device, b, 0, b->front, room, same, at, err);
    if (status == RGT_OK && *same) status = compare_range(device, b, behind, b->bytes - behind, room, same, at, err);
  }
  rgt__free(room);
  return status;
}
