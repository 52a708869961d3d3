/* cli_compile.c -- ragtune compile: registers, shared bytes, spills and milliseconds, on no device. */
#include "cli.h"
#include "interrupt.h"
#include "json_out.h"
#include "session.h"

#include <stdlib.h>
#include <string.h>

typedef struct work {
  const rgt__options *o;
  rgt__session session;
  int n[RGT_N_OUTCOMES], n_all, n_spilling, failed, begun;
  double *ms; /* of the variants that compiled */
  size_t n_ms, room;
  double total_ms;
  size_t total_bytes;
  json_t *object, *list; /* with --json */
} work;

static void keep_ms(work *w, double ms) {
  if (w->n_ms == w->room) {
    size_t room = w->room ? 2 * w->room : 256;
    double *grown = realloc(w->ms, room * sizeof *grown);
    if (!grown) {
      w->failed = 1;
      return;
    }
    w->ms = grown;
    w->room = room;
  }
  w->ms[w->n_ms++] = ms;
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median_ms(work *w) {
  if (!w->n_ms) return 0;
  qsort(w->ms, w->n_ms, sizeof *w->ms, by_size);
  return w->n_ms % 2 ? w->ms[w->n_ms / 2] : (w->ms[w->n_ms / 2 - 1] + w->ms[w->n_ms / 2]) / 2;
}

static json_t *info_json(const rgt_compile_info *i) {
  json_t *o = json_object();
  rgt__json_text(o, "variant", i->variant);
  rgt__json_text(o, "outcome", i->outcome == RGT_TRIAL_OK ? "compiled" : rgt__cli_outcome_word(i->outcome));
  rgt__json_text(o, "reason", i->reason ? i->reason : "");
  rgt__json_int(o, "registers", i->registers);
  rgt__json_int(o, "shared_bytes", i->shared_bytes);
  rgt__json_int(o, "spill_bytes", i->spill_bytes);
  rgt__json_int(o, "stack_bytes", i->stack_bytes);
  rgt__json_real(o, "milliseconds", i->milliseconds);
  rgt__json_int(o, "code_bytes", (int64_t)i->code_bytes);
  rgt__json_text(o, "digest", i->digest);
  return o;
}

static void print_info(const rgt_compile_info *i) {
  printf("%9d  %8d  %6d  %8.1f  %9zu  %s", i->registers, i->shared_bytes, i->spill_bytes, i->milliseconds, i->code_bytes,
         i->variant);
  if (i->outcome != RGT_TRIAL_OK)
    printf(": %s%s%s", rgt__cli_outcome_word(i->outcome), i->reason && *i->reason ? ", " : "", i->reason ? i->reason : "");
  putchar('\n');
  fflush(stdout);
}

static const char *target_word(const work *w) {
  return w->o->target ? w->o->target : "the device here";
}

/* What stands above the first variant: a call that fails before it prints nothing on stdout. */
static void begin(work *w) {
  if (w->begun) return;
  w->begun = 1;
  if (w->o->json) {
    w->object = rgt__json_object("compile");
    rgt__json_text(w->object, "op", w->session.text);
    rgt__json_text(w->object, "target", target_word(w));
    if (w->o->output) rgt__json_text(w->object, "bundle", w->o->output);
    w->list = rgt__json_array(w->object, "variants");
    return;
  }
  printf("op      %s%s\n", w->session.text, w->session.out_from_in ? "  (out is taken from --in)" : "");
  printf("target  %s\n", target_word(w));
  puts("registers    shared  spills        ms       code  variant");
}

static int on_info(void *user, const rgt_compile_info *i) {
  work *w = user;
  begin(w);
  if ((unsigned)i->outcome < RGT_N_OUTCOMES) w->n[i->outcome]++;
  w->n_all++;
  w->n_spilling += i->spill_bytes > 0;
  w->total_ms += i->milliseconds;
  w->total_bytes += i->code_bytes;
  if (i->code_bytes > 0) keep_ms(w, i->milliseconds); /* a limit that is known beforehand compiles nothing */
  if (w->list)
    rgt__json_append(w->list, info_json(i));
  else
    print_info(i);
  return rgt__interrupt_flag != 0;
}

/* A bundle holds what is stored for the device here, if that is what it is for; a report asks no database. */
static rgt_status prepare(work *w, rgt__message *m) {
  const rgt__options *o = w->o;
  if (!o->target && !o->output)
    return rgt__message_set(m, RGT_EINVAL, "--target is missing: cpu, or an architecture such as sm_90");
  if (!o->output && o->db)
    return rgt__message_set(m, RGT_EINVAL, "--db stands without -o: only a bundle asks the database for the best variants");
  if (!o->output || (o->target && strcmp(o->target, "cpu") == 0))
    return rgt__session_start(&w->session, o, "cpu", o->output ? NULL : ":memory:", m);
  return rgt__session_start(&w->session, o, NULL, NULL, m);
}

static rgt_status compile(work *w) {
  const rgt__options *o = w->o;
  int sample = o->sample < 0 ? 0 : (int)o->sample;
  uint64_t seed = o->seed < 0 ? 0 : (uint64_t)o->seed;
  if (!o->output) return rgt_compile(w->session.op, o->target, o->variant, sample, seed, on_info, w);
  rgt_bundle_options b = {.struct_size = sizeof b,
                          .target = o->target,
                          .variant = o->variant,
                          .sample = sample,
                          .seed = seed,
                          .fn = on_info,
                          .user = w};
  return rgt_compile_bundle(w->session.op, &b, o->output);
}

static rgt_status summary(work *w, rgt_status status, rgt__message *m) {
  double median = median_ms(w);
  if (w->object) {
    rgt__json_int(w->object, "n", w->n_all);
    rgt__json_int(w->object, "compiled", w->n[RGT_TRIAL_OK]);
    rgt__json_int(w->object, "infeasible", w->n[RGT_TRIAL_INFEASIBLE]);
    rgt__json_int(w->object, "compile_errors", w->n[RGT_TRIAL_COMPILE_ERROR]);
    rgt__json_int(w->object, "spilling", w->n_spilling);
    rgt__json_real(w->object, "median_ms", median);
    rgt__json_real(w->object, "total_ms", w->total_ms);
    rgt__json_int(w->object, "total_code_bytes", (int64_t)w->total_bytes);
    rgt__json_text(w->object, "status", rgt_status_name(status));
    return rgt__json_print(w->object, m);
  }
  printf("%d variants: %d compiled, %d infeasible, %d compile errors; %d spill\n", w->n_all, w->n[RGT_TRIAL_OK],
         w->n[RGT_TRIAL_INFEASIBLE], w->n[RGT_TRIAL_COMPILE_ERROR], w->n_spilling);
  printf("median %.1f ms, total %.2f s and %zu bytes of code\n", median, w->total_ms / 1e3, w->total_bytes);
  if (w->o->output && status == RGT_OK) printf("bundle %s\n", w->o->output);
  return RGT_OK;
}

static int finish(work *w, rgt_status status, const rgt__message *m) {
  rgt__message print_m;
  if (w->failed) {
    rgt__message_set(&print_m, RGT_ENOMEM, "out of memory");
    json_decref(w->object);
    return rgt__message_print(&print_m);
  }
  if (status != RGT_OK && !w->n_all) return rgt__message_print(m);
  begin(w);
  if (summary(w, status, &print_m) != RGT_OK) return rgt__message_print(&print_m);
  fflush(stdout);
  if (status == RGT_EINTERRUPTED || (status == RGT_OK && rgt__interrupt_flag)) {
    rgt__message_note("ragtune: interrupted after %d variants", w->n_all);
    return RGT_EXIT_NO;
  }
  if (status != RGT_OK) return rgt__message_print(m);
  return w->n[RGT_TRIAL_COMPILE_ERROR] || w->n[RGT_TRIAL_OK] == 0 ? RGT_EXIT_NO : RGT_EXIT_DONE;
}

int rgt__cli_compile(const rgt__options *o) {
  work w;
  rgt__message m;
  int status;
  rgt_status s;
  memset(&w, 0, sizeof w);
  w.o = o;
  if (prepare(&w, &m) != RGT_OK) {
    status = rgt__message_print(&m);
  } else {
    rgt__interrupt_catch();
    s = compile(&w);
    if (s != RGT_OK) rgt__message_from(&m, s, w.session.ctx);
    status = finish(&w, s, &m);
  }
  rgt__session_close(&w.session);
  free(w.ms);
  return status;
}
