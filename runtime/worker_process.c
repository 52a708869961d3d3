/* worker_process.c -- the worker in a child process, as the search sees it.
 *
 * A child that dies is replaced by one that is told the same things again; then the question is asked once more. Whom the
 * journal names is to blame, and out: at once where a candidate was verified or hung, at the second time where a verified one
 * crashed in timing, or the child was killed from outside, since it may have been somebody else's doing. A child that dies
 * with nobody named, again and again, ends the work with an error.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/alloc.h"
#include "runtime/worker_child.h"
#include "runtime/worker_find.h"
#include "runtime/worker_message.h"

enum { LONELY_DEATHS_MAX = 3, ROUND_MAX = 4096 };

/* A candidate by what it is, not by where it lies: its caller may move it. */
typedef struct known {
  rgt__digest code;
  char text[RGT_VARIANT_TEXT_MAX];
  int64_t number; /* by which child and journal call it */
  int sent;       /* to the child that lives */
  int strikes;
} known;

typedef struct process_worker {
  rgt__worker base;
  const rgt__candidate_maker *maker;
  rgt__worker_limits limits;
  char program[1024], scratch[256];
  rgt__worker_opening opening;
  rgt__buffer open, begin; /* what every child is told first, encoded; begin empty: no task */
  int is_placed;
  uint64_t place_seed;
  rgt__worker_child child;
  known *all;
  int n, capacity;
  int64_t next_number;
  int lonely_deaths; /* in a row */
} process_worker;

/* ---- who is who ---- */

static int position_of(const process_worker *w, const rgt__candidate *c) {
  for (int i = 0; i < w->n; i++)
    if (rgt__digest_equal(&w->all[i].code, &c->code) && strcmp(w->all[i].text, c->text) == 0) return i;
  return -1;
}

static known *know(process_worker *w, const rgt__candidate *c, rgt__error *err) {
  int at = position_of(w, c);
  if (at >= 0) return &w->all[at];
  if (w->n == w->capacity) {
    int capacity = w->capacity ? 2 * w->capacity : 64;
    known *grown = rgt__realloc(w->all, (size_t)capacity * sizeof *grown);
    if (!grown) {
      rgt__error_nomem(err, (size_t)capacity * sizeof *grown);
      return NULL;
    }
    w->all = grown;
    w->capacity = capacity;
  }
  known *k = &w->all[w->n++];
  *k = (known){.code = c->code, .number = ++w->next_number};
  snprintf(k->text, sizeof k->text, "%s", c->text);
  return k;
}

/* ---- a child that has been told everything ---- */

static rgt__worker_patience patience_of(const process_worker *w) {
  return (rgt__worker_patience){.run_s = w->limits.run_s, .memory_bytes = w->limits.memory, .stop = w->maker->device->stop};
}

/* The status of the reply, its first field; the rest is left to r. */
static rgt_status reply_status(process_worker *w, rgt__wire_reader *r, rgt__error *err) {
  rgt_status status;
  *r = rgt__wire_read(&w->child.reply);
  if (rgt__worker_get_status(r, &status, err)) return status;
  return rgt__error_set(err, RGT_EINTERNAL, "%s: its reply is damaged", w->program);
}

/* A death that no candidate is to blame for: RGT_OK, try again. */
static rgt_status lonely(process_worker *w, const rgt__worker_death *death, rgt__error *err) {
  if (++w->lonely_deaths < LONELY_DEATHS_MAX) return RGT_OK;
  w->lonely_deaths = 0;
  return rgt__error_set(err, RGT_ECRASH, "%s ended %d times with no candidate running, in %s: %s", w->program,
                        (int)LONELY_DEATHS_MAX, rgt__worker_phase_word(death->phase), death->text);
}

