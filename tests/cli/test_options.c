/* test_options.c -- the command line: every option, strict numbers, near misses, help from the same table, problem.txt, units.
 */
#include "runtime/cli/message.c"
#include "runtime/cli/nearest.c"
#include "runtime/cli/op_args.c"
#include "runtime/cli/option_table.c"
#include "runtime/cli/options.c"
#include "runtime/cli/options_help.c"
#include "runtime/cli/problem_text.c"
#include "runtime/cli/progress.c"
#include "runtime/cli/table.c"
#include "runtime/cli/units.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define ARGS_MAX 32

static const char *words[ARGS_MAX];

/* `line` is split at blanks; "''" stands for an empty argument */
static rgt_status parse(const char *line, rgt__options *o, rgt__message *m) {
  static char text[2048];
  char *argv[ARGS_MAX + 1] = {(char *)(uintptr_t) "ragtune"}, *rest = NULL, *item;
  int argc = 1;
  snprintf(text, sizeof text, "%s", line);
  for (item = strtok_r(text, " ", &rest); item; item = strtok_r(NULL, " ", &rest)) {
    if (strcmp(item, "''") == 0) *item = 0;
    argv[argc++] = item;
  }
  return rgt__options_parse(argc, argv, words, o, m);
}

static void accepted(const char *line, rgt__options *o) {
  rgt__message m = {0};
  if (parse(line, o, &m) != RGT_OK) fail_msg("%s: %s", line, m.text);
}

static void refused(const char *line, rgt_status status, const char *text) {
  rgt__options o;
  rgt__message m = {0};
  if (parse(line, &o, &m) != status || strcmp(m.text, text) != 0) fail_msg("%s: status %d, '%s'", line, m.status, m.text);
  assert_int_equal(rgt__message_exit(status), RGT_EXIT_USAGE);
}

static void verbs_are_found(void **unused) {
  rgt__options o;
  (void)unused;
  for (int v = 0; v < RGT_N_VERBS; v++) {
    accepted(rgt__verb_table[v].name, &o);
    assert_int_equal(o.verb, v);
  }
  accepted("", &o);
  assert_int_equal(o.verb, RGT_VERB_TUNE);
  accepted("--in 3", &o);
  assert_int_equal(o.verb, RGT_VERB_TUNE);
  accepted("--version", &o);
  assert_true(o.version);
  accepted("--help", &o);
  assert_true(o.help && o.verb == RGT_N_VERBS);
  accepted("run --nonsense --help", &o); /* help helps also where the rest is wrong */
  assert_true(o.help && o.verb == RGT_VERB_RUN);
  refused("tun", RGT_EINVAL, "unknown verb 'tun'; did you mean tune?");
  refused("verfiy", RGT_EINVAL, "unknown verb 'verfiy'; did you mean verify?");
  refused("frobnicate", RGT_EINVAL, "unknown verb 'frobnicate' (ragtune --help lists the verbs)");
}

static void every_option_of_tune(void **unused) {
  rgt__options o;
  (void)unused;
  accepted("tune --in 10 --hidden 20 --out 5 --groups 3 --dtype bf16 --act gelu_tanh --bias b12 --layout kn --index-type i32 "
           "--rows 8,64,2147483647 --skew zipf --weights pointers --align 16 --order raw --max-error 1e-3 --batch-invariant",
           &o);
  assert_int_equal(o.n_in, 10);
  assert_int_equal(o.n_hidden, 20);
  assert_int_equal(o.n_out, 5);
  assert_int_equal(o.groups, 3);
  assert_int_equal(o.dtype, RGT_BF16);
  assert_int_equal(o.act, RGT_ACT_GELU_TANH);
  assert_int_equal(o.bias, RGT_BIAS_1 | RGT_BIAS_2);
  assert_int_equal(o.layout, RGT_KN);
  assert_int_equal(o.index_type, RGT_I32);
  assert_int_equal(o.row_list.n, 3);
  assert_int_equal(o.row_list.v[1], 64);
  assert_int_equal(o.row_list.v[2], 2147483647);
  assert_int_equal(o.skew, RGT_SKEW_ZIPF);
  assert_int_equal(o.weights, RGT_POINTERS);
  assert_int_equal(o.align, 16);
  assert_int_equal(o.order, RGT_ORDER_RAW);
  assert_true(o.max_error == 1e-3);
  assert_true(o.batch_invariant);
  accepted("--device cuda:2 --threads 4 --policy cold --budget 2.5 --space s.lua --db=--x.db --force --quiet --json --op a:b",
           &o);
  assert_string_equal(o.device, "cuda:2");
  assert_int_equal(o.threads, 4);
  assert_int_equal(o.policy, RGT_POLICY_COLD);
  assert_true(o.budget == 2.5);
  assert_string_equal(o.space, "s.lua");
  assert_string_equal(o.db, "--x.db"); /* behind '=' anything goes */
  assert_string_equal(o.op, "a:b");
  assert_null(o.config);
  accepted("tune --config c.lua", &o);
  assert_string_equal(o.config, "c.lua");
  assert_null(rgt__op_args_first(&o));
  accepted("--dtype f16", &o);
  assert_string_equal(rgt__op_args_first(&o), "--dtype");
  accepted("--dtype f16 --act relu", &o);
  assert_string_equal(rgt__op_args_first(&o), "--act");
  accepted("--act relu --op a:b --force --quiet --json", &o);
  assert_string_equal(rgt__op_args_first(&o), "--op");
  assert_true(o.force && o.quiet && o.json);
  assert_int_equal(o.n_in, -1);
  assert_true(o.max_error < 0 && o.skew < 0 && !o.batch_invariant && o.row_list.n == 0);
}

