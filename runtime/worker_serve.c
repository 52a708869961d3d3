/* worker_serve.c -- the child's side: answers the parent's messages, with a local worker underneath.
 *
 * What a message says is believed only as far as it can be checked: a damaged one ends the child, and the parent starts
 * another.
 */
#include "runtime/worker_serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/base/alloc.h"
#include "runtime/worker_message.h"

#define MESSAGE_MAX ((uint64_t)1 << 36)
#define ROUND_MAX 4096 /* candidates of a message */

typedef struct served {
  rgt__candidate candidate; /* first: a watch is told of this */
  int64_t number;
} served;

typedef struct serving {
  int fd;
  rgt__worker_journal *journal;
  rgt__wire_message in;
  rgt__buffer out;
  rgt__worker_opening opening;
  rgt__device *device;
  rgt__candidate_maker maker;
  rgt__worker *worker;
  rgt__worker_task task;
  int is_lost;  /* the device, to this process: the journal keeps the name of who did it */
  served **all; /* owned, each at its address for good: sizes of batches are kept by it */
  int n, capacity;
} serving;

/* ---- the journal, and a lid on memory while a candidate is seen for the first time ---- */

__attribute__((unused)) typedef struct memory_now { int64_t resident, data; } memory_now;

static memory_now look_at_memory(void) {
  long long resident = 0, data = 0, page = sysconf(_SC_PAGESIZE);
  FILE *f = fopen("/proc/self/statm", "re");
  if (f && fscanf(f, "%*d %lld %*d %*d %*d %lld", &resident, &data) != 2) resident = data = 0;
  if (f) fclose(f);
  return (memory_now){resident * page, data * page};
}

/* Twice what the parent looks for: the parent says what happened, this keeps the machine whole where it looks too late. 0: no
 * lid. */
static void put_lid(const serving *s, int64_t data) {
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
  (void)s, (void)data; /* their shadow memory counts as data */
#else
  struct rlimit most;
  if (s->opening.memory_bytes <= 0 || getrlimit(RLIMIT_DATA, &most) != 0) return;
  rlim_t lid = data > 0 ? (rlim_t)(data + 2 * s->opening.memory_bytes) : most.rlim_max;
  most.rlim_cur = lid < most.rlim_max ? lid : most.rlim_max;
  setrlimit(RLIMIT_DATA, &most);
#endif
}

static void enter(void *user, const rgt__candidate *c, rgt__worker_phase phase) {
  serving *s = user;
  memory_now now = {0, 0};
  if (phase == RGT_WORKER_VERIFYING) now = look_at_memory();
  if (phase == RGT_WORKER_VERIFYING) put_lid(s, now.data);
  atomic_store(&s->journal->bytes, now.resident);
  rgt__worker_journal_enter(s->journal, ((const served *)(const void *)c)->number, phase);
}

static void leave(void *user) {
  serving *s = user;
  rgt__worker_journal_leave(s->journal);
  if (atomic_load(&s->journal->phase) == RGT_WORKER_VERIFYING) put_lid(s, 0);
}

/* ---- messages ---- */

static int send_message(serving *s, rgt__wire_kind kind) {
  rgt__wire_sending sending;
  if (s->out.failed) return 0;
  rgt__wire_send_begin(&sending, kind, &s->out);
  return rgt__wire_send(s->fd, &sending) == RGT_WIRE_WHOLE;
}

static int say_hello(serving *s) {
  rgt__digest abi;
  rgt__worker_abi(&abi);
  rgt__wire_put_text(&s->out, RGT_VERSION);
  rgt__wire_put_block(&s->out, &abi, sizeof abi);
  return send_message(s, RGT_WIRE_HELLO);
}

static rgt_status open_device(serving *s, rgt__error *err) {
  rgt__worker_opening *o = &s->opening;
  rgt__device_options options = {.env = &o->env, .threads = o->threads, .ordinal = o->ordinal};
  options.in_worker = 1;
  options.compiler_memory = (size_t)o->memory_bytes;
  rgt__free(o->env.values[RGT_ENV_TMPDIR]);
  o->env.values[RGT_ENV_TMPDIR] = rgt__strdup(o->scratch);
  if (!o->env.values[RGT_ENV_TMPDIR]) return rgt__error_nomem(err, sizeof o->scratch);
  setenv("TMPDIR", o->scratch, 1); /* for compilers' own files */
  rgt_status status;
  if (strcmp(o->kind, "cpu") == 0)
    status = rgt__device_cpu_open(&options, &s->device, err);
  else if (o->compiles)
    status = rgt__device_offline_cuda(&options, o->target.name, &s->device, err);
  else
    status = rgt__device_cuda_open(&options, &s->device, err);
  if (status == RGT_OK && strcmp(s->device->info.target.name, o->target.name) != 0 && !o->compiles)
    status = rgt__error_set(err, RGT_EINTERNAL, "the worker's device is a %s, the caller's a %s", s->device->info.target.name,
                            o->target.name);
  return status;
}

