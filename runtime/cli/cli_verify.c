/* cli_verify.c -- ragtune verify: variants against the float64 reference. */
#include "cli.h"
#include "data_files.h"
#include "interrupt.h"
#include "json_out.h"
#include "op_args.h"
#include "session.h"
#include "units.h"

#include <inttypes.h>
#include <string.h>

typedef struct work {
  const rgt__options *o;
  rgt__session session;
  rgt__data data;
  int n[RGT_N_OUTCOMES], n_all, begun;
  json_t *object, *list; /* with --json */
} work;

static json_t *verdict_json(const rgt_verdict *v) {
  json_t *o = json_object();
  int right = v->outcome == RGT_TRIAL_OK, placed = v->outcome == RGT_TRIAL_WRONG && v->row >= 0;
  rgt__json_text(o, "variant", v->variant);
  rgt__json_text(o, "outcome", rgt__cli_outcome_word(v->outcome));
  rgt__json_real(o, "error_share", v->error_share);
  rgt__json_text(o, "pass", v->outcome == RGT_TRIAL_WRONG ? v->pass : NULL);
  if (placed) {
    rgt__json_int(o, "row", v->row);
    rgt__json_int(o, "column", v->column);
    rgt__json_real(o, "value", v->value);
    rgt__json_real(o, "expected", v->expected);
    rgt__json_real(o, "bound", v->bound);
  }
  rgt__json_text(o, "reason", right ? "" : v->reason);
  return o;
}

static void print_verdict(const rgt_verdict *v) {
  char error[32] = "-";
  const char *reason = v->reason ? v->reason : "";
  if (v->outcome == RGT_TRIAL_OK) rgt__units_percent(v->error_share, error, sizeof error);
  printf("%-13s  %7s  %s", rgt__cli_outcome_word(v->outcome), error, v->variant);
  if (v->outcome == RGT_TRIAL_WRONG) {
    printf(": pass %s", v->pass && *v->pass ? v->pass : "unknown");
    if (v->row >= 0)
      printf(", row %" PRId64 ", column %" PRId64 ": %.9g, expected %.9g within %.3g", v->row, v->column, v->value, v->expected,
             v->bound);
  }
  if (v->outcome != RGT_TRIAL_OK && *reason) printf("; %s", reason);
  putchar('\n');
  fflush(stdout);
}

/* What stands above the first variant: a call that fails before it prints nothing on stdout. */
static void begin(work *w) {
  if (w->begun) return;
  w->begun = 1;
  if (w->o->json) {
    w->object = rgt__json_object("verify");
    rgt__json_text(w->object, "op", w->session.text);
    rgt__json_text(w->object, "case", w->o->case_dir);
    w->list = rgt__json_array(w->object, "variants");
    return;
  }
  printf("op  %s%s\n", w->session.text, w->session.out_from_in ? "  (out is taken from --in)" : "");
  puts("verdict        of bound  variant");
}

static int on_verdict(void *user, const rgt_verdict *v) {
  work *w = user;
  begin(w);
  if ((unsigned)v->outcome < RGT_N_OUTCOMES) w->n[v->outcome]++;
  w->n_all++;
  if (w->list)
    rgt__json_append(w->list, verdict_json(v));
  else
    print_verdict(v);
  return rgt__interrupt_flag != 0;
}

/* y.npy applies to f32 storage, and to the others where it is exact: then as round(y). */
static rgt_case as_case(const rgt__data *d) {
  rgt_case c = {.struct_size = sizeof c, .rows = d->rows, .exact = d->exact};
  c.x = d->x.data;
  c.index = d->index.data;
  c.w1 = d->w1.data;
  c.b1 = d->b1.data;
  c.w2 = d->w2.data;
  c.b2 = d->b2.data;
  c.y64 = d->desc.dtype == RGT_F32 || d->exact ? d->y.data : NULL;
  return c;
}

static rgt_status prepare(work *w, rgt__message *m) {
  const rgt__options *o = w->o;
  rgt__session *s = &w->session;
  int given = rgt__op_args_given(o) || !o->case_dir;
  rgt_status status = rgt__session_open(s, o, NULL, NULL, m);
  if (status == RGT_OK && given) status = rgt__op_args_make(o, s->ctx, &s->desc, &s->out_from_in, m);
  if (status == RGT_OK && o->case_dir) {
    status = rgt__data_files_case(o, given ? &s->desc : NULL, 1, &w->data, m);
    if (status == RGT_OK) s->desc = w->data.desc;
  }
  return status == RGT_OK ? rgt__session_op(s, o, m) : status;
}

