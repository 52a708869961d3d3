/* compiled.c -- what a compiler made of one source. */
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/device.h"

void rgt__compiled_free(rgt__compiled *c) {
  if (!c) return;
  rgt__free(c->code);
  rgt__free(c->ptx);
  memset(c, 0, sizeof *c);
}
