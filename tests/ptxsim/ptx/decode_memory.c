/* decode_memory.c -- ld, st, atom, red, fences, cp.async, prefetches. */
#include "exec/steps.h"
#include "ptx/decode.h"

#include <string.h>

static const char *const space_words[] = {"global", "shared",       "shared::cta", "local", "const",
                                          "param",  "param::entry", "param::func", NULL};
static const uint8_t space_of[] = {PTX_GLOBAL, PTX_SHARED, PTX_SHARED, PTX_LOCAL, PTX_CONST, PTX_PARAM, PTX_PARAM, PTX_PARAM};

static int take_space(ptx_decoder *d) {
  const int k = ptx__take_any(d, space_words);
  return k < 0 ? PTX_GENERIC : space_of[k];
}

/* Hints that change no result. `hint` is set where a cache policy follows as an operand. */
static void take_hints(ptx_decoder *d, int *hint) {
  static const char *const words[] = {"ca",
                                      "cg",
                                      "cs",
                                      "lu",
                                      "cv",
                                      "wb",
                                      "wt",
                                      "nc",
                                      "unified",
                                      "L1::evict_normal",
                                      "L1::evict_unchanged",
                                      "L1::evict_first",
                                      "L1::evict_last",
                                      "L1::no_allocate",
                                      "L2::64B",
                                      "L2::128B",
                                      "L2::256B",
                                      "L2::evict_first",
                                      "L2::evict_last",
                                      "L2::evict_normal",
                                      NULL};
  while (ptx__take_any(d, words) >= 0) {
  }
  *hint = ptx__take(d, "L2::cache_hint");
}

/* Memory order and scope: what they mean for conflicts between blocks. */
static int take_order(ptx_decoder *d) {
  static const char *const scopes[] = {"cta", "cluster", "gpu", "sys", "gl", NULL};
  int order = 0;
  if (ptx__take(d, "weak")) order = 0;
  if (ptx__take(d, "volatile") || ptx__take(d, "relaxed") || ptx__take(d, "mmio")) order = SIM_M_STRONG;
  if (ptx__take(d, "acquire")) order = SIM_M_STRONG | SIM_M_ACQUIRE;
  if (ptx__take(d, "release")) order = SIM_M_STRONG | SIM_M_RELEASE;
  if (ptx__take(d, "acq_rel") || ptx__take(d, "sc")) order = SIM_M_STRONG | SIM_M_ACQUIRE | SIM_M_RELEASE;
  const int scope = ptx__take_any(d, scopes);
  if (scope == 0) order &= ~(SIM_M_ACQUIRE | SIM_M_RELEASE); /* orders nothing between blocks */
  return order;
}

static int elements(ptx_decoder *d, const ptx_operand *o, const ptx_operand **first, int *n) {
  const int vector = ptx__take(d, "v2") ? 2 : ptx__take(d, "v4") ? 4 : ptx__take(d, "v8") ? 8 : 1;
  if (vector > 1 && (o->kind != PTX_O_VECTOR || o->n_elements != vector))
    return ptx__bad(d, "a vector of %d registers is needed", vector);
  if (vector == 1 && o->kind == PTX_O_VECTOR) {
    if (o->n_elements != 1) return ptx__bad(d, "a vector of registers without .v2 or .v4");
    o = o->elements;
  }
  *first = vector > 1 ? o->elements : o;
  *n = vector;
  return 0;
}

static int memory_type(ptx_decoder *d, int n, ptx_type *type) {
  *type = ptx__take_type(d);
  if (type->bits < 8 || type->pair) return ptx__bad(d, "a type of 8 to 128 bits is needed");
  return type->bits == 128 && n > 1 ? ptx__bad(d, "a vector of .b128 is longer than 128 bits") : 0;
}

/* Races are told apart by the narrowest access that the kernel has: 1 to 16 bytes. */
void ptx__note_shared_width(ptx_decoder *d, int space, int bytes) {
  const int shift = bytes >= 16 ? 4 : bytes >= 8 ? 3 : bytes >= 4 ? 2 : bytes >= 2 ? 1 : 0;
  if ((space == PTX_SHARED || space == PTX_GENERIC) && shift < d->f->shared_granule) d->f->shared_granule = shift;
}

