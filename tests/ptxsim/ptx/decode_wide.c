/* decode_wide.c -- registers of 128 bits. Each is two of 64, a lower and an upper one; mov packs, unpacks and copies them, ld
 * and st (decode_memory.c) take them as a vector of two. */
#include "ptx/decode.h"

int ptx__wide(ptx_decoder *d, const ptx_operand *o, uint32_t half[2]) {
  if (o->kind != PTX_O_REG || o->negated || o->reg->type.bits != 128) return ptx__bad(d, "a register of 128 bits is needed");
  half[0] = 1 + (uint32_t)o->reg->id;
  half[1] = 1 + (uint32_t)o->reg->upper;
  return 0;
}

static int parts_of(ptx_decoder *d, const ptx_operand *o) {
  const int n = o->n_elements;
  return n == 2 || n == 4 ? n : ptx__bad(d, "a vector of %d parts for 128 bits", n);
}

/* mov.b128 %q, {%d0, %d1} or {%r0, %r1, %r2, %r3}: parts, the lowest first. */
static int pack(ptx_decoder *d, const uint32_t half[2], const ptx_operand *from) {
  const int n = parts_of(d, from);
  uint32_t part[4];
  if (n < 0) return -1;
  for (int k = 0; k < n; k++)
    if (ptx__source(d, &from->elements[k], n == 2 ? 'd' : 'w', &part[k]) != 0) return -1;
  for (int h = 0; h < 2; h++) {
    if (n == 2) {
      if (ptx__emit_alu(d, "mov.b64", half[h], part[h], 0, 0) != 0) return -1;
      continue;
    }
    if (ptx__emit_alu(d, "pack2x32", half[h], part[2 * h], part[2 * h + 1], 0) != 0) return -1;
    d->code[d->n_code - 1].n_src = 2;
    d->code[d->n_code - 1].from_bits = 32;
  }
  return 0;
}

static int unpack(ptx_decoder *d, const ptx_operand *to, const uint32_t half[2]) {
  const int n = parts_of(d, to);
  uint32_t dst;
  if (n < 0) return -1;
  for (int k = 0; k < n; k++) {
    if (to->elements[k].kind == PTX_O_SINK) continue;
    if (ptx__dest(d, &to->elements[k], n == 2 ? 'd' : 'w', &dst) != 0) return -1;
    if (n == 2) {
      if (ptx__emit_alu(d, "mov.b64", dst, half[k], 0, 0) != 0) return -1;
      continue;
    }
    if (ptx__emit_alu(d, "part32of64", dst, half[k / 2], 0, 0) != 0) return -1;
    d->code[d->n_code - 1].from_bits = 64;
    d->code[d->n_code - 1].offset = k % 2 * 32;
  }
  return 0;
}

static int copy(ptx_decoder *d, const uint32_t to[2], const uint32_t from[2]) {
  for (int h = 0; h < 2; h++)
    if (ptx__emit_alu(d, "mov.b64", to[h], from[h], 0, 0) != 0) return -1;
  return 0;
}

int ptx__move_wide(ptx_decoder *d, const ptx_operand *to, const ptx_operand *from) {
  const size_t first = d->n_code;
  uint32_t a[2] = {0}, b[2] = {0};
  int bad;
  if (from->kind == PTX_O_VECTOR)
    bad = ptx__wide(d, to, a) != 0 || pack(d, a, from) != 0;
  else if (to->kind == PTX_O_VECTOR)
    bad = ptx__wide(d, from, b) != 0 || unpack(d, to, b) != 0;
  else
    bad = ptx__wide(d, to, a) != 0 || ptx__wide(d, from, b) != 0 || copy(d, a, b) != 0;
  if (bad) return -1;
  if (d->n_code > first) d->code[first].uncounted = 0;
  return 0;
}