/* One step of telling: RGT_ECRASH: the child is gone. */
static rgt_status tell(process_worker *w, rgt__wire_kind kind, const rgt__buffer *body, rgt__worker_death *death, int *died,
                       rgt__error *err) {
  rgt__wire_reader r;
  rgt__worker_patience patience = patience_of(w);
  rgt_status status = rgt__worker_child_ask(&w->child, kind, body, &patience, death, err);
  *died = status == RGT_ECRASH;
  return status == RGT_OK ? reply_status(w, &r, err) : status;
}

static rgt_status start(process_worker *w, rgt__worker_death *death, int *died, rgt__error *err) {
  rgt__buffer body = {0};
  *died = 0;
  for (int i = 0; i < w->n; i++) w->all[i].sent = 0;
  rgt_status status = rgt__worker_child_start(w->program, w->scratch, &w->child, err);
  if (status != RGT_OK) return status;
  snprintf(w->opening.scratch, sizeof w->opening.scratch, "%s", w->child.scratch);
  rgt__buffer_clear(&w->open);
  rgt__worker_put_opening(&w->open, &w->opening, w->maker->device->opened.env);
  status = tell(w, RGT_WIRE_OPEN, &w->open, death, died, err);
  rgt__buffer_free(&w->open);
  if (status == RGT_OK && w->begin.size) status = tell(w, RGT_WIRE_BEGIN, &w->begin, death, died, err);
  if (status == RGT_OK && w->begin.size && w->is_placed) {
    rgt__wire_put_int(&body, (int64_t)w->place_seed);
    status = tell(w, RGT_WIRE_PLACE, &body, death, died, err);
    rgt__buffer_free(&body);
  }
  return status;
}

static rgt_status ensure(process_worker *w, rgt__error *err) {
  while (!w->child.pid) {
    rgt__worker_death death = {.text = ""};
    int died;
    rgt_status status = start(w, &death, &died, err);
    if (died) status = lonely(w, &death, err);
    if (status != RGT_OK) {
      rgt__worker_child_end(&w->child);
      return status;
    }
  }
  return RGT_OK;
}

/* ---- asking about candidates ---- */

/* The definitions of those that this child has not seen, each once. Code that is no longer where it was is compiled again. */
static rgt_status put_definitions(process_worker *w, rgt__buffer *body, rgt__candidate *const *c, int n, rgt__error *err) {
  int64_t count = 0;
  rgt__wire_put_int(body, 0);
  for (int i = 0; i < n; i++) {
    known *k = know(w, c[i], err);
    if (!k) return RGT_ENOMEM;
    if (k->sent) continue;
    if (c[i]->entry.path[0] && access(c[i]->entry.path, R_OK) != 0 && c[i]->source) {
      rgt_status status = rgt__candidate_compile(w->maker, c[i], 1, err);
      if (status == RGT_OK && c[i]->outcome != RGT_TRIAL_OK)
        status = rgt__error_set(err, RGT_EIO, "%s: %s", c[i]->text, c[i]->reason);
      if (status != RGT_OK) return status;
    }
    rgt__worker_put_candidate(body, k->number, c[i]);
    k->sent = 1;
    count++;
  }
  if (!body->failed) memcpy(body->data, &count, sizeof count);
  return RGT_OK;
}

static void put_outcome(rgt__candidate *c, const rgt__worker_death *death, const char *whose) {
  c->outcome = death->over_time ? RGT_TRIAL_TIMED_OUT : RGT_TRIAL_CRASHED;
  snprintf(c->reason, sizeof c->reason, "%s%s in %s", whose, death->text, rgt__worker_phase_word(death->phase));
}

/* Who did it, among those that the question was about: its position, and *out whether that is enough. -1: none of them. */
static int blame(process_worker *w, const rgt__worker_death *death, rgt__candidate *const *c, int n, int *out) {
  *out = 0;
  for (int i = 0; i < n && death->candidate; i++) {
    known *k = know(w, c[i], NULL);
    if (!k || k->number != death->candidate) continue;
    int sure = death->how == RGT_DEATH_BY_LIMIT || (death->how == RGT_DEATH_ITS_OWN && death->phase != RGT_WORKER_TIMING);
    k->strikes += sure ? 2 : 1;
    *out = k->strikes >= 2;
    return i;
  }
  return -1;
}

