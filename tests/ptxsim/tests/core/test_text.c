/* test_text.c -- PTX as compilers and people write it: forms that must parse and mean the right thing, and lines that must be
 * refused, quoted, with a reason. */
#include "lab.h"

#include "exec/insn.h"

#define BEGIN                                                                                                              \
  ".visible .entry k(.param .u64 p0)\n{\n.reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<16>; .reg .f32 %f<8>; .reg .b64 " \
  "%d<16>; .reg .f64 %g<4>;\nld.param.u64 %d1, [p0];\n"
#define END "ret;\n}\n"

/* The kernel's thread 0 stores 32 bits; they are `wanted`. */
static void means(const char *outside, const char *body, uint32_t wanted) {
  char text[8192];
  lab x;
  uint32_t got;
  lab_open(&x);
  snprintf(text, sizeof text, "%s%s%s%s", outside, BEGIN, body, END);
  lab_load(&x, text);
  x.block = 1;
  const uint64_t at = lab_buffer(&x, 64);
  LAB_RUN(&x, "k", at);
  lab_download(&x, &got, at, 4);
  if (got != wanted) fail_msg("%s\ngives 0x%x, not 0x%x", body, got, wanted);
  lab_close(&x);
}

static void forms(void **state) {
  (void)state;
  /* addresses of 32 bits wrap */
  means(
      "",
      ".shared .align 4 .b8 s[8]; mov.u32 %r1, s; sub.u32 %r1, %r1, 64; st.shared.u32 [%r1+68], 21; ld.shared.u32 %r2, [s+4]; "
      "st.global.u32 [%d1], %r2;",
      21);
  means("", "{.reg.b16 a, b; .reg.b32 c; mov.b32 %r1, 7; mov.b32 {a, b}, %r1; mov.b32 c, {a, a}; st.global.u32 [%d1], c;}",
        0x70007);
  means("", "mov.u32 %r1, 0x10U; st.global.u32 [%d1], %r1;", 16);
  means("", "mov.u32 %r1, 010; st.global.u32 [%d1], %r1;", 8);
  means("", "mov.u32 %r1, 0b101; st.global.u32 [%d1], %r1;", 5);
  means("", "mov.s32 %r1, -5; st.global.u32 [%d1], %r1;", (uint32_t)-5);
  means("", "mov.f32 %f1, 0f3FC00000; st.global.f32 [%d1], %f1;", 0x3FC00000);
  means("", "mov.f32 %f1, 1.5; st.global.f32 [%d1], %f1;", 0x3FC00000);
  means("", "mov.f32 %f1, -0.25e1; st.global.f32 [%d1], %f1;", 0xC0200000);
  means("", "mov.f64 %g1, 0d3FF8000000000000; cvt.rn.f32.f64 %f1, %g1; st.global.f32 [%d1], %f1;", 0x3FC00000);
  means("", "add.s64 %d2, %d1, 8; st.global.u32 [%d2+-8], 3;", 3);
  means("", "add.s64 %d2, %d1, 8; st.global.u32 [%d2 + -8], 3;", 3);
  means("", "add.s64 %d2, %d1, 8; st.global.u32 [%d2-8], 3;", 3);
  means("", "{mov.u32 %r1, 7;} /* a\ncomment */ st.global.u32 [%d1], %r1; // another", 7);
  means("",
        "{ .reg .u32 %t; mov.u32 %t, 1; mov.u32 %r1, %t; }\n{ .reg .u32 %t; mov.u32 %t, 2; add.u32 %r1, %r1, %t; "
        "}\nst.global.u32 [%d1], %r1;",
        3);
  means("",
        "mov.u32 %r1, 0;\n{ setp.eq.u32 %p1, %r1, 1; @%p1 bra L; add.u32 %r1, %r1, 1; L: }\n{ setp.eq.u32 %p1, %r1, 1; @%p1 "
        "bra L; add.u32 %r1, %r1, 10; L: }\nst.global.u32 [%d1], %r1;",
        1);
  means("", ".loc 1 2 3\nmov.u32 %r1, %tid.x; add.u32 %r1, %r1, WARP_SZ; st.global.u32 [%d1], %r1;", 32);
  means("",
        "mov.b64 %d2, {%r1, 4}; mov.b64 {%r2, %r3}, %d2; mov.b64 {_, %r4}, %d2; sub.u32 %r3, %r3, %r4; add.u32 %r3, %r3, 9; "
        "st.global.u32 [%d1], %r3;",
        9);
  means("", "mov.u32 %r1, 0xABCD1234; mov.b32 {%h1, %h2}, %r1; mov.b32 %r2, {%h2, %h1}; st.global.b32 [%d1], %r2;", 0x1234ABCD);
  means("",
        "mov.u64 %d2, 0x1111222233334444; mov.b64 {%h1, %h2, %h3, %h4}, %d2; mov.b64 %d3, {%h4, %h3, %h2, %h1}; shr.u64 %d3, "
        "%d3, 16; st.global.u32 [%d1], %d3;",
        0x33332222);
  means("",
        "st.global.v2.u32 [%d1], {5, 6}; ld.global.v2.u32 {%r1, %r2}, [%d1]; ld.global.v2.u32 {_, %r3}, [%d1]; mad.lo.u32 %r1, "
        "%r1, %r2, %r3; st.global.u32 [%d1], %r1;",
        36);
  means(".global .u32 g = 5;\n.global .align 8 .b8 t[16] = {1, 2, 3, 4};\n.const .f32 c[2] = {0f3F800000, 2.0};\n",
        "ld.global.u32 %r1, [g]; ld.global.u32 %r2, [t]; ld.const.f32 %f1, [c+4]; cvt.rzi.u32.f32 %r3, %f1; add.u32 %r1, %r1, "
        "%r2; add.u32 %r1, %r1, %r3; st.global.u32 [%d1], %r1;",
        0x04030201 + 7);
  means(".global .u32 a[2] = {7, 8};\n.global .u64 p = a+4;\n.global .u64 q = generic(a);\n",
        "ld.global.u64 %d2, [p]; ld.global.u32 %r1, [%d2]; ld.global.u64 %d2, [q]; ld.u32 %r2, [%d2]; mad.lo.u32 %r1, %r1, 10, "
        "%r2; st.global.u32 [%d1], %r1;",
        87);
  means(".extern .shared .align 16 .b8 dyn[];\n.shared .align 8 .b8 s[24];\n",
        "mov.u32 %r1, dyn; mov.u32 %r2, s; sub.u32 %r1, %r1, %r2; st.global.u32 [%d1], %r1;", 32);
  means("",
        ".shared .u32 a; .shared .align 16 .u32 b; mov.u64 %d2, a; mov.u64 %d3, b; sub.u64 %d2, %d3, %d2; st.global.u32 [%d1], "
        "%d2;",
        16);
  means("",
        ".shared .u32 a; mov.u64 %d2, a; cvta.shared.u64 %d3, %d2; st.u32 [%d3], 11; ld.shared.u32 %r1, [a]; isspacep.shared "
        "%p1, %d3; isspacep.global %p2, %d3; selp.u32 %r2, 100, 0, %p1; selp.u32 %r3, 1000, 0, %p2; add.u32 %r1, %r1, %r2; "
        "add.u32 %r1, %r1, %r3; cvta.to.shared.u64 %d4, %d3; cvt.u32.u64 %r5, %d4; ld.shared.u32 %r6, [%r5]; add.u32 %r1, %r1, "
        "%r6; st.global.u32 [%d1], %r1;",
        122);
  means("",
        ".local .align 8 .b8 l[8]; .reg .b64 %SP, %SPL; mov.u64 %SPL, l; cvta.local.u64 %SP, %SPL; st.u32 [%SP+4], 9; "
        "ld.local.u32 %r1, [%SPL+4]; st.global.u32 [%d1], %r1;",
        9);
  means("", "setp.ne.s32 %p1, 1, 0;\n@!%p1 bra L;\nst.global.u32 [%d1], 4;\nL:", 4);
  means("", "mov.pred %p1, 1; selp.u32 %r1, 6, 7, %p1; st.global.u32 [%d1], %r1;", 6);
  means("", "ld.param.s32 %d2, [p0]; shr.s64 %d3, %d2, 63; st.global.u32 [%d1], 1;", 1);
  means("", ".pragma \"nounroll\"; mov.u32 %r1, 8; st.global.u32 [%d1], %r1;", 8);
  means(".pragma \"x\";\n.section .debug_str\n{\n.b8 1\n{ }\n}\n",
        "st.global.wb.u32 [%d1], 2; ld.global.ca.L2::128B.u32 %r1, [%d1]; ld.global.L1::no_allocate.u32 %r1, [%d1]; "
        "prefetch.global.L2 [%d1]; ld.weak.global.u32 %r1, [%d1];",
        2);
  means("",
        "mov.u32 %r1, %nctaid.x; mov.u32 %r2, %ntid.y; mov.u32 %r3, %warpid; mov.u32 %r4, %lanemask_lt; mov.u32 %r5, %nsmid; "
        "add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3; add.u32 %r1, %r1, %r4; add.u32 %r1, %r1, %r5; st.global.u32 [%d1], %r1;",
        10);
  means("",
        "mov.u32 %r1, %clock; mov.u64 %d2, %clock64; mov.u64 %d3, %globaltimer; nanosleep.u32 20; activemask.b32 %r1; "
        "st.global.u32 [%d1], %r1;",
        1);
  means("",
        "vote.sync.ballot.b32 %r1, 1, 1; elect.sync %r2|%p1, 1; selp.u32 %r3, 2, 0, %p1; add.u32 %r1, %r1, %r3; st.global.u32 "
        "[%d1], %r1;",
        3);
}

