/* stream.c -- queues of work, run lazily.
 *
 * A piece of work may run when all that the driver orders before it has run: what stands before it in its stream; the record
 * that a wait names; for the legacy stream all earlier work of blocking streams, and the other way round. Among what may run
 * the seed chooses. Seed 0 runs as little as possible and the newest first, so that what was not waited for is not there. */
#include "stream.h"

#include "call.h"
#include "capture.h"
#include "graph.h"
#include "handles.h"
#include "settings.h"
#include "thread_stack.h"
#include "time_model.h"

#include <stdlib.h>

enum { MOST_QUEUED = 4096 }; /* of a stream; beyond it the oldest is run, as a device's queue would block */

static uint64_t last_order, host_ps, random_state;
static unsigned long long last_id;

uint64_t sim_host_ps(void) {
  return host_ps;
}

void sim_host_spend(uint64_t ps) {
  host_ps += ps;
}

void sim_host_wait_for(uint64_t ps) {
  if (host_ps < ps) host_ps = ps;
}

static uint64_t next_random(void) {
  if (random_state == 0) random_state = sim_settings_get()->seed * 0x9e3779b97f4a7c15ULL | 1;
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}

/* ---- streams
 * --------------------------------------------------------------------------------------------------------------------- */

sim_stream *sim_stream_new(sim_context *context, sim_stream_kind kind, unsigned flags, int priority) {
  sim_stream *stream = calloc(1, sizeof *stream);
  if (stream == NULL) return NULL;
  stream->context = context;
  stream->kind = kind;
  stream->flags = flags;
  stream->priority = priority;
  stream->id = ++last_id;
  if (kind == SIM_STREAM_MADE && (stream->handle = sim_handle_new(SIM_KIND_STREAM, stream)) == NULL) {
    free(stream);
    return NULL;
  }
  stream->next = context->streams;
  context->streams = stream;
  return stream;
}

void sim_stream_drop(sim_stream *stream) {
  sim_stream **link = &stream->context->streams;
  while (*link != stream) link = &(*link)->next;
  *link = stream->next;
  sim_capture_forget_stream(stream);
  if (stream->handle != NULL) sim_handle_end(stream->handle);
  free(stream->tips);
  free(stream);
}

static sim_stream *per_thread_stream(sim_context *context, CUresult *result) {
  unsigned long long thread = sim_thread_number();
  for (sim_stream *s = context->streams; s != NULL; s = s->next)
    if (s->kind == SIM_STREAM_PER_THREAD && s->thread == thread) return s;
  sim_stream *stream = sim_stream_new(context, SIM_STREAM_PER_THREAD, 0, 0);
  if (stream == NULL)
    *result = CUDA_ERROR_OUT_OF_MEMORY;
  else
    stream->thread = thread;
  return stream;
}

sim_stream *sim_stream_find(CUstream handle, CUresult *result) {
  if (handle == NULL || handle == CU_STREAM_LEGACY) return sim_context_current()->legacy;
  if (handle == CU_STREAM_PER_THREAD) return per_thread_stream(sim_context_current(), result);
  sim_stream *stream = sim_handle_find(handle, SIM_KIND_STREAM, result);
  if (stream == NULL || stream->context->fault == CUDA_SUCCESS) return stream;
  *result = stream->context->fault;
  return NULL;
}

/* ---- what may run
 * ---------------------------------------------------------------------------------------------------------------- */

static int is_blocking(const sim_stream *stream) {
  return stream->kind != SIM_STREAM_LEGACY && (stream->flags & CU_STREAM_NON_BLOCKING) == 0;
}

/* The stream whose work must run before the head of this one; NULL: it may run. */
static sim_stream *blocker(const sim_stream *stream) {
  const sim_op *op = stream->head;
  const sim_context *context = stream->context;
  if (stream->kind == SIM_STREAM_LEGACY) {
    for (sim_stream *s = context->streams; s != NULL; s = s->next)
      if (is_blocking(s) && s->head != NULL && s->head->order < op->order) return s;
  } else if (is_blocking(stream) && context->legacy->head != NULL && context->legacy->head->order < op->order) {
    return context->legacy;
  }
  const sim_record *record = NULL;
  if (op->work.kind == SIM_WORK_WAIT) record = op->work.record;
  if (op->work.kind == SIM_WORK_GRAPH) record = op->work.graph.after;
  return record == NULL || record->done ? NULL : record->stream;
}

/* When the head may start: after what it waits for. */
static uint64_t start_time(const sim_stream *stream, const sim_op *op) {
  uint64_t start = stream->clock_ps > op->submit_ps ? stream->clock_ps : op->submit_ps;
  const sim_context *context = stream->context;
  if (stream->kind == SIM_STREAM_LEGACY) {
    for (const sim_stream *s = context->streams; s != NULL; s = s->next)
      if (is_blocking(s) && s->clock_ps > start) start = s->clock_ps;
  } else if (is_blocking(stream) && context->legacy->clock_ps > start) {
    start = context->legacy->clock_ps;
  }
  if (op->work.kind == SIM_WORK_WAIT && op->work.record->time_ps > start) start = op->work.record->time_ps;
  if (op->work.kind == SIM_WORK_GRAPH && op->work.graph.exec->end_ps > start) start = op->work.graph.exec->end_ps;
  return start;
}