/* One question about candidates: definitions, then `tail`. RGT_ECRASH: the child is gone, *death says how. A reply that the
 * device is lost to the child comes to the same; the journal then still names who did it. */
static rgt_status ask(process_worker *w, rgt__wire_kind kind, rgt__candidate *const *c, int n, const rgt__buffer *tail,
                      rgt__wire_reader *r, rgt__worker_death *death, rgt__error *err) {
  rgt__buffer body = {0};
  rgt__worker_patience patience = patience_of(w);
  rgt_status status = put_definitions(w, &body, c, n, err);
  if (status != RGT_OK) rgt__worker_child_end(&w->child); /* who is known to it is no longer certain */
  rgt__buffer_add(&body, tail->data, tail->size);
  if (tail->failed) body.failed = 1;
  if (status == RGT_OK) status = rgt__worker_child_ask(&w->child, kind, &body, &patience, death, err);
  rgt__buffer_free(&body);
  if (status != RGT_OK) return status;
  w->lonely_deaths = 0;
  status = reply_status(w, r, err);
  if (status != RGT_ECRASH) return status;
  *death = (rgt__worker_death){.how = RGT_DEATH_ITS_OWN,
                               .candidate = atomic_load(&w->child.journal->candidate),
                               .phase = (rgt__worker_phase)atomic_load(&w->child.journal->phase)};
  snprintf(death->text, sizeof death->text, "%.*s", (int)sizeof death->text - 1, err->text);
  rgt__worker_child_end(&w->child);
  return status;
}

static rgt_status damaged(const process_worker *w, rgt__error *err) {
  return rgt__error_set(err, RGT_EINTERNAL, "%s: its reply is damaged", w->program);
}

/* ---- the worker's functions ---- */

static rgt_status process_check(rgt__worker *base, rgt__candidate *c, rgt__candidate *twin, rgt__verify_result *result,
                                rgt__error *err) {
  process_worker *w = (process_worker *)base;
  rgt__candidate *list[2] = {c, twin};
  int n = twin && twin != c ? 2 : 1;
  for (;;) {
    rgt__worker_death death = {.text = ""};
    rgt__wire_reader r;
    rgt__buffer tail = {0};
    int out;
    rgt_status status = ensure(w, err);
    if (status != RGT_OK) return status;
    for (int i = 0; i < n; i++)
      if (!know(w, list[i], err)) return RGT_ENOMEM;
    rgt__wire_put_int(&tail, know(w, c, err)->number);
    rgt__wire_put_int(&tail, twin ? know(w, twin, err)->number : 0);
    status = ask(w, RGT_WIRE_CHECK, list, n, &tail, &r, &death, err);
    rgt__buffer_free(&tail);
    if (status == RGT_OK) return rgt__worker_get_result(&r, result) ? RGT_OK : damaged(w, err);
    if (status != RGT_ECRASH) return status;
    int who = blame(w, &death, list, n, &out);
    if (who < 0 && (status = lonely(w, &death, err)) != RGT_OK) return status;
    if (who < 0 || !out) continue;
    put_outcome(c, &death, who == 1 ? "its relu twin: " : "");
    return rgt__error_set(err, death.over_time ? RGT_ETIMEOUT : RGT_ECRASH, "%s: %s", c->text, c->reason);
  }
}

/* The samples of those in list, which stand at `at` in the caller's order. */
static rgt_status take_samples(process_worker *w, rgt__wire_reader *r, const int *at, int n, rgt__worker_sample *samples,
                               rgt__error *err) {
  size_t size;
  const char *got = rgt__wire_get_block(r, &size);
  if (r->failed || size != (size_t)n * sizeof *samples) return damaged(w, err);
  for (int i = 0; i < n; i++) memcpy(&samples[at[i]], got + (size_t)i * sizeof *samples, sizeof *samples);
  return RGT_OK;
}