static void every_option_of_the_other_verbs(void **unused) {
  rgt__options o;
  (void)unused;
  accepted("run --x a --index b --w1 c --b1 d --w2 e --b2 f --y g --skew one --threads 1 --device cpu --db h", &o);
  assert_string_equal(o.x, "a");
  assert_string_equal(o.index, "b");
  assert_string_equal(o.w1, "c");
  assert_string_equal(o.b1, "d");
  assert_string_equal(o.w2, "e");
  assert_string_equal(o.b2, "f");
  assert_string_equal(o.y, "g");
  assert_int_equal(o.skew, RGT_SKEW_ONE);
  accepted("run --case dir --variant builtin", &o);
  assert_string_equal(o.variant, "builtin");
  accepted("verify --case dir --variant v:a=1 --sample 5 --seed 0 --dtype f16", &o);
  assert_string_equal(o.case_dir, "dir");
  assert_string_equal(o.variant, "v:a=1");
  assert_int_equal(o.sample, 5);
  assert_int_equal(o.seed, 0);
  accepted("compile --target sm_90 --sample 1 --seed 9223372036854775807", &o);
  assert_string_equal(o.target, "sm_90");
  assert_int_equal(o.seed, INT64_MAX);
  accepted("compile -o dir --weights pointers --align 8 --db f", &o);
  assert_string_equal(o.output, "dir");
  assert_string_equal(o.db, "f");
  accepted("why --rows 7 --bundle dir", &o);
  assert_string_equal(o.bundle, "dir");
  accepted("show --rows 7 --emit cubin -o file --target cpu", &o);
  assert_int_equal(o.rows, 7);
  assert_int_equal(o.emit, RGT_EMIT_CUBIN);
  assert_string_equal(o.output, "file");
  accepted("why --rows 7 --order raw --weights stacked --align 1", &o);
  assert_int_equal(o.align, 1);
  accepted("db list --json", &o);
  assert_int_equal(o.n_words, 1);
  assert_string_equal(o.words[0], "list");
  accepted("env --json", &o);
}

