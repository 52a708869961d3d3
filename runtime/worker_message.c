/* worker_message.c -- what the messages of ragtune-worker say: each thing put and got by one pair of functions. */
#include "runtime/worker_message.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/base/number.h"

#define PROTOCOL 2

void rgt__worker_abi(rgt__digest *out) {
  const size_t sizes[] = {sizeof(rgt_op_desc),        sizeof(rgt__target),
                          sizeof(rgt__numeric),       sizeof(rgt__render_facts),
                          sizeof(rgt__worker_sample), sizeof(rgt__worker_journal),
                          sizeof(rgt_kargs),          sizeof(void *),
                          RGT_N_ENVIRONMENT,          RGT_N_STATUSES,
                          RGT_N_WIRE_KINDS,           RGT_KARGS_VERSION};
  rgt__hash h;
  rgt__hash_init(&h);
  rgt__hash_text(&h, "ragtune worker " RGT_VERSION);
  rgt__hash_int(&h, PROTOCOL);
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) rgt__hash_int(&h, (int64_t)sizes[i]);
  rgt__hash_end(&h, out);
}

/* ---- arrays that may be absent, and are aligned where they arrive ---- */

static void put_array(rgt__buffer *b, const void *data, int64_t n) {
  if (n < 0) b->failed = 1; /* more than can be counted */
  int there = data && n >= 0;
  rgt__wire_put_int(b, there);
  if (there) rgt__wire_put_block(b, data, (size_t)n);
}

/* n: the bytes that it must have. */
static void *get_array(rgt__wire_reader *r, int64_t n) {
  size_t size;
  if (!rgt__wire_get_small(r, 0, 1)) return NULL;
  const void *at = rgt__wire_get_block(r, &size);
  if (n < 0 || size != (size_t)n) r->failed = 1;
  void *copy = r->failed ? NULL : rgt__alloc(size);
  if (!copy) {
    r->failed = 1;
    return NULL;
  }
  if (size) memcpy(copy, at, size);
  return copy;
}

/* ---- opening ---- */

static int64_t times(int64_t a, int64_t b) {
  int64_t product;
  return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product) ? -1 : product;
}

typedef struct case_sizes {
  int64_t x, index, w1, b1, w2, b2, y64;
} case_sizes;

static case_sizes sizes_of(const rgt_op_desc *op, int64_t rows) {
  int64_t element = (int64_t)rgt__number_bytes(op->dtype), mid = op->kind == RGT_MLP ? op->n_hidden : op->n_out;
  int64_t each = times(op->groups, element);
  return (case_sizes){.x = times(times(rows, op->n_in), element),
                      .index = times(rows, op->index_type == RGT_I64 ? 8 : 4),
                      .w1 = times(times(mid, op->n_in), each),
                      .b1 = times(mid, each),
                      .w2 = times(times(op->n_hidden, op->n_out), each),
                      .b2 = times(op->n_out, each),
                      .y64 = times(times(rows, op->n_out), 8)};
}

static void put_case(rgt__buffer *b, const rgt_op_desc *op, const rgt_case *c) {
  rgt__wire_put_int(b, c != NULL);
  if (!c) return;
  case_sizes n = sizes_of(op, c->rows);
  rgt__wire_put_int(b, c->rows);
  rgt__wire_put_int(b, c->exact);
  put_array(b, c->x, n.x);
  put_array(b, c->index, n.index);
  put_array(b, c->w1, n.w1);
  put_array(b, op->bias & RGT_BIAS_1 ? c->b1 : NULL, n.b1);
  put_array(b, op->kind == RGT_MLP ? c->w2 : NULL, n.w2);
  put_array(b, op->bias & RGT_BIAS_2 ? c->b2 : NULL, n.b2);
  put_array(b, c->y64, n.y64);
}

static void get_case(rgt__wire_reader *r, rgt__worker_opening *o) {
  if (!rgt__wire_get_small(r, 0, 1)) return;
  rgt_case *c = &o->received;
  c->struct_size = sizeof *c;
  c->rows = rgt__wire_get_int(r);
  c->exact = rgt__wire_get_small(r, 0, 1);
  case_sizes n = sizes_of(&o->op, c->rows);
  c->x = get_array(r, n.x);
  c->index = get_array(r, n.index);
  c->w1 = get_array(r, n.w1);
  c->b1 = get_array(r, n.b1);
  c->w2 = get_array(r, n.w2);
  c->b2 = get_array(r, n.b2);
  c->y64 = get_array(r, n.y64);
  o->data = c;
}

/* An op as it lies, of values that can be switched over. */
static void get_op(rgt__wire_reader *r, rgt_op_desc *op) {
  rgt__wire_get_struct(r, op, sizeof *op);
  if (r->failed) return;
  if (rgt__op_check(op, NULL) != RGT_OK) r->failed = 1;
}