static rgt_status process_round(rgt__worker *base, rgt__candidate *const *c, int n, rgt__worker_sample *samples,
                                rgt__error *err) {
  process_worker *w = (process_worker *)base;
  if (n > ROUND_MAX) return rgt__error_set(err, RGT_EINTERNAL, "a round of %d candidates", n);
  for (;;) {
    rgt__candidate *list[ROUND_MAX];
    int at[ROUND_MAX], n_list = 0, out;
    rgt__worker_death death = {.text = ""};
    rgt__wire_reader r;
    rgt__buffer tail = {0};
    rgt_status status = ensure(w, err);
    if (status != RGT_OK) return status;
    for (int i = 0; i < n; i++) {
      samples[i] = (rgt__worker_sample){-1, 0};
      if (c[i]->outcome != RGT_TRIAL_OK) continue;
      at[n_list] = i;
      list[n_list++] = c[i];
    }
    rgt__wire_put_int(&tail, n_list);
    for (int i = 0; i < n_list && status == RGT_OK; i++) {
      const known *k = know(w, list[i], err);
      if (k)
        rgt__wire_put_int(&tail, k->number);
      else
        status = RGT_ENOMEM;
    }
    if (status == RGT_OK) status = ask(w, RGT_WIRE_ROUND, list, n_list, &tail, &r, &death, err);
    rgt__buffer_free(&tail);
    if (status == RGT_OK) return take_samples(w, &r, at, n_list, samples, err);
    if (status != RGT_ECRASH) return status;
    int who = blame(w, &death, list, n_list, &out);
    if (who < 0 && (status = lonely(w, &death, err)) != RGT_OK) return status;
    if (who >= 0 && out) put_outcome(list[who], &death, "");
  }
}

/* A question that is about no candidate. One that tells task or place (asks_always 0) has been answered when a new child was
 * told everything. */
static rgt_status ask_plain(process_worker *w, rgt__wire_kind kind, const rgt__buffer *body, int asks_always,
                            rgt__wire_reader *r, rgt__error *err) {
  for (;;) {
    rgt__worker_death death = {.text = ""};
    rgt__worker_patience patience = patience_of(w);
    int was_alive = w->child.pid != 0;
    rgt_status status = ensure(w, err);
    if (status != RGT_OK || (!was_alive && !asks_always)) return status;
    status = rgt__worker_child_ask(&w->child, kind, body, &patience, &death, err);
    if (status == RGT_OK) {
      w->lonely_deaths = 0;
      return reply_status(w, r, err);
    }
    if (status != RGT_ECRASH || (status = lonely(w, &death, err)) != RGT_OK) return status;
  }
}

static rgt_status process_loop(rgt__worker *base, rgt__worker_sample *sample, rgt__error *err) {
  process_worker *w = (process_worker *)base;
  rgt__wire_reader r;
  const int first = 0;
  rgt_status status = ask_plain(w, RGT_WIRE_LOOP, NULL, 1, &r, err);
  return status == RGT_OK ? take_samples(w, &r, &first, 1, sample, err) : status;
}

static rgt_status process_place(rgt__worker *base, uint64_t seed, rgt__error *err) {
  process_worker *w = (process_worker *)base;
  rgt__wire_reader r;
  rgt__buffer body = {0};
  w->is_placed = 1;
  w->place_seed = seed;
  rgt__wire_put_int(&body, (int64_t)seed);
  rgt_status status = ask_plain(w, RGT_WIRE_PLACE, &body, 0, &r, err);
  rgt__buffer_free(&body);
  return status;
}