/* wrong variants are in the verdicts; only other failures stop the rest */
static rgt_status verify(work *w, const char *variant, int sample, int *wrong, rgt__message *m) {
  rgt_case data = as_case(&w->data);
  rgt_verify_options v = {.struct_size = sizeof v, .variant = variant, .sample = sample};
  rgt_status status;
  v.seed = w->o->seed < 0 ? 0 : (uint64_t)w->o->seed;
  v.data = w->o->case_dir ? &data : NULL;
  status = rgt_verify(w->session.op, &v, on_verdict, w);
  if (status == RGT_EWRONG) *wrong = 1;
  return status == RGT_OK || status == RGT_EWRONG ? RGT_OK : rgt__message_from(m, status, w->session.ctx);
}

/* The kernel that is built in is one more variant, on the CPU device; "auto" may be another device, which has none. */
static rgt_status verify_builtin(work *w, int *wrong, rgt__message *m) {
  rgt_status status = verify(w, "builtin", 0, wrong, m);
  int cpu = w->o->device && strcmp(w->o->device, "cpu") == 0;
  return (status == RGT_EINVAL || status == RGT_EUNSUPPORTED) && !cpu ? RGT_OK : status;
}

static rgt_status summary(const work *w, rgt_status status, rgt__message *m) {
  int crashed = w->n[RGT_TRIAL_CRASHED] + w->n[RGT_TRIAL_TIMED_OUT];
  if (w->object) {
    rgt__json_int(w->object, "n", w->n_all);
    rgt__json_int(w->object, "right", w->n[RGT_TRIAL_OK]);
    rgt__json_int(w->object, "wrong", w->n[RGT_TRIAL_WRONG]);
    rgt__json_int(w->object, "infeasible", w->n[RGT_TRIAL_INFEASIBLE]);
    rgt__json_int(w->object, "compile_errors", w->n[RGT_TRIAL_COMPILE_ERROR]);
    rgt__json_int(w->object, "crashed", w->n[RGT_TRIAL_CRASHED]);
    rgt__json_int(w->object, "timed_out", w->n[RGT_TRIAL_TIMED_OUT]);
    rgt__json_text(w->object, "status", rgt_status_name(status));
    return rgt__json_print(w->object, m);
  }
  printf("%d variants: %d right, %d wrong, %d infeasible, %d compile errors", w->n_all, w->n[RGT_TRIAL_OK],
         w->n[RGT_TRIAL_WRONG], w->n[RGT_TRIAL_INFEASIBLE], w->n[RGT_TRIAL_COMPILE_ERROR]);
  if (crashed) printf(", %d crashed, %d timed out", w->n[RGT_TRIAL_CRASHED], w->n[RGT_TRIAL_TIMED_OUT]);
  putchar('\n');
  return RGT_OK;
}

static int finish(work *w, rgt_status status, int wrong, const rgt__message *m) {
  rgt__message print_m;
  int bad = wrong || w->n[RGT_TRIAL_COMPILE_ERROR] || w->n[RGT_TRIAL_CRASHED] || w->n[RGT_TRIAL_TIMED_OUT];
  if (status != RGT_OK && !w->n_all) return rgt__message_print(m);
  if (status == RGT_OK && wrong) status = RGT_EWRONG;
  begin(w);
  if (summary(w, status, &print_m) != RGT_OK) return rgt__message_print(&print_m);
  fflush(stdout);
  if (status == RGT_EINTERRUPTED || (status == RGT_OK && rgt__interrupt_flag)) {
    rgt__message_note("ragtune: interrupted after %d variants", w->n_all);
    return RGT_EXIT_NO;
  }
  if (status != RGT_OK && status != RGT_EWRONG) return rgt__message_print(m);
  return bad || w->n[RGT_TRIAL_OK] == 0 ? RGT_EXIT_NO : RGT_EXIT_DONE;
}

int rgt__cli_verify(const rgt__options *o) {
  work w;
  rgt__message m;
  int wrong = 0, status;
  rgt_status s;
  memset(&w, 0, sizeof w);
  w.o = o;
  if (prepare(&w, &m) != RGT_OK) {
    status = rgt__message_print(&m);
  } else {
    rgt__interrupt_catch();
    s = o->variant ? RGT_OK : verify_builtin(&w, &wrong, &m);
    if (s == RGT_OK) s = verify(&w, o->variant, o->sample < 0 ? 0 : (int)o->sample, &wrong, &m);
    status = finish(&w, s, wrong, &m);
  }
  rgt__session_close(&w.session);
  rgt__data_files_free(&w.data);
  return status;
}
