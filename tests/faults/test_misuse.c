/* test_misuse.c -- the public calls used wrongly: pointers that are NULL where one is needed, sizes of structs from elsewhere,
 * negative and huge numbers, contexts that failed to open, calls after a failed one. Each answers with RGT_EINVAL (or what the
 * declaration says) in one line, touches no output, and what comes after works. Every case is a process of its own, so that a
 * crash is a case that failed. */
#include "tests/support/front.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/faults/machine.h"
#include "tests/faults/tally.h"

typedef struct scene {
  rgt_ctx *ctx, *failed; /* an open one, and one that could not be opened */
  rgt_op *op;
  problem p;
  machine m;
} scene;

typedef rgt_status (*misuse_fn)(scene *s);

static int no_verdict(void *user, const rgt_verdict *v) {
  (void)user, (void)v;
  return 0;
}
static int no_info(void *user, const rgt_compile_info *i) {
  (void)user, (void)i;
  return 0;
}
static void no_fact(void *user, const char *section, const char *name, const char *value) {
  (void)user, (void)section, (void)name, (void)value;
}

/* ---- the misuses: each a call and, by its name, what is wrong ---- */

#define MISUSE_LIST(X)                                                                                \
  X(op_parse_no_text, ctx, rgt_op_parse(s->ctx, NULL, &d))                                            \
  X(op_parse_no_desc, ctx, rgt_op_parse(s->ctx, MACHINE_OP, NULL))                                    \
  X(op_format_no_desc, ctx, rgt_op_format(s->ctx, NULL, text))                                        \
  X(op_format_no_text, ctx, rgt_op_format(s->ctx, &d, NULL))                                          \
  X(op_new_no_desc, ctx, rgt_op_new(s->ctx, NULL, NULL, &op))                                         \
  X(op_new_no_place, ctx, rgt_op_new(s->ctx, &d, NULL, NULL))                                         \
  X(op_new_desc_from_elsewhere, ctx, (d.struct_size = 8, rgt_op_new(s->ctx, &d, NULL, &op)))          \
  X(op_new_options_from_elsewhere, ctx, (oo.struct_size = 8, rgt_op_new(s->ctx, &d, &oo, &op)))       \
  X(op_new_negative_in, ctx, (d.n_in = -4, rgt_op_new(s->ctx, &d, NULL, &op)))                        \
  X(op_new_zero_groups, ctx, (d.groups = 0, rgt_op_new(s->ctx, &d, NULL, &op)))                       \
  X(op_new_huge_hidden, ctx, (d.n_hidden = INT64_MAX, rgt_op_new(s->ctx, &d, NULL, &op)))             \
  X(op_new_unknown_act, ctx, (d.act = (rgt_act)99, rgt_op_new(s->ctx, &d, NULL, &op)))                \
  X(op_new_negative_layout, ctx, (d.layout = (rgt_layout)-1, rgt_op_new(s->ctx, &d, NULL, &op)))      \
  X(op_new_negative_align, ctx, (oo.align_bytes = -4, rgt_op_new(s->ctx, &d, &oo, &op)))              \
  X(op_new_nan_error, ctx, (oo.max_error = NAN, rgt_op_new(s->ctx, &d, &oo, &op)))                    \
  X(op_new_on_a_failed_context, failed, rgt_op_new(s->failed, &d, NULL, &op))                         \
  X(prepare_negative, ctx, rgt_op_prepare(s->op, -1, 0))                                              \
  X(prepare_too_many, ctx, rgt_op_prepare(s->op, INT64_MAX, 0))                                       \
  X(prepare_unknown_flags, ctx, rgt_op_prepare(s->op, 8, 1u << 31))                                   \
  X(prepare_variant_no_name, ctx, rgt_op_prepare_variant(s->op, NULL, 8))                             \
  X(prepare_variant_empty_name, ctx, rgt_op_prepare_variant(s->op, "", 8))                            \
  X(weights_no_layer, ctx, rgt_weights_new(s->op, 3, NULL, &a.layer2, &w))                            \
  X(weights_no_place, ctx, rgt_weights_new(s->op, 3, &a.layer1, &a.layer2, NULL))                     \
  X(weights_negative_groups, ctx, rgt_weights_new(s->op, -3, &a.layer1, &a.layer2, &w))               \
  X(run_no_args, ctx, rgt_op_run(s->op, NULL, NULL))                                                  \
  X(run_args_from_elsewhere, ctx, (a.struct_size = 8, rgt_op_run(s->op, &a, NULL)))                   \
  X(run_negative_rows, ctx, (a.rows = -1, rgt_op_run(s->op, &a, NULL)))                               \
  X(run_too_many_rows, ctx, (a.rows = RGT_COUNT_MAX + 1, rgt_op_run(s->op, &a, NULL)))                \
  X(run_negative_groups, ctx, (a.groups = -1, rgt_op_run(s->op, &a, NULL)))                           \
  X(run_no_x, ctx, (a.x = NULL, rgt_op_run(s->op, &a, NULL)))                                         \
  X(run_no_index, ctx, (a.index = NULL, rgt_op_run(s->op, &a, NULL)))                                 \
  X(run_no_y, ctx, (a.y = NULL, rgt_op_run(s->op, &a, NULL)))                                         \
  X(run_no_weights, ctx, (a.layer1.w = NULL, rgt_op_run(s->op, &a, NULL)))                            \
  X(run_short_ld_x, ctx, (a.ld_x = 3, rgt_op_run(s->op, &a, NULL)))                                   \
  X(run_negative_ld_y, ctx, (a.ld_y = -8, rgt_op_run(s->op, &a, NULL)))                               \
  X(run_endless_ld_x, ctx, (a.ld_x = INT64_MAX, rgt_op_run(s->op, &a, NULL)))                         \
  X(run_endless_stride, ctx, (a.layer2.stride_w = INT64_MAX, rgt_op_run(s->op, &a, NULL)))            \
  X(run_short_ld_w, ctx, (a.layer1.ld_w = 1, rgt_op_run(s->op, &a, NULL)))                            \
  X(tune_no_results, ctx, rgt_tune(s->op, NULL, NULL))                                                \
  X(tune_options_from_elsewhere, ctx, (t.struct_size = 8, rgt_tune(s->op, &t, results)))              \
  X(tune_negative_rows, ctx, (t.rows = &minus, t.n_rows = 1, rgt_tune(s->op, &t, results)))           \
  X(tune_negative_count, ctx, (t.rows = &minus, t.n_rows = -1, rgt_tune(s->op, &t, results)))         \
  X(tune_nan_budget, ctx, (t.budget_s = NAN, rgt_tune(s->op, &t, results)))                           \
  X(config_no_path, ctx, rgt_config_open(s->ctx, NULL, &config))                                      \
  X(config_no_place, ctx, rgt_config_open(s->ctx, "/nowhere", NULL))                                  \
  X(why_no_place, ctx, rgt_why(s->op, 8, NULL))                                                       \
  X(why_negative_rows, ctx, rgt_why(s->op, -8, &why))                                                 \
  X(show_no_place, ctx, rgt_show(s->op, NULL, 0, NULL, RGT_EMIT_SOURCE, NULL, NULL))                  \
  X(show_negative_rows, ctx, rgt_show(s->op, NULL, -1, NULL, RGT_EMIT_SOURCE, &data, &bytes))         \
  X(show_unknown_emit, ctx, rgt_show(s->op, NULL, 0, NULL, (rgt_emit)17, &data, &bytes))              \
  X(show_unknown_target, ctx, rgt_show(s->op, NULL, 0, "abacus", RGT_EMIT_SOURCE, &data, &bytes))     \
  X(compile_no_function, ctx, rgt_compile(s->op, NULL, NULL, 0, 0, NULL, NULL))                       \
  X(compile_unknown_variant, ctx, rgt_compile(s->op, NULL, "nobody:x=1", 0, 0, no_info, NULL))        \
  X(verify_no_function, ctx, rgt_verify(s->op, NULL, NULL, NULL))                                     \
  X(verify_options_from_elsewhere, ctx, (v.struct_size = 8, rgt_verify(s->op, &v, no_verdict, NULL))) \
  X(verify_negative_rows, ctx, (v.rows = -1, rgt_verify(s->op, &v, no_verdict, NULL)))                \
  X(verify_case_from_elsewhere, ctx, (v.data = &data_case, rgt_verify(s->op, &v, no_verdict, NULL)))  \
  X(verify_case_without_arrays, ctx,                                                                  \
    (data_case.struct_size = sizeof data_case, data_case.rows = 4, v.data = &data_case,               \
     rgt_verify(s->op, &v, no_verdict, NULL)))                                                        \
  X(verify_case_negative_rows, ctx,                                                                   \
    (data_case.struct_size = sizeof data_case, data_case.rows = -4, v.data = &data_case,              \
     rgt_verify(s->op, &v, no_verdict, NULL)))                                                        \
  X(env_no_function, ctx, rgt_env(s->ctx, NULL, NULL, NULL))                                          \
  X(env_of_a_failed_context, failed, rgt_env(s->failed, NULL, no_fact, NULL))                         \
  X(db_list_no_function, ctx, rgt_db_list(s->ctx, NULL, NULL))                                        \
  X(mem_alloc_no_place, ctx, rgt_mem_alloc(s->ctx, 8, NULL))                                          \
  X(mem_alloc_on_a_failed_context, failed, rgt_mem_alloc(s->failed, 8, &memory))                      \
  X(mem_write_from_nowhere, ctx, rgt_mem_write(s->ctx, NULL, NULL, 8))                                \
  X(mem_read_to_nowhere, ctx, rgt_mem_read(s->ctx, NULL, NULL, 8))                                    \
  X(bundle_no_folder, ctx, rgt_compile_bundle(s->op, NULL, NULL))                                     \
  X(wait_nan, ctx, rgt_op_wait(s->op, NAN))