static void numbers_are_strict(void **unused) {
  static const char *const bad[] = {"0",  "-5",   "10x", "''",  "1099511627776",       "16777217",
                                    "+3", "0x10", "1e3", "3.0", "99999999999999999999"};
  (void)unused;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char line[128], text[256];
    snprintf(line, sizeof line, "--in %s", bad[i]);
    snprintf(text, sizeof text, "--in: '%s' is not a whole number from 1 to 16777216", strcmp(bad[i], "''") ? bad[i] : "");
    refused(line, RGT_EINVAL, text);
  }
  refused("--groups 2147483648", RGT_EINVAL, "--groups: '2147483648' is not a whole number from 1 to 2147483647");
  refused("--align 3", RGT_EINVAL, "--align: '3' is not a power of two from 1 to 16");
  refused("--align 32", RGT_EINVAL, "--align: '32' is not a power of two from 1 to 16");
  refused("--budget 0", RGT_EINVAL, "--budget: '0' is not a number above 0 and up to 10000000");
  refused("--budget inf", RGT_EINVAL, "--budget: 'inf' is not a number above 0 and up to 10000000");
  refused("--budget 0x1p3", RGT_EINVAL, "--budget: '0x1p3' is not a number above 0 and up to 10000000");
  refused("--budget -1", RGT_EINVAL, "--budget: '-1' is not a number above 0 and up to 10000000");
  refused("--max-error 1.5", RGT_EINVAL, "--max-error: '1.5' is not a number above 0 and below 1");
  refused("--max-error 1", RGT_EINVAL, "--max-error: '1' is not a number above 0 and below 1");
  refused("--max-error 1e-3e", RGT_EINVAL, "--max-error: '1e-3e' is not a number above 0 and below 1");
  refused("--rows 8,", RGT_EINVAL, "--rows: '' is not a whole number from 1 to 2147483647 (numbers separated by commas)");
  refused("--rows ,8", RGT_EINVAL, "--rows: '' is not a whole number from 1 to 2147483647 (numbers separated by commas)");
  refused("--rows 8,x,9", RGT_EINVAL, "--rows: 'x' is not a whole number from 1 to 2147483647 (numbers separated by commas)");
  refused("--rows 8,0", RGT_EINVAL, "--rows: '0' is not a whole number from 1 to 2147483647 (numbers separated by commas)");
  refused("why --rows 8,9", RGT_EINVAL, "--rows: '8,9' is not a whole number from 1 to 2147483647");
}

static void lists_have_an_end(void **unused) {
  char line[512] = "--rows 1";
  rgt__options o;
  (void)unused;
  for (int i = 1; i < RGT_LIST_MAX; i++) strcat(line, ",1");
  accepted(line, &o);
  assert_int_equal(o.row_list.n, RGT_LIST_MAX);
  strcat(line, ",1");
  refused(line, RGT_EINVAL, "--rows: more than 64 numbers");
}

static void words_and_devices(void **unused) {
  rgt__options o;
  (void)unused;
  refused("--dtype f64", RGT_EINVAL, "--dtype: 'f64' is none of f32|f16|bf16");
  refused("--dtype f3", RGT_EINVAL, "--dtype: 'f3' is none of f32|f16|bf16");
  refused("--dtype f32|f16", RGT_EINVAL, "--dtype: 'f32|f16' is none of f32|f16|bf16");
  refused("--act ''", RGT_EINVAL, "--act: '' is none of none|relu|gelu|gelu_tanh|silu|tanh");
  accepted("--device auto", &o);
  accepted("--device cuda", &o);
  refused("--device cda", RGT_EINVAL, "--device: 'cda' is none of auto, cpu, cuda, cuda:N");
  refused("--device cuda:", RGT_EINVAL, "--device: 'cuda:' is none of auto, cpu, cuda, cuda:N");
  refused("--device cuda:x", RGT_EINVAL, "--device: 'cuda:x' is none of auto, cpu, cuda, cuda:N");
  refused("--op ''", RGT_EINVAL, "--op: the value is empty; want TEXT");
}

static void misuse_is_named(void **unused) {
  (void)unused;
  refused("--budgt 3", RGT_EINVAL, "unknown option --budgt; did you mean --budget?");
  refused("run --q f", RGT_EINVAL, "unknown option --q (ragtune run --help lists the options)");
  refused("--frobnicate", RGT_EINVAL, "unknown option --frobnicate (ragtune tune --help lists the options)");
  refused("env --budget 3", RGT_EINVAL, "--budget is not an option of env (it belongs to tune)");
  refused("tune --rows 8 --target sm_90", RGT_EINVAL, "--target is not an option of tune (it belongs to compile, show)");
  refused("--in 3 --in 4", RGT_EINVAL, "--in is given twice");
  refused("--quiet --quiet", RGT_EINVAL, "--quiet is given twice");
  refused("--in", RGT_EINVAL, "--in needs a value: N");
  refused("--in --out 3", RGT_EINVAL, "--in needs a value: N");
  refused("--quiet=1", RGT_EINVAL, "--quiet takes no value, '1' is given");
  refused("tune mlp:3", RGT_EINVAL,
          "'mlp:3' stands without an option; tune takes no such words (an op's text goes after --op)");
}

static void make_op(const char *line, rgt_op_desc *d, int *out_from_in) {
  rgt__options o;
  rgt__message m = {0};
  accepted(line, &o);
  if (rgt__op_args_make(&o, NULL, d, out_from_in, &m) != RGT_OK) fail_msg("%s: %s", line, m.text);
}