/* Facts that directives give. */
static void facts(void **state) {
  (void)state;
  lab x;
  int suffix = -1;
  lab_open(&x);
  lab_load(&x, ".file 1 \"a.cu\"\n.visible .entry a(.param .align 8 .b8 p[20], .param .u8 q, .param .u64 .ptr .global .align "
               "16 r)\n.maxntid 128, 2\n.minnctapersm 3\n.maxnreg 40\n{\n.reg .b32 %r;\n"
               ".shared .align 16 .b8 s[100];\n.local .b8 l[20];\nmov.u32 %r, s;\nret;\n}\n"
               ".entry b()\n.reqntid 64\n{\nbar.sync 3;\nret;\n}\n");
  assert_int_equal(sim_module_target(x.module, &suffix), 80);
  assert_int_equal(suffix, 0);
  assert_int_equal(sim_module_version(x.module), 80);
  assert_int_equal(sim_module_function_count(x.module), 2);
  assert_null(sim_module_function(x.module, "c"));
  const sim_function_facts *a = sim_function_get_facts(sim_module_function(x.module, "a")),
                           *b = sim_function_get_facts(sim_module_function(x.module, "b"));
  assert_string_equal(sim_function_get_facts(sim_module_function_at(x.module, 0))->name, "a");
  assert_int_equal(a->n_params, 3);
  assert_int_equal(a->param_offset[1], 20);
  assert_int_equal(a->param_offset[2], 24);
  assert_int_equal(a->param_size[0], 20);
  assert_int_equal(a->param_bytes, 32);
  assert_int_equal(a->maxntid[0], 128);
  assert_int_equal(a->maxntid[1], 2);
  assert_int_equal(a->maxntid[2], 1);
  assert_int_equal(a->minnctapersm, 3);
  assert_int_equal(a->maxnreg, 40);
  assert_int_equal(a->static_shared_bytes, 100);
  assert_int_equal(a->local_bytes, 32);
  assert_int_equal(b->reqntid[0], 64);
  assert_int_equal(b->barriers, 4);
  assert_int_equal(b->static_shared_bytes, 0);
  lab_close(&x);
}

