/* shard.c -- --shard I/N: which part of a config's signatures this process tunes. */
#include "shard.h"

#include <stdio.h>
#include <string.h>

_Static_assert(RGT_LIST_MAX <= 64, "a bit for every row count");

rgt_status rgt__shard_parse(const char *text, rgt__shard *out, rgt__message *m) {
  const char *slash = text ? strchr(text, '/') : NULL;
  char first[16] = "";
  int64_t at, of;
  *out = (rgt__shard){0, 0};
  if (!text) return RGT_OK;
  if (slash && slash - text < (ptrdiff_t)sizeof first) snprintf(first, sizeof first, "%.*s", (int)(slash - text), text);
  if (!slash || !rgt__options_integer(slash + 1, 1, RGT_SHARDS_MAX, &of) || !rgt__options_integer(first, 1, of, &at))
    return rgt__message_set(m, RGT_EINVAL, "--shard: '%s' is no I/N with 1 <= I <= N <= %d, such as 1/8", text, RGT_SHARDS_MAX);
  *out = (rgt__shard){(int)at, (int)of};
  return RGT_OK;
}

rgt_status rgt__shard_rows(const rgt__shard *s, rgt__session *session, int skew, const rgt__int_list *rows, uint64_t *mine,
                           rgt__message *m) {
  *mine = 0;
  for (int i = 0; i < rows->n; i++) {
    int shard = 0;
    rgt_status status = rgt_op_shard(session->op, rows->v[i], skew < 0 ? RGT_SKEW_UNKNOWN : (rgt_skew)skew, s->of, &shard);
    if (status != RGT_OK) return rgt__message_from(m, status, session->ctx);
    if (shard == s->at - 1) *mine |= (uint64_t)1 << i;
  }
  return RGT_OK;
}
