/* batch_time.c -- how long a batch of calls takes. Two kinds of clock: one that is read before and after (calls there return
 * when they are done), and one that marks points of a stream. */
#include "runtime/batch_time.h"

#include <string.h>
#include <time.h>

/* ---- what the clock can tell ---- */

/* The smallest step seen between two readings; 0 for a clock that does not move by itself. */
static int64_t read_clock_step(rgt__device *d) {
  enum { STEPS = 50, READINGS_MAX = 100000 };
  int64_t least = INT64_MAX;
  for (int i = 0; i < STEPS; i++) {
    int64_t t0 = d->ops->now_ps(d, NULL), t1 = t0;
    for (int n = 0; t1 == t0 && n < READINGS_MAX; n++) t1 = d->ops->now_ps(d, NULL);
    if (t1 == t0) return 0;
    if (t1 - t0 < least) least = t1 - t0;
  }
  return least;
}

static void spin_us(int64_t us) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  int64_t end = (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000 + us;
  do clock_gettime(CLOCK_MONOTONIC, &t);
  while ((int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000 < end);
}

/* Two marks with nothing between them, but that the host waits between every second pair: a real clock goes on meanwhile. One
 * that does not is modelled, whatever it says that a mark takes. */
static int64_t marks_apart(rgt__device *d) {
  enum { PAIRS = 16, WAIT_US = 50 };
  int64_t least = INT64_MAX, most = 0;
  for (int i = 0; i < PAIRS; i++) {
    int64_t ps = 0;
    if (d->ops->time_begin(d, d->stream, NULL) != RGT_OK) return 0;
    if (i % 2) spin_us(WAIT_US);
    if (d->ops->time_end(d, d->stream, &ps, NULL) != RGT_OK) return 0;
    if (ps < least) least = ps;
    if (ps > most) most = ps;
  }
  return least == most ? 0 : least > 0 ? least : 1;
}

int64_t rgt__batch_clock(rgt__device *d) {
  return d->ops->time_begin ? marks_apart(d) : read_clock_step(d);
}

/* ---- a batch ---- */

static rgt_status calls_in(rgt__device *d, void *stream, int64_t n_calls, rgt__batch_call call, void *user, rgt__error *err) {
  rgt_status status = RGT_OK;
  (void)d;
  for (int64_t i = 0; i < n_calls && status == RGT_OK; i++) status = call(user, stream, err);
  return status;
}

/* Every begun interval is ended, so that no mark is left open; the first failure counts. */
static rgt_status time_marked(rgt__device *d, int64_t n_calls, rgt__batch_call call, void *user, int64_t *ps, rgt__error *err) {
  rgt_status status = d->ops->time_begin(d, d->stream, err);
  if (status != RGT_OK) return status;
  status = calls_in(d, d->stream, n_calls, call, user, err);
  rgt_status ended = d->ops->time_end(d, d->stream, ps, status == RGT_OK ? err : NULL);
  return status == RGT_OK ? ended : status;
}

static rgt_status time_read(rgt__device *d, int64_t n_calls, rgt__batch_call call, void *user, int64_t *ps, rgt__error *err) {
  int64_t start = d->ops->now_ps(d, d->stream);
  rgt_status status = calls_in(d, d->stream, n_calls, call, user, err);
  if (status == RGT_OK) status = d->ops->sync(d, d->stream, err);
  *ps = d->ops->now_ps(d, d->stream) - start;
  return status;
}

typedef struct replayed {
  rgt__device *device;
  void *graph;
} replayed;

static rgt_status replay(void *user, void *stream, rgt__error *err) {
  const replayed *r = user;
  return r->device->ops->graph_launch(r->device, r->graph, stream, err);
}

static rgt_status record(rgt__device *d, int64_t n_calls, rgt__batch_call call, void *user, void **graph, rgt__error *err) {
  void *stream = NULL;
  rgt_status status = d->ops->graph_begin(d, &stream, err);
  if (status != RGT_OK) return status;
  status = calls_in(d, stream, n_calls, call, user, err);
  if (status == RGT_OK) return d->ops->graph_end(d, graph, err);
  d->ops->graph_end(d, NULL, NULL);
  return status;
}

/* The first run of a graph also brings it to the device. */
static rgt_status time_graph(rgt__device *d, int64_t n_calls, rgt__batch_call call, void *user, int64_t *ps, rgt__error *err) {
  replayed r = {.device = d};
  if (!d->ops->graph_begin)
    return rgt__error_set(err, RGT_EUNSUPPORTED, "policy graph is for CUDA devices; device %s takes warm or cold",
                          d->ops->kind);
  rgt_status status = record(d, n_calls, call, user, &r.graph, err);
  if (status != RGT_OK) return status;
  status = replay(&r, d->stream, err);
  if (status == RGT_OK) status = time_marked(d, 1, replay, &r, ps, err);
  d->ops->graph_free(d, r.graph);
  return status;
}

/* The flush is queued and not waited for: the device is at it while the call is queued behind, so that what the host takes for
 * a launch is not in the time. */
rgt_status rgt__batch_time(rgt__device *d, rgt_policy policy, int64_t n_calls, rgt__batch_call call, void *user, int64_t *ps,
                           rgt__error *err) {
  rgt_status status = d->ops->sync(d, d->stream, err);
  if (status != RGT_OK) return status;
  if (policy == RGT_POLICY_COLD) d->ops->flush_cache(d);
  if (policy == RGT_POLICY_GRAPH) return time_graph(d, n_calls, call, user, ps, err);
  return d->ops->time_begin ? time_marked(d, n_calls, call, user, ps, err) : time_read(d, n_calls, call, user, ps, err);
}