static void process_end(rgt__worker *base) {
  process_worker *w = (process_worker *)base;
  if (w->child.pid && w->begin.size) rgt__worker_child_tell(&w->child, RGT_WIRE_END, NULL);
  rgt__buffer_free(&w->begin);
  w->is_placed = 0;
}

static rgt_status process_begin(rgt__worker *base, const rgt__worker_task *task, rgt__error *err) {
  process_worker *w = (process_worker *)base;
  rgt__wire_reader r;
  process_end(base);
  rgt__worker_put_task(&w->begin, task);
  rgt_status status = w->begin.failed ? rgt__error_nomem(err, w->begin.size) : RGT_OK;
  if (status == RGT_OK) status = ask_plain(w, RGT_WIRE_BEGIN, &w->begin, 0, &r, err);
  if (status != RGT_OK) rgt__buffer_free(&w->begin);
  return status;
}

static void process_forget(rgt__worker *base, rgt__candidate *c) {
  process_worker *w = (process_worker *)base;
  rgt__buffer body = {0};
  int at = position_of(w, c);
  if (at < 0) return;
  rgt__wire_put_int(&body, w->all[at].number);
  if (w->child.pid && w->all[at].sent && !body.failed) rgt__worker_child_tell(&w->child, RGT_WIRE_FORGET, &body);
  w->all[at] = w->all[--w->n];
  rgt__buffer_free(&body);
}

static void process_close(rgt__worker *base) {
  process_worker *w = (process_worker *)base;
  rgt__worker_child_end(&w->child);
  rgt__buffer_free(&w->open);
  rgt__buffer_free(&w->begin);
  rgt__free(w->all);
  rgt__free(w);
}

static const rgt__worker_ops process_ops = {process_begin, process_end,   process_check, process_round,
                                            process_loop,  process_close, process_place, process_forget};

static void fill_opening(process_worker *w, const rgt_op_desc *op, const rgt_case *data, uint64_t seed, int64_t rows) {
  const rgt__device *d = w->maker->device;
  rgt__worker_opening *o = &w->opening;
  snprintf(o->kind, sizeof o->kind, "%s", d->ops->kind);
  o->ordinal = d->opened.ordinal;
  o->threads = d->info.n_threads;
  o->memory_bytes = w->limits.memory;
  o->target = w->maker->target;
  o->facts = w->maker->facts;
  o->op = *op;
  o->seed = seed;
  o->rows = rows;
  o->data = data;
}

rgt_status rgt__worker_open_process(const char *path, const rgt__candidate_maker *maker, const rgt_op_desc *op,
                                    const rgt_case *data, uint64_t verify_seed, int64_t verify_rows, rgt__worker **out,
                                    rgt__error *err) {
  const rgt__environment *env = maker->device->opened.env;
  const char *scratch = rgt__environment_get(env, RGT_ENV_TMPDIR);
  rgt_status status = rgt__op_check(op, err);
  if (status != RGT_OK) return status;
  if (data && (data->rows < 0 || data->rows > RGT_COUNT_MAX))
    return rgt__error_set(err, RGT_EINVAL, "case: rows is %lld: a whole number from 0 to %lld", (long long)data->rows,
                          (long long)RGT_COUNT_MAX);
  process_worker *w = rgt__alloc_zero(1, sizeof *w);
  if (!w) return rgt__error_nomem(err, sizeof *w);
  w->base.ops = &process_ops;
  w->maker = maker;
  w->child.fd = -1;
  snprintf(w->program, sizeof w->program, "%s", path);
  snprintf(w->scratch, sizeof w->scratch, "%s", scratch && strlen(scratch) < sizeof w->scratch ? scratch : "/tmp");
  status = rgt__worker_limits_read(env, &w->limits, err);
  if (status == RGT_OK) fill_opening(w, op, data, verify_seed, verify_rows);
  if (status == RGT_OK) status = ensure(w, err);
  if (status != RGT_OK) {
    process_close(&w->base);
    return status;
  }
  *out = &w->base;
  return RGT_OK;
}
