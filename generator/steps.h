/* steps.h -- a spec's valid, workspace and steps as a program. */
#ifndef RGT_GENERATOR_STEPS_H
#define RGT_GENERATOR_STEPS_H

#include "generator/families.h"
#include "generator/program.h"

/* rgt__steps_read -- may raise Lua errors: inside rgt__lua_protect only. Entry names get "_<digest>". RGT_ETEMPLATE. */
rgt_status rgt__steps_read(lua_State *L, const rgt__variant *v, const rgt_op_desc *op, const char *order,
                           const rgt__target *target, const char *digest, rgt__program *out, rgt__error *err);

#endif
