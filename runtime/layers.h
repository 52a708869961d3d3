/* layers.h -- the tuned databases that dispatch asks, the first first: the user's own, the site's, the shipped one.
 *
 * Only the user's is ever written. One of the others that cannot be used (not there, damaged, newer) costs one warning, and
 * everything goes on as without it; the shipped one need not be there. All of it belongs to the context's own thread.
 */
#ifndef RGT_RUNTIME_LAYERS_H
#define RGT_RUNTIME_LAYERS_H

#include "runtime/context.h"

struct rgt__layer {
  rgt__tunedb *db; /* of the first: the context's own; NULL: left out */
  rgt_layer_kind kind;
  int position; /* of a site database in the list, from 1; else 0 */
};

/* rgt__layers_open -- opens them at its first call; layers are ctx->layers[0 .. n_layers - 1]. RGT_ENOMEM. */
rgt_status rgt__layers_open(rgt_ctx *ctx);
void rgt__layers_close(rgt_ctx *ctx);
/* rgt__layers_settle -- after a call on layer i: what it returned, but where a layer that is not the user's failed, RGT_EMISS:
 * it is left out from now on, after a warning. Memory that ran out stays RGT_ENOMEM. */
rgt_status rgt__layers_settle(rgt_ctx *ctx, int i, rgt_status status);
/* rgt__layers_shipped -- where the shipped database would lie; "" where that is not known. */
void rgt__layers_shipped(char path[1024]);
/* rgt__layers_named -- the i-th path of a list separated by colons, from 0; empty ones do not count. 0: there is none. */
int rgt__layers_named(const char *list, int i, char path[1024]);

#endif
