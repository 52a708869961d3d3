/* op_shard.c -- which of n machines tunes a signature of an op. */
#include "runtime/base/number.h"
#include "runtime/context.h"

rgt_status rgt_op_shard(rgt_op *op, int64_t rows, rgt_skew skew, int n_shards, int *shard) {
  rgt__error *err = &op->ctx->error;
  rgt__op_key key;
  if (!shard) return rgt__error_null(err, "shard");
  rgt_status status = rgt__op_rows_check(op, "rows", rows);
  if (status != RGT_OK) return status;
  if ((unsigned)skew > RGT_SKEW_ONE)
    return rgt__error_set(err, RGT_EINVAL, "skew is %d; it can be unknown, uniform, zipf or one", (int)skew);
  if (skew == RGT_SKEW_UNKNOWN) skew = RGT_SKEW_UNIFORM;
  status = rgt__op_key_make(op, rgt__number_bucket(rows), skew, RGT_POLICY_WARM, &key, err);
  return status == RGT_OK ? rgt__tunedb_shard(&key.signature, n_shards, shard, err) : status;
}