#define MISUSE_FUNCTION(name, who, call)                                                                  \
  static rgt_status name(scene *s) {                                                                      \
    char text[RGT_OP_TEXT_MAX], *data = NULL;                                                             \
    size_t bytes = 0;                                                                                     \
    const int64_t minus = -1;                                                                             \
    rgt_op_desc d = s->p.d;                                                                               \
    rgt_op *op = NULL;                                                                                    \
    rgt_weights *w = NULL;                                                                                \
    rgt_config *config = NULL;                                                                            \
    rgt_op_options oo = {.struct_size = sizeof oo};                                                       \
    rgt_tune_options t = {.struct_size = sizeof t};                                                       \
    rgt_verify_options v = {.struct_size = sizeof v};                                                     \
    rgt_case data_case = {.struct_size = 8};                                                              \
    rgt_why_info why = {.struct_size = sizeof why};                                                                                     \
    rgt_tune_result results[8];                                                                           \
    void *memory = NULL;                                                                                  \
    rgt_args a = s->p.args;                                                                               \
    (void)text, (void)data, (void)bytes, (void)minus, (void)d, (void)op, (void)w, (void)config, (void)oo; \
    (void)t, (void)v, (void)data_case, (void)why, (void)results, (void)a, (void)memory;                   \
    rgt_status status = call;                                                                             \
    return op || w || config || data || memory ? RGT_EINTERNAL : status; /* outputs only on success */    \
  }
