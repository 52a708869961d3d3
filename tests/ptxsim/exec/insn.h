/* insn.h -- a decoded instruction and the code of a kernel with all that it calls.
 *
 * Registers are slots of 128 bytes: one 32-bit value for each lane (16-bit values lie zero-extended in 32 bits), two slots for
 * a 64-bit register, the first word of a slot for a predicate's 32 lanes. Immediates are slots too, filled when a frame begins.
 * Operands are byte offsets into the frame; slot 0 is a zero that nothing writes. */
#ifndef PTXSIM_INSN_H
#define PTXSIM_INSN_H

#include "ptx/syntax.h"
#include "sim.h"

enum { SIM_SLOT = 128, SIM_LANES = 32, SIM_MAX_OPERANDS = 18 };

typedef struct sim_insn sim_insn;
typedef struct sim_warp sim_warp;

typedef void (*sim_alu)(char *regs, const sim_insn *insn, uint32_t mask);

/* What a step does with the fragment of the warp that executed it. */
typedef enum sim_step {
  SIM_NEXT,   /* goes on behind it */
  SIM_JUMPED, /* goes on at its pc, which the step set */
  SIM_MOVED,  /* may have ended, split or changed its frame */
  SIM_WAITS,
  SIM_FAULTED
} sim_step;
typedef sim_step (*sim_stepper)(sim_warp *warp, const sim_insn *insn, uint32_t mask);

typedef enum sim_insn_kind {
  SIM_ALU,    /* registers to registers, lane by lane */
  SIM_STEP,   /* anything else that needs no other lane at its side */
  SIM_MEMBER, /* .sync with a mask of lanes in operand `sync` */
  SIM_ALIGNED /* every live lane of the warp */
} sim_insn_kind;

typedef enum sim_class {
  SIM_C_INTEGER,
  SIM_C_FP32,
  SIM_C_FP16,
  SIM_C_FP64,
  SIM_C_SPECIAL,
  SIM_C_CONVERT,
  SIM_C_MEMORY,
  SIM_C_ATOMIC,
  SIM_C_EXCHANGE,
  SIM_C_CONTROL,
  SIM_C_BARRIER,
  SIM_C_MMA,
  SIM_CLASSES
} sim_class;

/* How an undefined bit of a source travels to the destination. */
typedef enum sim_flow {
  SIM_F_ALL,  /* any undefined bit makes all of the lane's result undefined */
  SIM_F_PAIR, /* the same for each 16-bit half */
  SIM_F_MOVE, /* bit by bit, one source */
  SIM_F_AND,
  SIM_F_OR,
  SIM_F_XOR,
  SIM_F_SHL,
  SIM_F_SHR,
  SIM_F_SAR,
  SIM_F_SELECT,
  SIM_F_PRMT,
  SIM_F_ZEXT,
  SIM_F_SEXT,
  SIM_F_PACK, /* mov.b32 {h, h}: parts side by side */
  SIM_F_UNPACK,
  SIM_F_LOP3,
  SIM_F_CVT_PAIR, /* two sources, a half each: the first is the upper one */
  SIM_F_CARRY     /* add and the like: undefined from the lowest undefined bit upwards */
} sim_flow;

struct sim_insn {
  union {
    sim_alu alu;
    sim_stepper step;
  };
  uint8_t kind, class, flow, guard_negated, uncounted;
  uint8_t n_dst, n_src;    /* operands o[0 .. n_dst) and o[n_dst .. n_dst + n_src); of ALU: o[0], o[1] and o[2 .. 5] */
  uint8_t bits, from_bits; /* of the result and the source, where they matter */
  uint32_t guard;          /* offset of a predicate; 0: none */
  int32_t target, join;    /* branches: pc of the target, of the reconvergence (-1: the function's end) */
  uint32_t o[SIM_MAX_OPERANDS];
  int64_t offset; /* of an address; a constant */
  uint8_t space, n_elements, element_bytes, sign;
  uint8_t address_kind;       /* SIM_A_... */
  uint8_t order;              /* memory order, cache hint: SIM_M_... */
  uint8_t op, type;           /* of atomics, votes, shuffles, comparisons, mma shapes */
  uint8_t flop;               /* operations of a lane, for the counters */
  uint8_t sync;               /* MEMBER: which operand holds the mask */
  uint8_t dst_wide, src_wide; /* bit k: operand k has two slots */
  uint32_t extra;             /* index of what does not fit here */
  int32_t line, source_line, source_file;
};