static void op_refused(const char *line, const char *text) {
  rgt__options o;
  rgt__message m = {0};
  rgt_op_desc d;
  int out_from_in;
  accepted(line, &o);
  assert_int_equal(rgt__op_args_make(&o, NULL, &d, &out_from_in, &m), RGT_EINVAL);
  assert_string_equal(m.text, text);
}

static void ops_and_their_defaults(void **unused) {
  rgt_op_desc d;
  int out_from_in;
  (void)unused;
  make_op("--in 10 --hidden 20 --groups 3", &d, &out_from_in);
  assert_int_equal(d.kind, RGT_MLP);
  assert_int_equal(d.n_out, 10);
  assert_true(out_from_in);
  assert_int_equal(d.act, RGT_ACT_RELU);
  assert_int_equal(d.bias, RGT_BIAS_1 | RGT_BIAS_2);
  assert_int_equal(d.dtype, RGT_F32);
  assert_int_equal(d.layout, RGT_NK);
  assert_int_equal(d.index_type, RGT_I64);
  assert_int_equal(d.struct_size, sizeof d);
  make_op("--in 4 --out 8 --groups 2", &d, &out_from_in);
  assert_int_equal(d.kind, RGT_LINEAR);
  assert_int_equal(d.n_hidden, 0);
  assert_int_equal(d.act, RGT_ACT_NONE);
  assert_int_equal(d.bias, RGT_BIAS_1);
  assert_false(out_from_in);
  make_op("--in 4 --hidden 6 --out 8 --groups 2 --bias b2 --act none", &d, &out_from_in);
  assert_int_equal(d.bias, RGT_BIAS_2);
  assert_int_equal(d.act, RGT_ACT_NONE);
  op_refused("--groups 3", "--in is missing: say the op with --in, --groups and more, or with --op");
  op_refused("--in 3", "--groups is missing: how many groups have weights of their own?");
  op_refused("--in 3 --groups 2", "--out is missing: without --hidden the op is one linear layer and needs it");
  op_refused("--in 3 --out 3 --groups 2 --bias b12", "--bias b12: one linear layer has b0 or b1");
  op_refused("--op x --in 3", "--in stands beside --op, which says that already; give one of the two");
  op_refused("--op x --dtype f16", "--dtype stands beside --op, which says that already; give one of the two");
}

static void handles(void **unused) {
  rgt__options o;
  rgt_op_options h;
  (void)unused;
  accepted("", &o);
  h = rgt__op_args_handle(&o);
  assert_int_equal(h.struct_size, sizeof h);
  assert_true(h.skew == RGT_SKEW_UNKNOWN && h.weight_form == RGT_STACKED && h.align_bytes == 0 && h.order == RGT_ORDER_RAW);
  assert_true(h.max_error == 0 && h.batch_invariant == 0);
  accepted("--skew uniform --weights pointers --align 8 --order raw --max-error 0.5 --batch-invariant", &o);
  h = rgt__op_args_handle(&o);
  assert_true(h.skew == RGT_SKEW_UNIFORM && h.weight_form == RGT_POINTERS && h.align_bytes == 8 && h.order == RGT_ORDER_RAW);
  assert_true(h.max_error == 0.5 && h.batch_invariant == 1);
}

/* Every option of a verb stands in its help, and no other. */
static void help_names_every_option(void **unused) {
  (void)unused;
  for (int v = 0; v < RGT_N_VERBS; v++) {
    char *text = NULL, want[64];
    size_t n = 0;
    FILE *file = open_memstream(&text, &n);
    assert_non_null(file);
    rgt__options_help((rgt__verb)v, file);
    fclose(file);
    for (size_t i = 0; i < rgt__option_table_n; i++) {
      const rgt__option *e = &rgt__option_table[i];
      snprintf(want, sizeof want, "\n  %s%s", e->name, e->value ? " " : "\0");
      if (e->verbs >> v & 1)
        assert_non_null(strstr(text, want));
      else if (!find_option((rgt__verb)v, e->name, strlen(e->name)))
        assert_null(strstr(text, want));
    }
    if (v == RGT_VERB_TUNE) {
      assert_non_null(strstr(text, "--in N                  features of x [1 .. 16777216]\n"));
      assert_non_null(strstr(text, "  --shard I/N             with --config: tune only part I of N, counted from 1"));
      assert_non_null(strstr(text, "--policy warm|cold|graph\n"));
    }
    free(text);
  }
}

