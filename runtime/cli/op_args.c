/* op_args.c -- the op that the options spell out. */
#include "op_args.h"

#include <string.h>

/* the first of the op's single options that was given, NULL if none */
static const char *single_option(const rgt__options *o) {
  return o->n_in >= 0         ? "--in"
         : o->n_hidden >= 0   ? "--hidden"
         : o->n_out >= 0      ? "--out"
         : o->groups >= 0     ? "--groups"
         : o->act >= 0        ? "--act"
         : o->bias >= 0       ? "--bias"
         : o->layout >= 0     ? "--layout"
         : o->index_type >= 0 ? "--index-type"
                              : NULL;
}

int rgt__op_args_given(const rgt__options *o) {
  return o->op || single_option(o);
}

const char *rgt__op_args_first(const rgt__options *o) {
  const char *single = single_option(o);
  return o->op ? "--op" : single ? single : o->dtype >= 0 ? "--dtype" : NULL;
}

static rgt_status from_text(const rgt__options *o, rgt_ctx *ctx, rgt_op_desc *desc, rgt__message *m) {
  const char *other = single_option(o) ? single_option(o) : o->dtype >= 0 ? "--dtype" : NULL;
  rgt_status s;
  if (other)
    return rgt__message_set(m, RGT_EINVAL, "%s stands beside --op, which says that already; give one of the two", other);
  s = rgt_op_parse(ctx, o->op, desc);
  if (s == RGT_OK) return RGT_OK;
  rgt__message_from(m, s, ctx);
  {
    char text[sizeof m->text];
    memcpy(text, m->text, sizeof text);
    return rgt__message_set(m, s, "--op '%s': %.800s", o->op, text);
  }
}

static rgt_status missing(const rgt__options *o, rgt__message *m) {
  if (o->n_in < 0)
    return rgt__message_set(m, RGT_EINVAL, "--in is missing: say the op with --in, --groups and more, or with --op");
  if (o->groups < 0) return rgt__message_set(m, RGT_EINVAL, "--groups is missing: how many groups have weights of their own?");
  if (o->n_out < 0 && o->n_hidden < 0)
    return rgt__message_set(m, RGT_EINVAL, "--out is missing: without --hidden the op is one linear layer and needs it");
  if (o->n_hidden < 0 && o->bias > RGT_BIAS_1)
    return rgt__message_set(m, RGT_EINVAL, "--bias %s: one linear layer has b0 or b1", o->bias == RGT_BIAS_2 ? "b2" : "b12");
  return RGT_OK;
}

rgt_status rgt__op_args_make(const rgt__options *o, rgt_ctx *ctx, rgt_op_desc *desc, int *out_from_in, rgt__message *m) {
  int mlp = o->n_hidden >= 0;
  rgt_status s;
  memset(desc, 0, sizeof *desc);
  desc->struct_size = sizeof *desc;
  *out_from_in = 0;
  if (o->op) return from_text(o, ctx, desc, m);
  if ((s = missing(o, m)) != RGT_OK) return s;
  *out_from_in = o->n_out < 0;
  desc->kind = mlp ? RGT_MLP : RGT_LINEAR;
  desc->n_in = o->n_in;
  desc->n_hidden = mlp ? o->n_hidden : 0;
  desc->n_out = o->n_out < 0 ? o->n_in : o->n_out;
  desc->groups = o->groups;
  desc->dtype = o->dtype < 0 ? RGT_F32 : (rgt_dtype)o->dtype;
  desc->act = o->act >= 0 ? (rgt_act)o->act : mlp ? RGT_ACT_RELU : RGT_ACT_NONE;
  desc->bias = o->bias >= 0 ? o->bias : mlp ? RGT_BIAS_1 | RGT_BIAS_2 : RGT_BIAS_1;
  desc->layout = o->layout < 0 ? RGT_NK : (rgt_layout)o->layout;
  desc->index_type = o->index_type < 0 ? RGT_I64 : (rgt_index_type)o->index_type;
  return RGT_OK;
}

rgt_op_options rgt__op_args_handle(const rgt__options *o) {
  rgt_op_options h = {.struct_size = sizeof h};
  h.skew = o->skew < 0 ? RGT_SKEW_UNKNOWN : (rgt_skew)o->skew;
  h.weight_form = o->weights < 0 ? RGT_STACKED : (rgt_weight_form)o->weights;
  h.align_bytes = o->align < 0 ? 0 : (int)o->align;
  h.order = rgt__options_order(o);
  h.max_error = o->max_error < 0 ? 0 : o->max_error;
  h.batch_invariant = o->batch_invariant;
  return h;
}