/* The registers that are loaded: those of the list, or the two halves of one of 128 bits. `bits` is what each has. */
static int loaded(ptx_decoder *d, const ptx_operand *list, int *n, ptx_type *type, uint32_t *refs, int *bits) {
  *bits = 0;
  if (type->bits == 128) {
    *n = 2;
    *bits = type->bits = 64;
    return ptx__wide(d, list, refs);
  }
  for (int k = 0; k < *n; k++) {
    int b = type->bits;
    if (ptx__dest_any(d, &list[k], &b, &refs[k]) != 0) return -1;
    if (list[k].kind == PTX_O_SINK) b = *bits ? *bits : b;
    if (k > 0 && (b > 32) != (*bits > 32)) return ptx__bad(d, "registers of different widths in a vector");
    *bits = b;
  }
  return 0;
}

static int stored(ptx_decoder *d, const ptx_operand *list, int *n, ptx_type *type, uint32_t *refs) {
  if (type->bits == 128) {
    *n = 2;
    type->bits = 64;
    return ptx__wide(d, list, refs);
  }
  for (int k = 0; k < *n; k++) {
    int b;
    if (ptx__source_any(d, &list[k], *type, &b, &refs[k]) != 0) return -1;
  }
  return 0;
}

static int decode_ld(ptx_decoder *d) {
  const ptx_operand *o = d->s->operands, *list = NULL;
  const int space = take_space(d), order = take_order(d);
  int hint, n, bits;
  ptx_type type;
  take_hints(d, &hint);
  if (ptx__count(d, 2 + hint, 2 + hint) != 0 || elements(d, &o[0], &list, &n) != 0 || memory_type(d, n, &type) != 0 ||
      ptx__all_taken(d) != 0)
    return -1;
  uint32_t refs[8], address;
  if (loaded(d, list, &n, &type, refs, &bits) != 0) return -1;
  ptx__begin(d);
  sim_insn *i = &d->insn;
  i->space = (uint8_t)space;
  if (ptx__address(d, &o[1], space, &address) != 0) return -1;
  i->order = (uint8_t)order;
  i->n_elements = (uint8_t)n;
  i->element_bytes = (uint8_t)(type.bits / 8);
  i->sign = type.base == PTX_SIGNED;
  ptx__note_shared_width(d, space, i->element_bytes * n);
  i->bits = (uint8_t)bits;
  ptx__set_step(d, i->address_kind == SIM_A_CONST ? sim__step_load_param : sim__step_load, SIM_STEP, SIM_C_MEMORY);
  for (int k = 0; k < n; k++) ptx__add_dst(d, refs[k]);
  ptx__add_src(d, address);
  ptx__emit(d);
  return 0;
}

static int decode_st(ptx_decoder *d) {
  const ptx_operand *o = d->s->operands, *list = NULL;
  const int space = take_space(d), order = take_order(d);
  int hint, n;
  ptx_type type;
  take_hints(d, &hint);
  if (ptx__count(d, 2 + hint, 2 + hint) != 0 || elements(d, &o[1], &list, &n) != 0 || memory_type(d, n, &type) != 0 ||
      ptx__all_taken(d) != 0)
    return -1;
  if (space == PTX_CONST) return ptx__bad(d, "constant memory cannot be stored to");
  uint32_t refs[8], address;
  if (stored(d, list, &n, &type, refs) != 0) return -1;
  ptx__begin(d);
  sim_insn *i = &d->insn;
  i->space = (uint8_t)space;
  if (ptx__address(d, &o[0], space, &address) != 0) return -1;
  if (i->address_kind == SIM_A_CONST) return ptx__bad(d, "a kernel's parameters cannot be stored to");
  i->order = (uint8_t)order;
  i->n_elements = (uint8_t)n;
  i->element_bytes = (uint8_t)(type.bits / 8);
  ptx__note_shared_width(d, space, i->element_bytes * n);
  ptx__set_step(d, sim__step_store, SIM_STEP, SIM_C_MEMORY);
  ptx__add_src(d, address);
  for (int k = 0; k < n; k++) ptx__add_src(d, refs[k]);
  ptx__emit(d);
  return 0;
}

