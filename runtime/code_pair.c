/* code_pair.c -- a cubin and its PTX as one piece of memory: the cubin, the PTX with its NUL, then how long each is, and a mark
 * at the very end, where no cubin, shared object or PTX has it. */
#include "runtime/code_pair.h"

#include <string.h>

#include "runtime/base/alloc.h"

typedef struct trailer {
  uint64_t code_bytes, ptx_bytes;
  char mark[8];
} trailer;

static const char joined[8] = {'R', 'G', 'T', '+', 'p', 't', 'x', '1'};

rgt_status rgt__code_pair_join(const rgt__compiled *c, void **out, size_t *bytes, rgt__error *err) {
  trailer t = {.code_bytes = c->code_bytes, .ptx_bytes = c->ptx_bytes};
  size_t n = c->ptx ? c->code_bytes + c->ptx_bytes + 1 + sizeof t : c->code_bytes;
  char *piece = rgt__alloc(n);
  if (!piece) return rgt__error_nomem(err, n);
  memcpy(piece, c->code, c->code_bytes);
  if (c->ptx) {
    memcpy(t.mark, joined, sizeof joined);
    memcpy(piece + c->code_bytes, c->ptx, c->ptx_bytes);
    piece[c->code_bytes + c->ptx_bytes] = 0;
    memcpy(piece + n - sizeof t, &t, sizeof t);
  }
  *out = piece;
  *bytes = n;
  return RGT_OK;
}

void rgt__code_pair_split(const void *piece, size_t bytes, rgt__code_pair *out) {
  const char *p = piece;
  trailer t;
  *out = (rgt__code_pair){.code = piece, .code_bytes = bytes};
  if (bytes < sizeof t + 1) return;
  memcpy(&t, p + bytes - sizeof t, sizeof t);
  size_t both = bytes - sizeof t - 1;
  if (memcmp(t.mark, joined, sizeof joined) != 0 || t.code_bytes > both || t.ptx_bytes != both - t.code_bytes || p[both] != 0)
    return;
  out->code_bytes = t.code_bytes;
  out->ptx = p + t.code_bytes;
  out->ptx_bytes = t.ptx_bytes;
}