MISUSE_LIST(MISUSE_FUNCTION)

static const struct {
  const char *name;
  misuse_fn run;
  int on_failed; /* its context is the failed one */
} misuses[] = {
#define MISUSE_ROW(name, who, call) {#name, name, #who[0] == 'f'},
    MISUSE_LIST(MISUSE_ROW)};
enum { N_MISUSES = sizeof misuses / sizeof misuses[0] };

/* ---- one case in a process ---- */

static char *told; /* shared: what a child found */
enum { TOLD = 600 };

static void play(int i) {
  static scene s;
  rgt_options o = {.struct_size = sizeof o,
                   .device = "cpu",
                   .database = ":memory:",
                   .cache_dir = "/nowhere/at/all",
                   .template_dir = MACHINE_TEMPLATES,
                   .threads = 1};
  problem_make(&s.p, MACHINE_OP, 24, 0);
  if (rgt_open(&o, &s.ctx) != RGT_OK || rgt_op_new(s.ctx, &s.p.d, NULL, &s.op) != RGT_OK) {
    snprintf(told, TOLD, "no scene: %s", rgt_errmsg(s.ctx));
    return;
  }
  machine_install(&s.m, s.ctx);
  o.device = "abacus";
  rgt_open(&o, &s.failed);
  rgt_status status = misuses[i].run(&s);
  const char *text = rgt_errmsg(misuses[i].on_failed ? s.failed : s.ctx);
  if (status != RGT_EINVAL)
    snprintf(told, TOLD, "%s: \"%s\"", rgt_status_name(status), text);
  else if (!text[0] || strchr(text, '\n'))
    snprintf(told, TOLD, "\"%s\" is not one line", text);
  /* and what comes after works */
  rgt_status run = rgt_op_run(s.op, &s.p.args, NULL);
  if (!told[0] && run != RGT_OK) snprintf(told, TOLD, "a run afterwards: %s: %s", rgt_status_name(run), rgt_errmsg(s.ctx));
  for (int64_t y = 0; !told[0] && y < s.p.rows * s.p.d.n_out; y++)
    if ((double)s.p.y[y] != s.p.expected[y]) snprintf(told, TOLD, "a run afterwards: y[%d] is wrong", (int)y);
  rgt_close(s.failed);
  rgt_close(s.ctx);
  problem_free(&s.p);
}