/* ---- atomics
 * ------------------------------------------------------------------------------------------------------------------------------
 */

int ptx__atomic_type(ptx_type t) {
  if (t.base == PTX_REAL && t.pair) return SIM_T_F16X2;
  if (t.base == PTX_BFLOAT && t.pair) return SIM_T_BF16X2;
  if (t.pair || t.bits < 16) return -1;
  if (t.bits == 16)
    return t.base == PTX_REAL ? SIM_T_F16 : t.base == PTX_BFLOAT ? SIM_T_BF16 : t.base == PTX_BITS ? SIM_T_F16 : -1;
  if (t.base == PTX_REAL) return t.bits == 32 ? SIM_T_F32 : SIM_T_F64;
  if (t.base == PTX_SIGNED) return t.bits == 32 ? SIM_T_S32 : SIM_T_S64;
  return t.bits == 32 ? SIM_T_U32 : t.bits == 64 ? SIM_T_U64 : -1;
}

/* Which operation goes with which type. */
static int atomic_allowed(int op, int type, ptx_type t) {
  switch (op) {
  case SIM_ADD:
    return t.base != PTX_BITS && type != SIM_T_S64;
  case SIM_MIN:
  case SIM_MAX:
    return t.base == PTX_SIGNED || t.base == PTX_UNSIGNED;
  case SIM_AND:
  case SIM_OR:
  case SIM_XOR:
    return t.base == PTX_BITS && t.bits >= 32;
  case SIM_INC:
  case SIM_DEC:
    return type == SIM_T_U32 && t.base == PTX_UNSIGNED;
  case SIM_EXCH:
    return t.base == PTX_BITS && t.bits >= 32;
  default:
    return t.base == PTX_BITS;
  }
}

static int decode_atom(ptx_decoder *d) {
  static const char *const ops[] = {"add", "min", "max", "and", "or", "xor", "inc", "dec", "exch", "cas", NULL};
  const int red = d->s->opcode[0] == 'r';
  const ptx_operand *o = d->s->operands + (red ? 0 : 1);
  const int space = take_space(d), order = take_order(d), op = ptx__take_any(d, ops);
  int hint;
  take_hints(d, &hint);
  ptx__take(d, "noftz");
  const ptx_type type = ptx__take_type(d);
  const int t = type.bits ? ptx__atomic_type(type) : -1;
  if (op < 0 || t < 0 || !atomic_allowed(op, t, type)) return ptx__bad(d, "such an atomic is not known");
  if (red && op >= SIM_EXCH) return ptx__bad(d, "red has neither exch nor cas");
  if (space != PTX_GLOBAL && space != PTX_SHARED && space != PTX_GENERIC)
    return ptx__bad(d, "atomics are for global and shared memory");
  const int n = (red ? 2 : 3) + (op == SIM_CAS);
  if (ptx__all_taken(d) != 0 || ptx__count(d, n + hint, n + hint) != 0) return -1;
  const char letter = type.bits == 16 ? 'h' : type.bits == 64 ? (t == SIM_T_F64 ? 'g' : 'd') : t == SIM_T_F32 ? 'f' : 'w';
  uint32_t dst = 0, address, a, b = 0;
  if (!red && ptx__dest(d, &d->s->operands[0], letter, &dst) != 0) return -1;
  if (ptx__source(d, &o[1], letter, &a) != 0 || (op == SIM_CAS && ptx__source(d, &o[2], letter, &b) != 0)) return -1;
  ptx__begin(d);
  sim_insn *i = &d->insn;
  i->space = (uint8_t)space;
  if (ptx__address(d, &o[0], space, &address) != 0) return -1;
  i->order = (uint8_t)order;
  i->op = (uint8_t)op;
  i->type = (uint8_t)t;
  i->n_elements = 1;
  i->element_bytes = (uint8_t)(type.bits / 8);
  i->bits = (uint8_t)type.bits;
  ptx__note_shared_width(d, space, i->element_bytes);
  ptx__set_step(d, sim__step_atomic, SIM_STEP, SIM_C_ATOMIC);
  if (!red) ptx__add_dst(d, dst);
  ptx__add_src(d, address);
  ptx__add_src(d, a);
  if (op == SIM_CAS) ptx__add_src(d, b);
  ptx__emit(d);
  return 0;
}

