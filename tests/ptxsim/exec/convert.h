/* convert.h -- cvt: its types and roundings, for the decoder. */
#ifndef PTXSIM_CONVERT_H
#define PTXSIM_CONVERT_H

#include "exec/insn.h"

enum {
  SIM_V_U8,
  SIM_V_S8,
  SIM_V_U16,
  SIM_V_S16,
  SIM_V_U32,
  SIM_V_S32,
  SIM_V_U64,
  SIM_V_S64,
  SIM_V_F16,
  SIM_V_BF16,
  SIM_V_F32,
  SIM_V_F64,
  SIM_V_TF32,
  SIM_V_F16X2,
  SIM_V_BF16X2
};
enum { SIM_R_RN, SIM_R_RZ, SIM_R_RM, SIM_R_RP, SIM_R_RNI, SIM_R_RZI, SIM_R_RMI, SIM_R_RPI, SIM_R_RNA, SIM_R_NONE };
enum { SIM_V_FTZ = 1, SIM_V_SAT = 2, SIM_V_RELU = 4, SIM_V_FINITE = 8 }; /* sim_insn.sign */

/* NULL, or why the PTX ISA has no such conversion. */
const char *sim__convert_allowed(int to, int from, int rounding, int ftz, int sat, int relu, int finite);
/* The instruction's `alu` and `flow`, from its type, op, order, sign and widths. */
void sim__convert_choose(sim_insn *i);

#endif