static void each_misuse_is_one_line(void **state) {
  int n_bad = 0;
  (void)state;
  front_clear_environment();
  told = mmap(NULL, TOLD, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(told != MAP_FAILED);
  for (int i = 0; i < N_MISUSES; i++) {
    int status = 0;
    memset(told, 0, TOLD);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
      signal(SIGSEGV, SIG_DFL); /* cmocka's own would go on with the tests */
      alarm(60);
      play(i);
      exit(0); /* with the leak check of a sanitizer */
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status == 0 && !told[0]) continue;
    n_bad++;
    if (WIFSIGNALED(status))
      print_error("%s: ended by signal %d\n", misuses[i].name, WTERMSIG(status));
    else
      print_error("%s: exit %d: %s\n", misuses[i].name, WEXITSTATUS(status), told);
  }
  if (n_bad) fail_msg("%d of %d misuses", n_bad, (int)N_MISUSES);
  tally("public calls used wrongly: NULL, sizes from elsewhere, negative and endless numbers, failed contexts\t%d\tRGT_EINVAL "
        "in one "
        "line, outputs untouched, the next call right",
        (int)N_MISUSES);
}

/* What may be NULL or empty, as declared. */
static void what_is_allowed(void **state) {
  rgt_options o = {.struct_size = sizeof o, .device = "cpu", .database = ":memory:", .cache_dir = "/nowhere/at/all"};
  rgt_ctx *ctx = NULL;
  rgt_op *op = NULL;
  rgt_op_desc d;
  rgt_args none = {.struct_size = sizeof none};
  (void)state;
  rgt_close(NULL);
  rgt_op_free(NULL);
  rgt_weights_free(NULL);
  rgt_config_free(NULL);
  rgt_free(NULL);
  assert_non_null(rgt_errmsg(NULL));
  assert_int_equal(rgt_op_parse(NULL, MACHINE_OP, &d), RGT_OK);
  assert_int_equal(rgt_open(&o, &ctx), RGT_OK);
  assert_int_equal(rgt_op_new(ctx, &d, NULL, &op), RGT_OK);
  assert_int_equal(rgt_op_run(op, &none, NULL), RGT_OK);
  rgt_close(ctx); /* frees op */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_misuse_is_one_line), cmocka_unit_test(what_is_allowed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
