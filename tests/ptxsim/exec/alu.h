/* alu.h -- how the lane-by-lane instructions are written: an expression over a, b, c (and e), in a loop that becomes vectors.
 *
 * Sources never overlap a destination of another register, and a register overlaps itself lane for lane: hence ivdep. */
#ifndef PTXSIM_ALU_H
#define PTXSIM_ALU_H

#include "exec/insn.h"
#include "exec/number.h"

#define SIM_LOOP _Pragma("GCC ivdep") for (int l = 0; l < SIM_LANES; l++)
#define SIM_PLACE(T, k) ((T *)(void *)(regs + i->o[k]))
#define SIM_WHERE(d, v) (d)[l] = mask >> l & 1 ? (v) : (d)[l]

#define SIM_BODY(D, LOADS, EXPR)   \
  D *d = SIM_PLACE(D, 0);          \
  if (mask == 0xFFFFFFFFu) {       \
    SIM_LOOP {                     \
      LOADS d[l] = (D)(EXPR);      \
    }                              \
  } else {                         \
    SIM_LOOP {                     \
      LOADS const D v = (D)(EXPR); \
      SIM_WHERE(d, v);             \
    }                              \
  }

#define SIM_HEAD(name) static void name(char *regs, const sim_insn *i, uint32_t mask)
#define ALU1(name, D, A, EXPR)            \
  SIM_HEAD(name) {                        \
    const A *pa = SIM_PLACE(A, 2);        \
    SIM_BODY(D, const A a = pa[l];, EXPR) \
  }
#define ALU2(name, D, A, B, EXPR)                            \
  SIM_HEAD(name) {                                           \
    const A *pa = SIM_PLACE(A, 2);                           \
    const B *pb = SIM_PLACE(B, 3);                           \
    SIM_BODY(D, const A a = pa[l]; const B b = pb[l];, EXPR) \
  }
#define ALU3(name, D, A, B, C, EXPR)                                            \
  SIM_HEAD(name) {                                                              \
    const A *pa = SIM_PLACE(A, 2);                                              \
    const B *pb = SIM_PLACE(B, 3);                                              \
    const C *pc = SIM_PLACE(C, 4);                                              \
    SIM_BODY(D, const A a = pa[l]; const B b = pb[l]; const C c = pc[l];, EXPR) \
  }
#define ALU4(name, D, A, B, C, E, EXPR)                                                            \
  SIM_HEAD(name) {                                                                                 \
    const A *pa = SIM_PLACE(A, 2);                                                                 \
    const B *pb = SIM_PLACE(B, 3);                                                                 \
    const C *pc = SIM_PLACE(C, 4);                                                                 \
    const E *pe = SIM_PLACE(E, 5);                                                                 \
    SIM_BODY(D, const A a = pa[l]; const B b = pb[l]; const C c = pc[l]; const E e = pe[l];, EXPR) \
  }
/* A comparison: the lanes in which it holds. */
#define ALUP(name, A, B, EXPR)                       \
  SIM_HEAD(name) {                                   \
    const A *pa = SIM_PLACE(A, 2);                   \
    const B *pb = SIM_PLACE(B, 3);                   \
    uint32_t *d = SIM_PLACE(uint32_t, 0), holds = 0; \
    SIM_LOOP {                                       \
      const A a = pa[l];                             \
      const B b = pb[l];                             \
      holds |= (uint32_t)((EXPR) != 0) << l;         \
    }                                                \
    *d = (*d & ~mask) | (holds & mask);              \
  }

typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;
typedef int64_t s64;
typedef uint16_t u16;
typedef int16_t s16;
typedef uint8_t u8;
typedef int8_t s8;
typedef float f32;
typedef double f64;

#define SIM_TABLE(name, rows) const sim_alu_table name = {rows, sizeof rows / sizeof *rows}
extern const sim_alu_table sim__integer_table, sim__bits_table, sim__compare_table, sim__float_table, sim__double_table,
    sim__half_table, sim__special_table;

#endif
