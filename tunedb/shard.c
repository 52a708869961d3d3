/* shard.c -- which of n shards a signature belongs to: rendezvous hashing.
 *
 * Every shard draws a number from the signature's key and its own; the largest has it. So the answer is the same everywhere,
 * and one shard more takes about one signature in n from the others, while no two of those exchange any.
 */
#include "tunedb/keys.h"

#include "runtime/base/random.h"

static uint64_t draw(uint64_t key, int shard) {
  rgt__random r;
  rgt__random_seed(&r, (uint64_t)shard);
  rgt__random_seed(&r, key ^ rgt__random_next(&r));
  return rgt__random_next(&r);
}

rgt_status rgt__tunedb_shard(const rgt__tunedb_signature *sig, int n, int *shard, rgt__error *err) {
  rgt__digest digest;
  uint64_t key = 0, most = 0;
  if (!sig || !shard) return rgt__error_set(err, RGT_EINVAL, "tuned database: no signature, or nowhere to put its shard");
  if (n < 1 || n > RGT_SHARDS_MAX)
    return rgt__error_set(err, RGT_EINVAL, "n_shards is %d; it can be 1 to %d", n, RGT_SHARDS_MAX);
  rgt__keys_signature(sig, &digest);
  for (int i = 0; i < 8; i++) key = key << 8 | digest.bytes[i];
  *shard = 0;
  for (int i = 0; i < n; i++) {
    uint64_t drawn = draw(key, i);
    if (drawn <= most) continue;
    most = drawn;
    *shard = i;
  }
  return RGT_OK;
}