static void statuses_end_in_exit_statuses(void **unused) {
  (void)unused;
  assert_int_equal(rgt__message_exit(RGT_OK), 0);
  assert_int_equal(rgt__message_exit(RGT_EWRONG), 1);
  assert_int_equal(rgt__message_exit(RGT_EINFEASIBLE), 1);
  assert_int_equal(rgt__message_exit(RGT_EINTERRUPTED), 1);
  assert_int_equal(rgt__message_exit(RGT_EINVAL), 2);
  assert_int_equal(rgt__message_exit(RGT_EINDEX), 2);
  assert_int_equal(rgt__message_exit(RGT_EUNSUPPORTED), 2);
  assert_int_equal(rgt__message_exit(RGT_EIO), 3);
  assert_int_equal(rgt__message_exit(RGT_ENODEVICE), 3);
  assert_int_equal(rgt__message_exit(RGT_ENOCOMPILER), 3);
  for (int s = 1; s < RGT_N_STATUSES; s++) assert_int_not_equal(rgt__message_exit((rgt_status)s), 0);
}

static void messages_are_one_line(void **unused) {
  rgt__message m;
  (void)unused;
  assert_int_equal(rgt__message_set(&m, RGT_EIO, "a\nb\r\nc %d", 5), RGT_EIO);
  assert_string_equal(m.text, "a b  c 5");
}

static void near_words(void **unused) {
  static const struct {
    const char *typed, *known;
    int changes; /* -1: not near */
  } table[] = {{"--budgt", "--budget", 1}, {"--bugdet", "--budget", 1}, {"--im", "--in", 1},    {"--x", "--in", -1},
               {"--rosw", "--rows", 1},    {"--raws", "--rows", 1},     {"--ros", "--rows", 1}, {"--columns", "--rows", -1},
               {"--bugdt", "--budget", 2}, {"--bdt", "--budget", -1},   {"--z", "--x", -1},     {"", "--x", -1}};
  (void)unused;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    const char *near = NULL;
    int best = INT32_MAX;
    rgt__nearest_try(table[i].typed, strlen(table[i].typed), table[i].known, &best, &near);
    if (table[i].changes < 0 ? near != NULL : best != table[i].changes) fail_msg("%s: %d", table[i].typed, best);
  }
}

static rgt_status problem(const char *text, rgt__problem_text *p, rgt__message *m) {
  return rgt__problem_text_parse(text, "problem.txt", p, m);
}

static void problem_texts(void **unused) {
  rgt__problem_text p;
  rgt__message m;
  (void)unused;
  assert_int_equal(
      problem("in=10 hidden=20 out=5 groups=3 rows=8 act=gelu_tanh bias=1 layout=kn index=int32 exact=1\nremark", &p, &m),
      RGT_OK);
  assert_int_equal(p.desc.kind, RGT_MLP);
  assert_true(p.desc.n_in == 10 && p.desc.n_hidden == 20 && p.desc.n_out == 5 && p.desc.groups == 3 && p.rows == 8);
  assert_true(p.desc.act == RGT_ACT_GELU_TANH && p.desc.bias == 3 && p.desc.layout == RGT_KN && p.desc.index_type == RGT_I32);
  assert_int_equal(p.exact, 1);
  assert_int_equal(problem("exact=0 index=int64 layout=nk bias=1 act=none rows=0 groups=1 out=1 hidden=0 in=1", &p, &m),
                   RGT_OK);
  assert_true(p.desc.kind == RGT_LINEAR && p.desc.bias == RGT_BIAS_1 && p.rows == 0 && p.exact == 0);
  assert_int_equal(problem("in=10", &p, &m), RGT_EINVAL);
  assert_string_equal(m.text, "problem.txt: its first line lacks hidden=");
  assert_int_equal(problem("in=0 hidden=20", &p, &m), RGT_EINVAL);
  assert_string_equal(m.text, "problem.txt: in=0 is not a whole number from 1 to 16777216");
  assert_int_equal(problem("in=1 in=1", &p, &m), RGT_EINVAL);
  assert_string_equal(m.text, "problem.txt: in is given twice");
  assert_int_equal(problem("depth=1", &p, &m), RGT_EINVAL);
  assert_string_equal(m.text, "problem.txt: unknown key 'depth'");
  assert_int_equal(problem("in", &p, &m), RGT_EINVAL);
  assert_string_equal(m.text, "problem.txt: 'in' is no key=value");
  assert_int_equal(problem("act=swish", &p, &m), RGT_EINVAL);
  assert_string_equal(m.text, "problem.txt: act=swish is not a known word (such as none)");
  assert_int_equal(problem("bias=2", &p, &m), RGT_EINVAL);
  assert_int_equal(problem("", &p, &m), RGT_EINVAL);
}