static rgt_status open_worker(serving *s, rgt__error *err) {
  rgt__worker_opening *o = &s->opening;
  const rgt__watch watch = {s, enter, leave, 1};
  s->maker = (rgt__candidate_maker){.device = s->device, .target = s->device->info.target, .facts = o->facts};
  rgt_status status = rgt__worker_open_local(&s->maker, &o->op, o->data, o->seed, o->rows, &s->worker, err);
  if (status == RGT_OK) rgt__worker_local_watch(s->worker, &watch);
  return status;
}

static int answer_open(serving *s, rgt__wire_reader *r) {
  rgt__error err = {""};
  if (s->device || !rgt__worker_get_opening(r, &s->opening)) return 0;
  rgt_status status = open_device(s, &err);
  if (status == RGT_OK && !s->opening.compiles) status = open_worker(s, &err);
  rgt__worker_put_status(&s->out, status, &err);
  return 1;
}

static int answer_begin(serving *s, rgt__wire_reader *r) {
  rgt__error err = {""};
  s->worker->ops->end(s->worker);
  rgt__free((void *)(uintptr_t)s->task.index);
  if (!rgt__worker_get_task(r, &s->task)) return 0;
  rgt__worker_put_status(&s->out, s->worker->ops->begin(s->worker, &s->task, &err), &err);
  return 1;
}

/* ---- candidates ---- */

static served *find(const serving *s, int64_t number) {
  for (int i = 0; i < s->n; i++)
    if (s->all[i]->number == number) return s->all[i];
  return NULL;
}

/* How many, then each: those that the parent has not sent before. */
static int take_candidates(serving *s, rgt__wire_reader *r) {
  int n = rgt__wire_get_small(r, 0, ROUND_MAX);
  for (int i = 0; i < n && !r->failed; i++) {
    if (s->n == s->capacity) {
      int capacity = s->capacity ? 2 * s->capacity : 64;
      served **grown = rgt__realloc(s->all, (size_t)capacity * sizeof *grown);
      if (!grown) return 0;
      s->all = grown;
      s->capacity = capacity;
    }
    served *one = rgt__alloc_zero(1, sizeof *one);
    if (!one) return 0;
    if (!rgt__worker_get_candidate(r, &one->number, &one->candidate) || one->number <= 0 || find(s, one->number)) r->failed = 1;
    s->all[s->n++] = one;
  }
  return !r->failed;
}

static int answer_check(serving *s, rgt__wire_reader *r) {
  rgt__error err = {""};
  rgt__verify_result result = {.status = RGT_OK};
  if (!take_candidates(s, r)) return 0;
  served *c = find(s, rgt__wire_get_int(r));
  int64_t twin_number = rgt__wire_get_int(r);
  served *twin = twin_number ? find(s, twin_number) : NULL;
  if (!rgt__wire_done(r) || !c || (twin_number && !twin)) return 0;
  rgt_status status = s->worker->ops->check(s->worker, &c->candidate, twin ? &twin->candidate : NULL, &result, &err);
  s->is_lost = status == RGT_ECRASH;
  rgt__worker_put_status(&s->out, status, &err);
  rgt__worker_put_result(&s->out, &result);
  return 1;
}

static int answer_round(serving *s, rgt__wire_reader *r) {
  rgt__error err = {""};
  rgt__candidate *list[ROUND_MAX];
  if (!take_candidates(s, r)) return 0;
  int n = rgt__wire_get_small(r, 0, ROUND_MAX);
  for (int i = 0; i < n; i++) {
    served *c = find(s, rgt__wire_get_int(r));
    if (!c) return 0;
    list[i] = &c->candidate;
  }
  if (!rgt__wire_done(r)) return 0;
  rgt__worker_sample *samples = rgt__alloc_zero((size_t)n + 1, sizeof *samples);
  if (!samples) return 0;
  rgt_status status = s->worker->ops->round(s->worker, list, n, samples, &err);
  s->is_lost = status == RGT_ECRASH;
  rgt__worker_put_status(&s->out, status, &err);
  rgt__wire_put_block(&s->out, samples, (size_t)n * sizeof *samples);
  rgt__free(samples);
  return 1;
}