static void refused(void **state) {
  (void)state;
  static const struct {
    const char *body, *part, *why;
  } lines[] = {
      {"add.f33 %f1, %f1, %f1;", "`add.f33 %f1, %f1, %f1;`", "not known"},
      {"frobnicate.u32 %r1, %r2;", "`frobnicate.u32 %r1, %r2;`", "not known"},
      {"add.u32 %r1, %r2;", "`add.u32 %r1, %r2;`", "operands"},
      {"add.u32 %r1, %d2, %r3;", "`add.u32 %r1, %d2, %r3;`", "%d2"},
      {"add.u64 %d1, %r2, %d3;", "`add.u64 %d1, %r2, %d3;`", "64 bits"},
      {"add.f32 %f1, %f1, 3;", "`add.f32 %f1, %f1, 3;`", "float"},
      {"add.u32 %r1, %r99, 1;", "`add.u32 %r1, %r99, 1;`", "%r99"},
      {"ld.global.u32 %r1, [%r2];", "`ld.global.u32 %r1, [%r2];`", "64-bit"},
      {"ld.global.v3.u32 {%r1, %r2, %r3}, [%d1];", "`ld.global.v3.u32", "vector"},
      {"ld.global.v4.u32 {%r1, %r2}, [%d1];", "`ld.global.v4.u32", "vector of 4"},
      {"ld.global.frob.u32 %r1, [%d1];", "`ld.global.frob.u32", ".frob"},
      {"ld.shared.u32 %r1, [p0];", "`ld.shared.u32 %r1, [p0];`", "state space"},
      {"st.const.u32 [%d1], %r1;", "`st.const.u32", "constant"},
      {"bra NOWHERE;", "`bra NOWHERE;`", "NOWHERE"},
      {"{ L: } bra L;", "`{ L: } bra L;`", "label L"},
      {"L: L: ret;", "`L: L: ret;`", "already"},
      {"call f;", "`call f;`", "no body"},
      {"shfl.up.b32 %r1, %r2, %r3, %r4;", "`shfl.up.b32", ".sync"},
      {"atom.global.add.s64 %d2, [%d1], 1;", "`atom.global.add.s64", "atomic"},
      {"atom.global.cas.f32 %f2, [%d1], %f1, %f1;", "`atom.global.cas.f32", "atomic"},
      {"cp.async.ca.shared.global [%r1], [%d1], 5;", "`cp.async.ca.shared.global", "4, 8 or 16"},
      {"cp.async.bulk.shared.global [%r1], [%d1], 16;", "`cp.async.bulk", "bulk"},
      {"mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r2}, {%f2};", "`mma.sync.aligned.m8n8k4", "not known"},
      {"cvt.f16.f32 %h1, %f1;", "`cvt.f16.f32 %h1, %f1;`", ".rn"},
      {"cvt.rn.u32.f32 %r1, %f1;", "`cvt.rn.u32.f32", ".rni"},
      {"mov.u32 %r1, %pm0;", "`mov.u32 %r1, %pm0;`", "%pm0"},
      {"mov.u32 %r1, 0f3F80;", "`mov.u32 %r1, 0f3F80;`", "number"},
      {"mov.u32 %r1, 5", "`ret;`", "';'"},
      {"add.u32 %r1, %r1, #;", "`add.u32 %r1, %r1, #;`", "character"},
      {".frob 3;", "`.frob 3;`", ".frob"},
      {"bar.red.popc.u32 %r1, 0;", "`bar.red.popc.u32", "operands"},
      {"setp.lt.and.u32 %p1, %r1, %r2;", "`setp.lt.and.u32", "operands"},
      {"setp.lt.f16x2 %p1, %r1, %r2;", "`setp.lt.f16x2", "p|q"},
      {"setp.lt.ftz.bf16x2 %p1|%p2, %r1, %r2;", "`setp.lt.ftz.bf16x2", "not known"},
      {"set.lo.u32.f16x2 %r1, %r2, %r3;", "`set.lo.u32.f16x2", "not known"},
      {"set.eq.ftz.bf16x2.bf16x2 %r1, %r2, %r3;", "`set.eq.ftz.bf16x2", "not known"},
      {"set.eq.f32.f16x2 %r1, %r2, %r3;", "`set.eq.f32.f16x2", "this type from that one"},
      {"set.eq.f16x2.bf16x2 %r1, %r2, %r3;", "`set.eq.f16x2.bf16x2", "this type from that one"},
      {"set.eq.u16.u32 %h1, %r2, %r3;", "`set.eq.u16.u32", "this type from that one"},
      {"set.eq.f32.f16 %f1, %h2, %h3;", "`set.eq.f32.f16", "this type from that one"},
      {"set.eq.b32.u32 %r1, %r2, %r3;", "`set.eq.b32.u32", "this type from that one"},
      {"{.reg .b128 q; mov.b128 q, 5;}", "mov.b128 q, 5;", "128 bits"},
      {"{.reg .b128 q; mov.b128 q, {%h1, %h1, %h1, %h1, %h1, %h1, %h1, %h1};}", "mov.b128 q, {%h1", "8 parts"},
      {"{.reg .b128 q; mov.b128 q, {%r1, %d1};}", "mov.b128 q, {%r1", "64 bits"},
      {"{.reg .b128 q; mov.b64 %d2, q;}", "mov.b64 %d2, q;", "64 bits"},
      {"{.reg .b128 q; mov.b128 %d2, q;}", "mov.b128 %d2, q;", "128 bits"},
      {"{.reg .b128 q; add.u64 %d2, %d2, q;}", "add.u64 %d2, %d2, q;", "64 bits"},
      {"{.reg .b128 q; selp.b128 q, q, q, %p1;}", "selp.b128", "not known"},
      {"{.reg .b128 q; ld.global.u64 q, [%d1];}", "ld.global.u64 q", "128 bits"},
      {"{.reg .b128 q; st.global.u64 [%d1], q;}", "st.global.u64 [%d1], q;", "128 bits"},
      {"{.reg .b128 q; st.global.b64 [q], %d1;}", "st.global.b64 [q]", "32 or 64 bits"},
      {"{.reg .b128 q; ld.global.v2.b128 {q, q}, [%d1];}", "ld.global.v2.b128", "longer than 128"},
      {".global .b128 g = 5;", "`.global .b128 g = 5;`", "128 bits"},
      {"ld.global.b128 %d2, [%d1];", "`ld.global.b128 %d2", "128 bits"},
      {"ld.global.b128 _, [%d1];", "`ld.global.b128 _", "128 bits"},
      {"{.reg .b128 q; atom.global.exch.b128 q, [%d1], q;}", "atom.global.exch.b128", "atomic"},
      {"@%r1 ret;", "`@%r1 ret;`", "predicate"},
      {"ldmatrix.sync.aligned.m8n8.x3.shared.b16 {%r1, %r2, %r3}, [%r4];", "`ldmatrix.sync", ".x1"},
      {"/* never closed", "`/* never closed`", "comment"},
  };
  for (size_t k = 0; k < sizeof lines / sizeof *lines; k++) {
    char text[2048], log[1024];
    sim_module *m;
    snprintf(text, sizeof text, "%s%s%s\n%s", LAB_HEAD, BEGIN, lines[k].body, END);
    if (sim_module_parse(text, strlen(text), &m, log, sizeof log) == 0) fail_msg("%s was taken", lines[k].body);
    if (!strstr(log, lines[k].part) || !strstr(log, lines[k].why)) fail_msg("%s: the message is %s", lines[k].body, log);
    if (!strstr(log, "line 8") && !strstr(log, "line 9") && !strstr(log, "line 10")) fail_msg("the wrong line: %s", log);
  }
}