void rgt__worker_put_opening(rgt__buffer *b, const rgt__worker_opening *o, const rgt__environment *env) {
  for (int i = 0; i < RGT_N_ENVIRONMENT; i++) rgt__wire_put_text(b, env ? env->values[i] : NULL);
  rgt__wire_put_text(b, o->kind);
  rgt__wire_put_int(b, o->ordinal);
  rgt__wire_put_int(b, o->threads);
  rgt__wire_put_text(b, o->scratch);
  rgt__wire_put_int(b, o->memory_bytes);
  rgt__wire_put_block(b, &o->target, sizeof o->target);
  rgt__wire_put_int(b, o->compiles);
  if (o->compiles) return;
  rgt__wire_put_block(b, &o->facts, sizeof o->facts);
  rgt__wire_put_block(b, &o->op, sizeof o->op);
  rgt__wire_put_int(b, (int64_t)o->seed);
  rgt__wire_put_int(b, o->rows);
  put_case(b, &o->op, o->data);
}

static void get_environment(rgt__wire_reader *r, rgt__environment *env) {
  for (int i = 0; i < RGT_N_ENVIRONMENT; i++) {
    const char *value = rgt__wire_get_text(r);
    if (value && !(env->values[i] = rgt__strdup(value))) r->failed = 1;
  }
}

int rgt__worker_get_opening(rgt__wire_reader *r, rgt__worker_opening *out) {
  memset(out, 0, sizeof *out);
  get_environment(r, &out->env);
  rgt__wire_copy_text(r, out->kind, sizeof out->kind);
  out->ordinal = rgt__wire_get_small(r, 0, 1 << 20);
  out->threads = rgt__wire_get_small(r, 0, 1 << 20);
  rgt__wire_copy_text(r, out->scratch, sizeof out->scratch);
  out->memory_bytes = rgt__wire_get_int(r);
  rgt__wire_get_struct(r, &out->target, sizeof out->target);
  out->compiles = rgt__wire_get_small(r, 0, 1);
  if (!out->compiles) {
    rgt__wire_get_struct(r, &out->facts, sizeof out->facts);
    get_op(r, &out->op);
    out->seed = (uint64_t)rgt__wire_get_int(r);
    out->rows = rgt__wire_get_int(r);
    if (!r->failed) get_case(r, out);
  }
  if (rgt__wire_done(r)) return 1;
  rgt__worker_opening_free(out);
  return 0;
}

void rgt__worker_opening_free(rgt__worker_opening *o) {
  const void *const arrays[] = {o->received.x,  o->received.index, o->received.w1, o->received.b1,
                                o->received.w2, o->received.b2,    o->received.y64};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) rgt__free((void *)(uintptr_t)arrays[i]);
  rgt__environment_free(&o->env);
  memset(o, 0, sizeof *o);
}

/* ---- task ---- */

void rgt__worker_put_task(rgt__buffer *b, const rgt__worker_task *task) {
  rgt__wire_put_block(b, &task->op, sizeof task->op);
  rgt__wire_put_int(b, task->form);
  rgt__wire_put_int(b, task->order);
  rgt__wire_put_int(b, task->rows);
  rgt__wire_put_int(b, task->skew);
  rgt__wire_put_int(b, task->policy);
  rgt__wire_put_int(b, (int64_t)task->seed);
  put_array(b, task->index, sizes_of(&task->op, task->rows).index);
}

int rgt__worker_get_task(rgt__wire_reader *r, rgt__worker_task *out) {
  memset(out, 0, sizeof *out);
  get_op(r, &out->op);
  out->form = (rgt_weight_form)rgt__wire_get_small(r, 0, RGT_POINTERS);
  out->order = (rgt_order)rgt__wire_get_small(r, 0, RGT_ORDER_OFFSETS);
  out->rows = rgt__wire_get_int(r);
  out->skew = (rgt_skew)rgt__wire_get_small(r, 0, RGT_SKEW_ONE);
  out->policy = (rgt_policy)rgt__wire_get_small(r, 0, RGT_POLICY_GRAPH);
  out->seed = (uint64_t)rgt__wire_get_int(r);
  if (out->rows < 0 || out->rows > RGT_COUNT_MAX) r->failed = 1;
  out->index = r->failed ? NULL : get_array(r, sizes_of(&out->op, out->rows).index);
  if (rgt__wire_done(r)) return 1;
  rgt__free((void *)(uintptr_t)out->index);
  out->index = NULL;
  return 0;
}

/* ---- candidate ---- */

void rgt__worker_put_candidate(rgt__buffer *b, int64_t number, const rgt__candidate *c) {
  rgt__buffer program = {0};
  rgt__program_format(&c->program, &program);
  if (program.failed) b->failed = 1;
  rgt__wire_put_int(b, number);
  rgt__wire_put_text(b, c->text);
  rgt__wire_put_block(b, &c->numeric, sizeof c->numeric);
  rgt__wire_put_block(b, &c->op, sizeof c->op);
  rgt__wire_put_text(b, program.data ? program.data : "");
  rgt__wire_put_text(b, c->entry.path);
  rgt__wire_put_block(b, c->entry.code, c->entry.path[0] || !c->entry.code ? 0 : c->entry.code_bytes);
  rgt__buffer_free(&program);
}

