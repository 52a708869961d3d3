/* layer_check.c -- is a caller's description of one layer possible for the op? */
#include "runtime/base/number.h"
#include "runtime/prepare.h"

rgt_status rgt__prepare_check_layer(const rgt_op *op, const rgt_layer *layer, int number) {
  rgt__error *err = &op->ctx->error;
  int64_t ld = number == 1 ? op->packed_w1_ld : op->packed_w2_ld;
  int64_t outer = number == 1 ? op->packed_w1_stride : op->packed_w2_stride;
  int has_bias = layer->b || layer->b_ptrs, wants_bias = (op->desc.bias & (number == 1 ? RGT_BIAS_1 : RGT_BIAS_2)) != 0;
  if (op->uses_pointers ? !layer->w_ptrs || layer->w : !layer->w || layer->w_ptrs)
    return rgt__error_set(err, RGT_EINVAL, "layer%d: the op's weight_form is %s: set %s and leave %s NULL", number,
                          op->uses_pointers ? "pointers" : "stacked", op->uses_pointers ? "w_ptrs" : "w",
                          op->uses_pointers ? "w" : "w_ptrs");
  if (layer->ld_w != 0 && layer->ld_w < ld)
    return rgt__error_set(err, RGT_EINVAL, "layer%d: ld_w is %lld; it can be 0 (packed) or %lld and more", number,
                          (long long)layer->ld_w, (long long)ld);
  if (layer->stride_w < 0 || layer->stride_b < 0)
    return rgt__error_set(err, RGT_EINVAL, "layer%d: a stride is negative; it can be 0 (packed) or more", number);
  int64_t used_ld = layer->ld_w ? layer->ld_w : ld, least = 0;
  if (__builtin_mul_overflow(used_ld, outer - 1, &least) || __builtin_add_overflow(least, ld, &least))
    return rgt__error_set(err, RGT_EINVAL, "layer%d: ld_w is %lld: offsets pass 2^63", number, (long long)used_ld);
  if (has_bias != wants_bias)
    return rgt__error_set(err, RGT_EINVAL, "layer%d: the op has %s bias there: %s b and b_ptrs", number,
                          wants_bias ? "a" : "no", wants_bias ? "set one of" : "leave NULL");
  if (layer->b && layer->b_ptrs) return rgt__error_set(err, RGT_EINVAL, "layer%d: b and b_ptrs are both set; set one", number);
  return RGT_OK;
}
