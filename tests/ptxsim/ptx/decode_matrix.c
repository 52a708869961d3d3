/* decode_matrix.c -- ldmatrix, stmatrix, movmatrix, mma. */
#include "exec/steps.h"
#include "ptx/decode.h"

#include <string.h>

static int vector(ptx_decoder *d, const ptx_operand *o, int n, const ptx_operand **list) {
  if (n == 1 && o->kind == PTX_O_REG) {
    *list = o;
    return 0;
  }
  if (o->kind != PTX_O_VECTOR || o->n_elements != n) return ptx__bad(d, "a vector of %d registers is needed", n);
  *list = o->elements;
  return 0;
}

/* ldmatrix.sync.aligned.m8n8.x4{.trans}{.shared}.b16 {d...}, [a]; stmatrix has them the other way around. */
static int decode_ldmatrix(ptx_decoder *d) {
  const int store = d->s->opcode[0] == 's';
  if (!ptx__take(d, "sync") || !ptx__take(d, "aligned") || !ptx__take(d, "m8n8"))
    return ptx__bad(d, "%s needs .sync.aligned.m8n8", d->s->opcode);
  const int n = ptx__take(d, "x1") ? 1 : ptx__take(d, "x2") ? 2 : ptx__take(d, "x4") ? 4 : 0, trans = ptx__take(d, "trans");
  const int shared = ptx__take(d, "shared") || ptx__take(d, "shared::cta");
  if (n == 0 || !ptx__take(d, "b16")) return ptx__bad(d, "%s needs .x1, .x2 or .x4 and .b16", d->s->opcode);
  if (ptx__all_taken(d) != 0 || ptx__count(d, 2, 2) != 0) return -1;
  const ptx_operand *o = d->s->operands, *list = NULL;
  if (vector(d, &o[store], n, &list) != 0) return -1;
  uint32_t refs[4], address;
  for (int k = 0; k < n; k++)
    if (store ? ptx__source(d, &list[k], 'w', &refs[k]) != 0 : ptx__dest(d, &list[k], 'w', &refs[k]) != 0) return -1;
  ptx__begin(d);
  d->insn.space = PTX_SHARED;
  if (ptx__address(d, &o[!store], PTX_SHARED, &address) != 0) return -1;
  if (!shared) d->insn.space = PTX_GENERIC;
  ptx__set_step(d, store ? sim__step_stmatrix : sim__step_ldmatrix, SIM_ALIGNED, SIM_C_MEMORY);
  d->insn.n_elements = (uint8_t)n;
  d->insn.element_bytes = 16;
  d->insn.op = (uint8_t)trans;
  if (!store)
    for (int k = 0; k < n; k++) ptx__add_dst(d, refs[k]);
  ptx__add_src(d, address);
  if (store)
    for (int k = 0; k < n; k++) ptx__add_src(d, refs[k]);
  ptx__emit(d);
  return 0;
}

static int decode_movmatrix(ptx_decoder *d) {
  if (!ptx__take(d, "sync") || !ptx__take(d, "aligned") || !ptx__take(d, "m8n8") || !ptx__take(d, "trans") ||
      !ptx__take(d, "b16"))
    return ptx__bad(d, "movmatrix is movmatrix.sync.aligned.m8n8.trans.b16");
  uint32_t dst, a;
  if (ptx__all_taken(d) != 0 || ptx__count(d, 2, 2) != 0 || ptx__dest(d, &d->s->operands[0], 'w', &dst) != 0 ||
      ptx__source(d, &d->s->operands[1], 'w', &a) != 0)
    return -1;
  ptx__begin(d);
  ptx__set_step(d, sim__step_movmatrix, SIM_ALIGNED, SIM_C_EXCHANGE);
  ptx__add_dst(d, dst);
  ptx__add_src(d, a);
  ptx__emit(d);
  return 0;
}

