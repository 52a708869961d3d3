/* worker_farm.c -- compilers in children of their own, one for each thread that compiles.
 *
 * A thread takes a child that is free, or starts one, and puts it back when it has compiled: there are never more children than
 * were compiling at once. A child that died is not put back.
 */
#include "runtime/worker_farm.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/worker_child.h"
#include "runtime/worker_find.h"
#include "runtime/worker_message.h"

enum { IDLE_MAX = 64 };

struct rgt__worker_farm {
  rgt__device *device;
  rgt__worker_limits limits;
  rgt__worker_opening opening;
  char program[1024], scratch[256];
  pthread_mutex_t lock;
  rgt__worker_child idle[IDLE_MAX];
  int n_idle;
};

rgt_status rgt__worker_farm_open(rgt__device *device, const rgt__target *target, rgt__worker_farm **out, rgt__error *err) {
  const rgt__environment *env = device->opened.env;
  rgt__worker_where where = RGT_WORKER_INSIDE;
  char program[1024];
  *out = NULL;
  if (!env || rgt__worker_find(env, &where, program, sizeof program, NULL) != RGT_OK || where == RGT_WORKER_INSIDE)
    return RGT_OK;
  rgt__worker_farm *f = rgt__alloc_zero(1, sizeof *f);
  if (!f) return rgt__error_nomem(err, sizeof *f);
  rgt_status status = rgt__worker_limits_read(env, &f->limits, err);
  if (status != RGT_OK) {
    rgt__free(f);
    return status;
  }
  const char *scratch = rgt__environment_get(env, RGT_ENV_TMPDIR);
  f->device = device;
  memcpy(f->program, program, sizeof program);
  snprintf(f->scratch, sizeof f->scratch, "%s", scratch && strlen(scratch) < sizeof f->scratch ? scratch : "/tmp");
  snprintf(f->opening.kind, sizeof f->opening.kind, "%s", device->ops->kind);
  f->opening.compiles = 1;
  f->opening.threads = 1;
  f->opening.memory_bytes = f->limits.memory;
  f->opening.target = *target;
  pthread_mutex_init(&f->lock, NULL);
  *out = f;
  return RGT_OK;
}

void rgt__worker_farm_close(rgt__worker_farm *f) {
  if (!f) return;
  for (int i = 0; i < f->n_idle; i++) rgt__worker_child_end(&f->idle[i]);
  pthread_mutex_destroy(&f->lock);
  rgt__free(f);
}

static rgt__worker_patience patience_of(const rgt__worker_farm *f) {
  return (rgt__worker_patience){.whole_s = f->limits.compile_s, .memory_bytes = f->limits.memory, .stop = f->device->stop};
}

/* The reply's status; the rest is left to r. */
static rgt_status ask(const rgt__worker_farm *f, rgt__worker_child *c, rgt__wire_kind kind, const rgt__buffer *body,
                      rgt__wire_reader *r, rgt__worker_death *death, rgt__error *err) {
  rgt__worker_patience patience = patience_of(f);
  rgt_status said = RGT_OK, status = rgt__worker_child_ask(c, kind, body, &patience, death, err);
  if (status != RGT_OK) return status;
  *r = rgt__wire_read(&c->reply);
  if (!rgt__worker_get_status(r, &said, err)) return rgt__error_set(err, RGT_EINTERNAL, "%s: its reply is damaged", f->program);
  return said;
}

static rgt_status start(const rgt__worker_farm *f, rgt__worker_child *c, rgt__error *err) {
  rgt__worker_death death = {.text = ""};
  rgt__wire_reader r;
  rgt__buffer body = {0};
  rgt__worker_opening opening = f->opening;
  rgt_status status = rgt__worker_child_start(f->program, f->scratch, c, err);
  if (status != RGT_OK) return status;
  snprintf(opening.scratch, sizeof opening.scratch, "%s", c->scratch);
  rgt__worker_put_opening(&body, &opening, f->device->opened.env);
  status = ask(f, c, RGT_WIRE_OPEN, &body, &r, &death, err);
  rgt__buffer_free(&body);
  if (status == RGT_ECRASH && death.text[0])
    rgt__error_set(err, status, "%s ended before it could compile: %s", f->program, death.text);
  if (status != RGT_OK) rgt__worker_child_end(c);
  return status;
}

static rgt_status take(rgt__worker_farm *f, rgt__worker_child *c, rgt__error *err) {
  pthread_mutex_lock(&f->lock);
  int found = f->n_idle > 0;
  if (found) *c = f->idle[--f->n_idle];
  pthread_mutex_unlock(&f->lock);
  return found ? RGT_OK : start(f, c, err);
}

static void put_back(rgt__worker_farm *f, rgt__worker_child *c) {
  pthread_mutex_lock(&f->lock);
  int room = f->n_idle < IDLE_MAX;
  if (room) f->idle[f->n_idle++] = *c;
  pthread_mutex_unlock(&f->lock);
  if (!room) rgt__worker_child_end(c);
}

static rgt_status died(const rgt__worker_farm *f, const rgt__worker_death *death, rgt__compiled *out, rgt__error *err) {
  if (death->over_time)
    snprintf(out->log, sizeof out->log, "still compiling after %g s", f->limits.compile_s);
  else if (death->how == RGT_DEATH_BY_LIMIT)
    snprintf(out->log, sizeof out->log, "the compiler %s", death->text);
  else
    snprintf(out->log, sizeof out->log, "the compiler ended its process: %s", death->text);
  return rgt__error_set(err, death->over_time ? RGT_ETIMEOUT : RGT_ECRASH, "%s", out->log);
}

static rgt_status compile_once(rgt__worker_farm *f, const rgt__buffer *body, rgt__worker_death *death, rgt__compiled *out,
                               rgt__error *err) {
  rgt__worker_child c = {.fd = -1};
  rgt__wire_reader r;
  memset(out, 0, sizeof *out);
  rgt_status status = take(f, &c, err);
  if (status != RGT_OK) return status;
  status = ask(f, &c, RGT_WIRE_COMPILE, body, &r, death, err);
  if (!c.pid) return status == RGT_ECRASH ? died(f, death, out, err) : status;
  if (!rgt__worker_get_compiled(&r, out)) {
    rgt__worker_child_end(&c);
    return rgt__error_set(err, RGT_EINTERNAL, "%s: its reply is damaged", f->program);
  }
  put_back(f, &c);
  return status;
}

/* A child that somebody killed says nothing of the source: once more then. What is found and is no worker compiles nothing; the
 * device does. */
rgt_status rgt__worker_farm_compile(rgt__worker_farm *f, const char *source, size_t bytes, rgt__compiled *out,
                                    rgt__error *err) {
  rgt__worker_death death = {.text = ""};
  rgt__buffer body = {0};
  int64_t began_ns = rgt__worker_journal_now();
  rgt__wire_put_int(&body, (int64_t)bytes + 1);
  rgt__buffer_add(&body, source, bytes);
  rgt__buffer_add(&body, "", 1);
  rgt_status status = compile_once(f, &body, &death, out, err);
  if (status == RGT_ECRASH && death.how == RGT_DEATH_KILLED) status = compile_once(f, &body, &death, out, err);
  rgt__buffer_free(&body);
  if (status == RGT_ENOWORKER) return f->device->ops->compile(f->device, source, bytes, &f->opening.target, 0, out, err);
  if (!(out->milliseconds > 0)) out->milliseconds = (double)(rgt__worker_journal_now() - began_ns) / 1e6; /* it died */
  return status;
}
