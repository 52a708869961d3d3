/* shard.h -- --shard I/N: which part of a config's signatures this process tunes. */
#ifndef RGT_CLI_SHARD_H
#define RGT_CLI_SHARD_H

#include "session.h"

typedef struct rgt__shard {
  int at, of; /* from 1; of 0: all of it */
} rgt__shard;

/* rgt__shard_parse -- "3/8"; NULL: all of it. RGT_EINVAL. */
rgt_status rgt__shard_parse(const char *text, rgt__shard *out, rgt__message *m);
/* rgt__shard_rows -- bit i of *mine: the signature of op, skew (-1: not said) and rows->v[i] is this shard's. s->of is
 * not 0. RGT_EINVAL. */
rgt_status rgt__shard_rows(const rgt__shard *s, rgt__session *session, int skew, const rgt__int_list *rows, uint64_t *mine,
                           rgt__message *m);

#endif
