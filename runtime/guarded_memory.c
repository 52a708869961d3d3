/* guarded_memory.c -- memory between unreadable pages.
 *
 * What is known of a block is kept apart from it: a kernel that writes in front of a block cannot damage it. The unreadable
 * ranges are large, for they cost nothing: a kernel that is wrong by whole rows, or by a group, ends in them too.
 */
#include "runtime/guarded_memory.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/base/alloc.h"

enum { LINE = 64, NAN_BYTE = 0xFF };

#define GUARD_BYTES ((size_t)16 << 20) /* on each side */

static size_t round_up(size_t n, size_t to) {
  return (n + to - 1) / to * to;
}

static int grow(rgt__guarded_memory *m) {
  if (m->n < m->capacity) return 1;
  int capacity = m->capacity ? 2 * m->capacity : 32;
  struct rgt__guarded_block *grown = rgt__realloc(m->blocks, (size_t)capacity * sizeof *grown);
  if (!grown) return 0;
  m->blocks = grown;
  m->capacity = capacity;
  return 1;
}

rgt_status rgt__guarded_alloc(rgt__guarded_memory *m, size_t bytes, void **p, rgt__error *err) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  if (bytes > SIZE_MAX / 2 || !grow(m)) return rgt__error_nomem(err, bytes);
  size_t body = round_up(bytes ? bytes : 1, LINE), middle = round_up(body, page), whole = middle + 2 * GUARD_BYTES;
  char *mapping = mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return rgt__error_nomem(err, bytes);
  if (mprotect(mapping + GUARD_BYTES, middle, PROT_READ | PROT_WRITE) != 0) {
    munmap(mapping, whole);
    return rgt__error_nomem(err, bytes);
  }
  memset(mapping + GUARD_BYTES, NAN_BYTE, middle - body);
  *p = mapping + GUARD_BYTES + middle - body;
  m->blocks[m->n++] = (struct rgt__guarded_block){*p, mapping, whole};
  return RGT_OK;
}

int rgt__guarded_free(rgt__guarded_memory *m, void *p) {
  for (int i = m->n - 1; i >= 0; i--) {
    if (m->blocks[i].p != p) continue;
    munmap(m->blocks[i].mapping, m->blocks[i].bytes);
    m->blocks[i] = m->blocks[--m->n];
    return 1;
  }
  return 0;
}

void rgt__guarded_close(rgt__guarded_memory *m) {
  for (int i = 0; i < m->n; i++) munmap(m->blocks[i].mapping, m->blocks[i].bytes);
  rgt__free(m->blocks);
  memset(m, 0, sizeof *m);
}
