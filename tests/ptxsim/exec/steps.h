/* steps.h -- instructions that are more than registers to registers, one line for the file that has them. */
#ifndef PTXSIM_STEPS_H
#define PTXSIM_STEPS_H

#include "exec/insn.h"

/* Where shared, local and parameter memory lie in the generic address space; a function's address. */
#define SIM_WINDOW_SHARED 0x00F1000000000000ull
#define SIM_WINDOW_LOCAL 0x00F2000000000000ull
#define SIM_WINDOW_PARAM 0x00F3000000000000ull
#define SIM_WINDOW_CODE 0x00F4000000000000ull
#define SIM_WINDOW_BYTES 0x0001000000000000ull

/* load.c, store.c, atomic.c */
sim_step sim__step_load(sim_warp *w, const sim_insn *i, uint32_t mask);
sim_step sim__step_load_param(sim_warp *w, const sim_insn *i, uint32_t mask); /* at a known offset */
sim_step sim__step_store(sim_warp *w, const sim_insn *i, uint32_t mask);
sim_step sim__step_atomic(sim_warp *w, const sim_insn *i, uint32_t mask);
sim_step sim__step_fence(sim_warp *w, const sim_insn *i, uint32_t mask);
sim_step sim__step_nothing(sim_warp *w, const sim_insn *i, uint32_t mask);
/* async.c */
sim_step sim__step_cp_async(sim_warp *w, const sim_insn *i, uint32_t mask);
sim_step sim__step_cp_async_commit(sim_warp *w, const sim_insn *i, uint32_t mask);
sim_step sim__step_cp_async_wait(sim_warp *w, const sim_insn *i,
                                 uint32_t mask); /* offset: groups that may stay; -1: wait_all */
/* exchange.c */
sim_step sim__step_shuffle(sim_warp *w, const sim_insn *i, uint32_t mask);
sim_step sim__step_vote(sim_warp *w, const sim_insn *i, uint32_t mask);
sim_step sim__step_match(sim_warp *w, const sim_insn *i, uint32_t mask);
sim_step sim__step_redux(sim_warp *w, const sim_insn *i, uint32_t mask);
sim_step sim__step_active(sim_warp *w, const sim_insn *i, uint32_t mask);
sim_step sim__step_elect(sim_warp *w, const sim_insn *i, uint32_t mask);
/* barrier.c */
sim_step sim__step_barrier(sim_warp *w, const sim_insn *i, uint32_t mask);
sim_step sim__step_warp_sync(sim_warp *w, const sim_insn *i, uint32_t mask);
/* control.c */
sim_step sim__step_branch(sim_warp *w, const sim_insn *i, uint32_t mask); /* `mask`: the lanes whose guard holds */
sim_step sim__step_branch_table(sim_warp *w, const sim_insn *i, uint32_t mask);
sim_step sim__step_call(sim_warp *w, const sim_insn *i, uint32_t mask);
sim_step sim__step_return(sim_warp *w, const sim_insn *i, uint32_t mask);
sim_step sim__step_exit(sim_warp *w, const sim_insn *i, uint32_t mask);
sim_step sim__step_trap(sim_warp *w, const sim_insn *i, uint32_t mask);
sim_step sim__step_clock(sim_warp *w, const sim_insn *i, uint32_t mask);
/* matrix.c */
sim_step sim__step_ldmatrix(sim_warp *w, const sim_insn *i, uint32_t mask);
sim_step sim__step_stmatrix(sim_warp *w, const sim_insn *i, uint32_t mask);
sim_step sim__step_movmatrix(sim_warp *w, const sim_insn *i, uint32_t mask);
sim_step sim__step_mma(sim_warp *w, const sim_insn *i, uint32_t mask);

/* sim_insn.op of the steps above. */
enum { SIM_ADD, SIM_MIN, SIM_MAX, SIM_AND, SIM_OR, SIM_XOR, SIM_INC, SIM_DEC, SIM_EXCH, SIM_CAS }; /* atomics, redux */
enum {
  SIM_T_U32,
  SIM_T_S32,
  SIM_T_U64,
  SIM_T_S64,
  SIM_T_F32,
  SIM_T_F64,
  SIM_T_F16,
  SIM_T_BF16,
  SIM_T_F16X2,
  SIM_T_BF16X2
}; /* their type */
enum { SIM_SHFL_UP, SIM_SHFL_DOWN, SIM_SHFL_BFLY, SIM_SHFL_IDX };
enum { SIM_VOTE_ALL, SIM_VOTE_ANY, SIM_VOTE_UNI, SIM_VOTE_BALLOT };
enum { SIM_BAR_SYNC, SIM_BAR_ARRIVE, SIM_BAR_POPC, SIM_BAR_AND, SIM_BAR_OR };
enum { SIM_MMA_F16, SIM_MMA_BF16, SIM_MMA_TF32, SIM_MMA_S8, SIM_MMA_U8, SIM_MMA_F64 };

#endif