static void units_are_readable(void **unused) {
  char t[32];
  (void)unused;
  assert_string_equal(rgt__units_ps(-1, t, sizeof t), "-");
  assert_string_equal(rgt__units_ps(0, t, sizeof t), "0.00 ns");
  assert_string_equal(rgt__units_ps(999499, t, sizeof t), "999 ns");
  assert_string_equal(rgt__units_ps(999500, t, sizeof t), "1.00 us");
  assert_string_equal(rgt__units_ps(12345678, t, sizeof t), "12.3 us");
  assert_string_equal(rgt__units_ps(4567000000, t, sizeof t), "4.57 ms");
  assert_string_equal(rgt__units_ps(1200000000000, t, sizeof t), "1.20 s");
  assert_string_equal(rgt__units_seconds(12.4, t, sizeof t), "12 s");
  assert_string_equal(rgt__units_seconds(185, t, sizeof t), "3 min 5 s");
  assert_string_equal(rgt__units_seconds(7440, t, sizeof t), "2 h 4 min");
  assert_string_equal(rgt__units_scaled(12345678, t, sizeof t), "12.3M");
  assert_string_equal(rgt__units_scaled(999, t, sizeof t), "999");
  assert_string_equal(rgt__units_scaled(999.6, t, sizeof t), "1.00k");
  assert_string_equal(rgt__units_scaled(NAN, t, sizeof t), "-");
  assert_string_equal(rgt__units_percent(0.125, t, sizeof t), "12.5 %");
  assert_string_equal(rgt__units_percent(0, t, sizeof t), "-");
  assert_string_equal(rgt__units_times(370, 200, t, sizeof t), "1.85x");
  assert_string_equal(rgt__units_times(0, 200, t, sizeof t), "-");
}

static void tables_are_aligned(void **unused) {
  char *text = NULL;
  size_t n = 0;
  FILE *file = open_memstream(&text, &n);
  rgt__table t;
  (void)unused;
  assert_non_null(file);
  rgt__table_open(&t, "rll");
  for (int i = 0; i < 2; i++) {
    rgt__table_cell(&t, "%d", i ? 12345 : 1);
    rgt__table_cell(&t, "%s", i ? "b" : "long");
    rgt__table_cell(&t, "%s", i ? "end" : "x");
  }
  assert_int_equal(rgt__table_print(&t, file), RGT_OK);
  fclose(file);
  assert_string_equal(text, "    1  long  x\n12345  b     end\n");
  rgt__table_free(&t);
  free(text);
}

static void progress_is_cut_to_the_screen(void **unused) {
  rgt_progress p = {RGT_PHASE_TIME, 64, 36, 72, 10, 30, "rows:tile=4"};
  char t[256];
  (void)unused;
  rgt__progress_bar(&p, 200, t, sizeof t);
  assert_string_equal(t, "[#####---------------]  25 %  time 36/72, 64 rows, 30 s left  rows:tile=4");
  assert_int_equal(rgt__progress_bar(&p, 40, t, sizeof t), 39);
  assert_string_equal(t, "[#####---------------]  25 %  time 36/7");
  p.left_s = -1; /* not known: the phase's own share */
  p.bucket = 0;
  p.line = NULL;
  rgt__progress_bar(&p, 200, t, sizeof t);
  assert_string_equal(t, "[##########----------]  50 %  time 36/72");
  rgt__progress_line(&p, t, sizeof t);
  assert_string_equal(t, "10 s: time 36/72");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(verbs_are_found),
      cmocka_unit_test(every_option_of_tune),
      cmocka_unit_test(every_option_of_the_other_verbs),
      cmocka_unit_test(numbers_are_strict),
      cmocka_unit_test(lists_have_an_end),
      cmocka_unit_test(words_and_devices),
      cmocka_unit_test(misuse_is_named),
      cmocka_unit_test(ops_and_their_defaults),
      cmocka_unit_test(handles),
      cmocka_unit_test(help_names_every_option),
      cmocka_unit_test(statuses_end_in_exit_statuses),
      cmocka_unit_test(messages_are_one_line),
      cmocka_unit_test(near_words),
      cmocka_unit_test(problem_texts),
      cmocka_unit_test(units_are_readable),
      cmocka_unit_test(tables_are_aligned),
      cmocka_unit_test(progress_is_cut_to_the_screen),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
