/* batch_time.h -- how long a batch of calls takes, by the device's own clock and under a policy. */
#ifndef RGT_RUNTIME_BATCH_TIME_H
#define RGT_RUNTIME_BATCH_TIME_H

#include "runtime/device.h"

/* One call, queued in `stream` or done on return. */
typedef rgt_status (*rgt__batch_call)(void *user, void *stream, rgt__error *err);

/* rgt__batch_clock -- the least time that the device's clock tells apart, in ps, with what asking costs; 0: a modelled clock,
 * which stands still where nothing runs. */
int64_t rgt__batch_clock(rgt__device *d);

/* rgt__batch_time -- n_calls calls, one after the other: total in *ps.
 *   warm   as they come
 *   cold   after a flush of the caches; n_calls is 1
 *   graph  recorded as one graph, which runs once unmeasured and once measured. RGT_EUNSUPPORTED where there are none.
 * Returns what the calls return, RGT_ENOMEM, or the device's own failure. */
rgt_status rgt__batch_time(rgt__device *d, rgt_policy policy, int64_t n_calls, rgt__batch_call call, void *user, int64_t *ps,
                           rgt__error *err);

#endif
