/* decode.h -- from statements to instructions: what the decoder's files share.
 *
 * While a routine is decoded, operands are references: 0 the zero slot, 1 + id a virtual register, DECODE_CONSTANT | i a
 * constant. slots.c turns them into offsets. */
#ifndef PTXSIM_DECODE_H
#define PTXSIM_DECODE_H

#include "exec/insn.h"

#define DECODE_CONSTANT 0x80000000u

typedef struct ptx_decoder {
  sim_function *f;
  ptx_module *module;
  sim_routine *routine;
  const ptx_statement *s;
  unsigned used;  /* modifiers that were taken */
  sim_insn insn;  /* the one being made */
  sim_insn *code; /* of all routines */
  size_t n_code, code_room;
  uint8_t *reg_class; /* of the routine's virtual registers: 0 predicate, 1 32 bits, 2 64 bits */
  size_t n_regs, regs_room;
  sim_constant *constants;
  size_t n_constants, constants_room;
  sim_call *calls;
  size_t n_calls, calls_room;
  uint32_t carry;                 /* the predicate that .cc writes; 0: none yet */
  const ptx_function **reachable; /* routines in order */
  int n_reachable;
} ptx_decoder;

/* 0; -1: the module's log says why. */
int ptx__decode_module(sim_module *module);

int ptx__bad(ptx_decoder *d, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Modifiers, in any order. */
int ptx__take(ptx_decoder *d, const char *word);             /* 1: it was there */
int ptx__take_any(ptx_decoder *d, const char *const *words); /* index, or -1 */
ptx_type ptx__take_type(ptx_decoder *d);                     /* the first that is left; bits 0: none */
int ptx__all_taken(ptx_decoder *d);                          /* 0, or -1 and a message */
int ptx__count(ptx_decoder *d, int low, int high);           /* operands: 0 or -1 */

/* Operands. `letter`: p h w d f g as in sim_alu_row. */
int ptx__source(ptx_decoder *d, const ptx_operand *o, char letter, uint32_t *ref);
int ptx__dest(ptx_decoder *d, const ptx_operand *o, char letter, uint32_t *ref); /* a sink gives a fresh register */
/* A register of any width that holds at least `bits`, or an immediate; *bits is what the register has. */
int ptx__source_any(ptx_decoder *d, const ptx_operand *o, ptx_type type, int *bits, uint32_t *ref);
int ptx__dest_any(ptx_decoder *d, const ptx_operand *o, int *bits, uint32_t *ref);
uint32_t ptx__constant(ptx_decoder *d, int bits, uint64_t value);
uint32_t ptx__constant_of(ptx_decoder *d, sim_constant c);
uint32_t ptx__temporary(ptx_decoder *d, int bits); /* 1, 32 or 64 */
void ptx__note_shared_width(ptx_decoder *d, int space, int bytes);
int ptx__atomic_type(ptx_type t); /* SIM_T_..., or -1 */
int ptx__ref_class(const ptx_decoder *d, uint32_t ref);
int ptx__address(ptx_decoder *d, const ptx_operand *o, int space, uint32_t *ref); /* sets address_kind and offset */
/* A register of 128 bits as its lower and upper 64; and mov of one. */
int ptx__wide(ptx_decoder *d, const ptx_operand *o, uint32_t half[2]);
int ptx__move_wide(ptx_decoder *d, const ptx_operand *to, const ptx_operand *from);
char ptx__letter(int bits); /* of whole numbers */
/* A 16- or 32-bit number that must be known here. */
int ptx__immediate(ptx_decoder *d, const ptx_operand *o, int64_t *value);

/* The instruction. */
void ptx__begin(ptx_decoder *d);
void ptx__add_dst(ptx_decoder *d, uint32_t ref);
void ptx__add_src(ptx_decoder *d, uint32_t ref); /* after all destinations */
void ptx__emit(ptx_decoder *d);                  /* with the statement's guard and line */
int ptx__emit_alu(ptx_decoder *d, const char *name, uint32_t dst, uint32_t a, uint32_t b,
                  uint32_t c); /* a row without operand checks */
void ptx__set_step(ptx_decoder *d, sim_stepper step, sim_insn_kind kind, sim_class class);

typedef int (*ptx_decode_one)(ptx_decoder *d);
typedef struct ptx_decode_row {
  const char *opcode;
  ptx_decode_one decode;
} ptx_decode_row;
/* Ends with a row without an opcode. */
extern const ptx_decode_row ptx__decode_moves[], ptx__decode_compare[], ptx__decode_memory[], ptx__decode_warp[],
    ptx__decode_control[], ptx__decode_matrix[];
int ptx__decode_alu(ptx_decoder *d);

/* flow.c: `join` of every branch of the routine. slots.c: references become offsets. Both 0 or -1. */
int ptx__find_joins(ptx_decoder *d);
int ptx__assign_slots(ptx_decoder *d);

/* Blocks of a routine: [first, end) in pcs; successors, -1: none, -2: the function's end. */
typedef struct ptx_block {
  uint32_t first, end;
  int *next, n_next;
} ptx_block;
typedef struct ptx_blocks {
  ptx_block *all;
  int n;
  int *of; /* block of pc - routine->first */
} ptx_blocks;
void ptx__blocks_make(const ptx_decoder *d, ptx_blocks *blocks);
void ptx__blocks_free(ptx_blocks *blocks);

#endif