/* ---- fences, prefetches
 * --------------------------------------------------------------------------------------------------------------------- */

static int decode_fence(ptx_decoder *d) {
  static const char *const levels[] = {"cta", "gl", "gpu", "sys", "cluster", NULL};
  const int proxy = ptx__take(d, "proxy");
  if (proxy) {
    static const char *const kinds[] = {"alias", "async", "async.global", NULL};
    if (ptx__take_any(d, kinds) < 0) return ptx__bad(d, "such a proxy fence is not known");
    ptx__take(d, "global");
    ptx__take(d, "shared::cta");
  }
  ptx__take(d, "sc");
  ptx__take(d, "acq_rel");
  const int level = ptx__take_any(d, levels);
  if (ptx__all_taken(d) != 0 || ptx__count(d, 0, 0) != 0) return -1;
  ptx__begin(d);
  d->insn.order = (uint8_t)(level == 0 || proxy ? 0 : SIM_M_ACQUIRE | SIM_M_RELEASE);
  ptx__set_step(d, sim__step_fence, SIM_STEP, SIM_C_BARRIER);
  ptx__emit(d);
  return 0;
}

/* Only the address's register is looked at: a prefetch faults nowhere. */
static int decode_prefetch(ptx_decoder *d) {
  static const char *const words[] = {"global",           "local",    "L1",    "L2",    "L2::evict_last",
                                      "L2::evict_normal", "L2::128B", "const", "param", NULL};
  while (ptx__take_any(d, words) >= 0) {
  }
  if (ptx__all_taken(d) != 0 || ptx__count(d, 1, 2) != 0) return -1;
  uint32_t address;
  ptx__begin(d);
  if (ptx__address(d, &d->s->operands[0], PTX_GENERIC, &address) != 0) return -1;
  ptx__set_step(d, sim__step_nothing, SIM_STEP, SIM_C_MEMORY);
  ptx__add_src(d, address);
  ptx__emit(d);
  return 0;
}

static int decode_createpolicy(ptx_decoder *d) {
  d->used = (1u << d->s->n_modifiers) - 1; /* whatever it says is a hint */
  if (ptx__count(d, 1, 3) != 0) return -1;
  uint32_t dst;
  if (ptx__dest(d, &d->s->operands[0], 'd', &dst) != 0) return -1;
  return ptx__emit_alu(d, "mov.b64", dst, ptx__constant(d, 64, 0), 0, 0);
}

static int decode_isspacep(ptx_decoder *d) {
  const int space = take_space(d);
  if (space == PTX_GENERIC || ptx__all_taken(d) != 0 || ptx__count(d, 2, 2) != 0)
    return ptx__bad(d, "isspacep needs a state space and two operands");
  uint32_t p, a;
  if (ptx__dest(d, &d->s->operands[0], 'p', &p) != 0 || ptx__source(d, &d->s->operands[1], 'd', &a) != 0) return -1;
  const uint64_t window = space == PTX_SHARED  ? SIM_WINDOW_SHARED
                          : space == PTX_LOCAL ? SIM_WINDOW_LOCAL
                          : space == PTX_PARAM ? SIM_WINDOW_PARAM
                                               : 0;
  if (ptx__emit_alu(d, window ? "inwindow" : "outofwindow", p, a, ptx__constant(d, 64, window), 0) != 0) return -1;
  d->code[d->n_code - 1].uncounted = 0;
  return 0;
}

/* ---- cp.async
 * -------------------------------------------------------------------------------------------------------------------------------
 */

