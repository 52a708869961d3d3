/* program.h -- a variant as a program: up to 8 steps, each a kernel or a memset of a workspace range. */
#ifndef RGT_GENERATOR_PROGRAM_H
#define RGT_GENERATOR_PROGRAM_H

#include "generator/formula.h"

#define RGT_STEPS_MAX 8
#define RGT_KERNEL_NAME_MAX 96

typedef enum rgt__step_kind { RGT_STEP_KERNEL, RGT_STEP_MEMSET } rgt__step_kind;

typedef struct rgt__step {
  rgt__step_kind kind;
  char kernel[RGT_KERNEL_NAME_MAX]; /* entry name in the compiled code */
  rgt__formula grid;                /* CUDA: blocks in x; CPU: n_parts. 0 skips the step */
  rgt__formula block;               /* CUDA: threads of a block; CPU: unused (0) */
  rgt__formula shared;              /* CUDA: dynamic shared bytes */
  rgt__formula cluster;             /* CUDA: blocks of a cluster, 0 or 1: none */
  rgt__formula offset, bytes;       /* memset: range of the workspace */
  int value;                        /* memset: byte */
} rgt__step;

typedef struct rgt__program {
  int kargs_version;
  int n_steps;
  rgt__step steps[RGT_STEPS_MAX];
  rgt__formula valid;     /* over the call's rows and groups: false -> the default variant runs */
  rgt__formula workspace; /* bytes */
} rgt__program;

/* Text form, one field a line, for the code cache and the worker:
 *   rgt-program 1 / kargs N / valid F / workspace F / kernel NAME grid F ; block F ; shared F ; cluster F / memset offset F ;
 * bytes F ; value N */
void rgt__program_format(const rgt__program *p, rgt__buffer *out);
rgt_status rgt__program_parse(const char *text, rgt__program *p, rgt__error *err); /* RGT_EIO: damaged text */

#endif