int rgt__worker_get_candidate(rgt__wire_reader *r, int64_t *number, rgt__candidate *out) {
  memset(out, 0, sizeof *out);
  *number = rgt__wire_get_int(r);
  rgt__wire_copy_text(r, out->text, sizeof out->text);
  rgt__wire_get_struct(r, &out->numeric, sizeof out->numeric);
  get_op(r, &out->op);
  const char *program = rgt__wire_get_text(r);
  if (!program || rgt__program_parse(program, &out->program, NULL) != RGT_OK) r->failed = 1;
  rgt__wire_copy_text(r, out->entry.path, sizeof out->entry.path);
  size_t n = 0;
  const void *code = rgt__wire_get_block(r, &n);
  out->entry.code_bytes = n;
  if (!r->failed && n && !(out->entry.code = rgt__alloc(n))) r->failed = 1;
  if (out->entry.code) memcpy(out->entry.code, code, n);
  out->entry.program = out->program;
  return !r->failed;
}

/* ---- results ---- */

/* Passes are static texts on both ends. */
static const char *pass_of(const char *text) {
  static const char *const known[] = {"exact", "bound", "case", "poison", "masked", "canary", "permute", "status"};
  for (size_t i = 0; text && i < sizeof known / sizeof known[0]; i++)
    if (strcmp(text, known[i]) == 0) return known[i];
  return "";
}

void rgt__worker_put_result(rgt__buffer *b, const rgt__verify_result *result) {
  rgt__wire_put_int(b, result->status);
  rgt__wire_put_text(b, result->pass);
  rgt__wire_put_int(b, result->row);
  rgt__wire_put_int(b, result->column);
  rgt__wire_put_real(b, result->value);
  rgt__wire_put_real(b, result->expected);
  rgt__wire_put_real(b, result->bound);
  rgt__wire_put_real(b, result->error_share);
  rgt__wire_put_text(b, result->reason);
}

int rgt__worker_get_result(rgt__wire_reader *r, rgt__verify_result *out) {
  memset(out, 0, sizeof *out);
  out->status = (rgt_status)rgt__wire_get_small(r, 0, RGT_N_STATUSES - 1);
  out->pass = pass_of(rgt__wire_get_text(r));
  out->row = rgt__wire_get_int(r);
  out->column = rgt__wire_get_int(r);
  out->value = rgt__wire_get_real(r);
  out->expected = rgt__wire_get_real(r);
  out->bound = rgt__wire_get_real(r);
  out->error_share = rgt__wire_get_real(r);
  rgt__wire_copy_text(r, out->reason, sizeof out->reason);
  return !r->failed;
}

void rgt__worker_put_compiled(rgt__buffer *b, const rgt__compiled *c) {
  rgt__wire_put_block(b, c->code, c->code ? c->code_bytes : 0);
  rgt__wire_put_text(b, c->ptx);
  rgt__wire_put_int(b, c->registers);
  rgt__wire_put_int(b, c->shared_bytes);
  rgt__wire_put_int(b, c->spill_bytes);
  rgt__wire_put_int(b, c->stack_bytes);
  rgt__wire_put_real(b, c->milliseconds);
  rgt__wire_put_text(b, c->log);
}

int rgt__worker_get_compiled(rgt__wire_reader *r, rgt__compiled *out) {
  size_t n = 0;
  memset(out, 0, sizeof *out);
  const void *code = rgt__wire_get_block(r, &n);
  const char *ptx = rgt__wire_get_text(r);
  out->registers = rgt__wire_get_small(r, 0, INT32_MAX);
  out->shared_bytes = rgt__wire_get_small(r, 0, INT32_MAX);
  out->spill_bytes = rgt__wire_get_small(r, 0, INT32_MAX);
  out->stack_bytes = rgt__wire_get_small(r, 0, INT32_MAX);
  out->milliseconds = rgt__wire_get_real(r);
  rgt__wire_copy_text(r, out->log, sizeof out->log);
  if (r->failed) return 0;
  if (n && !(out->code = rgt__alloc(n))) return 0;
  if (n) memcpy(out->code, code, n);
  out->code_bytes = n;
  if (ptx && !(out->ptx = rgt__strdup(ptx))) {
    rgt__compiled_free(out);
    return 0;
  }
  out->ptx_bytes = ptx ? strlen(ptx) : 0;
  return 1;
}

void rgt__worker_put_status(rgt__buffer *b, rgt_status status, const rgt__error *err) {
  rgt__wire_put_int(b, status);
  rgt__wire_put_text(b, err->text);
}

int rgt__worker_get_status(rgt__wire_reader *r, rgt_status *status, rgt__error *err) {
  *status = (rgt_status)rgt__wire_get_small(r, 0, RGT_N_STATUSES - 1);
  const char *text = rgt__wire_get_text(r);
  if (r->failed) return 0;
  if (*status != RGT_OK) rgt__error_set(err, *status, "%s", text ? text : "");
  return 1;
}