static int emit_bare(ptx_decoder *d, sim_stepper step, int64_t offset) {
  ptx__begin(d);
  d->insn.offset = offset;
  ptx__set_step(d, step, SIM_STEP, SIM_C_BARRIER);
  ptx__emit(d);
  return 0;
}

static int decode_cp(ptx_decoder *d) {
  if (!ptx__take(d, "async")) return ptx__bad(d, "of cp, cp.async alone is known");
  if (ptx__take(d, "bulk")) return ptx__bad(d, "cp.async.bulk is not known here");
  d->f->facts.uses_cp_async = 1;
  int64_t n;
  if (ptx__take(d, "commit_group"))
    return ptx__all_taken(d) || ptx__count(d, 0, 0) ? -1 : emit_bare(d, sim__step_cp_async_commit, 0);
  if (ptx__take(d, "wait_all"))
    return ptx__all_taken(d) || ptx__count(d, 0, 0) ? -1 : emit_bare(d, sim__step_cp_async_wait, -1);
  if (ptx__take(d, "wait_group")) {
    if (ptx__all_taken(d) != 0 || ptx__count(d, 1, 1) != 0 || ptx__immediate(d, &d->s->operands[0], &n) != 0) return -1;
    return n < 0 ? ptx__bad(d, "a negative number of groups") : emit_bare(d, sim__step_cp_async_wait, n);
  }
  int hint;
  const int cg = ptx__take(d, "cg");
  if (!cg && !ptx__take(d, "ca")) return ptx__bad(d, "cp.async needs .ca or .cg");
  const ptx_operand *o = d->s->operands;
  if (!(ptx__take(d, "shared") || ptx__take(d, "shared::cta")) || !ptx__take(d, "global"))
    return ptx__bad(d, "cp.async goes from .global to .shared");
  take_hints(d, &hint);
  if (ptx__all_taken(d) != 0 || ptx__count(d, 3, 4 + hint) != 0 || ptx__immediate(d, &o[2], &n) != 0) return -1;
  if (n != 16 && (cg || (n != 4 && n != 8)))
    return ptx__bad(d, cg ? "cp.async.cg copies 16 bytes" : "cp.async.ca copies 4, 8 or 16 bytes");
  uint32_t to, from, size = ptx__constant(d, 32, (uint64_t)n), skip = ptx__constant(d, 1, 0);
  if (d->s->n_operands - hint == 4) {
    const int predicate = o[3].kind == PTX_O_REG && o[3].reg->type.base == PTX_PRED;
    if (ptx__source(d, &o[3], predicate ? 'p' : 'w', predicate ? &skip : &size) != 0) return -1;
  }
  ptx__begin(d);
  sim_insn *i = &d->insn;
  i->space = PTX_SHARED;
  if (ptx__address(d, &o[0], PTX_SHARED, &to) != 0) return -1;
  const uint8_t to_kind = i->address_kind;
  const int64_t to_offset = i->offset;
  if (ptx__address(d, &o[1], PTX_GLOBAL, &from) != 0) return -1;
  i->type = to_kind; /* of the destination's address */
  i->extra = (uint32_t)to_offset;
  i->element_bytes = (uint8_t)n;
  i->n_elements = 1;
  ptx__note_shared_width(d, PTX_SHARED, (int)n);
  ptx__set_step(d, sim__step_cp_async, SIM_STEP, SIM_C_MEMORY);
  ptx__add_src(d, to);
  ptx__add_src(d, from);
  ptx__add_src(d, size);
  ptx__add_src(d, skip);
  ptx__emit(d);
  return 0;
}

const ptx_decode_row ptx__decode_memory[] = {{"ld", decode_ld},
                                             {"ldu", decode_ld},
                                             {"st", decode_st},
                                             {"atom", decode_atom},
                                             {"red", decode_atom},
                                             {"fence", decode_fence},
                                             {"membar", decode_fence},
                                             {"prefetch", decode_prefetch},
                                             {"prefetchu", decode_prefetch},
                                             {"cp", decode_cp},
                                             {"isspacep", decode_isspacep},
                                             {"createpolicy", decode_createpolicy},
                                             {0}};
