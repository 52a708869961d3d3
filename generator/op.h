/* op.h -- the op's text form, its limits, and the signature under which results are kept. */
#ifndef RGT_GENERATOR_OP_H
#define RGT_GENERATOR_OP_H

#include "runtime/base/digest.h"
#include "runtime/base/error.h"

/* rgt__op_check -- dims, groups, enums, bias bits (a linear layer has no bias 2) within limits. RGT_EINVAL names field, value,
 * range. */
rgt_status rgt__op_check(const rgt_op_desc *op, rgt__error *err);
rgt_status rgt__op_parse(const char *text, rgt_op_desc *op, rgt__error *err);
rgt_status rgt__op_format(const rgt_op_desc *op, char text[RGT_OP_TEXT_MAX], rgt__error *err);
/* rgt__op_relu_twin -- the same op with relu in place of its activation (none stays none). */
rgt_op_desc rgt__op_relu_twin(const rgt_op_desc *op);

/* the field's words <-> numbers; parse returns 1 if the word is known */
const char *rgt__op_dtype_word(rgt_dtype v);
const char *rgt__op_act_word(rgt_act v);
const char *rgt__op_layout_word(rgt_layout v);
const char *rgt__op_index_word(rgt_index_type v);
const char *rgt__op_skew_word(rgt_skew v);        /* unknown uniform zipf one */
const char *rgt__op_form_word(rgt_weight_form v); /* stacked pointers */
const char *rgt__op_order_word(rgt_order v);      /* raw sorted offsets */
const char *rgt__op_policy_word(rgt_policy v);    /* warm cold graph */
int rgt__op_dtype_parse(const char *word, rgt_dtype *v);
int rgt__op_act_parse(const char *word, rgt_act *v);
int rgt__op_layout_parse(const char *word, rgt_layout *v);
int rgt__op_index_parse(const char *word, rgt_index_type *v);
int rgt__op_skew_parse(const char *word, rgt_skew *v);
int rgt__op_form_parse(const char *word, rgt_weight_form *v);
int rgt__op_order_parse(const char *word, rgt_order *v);
int rgt__op_policy_parse(const char *word, rgt_policy *v);

typedef struct rgt__signature {
  rgt_op_desc op;
  int64_t bucket; /* a power of two */
  rgt_skew skew;  /* never unknown in a stored one */
  rgt_weight_form form;
  int align_bytes; /* 1 2 4 8 16 */
  rgt_order order;
} rgt__signature;

#define RGT_SIGNATURE_TEXT_MAX 256

/* Text form "v1|mlp:10-20-5:g3:f32:relu:b12:nk:i64|r64|uniform|stacked|a4|raw": canonical, one text per signature. */
rgt_status rgt__signature_format(const rgt__signature *s, char text[RGT_SIGNATURE_TEXT_MAX], rgt__error *err);
rgt_status rgt__signature_parse(const char *text, rgt__signature *s, rgt__error *err);

/* sizes of one call, saturating at INT64_MAX */
int64_t rgt__op_weight_elems(const rgt_op_desc *op, int layer); /* of one group; layer 1 or 2 */

#endif