static int answer_loop(serving *s) {
  rgt__error err = {""};
  rgt__worker_sample sample = {-1, 0};
  rgt__worker_put_status(&s->out, s->worker->ops->loop(s->worker, &sample, &err), &err);
  rgt__wire_put_block(&s->out, &sample, sizeof sample);
  return 1;
}

static int answer_place(serving *s, rgt__wire_reader *r) {
  rgt__error err = {""};
  uint64_t seed = (uint64_t)rgt__wire_get_int(r);
  if (!rgt__wire_done(r)) return 0;
  rgt__worker_put_status(&s->out, s->worker->ops->place(s->worker, seed, &err), &err);
  return 1;
}

static int take_forget(serving *s, rgt__wire_reader *r) {
  int64_t number = rgt__wire_get_int(r);
  for (int i = 0; i < s->n; i++) {
    if (s->all[i]->number != number) continue;
    s->worker->ops->forget(s->worker, &s->all[i]->candidate);
    rgt__candidate_free(s->device, &s->all[i]->candidate);
    rgt__free(s->all[i]);
    s->all[i] = s->all[--s->n];
    return rgt__wire_done(r);
  }
  return 0;
}

static int answer_compile(serving *s, rgt__wire_reader *r) {
  rgt__error err = {""};
  rgt__compiled compiled;
  size_t bytes = 0;
  memset(&compiled, 0, sizeof compiled);
  const char *source = rgt__wire_get_block(r, &bytes);
  if (!rgt__wire_done(r) || !source || bytes == 0 || source[bytes - 1] != 0) return 0; /* with its NUL, as compilers want it */
  rgt_status status = s->device->ops->compile(s->device, source, bytes - 1, &s->opening.target, 0, &compiled, &err);
  rgt__worker_put_status(&s->out, status, &err);
  rgt__worker_put_compiled(&s->out, &compiled);
  rgt__compiled_free(&compiled);
  return 1;
}

/* ---- the loop ---- */

/* 0: no message of ours. */
static int answer(serving *s) {
  rgt__wire_reader r = rgt__wire_read(&s->in);
  rgt__buffer_clear(&s->out);
  int ok = 0, reply = 1;
  if (s->in.kind == RGT_WIRE_OPEN) {
    ok = answer_open(s, &r);
  } else if (s->in.kind == RGT_WIRE_COMPILE) {
    ok = s->device && answer_compile(s, &r);
  } else if (s->worker) {
    switch (s->in.kind) {
    case RGT_WIRE_BEGIN:
      ok = answer_begin(s, &r);
      break;
    case RGT_WIRE_END:
      s->worker->ops->end(s->worker);
      reply = 0;
      ok = 1;
      break;
    case RGT_WIRE_CHECK:
      ok = answer_check(s, &r);
      break;
    case RGT_WIRE_ROUND:
      ok = answer_round(s, &r);
      break;
    case RGT_WIRE_LOOP:
      ok = answer_loop(s);
      break;
    case RGT_WIRE_PLACE:
      ok = answer_place(s, &r);
      break;
    case RGT_WIRE_FORGET:
      ok = take_forget(s, &r);
      reply = 0;
      break;
    default:
      break;
    }
  }
  /* a candidate that did something to this process is still named when the reply does not come through */
  if (!ok || (reply && !send_message(s, RGT_WIRE_REPLY))) return 0;
  if (!s->is_lost) rgt__worker_journal_clear(s->journal);
  return 1;
}

static void close_all(serving *s) {
  if (s->worker) s->worker->ops->end(s->worker);
  for (int i = 0; i < s->n; i++) {
    rgt__candidate_free(s->device, &s->all[i]->candidate);
    rgt__free(s->all[i]);
  }
  rgt__free(s->all);
  if (s->worker) s->worker->ops->close(s->worker);
  if (s->device) s->device->ops->close(s->device);
  rgt__free((void *)(uintptr_t)s->task.index);
  rgt__worker_opening_free(&s->opening);
  rgt__wire_message_free(&s->in);
  rgt__buffer_free(&s->out);
}

int rgt__worker_serve(int fd, rgt__worker_journal *journal) {
  serving s = {.fd = fd, .journal = journal};
  int status = say_hello(&s) ? 0 : 1;
  while (status == 0) {
    rgt__wire_message_clear(&s.in);
    rgt__wire_state state = rgt__wire_receive(fd, MESSAGE_MAX, &s.in);
    if (state == RGT_WIRE_CLOSED && s.in.n_head == 0) break;
    if (state != RGT_WIRE_WHOLE || !answer(&s)) status = 1;
  }
  close_all(&s);
  return status;
}