/* A destroyed stream goes when its work has run, unless somebody who waits for it still looks at it. */
static void end_if_destroyed(sim_stream *stream) {
  if (stream->destroyed && stream->head == NULL && stream->n_waiting == 0) sim_stream_drop(stream);
}

static void run_head(sim_stream *stream) {
  sim_context *context = stream->context;
  sim_op *op = stream->head;
  uint64_t start = start_time(stream, op), end = start;
  stream->head = op->next;
  if (stream->head == NULL) stream->tail = NULL;
  CUresult result = sim_work_run(context, &op->work, 0, start, &end);
  stream->clock_ps = end;
  sim_work_clear(&op->work);
  free(op);
  if (result != CUDA_SUCCESS)
    sim_context_fail(context, result);
  else
    end_if_destroyed(stream);
}

/* Runs one piece of work that the head of this stream needs, or the head itself. */
static void advance(sim_stream *stream) {
  for (sim_stream *before; (before = blocker(stream)) != NULL;) stream = before;
  run_head(stream);
}

/* One of the streams whose head may run: seed 0 takes the newest head. */
static sim_stream *choose(const sim_context *context) {
  sim_stream *chosen = NULL;
  uint64_t seen = 0;
  for (sim_stream *s = context->streams; s != NULL; s = s->next) {
    if (s->head == NULL || blocker(s) != NULL) continue;
    seen++;
    if (chosen == NULL)
      chosen = s;
    else if (sim_settings_get()->seed == 0 ? s->head->order > chosen->head->order : next_random() % seen == 0)
      chosen = s;
  }
  return chosen;
}

/* With a seed, others go on as well while one is waited for. */
static void run_others(sim_context *context) {
  while (sim_settings_get()->seed != 0 && (next_random() & 1) != 0) {
    sim_stream *other = choose(context);
    if (other == NULL || context->fault != CUDA_SUCCESS) return;
    run_head(other);
  }
}

CUresult sim_stream_run_until(sim_stream *stream, uint64_t order) {
  sim_context *context = stream->context;
  stream->n_waiting++;
  while (context->fault == CUDA_SUCCESS && stream->head != NULL && stream->head->order <= order) {
    advance(stream);
    if (stream->head != NULL) run_others(context);
  }
  sim_host_wait_for(stream->clock_ps);
  sim_host_spend(SIM_TIME_WAIT_PS);
  stream->n_waiting--;
  end_if_destroyed(stream);
  return context->fault;
}

CUresult sim_stream_run_all(sim_stream *stream) {
  return sim_stream_run_until(stream, last_order);
}

CUresult sim_context_run_all(sim_context *context) {
  for (sim_stream *s; context->fault == CUDA_SUCCESS && (s = choose(context)) != NULL;) run_head(s);
  for (const sim_stream *s = context->streams; s != NULL; s = s->next) sim_host_wait_for(s->clock_ps);
  sim_host_spend(SIM_TIME_WAIT_PS);
  return context->fault;
}

CUresult sim_stream_step(sim_stream *stream) {
  const sim_context *context = stream->context;
  if (stream->head != NULL) advance(stream);
  sim_host_spend(SIM_TIME_QUERY_PS);
  return context->fault;
}

/* ---- queueing
 * -------------------------------------------------------------------------------------------------------------------- */

static uint64_t submit_cost_ps(const sim_work *work) {
  switch (work->kind) {
  case SIM_WORK_KERNEL:
    return SIM_TIME_SUBMIT_KERNEL_PS;
  case SIM_WORK_GRAPH:
    return sim_time_submit_graph_ps(work->graph.exec->n_nodes);
  default:
    return SIM_TIME_SUBMIT_OTHER_PS;
  }
}

static void name_record(sim_stream *stream, const sim_op *op) {
  if (op->work.kind != SIM_WORK_RECORD) return;
  op->work.record->order = op->order;
  op->work.record->stream = stream;
}

CUresult sim_stream_put(sim_stream *stream, sim_work *work) {
  if (stream->capture != NULL) return sim_capture_put(stream, work);
  sim_op *op = calloc(1, sizeof *op);
  if (op == NULL) {
    sim_work_clear(work);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  sim_host_spend(submit_cost_ps(work));
  *op = (sim_op){.order = ++last_order, .submit_ps = sim_host_ps(), .work = *work};
  name_record(stream, op);
  if (stream->tail == NULL)
    stream->head = op;
  else
    stream->tail->next = op;
  stream->tail = op;
  sim_context *context = stream->context;
  if (++stream->n_put % MOST_QUEUED == 0) return sim_stream_run_until(stream, op->order - 1);
  return context->fault;
}

/* A record that will never be fulfilled counts as done, so that nobody waits for it. */
static void drop_queue(sim_stream *stream) {
  while (stream->head != NULL) {
    sim_op *op = stream->head;
    stream->head = op->next;
    if (op->work.kind == SIM_WORK_RECORD) op->work.record->done = 1;
    sim_work_clear(&op->work);
    free(op);
  }
  stream->tail = NULL;
}

void sim_context_drop_work(sim_context *context) {
  for (sim_stream *s = context->streams, *next; s != NULL; s = next) {
    next = s->next;
    drop_queue(s);
    end_if_destroyed(s);
  }
}
