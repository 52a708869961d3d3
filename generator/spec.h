/* spec.h -- a family's Lua table, read once into C: params, named constraints, numeric facts, steps.
 *
 * templates/<device>/<family>.lua is `return family { ... }`, beside <family>.c (cpu) or .cu (cuda). Unknown and missing fields
 * are errors that name file, line and field. Required: about, source, revision (from 1), device (the folder's), ops, dtypes,
 * numeric, work, steps; of a param: default and about. Absent: rank is 100, params and constraints are empty, valid is "1",
 * workspace "0", and a step's formulas "0"; prior, a call's expected cost in any unit, by which a search orders what it tries.
 * numeric, work, prior, valid, workspace and steps are data, or functions of (op, p, device) that return it; numeric is asked with (op, p) and work with (op) alone. A formula is a text or a whole number. numeric gives
 * p1, p2, hidden (f32, f16, bf16, f16x2, bf16x2), class, and alpha or beta where the activation is neither none nor relu; mma =
 * true for sums by mma adders. In Lua: op.kind n_in n_hidden n_out dtype act bias ("b12") bias1 bias2 (true, false) layout
 * index_type elem_bytes, and for prior, valid, workspace, steps and templates order ("raw", "sorted", "offsets"): it shapes code, not
 * the space; p.<param>; device.name and its facts. Formulas know the params, n_in n_hidden n_out elem_bytes, the device's facts,
 * and the run-time names of formula.h. */
#ifndef RGT_GENERATOR_SPEC_H
#define RGT_GENERATOR_SPEC_H

#include "generator/formula.h"
#include "generator/op.h"
#include "generator/source.h"

#define RGT_PARAMS_MAX 16
#define RGT_VALUES_MAX 16
#define RGT_FACTS_MAX 24
#define RGT_NAME_MAX 48

/* rgt__target -- what code is generated for. Facts reach constraints, templates and formulas as device.NAME; they are part of
 * the code key, so they hold nothing that varies between machines of one target (no thread count, no SM count). */
typedef struct rgt__target {
  char device[8]; /* "cpu" or "cuda": the folder of templates/ */
  char name[64];  /* CPU: "x86-64-avx2", "x86-64-avx512", "plain"; CUDA: "sm_90" */
  int n_facts;
  struct {
    char name[RGT_NAME_MAX];
    int64_t value;
  } facts[RGT_FACTS_MAX];
} rgt__target;

typedef struct rgt__param {
  char name[RGT_NAME_MAX];
  int n_values;
  int64_t values[RGT_VALUES_MAX]; /* whole numbers only */
  int default_value;              /* position in values */
} rgt__param;

typedef struct rgt__family {
  char name[RGT_NAME_MAX]; /* of the files */
  char device[8];
  char *about, *source;
  int revision;
  int rank; /* simpler first: 0 is the simplest; ties in tuning go to the smaller rank */
  int n_params;
  rgt__param params[RGT_PARAMS_MAX];
  unsigned op_kinds;           /* bit rgt_op_kind */
  unsigned dtypes;             /* bit rgt_dtype */
  rgt__digest template_digest; /* of the spec, the template and the lib files that it includes */
  int lua_ref;                 /* the table in the Lua state */
  int left_out;                /* its Lua failed: it does no op any more */
} rgt__family;

typedef struct rgt__families rgt__families; /* every family of the sources, with the Lua state that holds them */

/* A variant: a family and a value for each of its params. Text form "row_gather:rows_per_block=4,threads=128": params sorted by
 * name; "group_tiles" alone when the family has no params. */
typedef struct rgt__variant {
  const rgt__family *family;
  uint8_t value[RGT_PARAMS_MAX]; /* positions in params[i].values */
} rgt__variant;

/* What a variant computes in (verify.md): class names the variants whose bits agree. */
typedef struct rgt__numeric {
  double p1, p2;      /* relative error of products of a layer, both operands together */
  int mma;            /* sums by mma adders: A(K) doubled */
  int hidden_16bit;   /* hidden kept in 16 bits */
  double u_h, eta_h;  /* 0 when hidden is f32 */
  double alpha, beta; /* of the activation's evaluation */
  char class_name[RGT_NAME_MAX];
} rgt__numeric;

/* rgt__families_open -- runs every spec of `sources` (borrowed, must outlive it). One that fails is left out
 * (rgt__families_fault); RGT_ETEMPLATE with the spec's file and line where none is left. */
rgt_status rgt__families_open(const rgt__sources *sources, rgt__families **out, rgt__error *err);
void rgt__families_free(rgt__families *f);
int rgt__families_count(const rgt__families *f);
const rgt__family *rgt__families_at(const rgt__families *f, int i); /* sorted by device, rank, name */
const rgt__family *rgt__families_find(const rgt__families *f, const char *device, const char *name);
/* rgt__families_fault -- why the i-th family that was left out was: "file:line: what"; NULL past the last. */
const char *rgt__families_fault(const rgt__families *f, int i);
/* rgt__families_leave_out -- a family whose Lua failed when it was used: from now on it fits no op. Once for each. */
void rgt__families_leave_out(rgt__families *f, const rgt__family *family, const char *why);
const rgt__sources *rgt__families_sources(const rgt__families *f);

/* rgt__family_fits -- op kind and dtype are among the family's. */
int rgt__family_fits(const rgt__family *family, const rgt_op_desc *op);
int64_t rgt__variant_get(const rgt__variant *v, const char *param); /* its value; -1 if there is no such param */
void rgt__variant_default(const rgt__family *family, rgt__variant *v);
void rgt__variant_format(const rgt__variant *v, char text[RGT_VARIANT_TEXT_MAX]);
void rgt__variant_params_format(const rgt__variant *v, char text[RGT_VARIANT_TEXT_MAX]); /* only the "a=1,b=2" part */
rgt_status rgt__variant_parse(const rgt__families *f, const char *device, const char *text, rgt__variant *v, rgt__error *err);
/* rgt__variant_check -- RGT_OK if every named constraint holds; RGT_EINFEASIBLE with the constraint's name; RGT_ETEMPLATE if
 * one fails to run. */
rgt_status rgt__variant_check(rgt__families *f, const rgt__variant *v, const rgt_op_desc *op, const rgt__target *target,
                              rgt__error *err);
rgt_status rgt__variant_numeric(rgt__families *f, const rgt__variant *v, const rgt_op_desc *op, rgt__numeric *out,
                                rgt__error *err);
/* rgt__family_work -- floating-point operations and compulsory bytes of one call, by the family's `work` formulas. */
rgt_status rgt__family_work(rgt__families *f, const rgt__family *family, const rgt_op_desc *op, int64_t rows, int64_t groups,
                            double *flops, double *bytes, rgt__error *err);
/* rgt__variant_prior -- what the family expects a call to cost, by its `prior` formula: in any unit, smaller is tried first; 0
 * where it has none. order: its word; vars: rows, groups and the device's facts that formulas know. */
rgt_status rgt__variant_prior(rgt__families *f, const rgt__variant *v, const rgt_op_desc *op, const char *order,
                              const rgt__target *target, const int64_t vars[RGT_N_VARS], double *cost, rgt__error *err);
/* rgt__numeric_admits -- verify.md's admission: default by dtype when max_error is 0. */
int rgt__numeric_admits(const rgt__numeric *n, rgt_dtype dtype, double max_error);

#endif