/* Shapes, with the registers of A, B, C and D that a lane gives. */
static const struct {
  const char *shape, *types; /* d.a.b.c */
  uint8_t kind, k, a, b, c;
  int to_f16;
} shapes[] = {{"m16n8k16", "f32.f16.f16.f32", SIM_MMA_F16, 16, 4, 2, 4, 0},
              {"m16n8k16", "f16.f16.f16.f16", SIM_MMA_F16, 16, 4, 2, 2, 1},
              {"m16n8k8", "f32.f16.f16.f32", SIM_MMA_F16, 8, 2, 1, 4, 0},
              {"m16n8k8", "f16.f16.f16.f16", SIM_MMA_F16, 8, 2, 1, 2, 1},
              {"m16n8k16", "f32.bf16.bf16.f32", SIM_MMA_BF16, 16, 4, 2, 4, 0},
              {"m16n8k8", "f32.bf16.bf16.f32", SIM_MMA_BF16, 8, 2, 1, 4, 0},
              {"m16n8k8", "f32.tf32.tf32.f32", SIM_MMA_TF32, 8, 4, 2, 4, 0},
              {"m16n8k4", "f32.tf32.tf32.f32", SIM_MMA_TF32, 4, 2, 1, 4, 0},
              {"m16n8k32", "s32.s8.s8.s32", SIM_MMA_S8, 32, 4, 2, 4, 0},
              {"m16n8k16", "s32.s8.s8.s32", SIM_MMA_S8, 16, 2, 1, 4, 0},
              {"m16n8k32", "s32.u8.u8.s32", SIM_MMA_U8, 32, 4, 2, 4, 0},
              {"m16n8k16", "s32.u8.u8.s32", SIM_MMA_U8, 16, 2, 1, 4, 0}};

static int decode_mma(ptx_decoder *d) {
  if (!ptx__take(d, "sync") || !ptx__take(d, "aligned")) return ptx__bad(d, "mma needs .sync.aligned");
  if (!ptx__take(d, "row") || !ptx__take(d, "col")) return ptx__bad(d, "mma needs .row.col");
  const int saturate = ptx__take(d, "satfinite");
  char types[64] = "";
  size_t shape = sizeof shapes / sizeof *shapes;
  const char *shape_name = "";
  for (int k = 0; k < d->s->n_modifiers; k++) {
    if (d->used >> k & 1) continue;
    const char *m = d->s->modifiers[k];
    d->used |= 1u << k;
    if (m[0] == 'm')
      shape_name = m;
    else if (strlen(types) + strlen(m) + 2 < sizeof types) {
      if (*types) strcat(types, ".");
      strcat(types, m);
    }
  }
  for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
    if (strcmp(shapes[k].shape, shape_name) == 0 && strcmp(shapes[k].types, types) == 0) shape = k;
  if (shape == sizeof shapes / sizeof *shapes) return ptx__bad(d, "mma %s of %s is not known here", shape_name, types);
  if (saturate && shapes[shape].kind != SIM_MMA_S8 && shapes[shape].kind != SIM_MMA_U8)
    return ptx__bad(d, ".satfinite is for whole numbers");
  if (ptx__count(d, 4, 4) != 0) return -1;
  const int counts[4] = {shapes[shape].c, shapes[shape].a, shapes[shape].b, shapes[shape].c};
  const int real = shapes[shape].kind <= SIM_MMA_TF32 && !shapes[shape].to_f16;
  ptx__begin(d);
  for (int o = 0; o < 4; o++) {
    const ptx_operand *list = NULL;
    if (vector(d, &d->s->operands[o], counts[o], &list) != 0) return -1;
    for (int k = 0; k < counts[o]; k++) {
      uint32_t ref;
      if (o == 0 ? ptx__dest(d, &list[k], 'w', &ref) != 0
                 : ptx__source(d, &list[k], o == 3 && real && list[k].kind == PTX_O_FLOAT ? 'f' : 'w', &ref) != 0)
        return -1;
      if (o == 0)
        ptx__add_dst(d, ref);
      else
        ptx__add_src(d, ref);
    }
  }
  ptx__set_step(d, sim__step_mma, SIM_ALIGNED, SIM_C_MMA);
  d->insn.type = shapes[shape].kind;
  d->insn.n_elements = shapes[shape].k;
  d->insn.op = (uint8_t)shapes[shape].to_f16;
  d->insn.sign = (uint8_t)saturate;
  d->f->facts.uses_mma = 1;
  ptx__emit(d);
  return 0;
}

const ptx_decode_row ptx__decode_matrix[] = {
    {"ldmatrix", decode_ldmatrix}, {"stmatrix", decode_ldmatrix}, {"movmatrix", decode_movmatrix}, {"mma", decode_mma}, {0}};