/* No text, however cut, breaks the parser. */
static void cut_anywhere(void **state) {
  (void)state;
  static const char text[] =
      LAB_HEAD ".global .u32 g[3] = {1, 2};\n" BEGIN
               "{ .reg .u32 %t; L: mov.u32 %t, {%h1, %h2}; @!%p1 bra L; }\n.loc 1 2 3\nT: .branchtargets A, B;\nmov.f32 %f1, "
               "0f3F800000; A: B: add.u32 %r1, %r2, -3; ld.v2.u32 {%r1, _}, [%d1+-4];\n" END;
  for (size_t n = 0; n < sizeof text; n++) {
    char *copy = malloc(n + 1), log[512];
    sim_module *m = NULL;
    memcpy(copy, text, n);
    if (sim_module_parse(copy, n, &m, log, sizeof log) == 0)
      sim_module_free(m);
    else
      assert_true(log[0] != 0);
    for (size_t k = 0; k < n; k += 7) { /* and with one character replaced */
      const char kept = copy[k];
      copy[k] = "{};.%@[0"[(n + k) % 8];
      if (sim_module_parse(copy, n, &m, log, sizeof log) == 0) sim_module_free(m);
      copy[k] = kept;
    }
    free(copy);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(forms), cmocka_unit_test(facts), cmocka_unit_test(refused),
                                     cmocka_unit_test(cut_anywhere)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
