/* factors.h -- what is varied: the factors, their values, and a number for each value.
 *
 * The params of each family are factors of their own, which only its rows have. */
#ifndef RGT_SWEEP_FACTORS_H
#define RGT_SWEEP_FACTORS_H

#include "generator/spec.h"
#include "row.h"

/* Up to SWEEP_N_SEEN a family's constraints can see them; the others are free. */
typedef enum sweep_factor {
  SWEEP_KIND,
  SWEEP_DIMS,
  SWEEP_DTYPE,
  SWEEP_LAYOUT,
  SWEEP_TARGET,
  SWEEP_ACT,
  SWEEP_BIAS,
  SWEEP_INDEX,
  SWEEP_N_SEEN,
  SWEEP_ORDER = SWEEP_N_SEEN,
  SWEEP_FORM,
  SWEEP_ALIGN,
  SWEEP_X_DIV,
  SWEEP_Y_MODE,
  SWEEP_N_GLOBAL /* those that every row has; the family comes next */
} sweep_factor;

enum {
  SWEEP_TARGETS = 3,
  SWEEP_VALUES_MAX = 1024,
  SWEEP_FAMILIES_MAX = 16,
  SWEEP_ROW_VALUES = SWEEP_N_GLOBAL + 1 + RGT_PARAMS_MAX
};

typedef struct sweep_point { /* a position in each global factor's list, and a variant */
  unsigned char value[SWEEP_N_GLOBAL];
  rgt__variant variant;
} sweep_point;

typedef struct sweep_factors {
  int n_families, n_values;
  const rgt__family *family[SWEEP_FAMILIES_MAX];
  int first[SWEEP_N_GLOBAL], first_family, first_param[SWEEP_FAMILIES_MAX][RGT_PARAMS_MAX]; /* numbers of first values */
} sweep_factors;

/* sweep_factors_make -- the families of device cuda, or the one named `only` (NULL: all). RGT_EINVAL: none. */
rgt_status sweep_factors_make(const rgt__families *families, const char *only, sweep_factors *out, rgt__error *err);
int sweep_factor_values(int factor); /* how many a global factor has */
const char *sweep_target_name(int i);
/* sweep_point_op -- the op of a point; groups are 3. 0: there is none (a linear layer has no second bias). */
int sweep_point_op(const unsigned char value[SWEEP_N_GLOBAL], rgt_op_desc *op);
void sweep_point_row(const sweep_point *p, uint64_t seed, sweep_row *row);
/* sweep_point_of -- the point that a row stands for. 0: a value is in no list. */
int sweep_point_of(const rgt__families *families, const sweep_row *row, sweep_point *p);
/* sweep_point_values -- the numbers of its values; returns how many. global_only: without family and params. */
int sweep_point_values(const sweep_factors *f, const sweep_point *p, int out[SWEEP_ROW_VALUES]);
int sweep_family_place(const sweep_factors *f, const rgt__family *family);        /* -1: not among them */
void sweep_value_name(const sweep_factors *f, int value, char *out, size_t size); /* "dims=10-20-5", "pad8.tiles=4" */
/* which global factor the value is of; -1: family or param */
int sweep_value_factor(const sweep_factors *f, int value);

#endif
