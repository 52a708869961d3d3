/* cli_why.c -- ragtune why: what dispatch would run, and why. */
#include "cli.h"
#include "json_out.h"
#include "session.h"
#include "units.h"

#include <inttypes.h>
#include <stdio.h>

static rgt_status print_json(const rgt__session *s, int64_t rows, const rgt_why_info *i, rgt__message *m) {
  json_t *o = rgt__json_object("why");
  rgt__json_text(o, "op", s->text);
  rgt__json_int(o, "rows", rows);
  rgt__json_text(o, "variant", i->variant[0] ? i->variant : NULL);
  rgt__json_text(o, "from", rgt__cli_from_word(i->from));
  rgt__json_bool(o, "exact", i->exact);
  rgt__json_text(o, "signature", i->signature);
  rgt__json_text(o, "stored_signature", i->stored_signature[0] ? i->stored_signature : NULL);
  rgt__json_text(o, "device_class", i->device_class);
  rgt__json_text(o, "runner_up", i->runner_up[0] ? i->runner_up : NULL);
  rgt__json_int(o, "time_ps", i->time_ps);
  rgt__json_int(o, "low_ps", i->low_ps);
  rgt__json_int(o, "high_ps", i->high_ps);
  rgt__json_real(o, "ratio", i->ratio);
  rgt__json_real(o, "margin", i->margin);
  rgt__json_real(o, "waste", i->waste);
  rgt__json_real(o, "peak_share", i->peak_share);
  rgt__json_int(o, "runs", i->n_runs);
  rgt__json_text(o, "note", i->note);
  rgt__json_text(o, "match", rgt__cli_match_word(i->match));
  rgt__json_real(o, "distance", i->distance);
  rgt__json_int(o, "layer", i->layer);
  rgt__json_text(o, "layer_path", i->layer_path[0] ? i->layer_path : NULL);
  rgt__json_text(o, "stored_device_class", i->stored_device_class[0] ? i->stored_device_class : NULL);
  rgt__json_text(o, "stored_policy", i->stored_policy[0] ? i->stored_policy : NULL);
  rgt__json_bool(o, "verified", i->verified);
  rgt__json_text(o, "outdated", i->outdated[0] ? i->outdated : NULL);
  return rgt__json_print(o, m);
}

/* A faster runner-up lost a tie: within the noise the default and simpler families win. */
static void print_runner_up(const rgt_why_info *i) {
  double percent = 100 * i->margin;
  if (percent > 0.05)
    printf("runner-up  %s, %.1f %% slower\n", i->runner_up, percent);
  else if (percent > -0.05)
    printf("runner-up  %s, as fast\n", i->runner_up);
  else
    printf("runner-up  %s, %.1f %% faster: a tie, which the simpler one wins\n", i->runner_up, -percent);
}

static void print_measured(const rgt_why_info *i) {
  char time[32], low[32], high[32], text[32];
  printf("time       %s, 95 %% interval %s .. %s, over %d run%s\n", rgt__units_ps(i->time_ps, time, sizeof time),
         rgt__units_ps(i->low_ps, low, sizeof low), rgt__units_ps(i->high_ps, high, sizeof high), i->n_runs,
         i->n_runs == 1 ? "" : "s");
  if (i->ratio > 0) printf("ratio      %.3f of the default variant's time\n", i->ratio);
  if (i->runner_up[0]) print_runner_up(i);
  if (i->peak_share > 0) printf("of peak    %s\n", rgt__units_percent(i->peak_share, text, sizeof text));
}

static void print_layer(const rgt_why_info *i) {
  static const char *const layers[] = {"the tuned database",
                                       "this process's memory",
                                       "the default variant",
                                       "the built-in kernel",
                                       "the bundle",
                                       "nothing: prepare fails",
                                       "a pin",
                                       "site database",
                                       "the shipped database"};
  printf("from       %s", (unsigned)i->from < sizeof layers / sizeof *layers ? layers[i->from] : "unknown");
  if (i->layer > 0) printf("%s %d", i->from == RGT_FROM_PIN ? " in site database" : "", i->layer);
  puts("");
  if (i->layer_path[0]) printf("file       %s\n", i->layer_path);
}

static void print_match(const rgt_why_info *i) {
  switch (i->match) {
  case RGT_MATCH_EXACT:
    puts(i->from == RGT_FROM_PIN ? "stored     pinned for this very signature" : "stored     this very signature");
    break;
  case RGT_MATCH_SHAPE:
    printf("stored     nearest: %s, %.2f octaves away\n", i->stored_signature, i->distance);
    break;
  case RGT_MATCH_BUCKET:
  case RGT_MATCH_THREADS:
    printf("stored     nearest: %s, %s\n", i->stored_signature, i->stored_policy);
    break;
  case RGT_MATCH_DEVICE:
    printf("stored     nearest: %s, on %s, %s\n", i->stored_signature, i->stored_device_class, i->stored_policy);
    break;
  case RGT_MATCH_NONE:
  default:
    if (i->exact)
      puts("stored     this very signature");
    else if (i->stored_signature[0])
      printf("stored     nearest: %s\n", i->stored_signature);
    else
      puts("stored     nothing near it");
  }
}

static void print_text(const rgt__session *s, int64_t rows, const rgt_why_info *i) {
  char text[32];
  printf("op         %s%s\n", s->text, s->out_from_in ? "  (out is taken from --in)" : "");
  printf("rows       %" PRId64 "\n", rows);
  printf("variant    %s\n", i->variant[0] ? i->variant : "none");
  print_layer(i);
  printf("signature  %s\n", i->signature);
  print_match(i);
  printf("device     %s\n", i->device_class);
  if (i->time_ps > 0) print_measured(i);
  printf("waste      %s\n", i->waste > 0 ? rgt__units_percent(i->waste, text, sizeof text) : "none known");
  if (i->variant[0])
    printf("checked    %s\n",
           i->verified ? "its code was verified on this machine" : "it will be verified before its first use");
  if (i->outdated[0])
    printf("outdated   other %s since it was timed: `ragtune tune` times winner, runner-up and default again\n", i->outdated);
  if (i->note[0]) printf("note       %s\n", i->note);
}

static rgt_status why(const rgt__options *o, rgt__session *s, rgt__message *m) {
  rgt_why_info info = {.struct_size = sizeof info};
  rgt_status status;
  if (o->rows < 0) return rgt__message_set(m, RGT_EINVAL, "--rows is missing: what dispatch runs depends on it");
  if ((status = rgt__session_start(s, o, NULL, NULL, m)) != RGT_OK) return status;
  status = rgt_why(s->op, o->rows, &info);
  if (status != RGT_OK) return rgt__message_from(m, status, s->ctx);
  if (o->json) return print_json(s, o->rows, &info, m);
  print_text(s, o->rows, &info);
  return RGT_OK;
}

int rgt__cli_why(const rgt__options *o) {
  rgt__session s = {0};
  rgt__message m;
  rgt_status status = why(o, &s, &m);
  rgt__session_close(&s);
  return status == RGT_OK ? RGT_EXIT_DONE : rgt__message_print(&m);
}