enum { SIM_A_REG64, SIM_A_REG32, SIM_A_CONST }; /* the address: a register, or `offset` alone */
enum { SIM_M_STRONG = 1, SIM_M_ACQUIRE = 2, SIM_M_RELEASE = 4 };

/* A slot that a frame begins with. */
typedef struct sim_constant {
  uint32_t offset;
  uint8_t bits, special; /* special: SIM_S_..., else `value` in every lane */
  uint64_t value;
  const ptx_var *var; /* SIM_S_VAR: its address + value; SIM_S_LOCAL: the frame's local memory + value */
} sim_constant;

enum {
  SIM_S_NONE,
  SIM_S_TID_X,
  SIM_S_TID_Y,
  SIM_S_TID_Z,
  SIM_S_NTID_X,
  SIM_S_NTID_Y,
  SIM_S_NTID_Z,
  SIM_S_CTAID_X,
  SIM_S_CTAID_Y,
  SIM_S_CTAID_Z,
  SIM_S_NCTAID_X,
  SIM_S_NCTAID_Y,
  SIM_S_NCTAID_Z,
  SIM_S_LANEID,
  SIM_S_WARPID,
  SIM_S_NWARPID,
  SIM_S_SMID,
  SIM_S_NSMID,
  SIM_S_GRIDID,
  SIM_S_MASK_EQ,
  SIM_S_MASK_LE,
  SIM_S_MASK_LT,
  SIM_S_MASK_GE,
  SIM_S_MASK_GT,
  SIM_S_DYNAMIC_SMEM,
  SIM_S_TOTAL_SMEM,
  SIM_S_ZERO,
  SIM_S_ONE,
  SIM_S_CLOCK,
  SIM_S_CLOCK64,
  SIM_S_CLOCK_HI,
  SIM_S_TIMER,
  SIM_S_TIMER_LO,
  SIM_S_TIMER_HI,
  SIM_S_VAR,
  SIM_S_LOCAL
};

typedef struct sim_routine { /* one function's code within the array */
  const ptx_function *function;
  uint32_t first, end; /* pcs */
  uint32_t n_slots;
  sim_constant *constants;
  uint32_t n_constants;
  uint32_t *unset; /* slots of registers that may be read before they are written: they begin undefined */
  uint32_t n_unset;
  uint32_t local_bytes;
  uint32_t *param_offset, *param_bytes, *result_offset, *result_bytes; /* in the frame */
  int n_params, n_results;
} sim_routine;

typedef struct sim_call { /* what a call needs beyond the instruction */
  int routine;            /* -1: indirect, through o[0] */
  int n_args, n_results;
  uint32_t *arg_offset, *result_offset, *arg_bytes, *result_bytes; /* in the caller's frame */
  int *targets, n_targets;                                         /* brx: pcs; indirect calls: routines that it may reach */
} sim_call;

struct sim_function {
  sim_module *module;
  const ptx_function *function;
  sim_function_facts facts;
  sim_insn *code;
  uint32_t n_code;
  sim_routine *routines; /* [0] is the kernel */
  int n_routines;
  sim_call *calls;
  uint32_t n_calls;
  uint32_t shared_static, shared_base_dynamic;
  int shared_granule; /* log2 of the bytes that races are told apart by */
  char **kept;        /* what is freed with it */
  size_t n_kept, kept_room;
};

struct sim_module {
  ptx_module ptx;
  sim_function *functions;
  int n_functions;
  sim_memory *placed_in;
};

/* A row of the tables of lane-by-lane instructions, under the name that the PTX has for it. Signature: destinations ':'
 * sources; p predicate, h 16 bits, w 32 bits, d 64 bits, f f32, g f64 (where an immediate may be a float). */
typedef struct sim_alu_row {
  const char *name, *signature;
  sim_alu alu;
  uint8_t class, flow, flop;
} sim_alu_row;

typedef struct sim_alu_table {
  const sim_alu_row *rows;
  size_t n;
} sim_alu_table;

/* One for each file of such instructions; ends with an empty one. */
extern const sim_alu_table *const sim__alu_tables[];
const sim_alu_row *sim__alu_find(const char *name);

#endif
