/* atomic.c -- atom and red, lane after lane. */
#include "exec/machine.h"
#include "exec/number.h"

static uint32_t add_half(uint32_t a, uint32_t b, int type) {
  if (type == SIM_T_F16) return sim__f32_to_f16(sim__f16_to_f32((uint16_t)a) + sim__f16_to_f32((uint16_t)b));
  return sim__f32_to_bf16(sim__bf16_to_f32((uint16_t)a) + sim__bf16_to_f32((uint16_t)b));
}

static uint64_t float_add(uint64_t old, uint64_t a, int type) {
  switch (type) {
  case SIM_T_F32:
    return sim__bits_of_f32(sim__canonical_f32(sim__f32_of_bits((uint32_t)old) + sim__f32_of_bits((uint32_t)a)));
  case SIM_T_F64:
    return sim__bits_of_f64(sim__f64_of_bits(old) + sim__f64_of_bits(a));
  case SIM_T_F16:
  case SIM_T_BF16:
    return add_half((uint32_t)old & 0xFFFF, (uint32_t)a & 0xFFFF, type);
  default: {
    const int one = type == SIM_T_F16X2 ? SIM_T_F16 : SIM_T_BF16;
    return add_half((uint32_t)old & 0xFFFF, (uint32_t)a & 0xFFFF, one) |
           (uint64_t)add_half((uint32_t)old >> 16, (uint32_t)a >> 16 & 0xFFFF, one) << 16;
  }
  }
}

static uint64_t least(uint64_t a, uint64_t b, int type, int most) {
  int less;
  switch (type) {
  case SIM_T_S32:
    less = (int32_t)a < (int32_t)b;
    break;
  case SIM_T_S64:
    less = (int64_t)a < (int64_t)b;
    break;
  case SIM_T_U32:
    less = (uint32_t)a < (uint32_t)b;
    break;
  default:
    less = a < b;
    break;
  }
  return less != most ? a : b;
}

static uint64_t apply(const sim_insn *i, uint64_t old, uint64_t a, uint64_t b) {
  switch (i->op) {
  case SIM_ADD:
    return i->type >= SIM_T_F32 ? float_add(old, a, i->type) : old + a;
  case SIM_MIN:
    return least(old, a, i->type, 0);
  case SIM_MAX:
    return least(old, a, i->type, 1);
  case SIM_AND:
    return old & a;
  case SIM_OR:
    return old | a;
  case SIM_XOR:
    return old ^ a;
  case SIM_INC:
    return (uint32_t)old >= (uint32_t)a ? 0 : old + 1;
  case SIM_DEC:
    return (uint32_t)old == 0 || (uint32_t)old > (uint32_t)a ? a : old - 1;
  case SIM_EXCH:
    return a;
  default:
    return old == a ? b : old;
  }
}

static uint64_t operand(const sim_warp *w, const sim_insn *i, int k, uint32_t lane) {
  const uint32_t ref = i->o[i->n_dst + k];
  const uint64_t all = i->bits == 64 ? UINT64_MAX : ((uint64_t)1 << i->bits) - 1;
  return (i->src_wide >> k & 1 ? sim__u64(w, ref)[lane] : sim__u32(w, ref)[lane]) & all;
}

static int check_operands(sim_warp *w, const sim_insn *i, const sim_access *a) {
  for (int k = 1; k < i->n_src; k++) {
    const uint32_t undefined = sim__undefined(w, i->o[i->n_dst + k], a->mask);
    if (!undefined) continue;
    const uint32_t l = (uint32_t)__builtin_ctz(undefined);
    sim__fault_at(w, i, SIM_FAULT_UNDEFINED_STORE, (int)l, a->space, a->address[l], a->bytes,
                  "an operand of the atomic is undefined");
    return -1;
  }
  return 0;
}

/* What lies in memory must be defined, unless it is merely replaced. */
static int check_memory(sim_warp *w, const sim_insn *i, const sim_access *a, uint32_t lane) {
  if (!w->undef || !a->undefined) return 0;
  unsigned char *u = a->undefined + a->offset[lane];
  int any = 0;
  for (uint32_t k = 0; k < a->bytes; k++) any |= u[k];
  memset(u, 0, a->bytes);
  if (!any) return 0;
  if (i->op == SIM_EXCH) return 1;
  sim__fault_at(w, i, SIM_FAULT_UNDEFINED_STORE, (int)lane, a->space, a->address[lane], a->bytes,
                "the atomic reads bytes that were never written");
  return -1;
}

static int one_lane(sim_warp *w, const sim_insn *i, const sim_access *a, uint32_t lane) {
  unsigned char *at = a->data + a->offset[lane];
  const int undefined = check_memory(w, i, a, lane);
  if (undefined < 0) return -1;
  uint64_t old = 0;
  memcpy(&old, at, a->bytes);
  const uint64_t value = apply(i, old, operand(w, i, 1, lane), i->n_src > 2 ? operand(w, i, 2, lane) : 0);
  memcpy(at, &value, a->bytes);
  if (!w->undef && a->undefined) memset(a->undefined + a->offset[lane], 0, a->bytes);
  if (i->n_dst == 0) return 0;
  if (i->bits == 64)
    sim__u64(w, i->o[0])[lane] = old;
  else
    sim__u32(w, i->o[0])[lane] = (uint32_t)old;
  sim__set_undefined_bits(w, i->o[0], i->bits == 64, (int)lane, undefined ? UINT64_MAX : 0);
  return 0;
}

sim_step sim__step_atomic(sim_warp *w, const sim_insn *i, uint32_t mask) {
  uint64_t address[SIM_LANES];
  sim_access a;
  const int what = SIM_READS | SIM_WRITES | SIM_IS_ATOMIC;
  if (sim__access_addresses(w, i, mask, i->o[i->n_dst], i->address_kind, i->offset, address) != 0) return SIM_FAULTED;
  if (i->order & SIM_M_RELEASE) sim__fence(w->block, SIM_M_RELEASE);
  /* which lane goes first is the seed's choice */
  const uint32_t turn = (uint32_t)sim__random(&w->machine->random) % SIM_LANES;
  for (uint32_t left = mask; left; left &= ~a.mask) {
    if (sim__access_group(w, i, &a, address, left, i->space, i->element_bytes, what) != 0 || check_operands(w, i, &a) != 0)
      return SIM_FAULTED;
    if (a.space != PTX_GLOBAL && a.space != PTX_SHARED)
      return sim__fault_at(w, i, SIM_FAULT_BOUNDS, __builtin_ctz(a.mask), a.space, a.address[__builtin_ctz(a.mask)], a.bytes,
                           "atomics reach global and shared memory only");
    if (sim__access_conflicts(w, i, &a, what, NULL) != 0) return SIM_FAULTED;
    for (uint32_t k = 0; k < SIM_LANES; k++) {
      const uint32_t lane = (turn + k) % SIM_LANES;
      if (a.mask >> lane & 1 && one_lane(w, i, &a, lane) != 0) return SIM_FAULTED;
    }
    if (a.space == PTX_GLOBAL && w->machine->checks & (SIM_COUNT_BANKS | SIM_COUNT_CACHE))
      sim__count_sectors(w->machine, &a, what);
  }
  sim__strong_read(w->block);
  sim__strong_write(w->block);
  if (i->order & SIM_M_ACQUIRE) sim__fence(w->block, SIM_M_ACQUIRE);
  return SIM_NEXT;
}
