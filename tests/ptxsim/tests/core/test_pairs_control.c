/* test_pairs_control.c -- lanes that do not come together, barriers misused, kernels that never end. */
#include "pairs.h"

#define MMA                                     \
  "mov.b32 %r10, 0; mov.f32 %f0, 0f00000000;\n" \
  "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r10, %r10}, {%r10}, {%f0, %f0, %f0, %f0};\n"

static const pair pairs[] = {
    {.name = "a lane missing from a shuffle",
     .body = "setp.lt.u32 %p1, %r1, $;\n@!%p1 bra DONE;\nshfl.sync.bfly.b32 %r4, %r1, 1, 31, -1;\nDONE:\n",
     .good = "32",
     .bad = "31",
     .kind = SIM_FAULT_DIVERGED,
     .at = "shfl.sync.bfly.b32 %r4"},
    {.name = "a mask without the lane",
     .body = "shfl.sync.bfly.b32 %r4, %r1, 1, 31, $;\n",
     .good = "0xffffffff",
     .bad = "0x7fffffff",
     .kind = SIM_FAULT_BAD_MASK,
     .at = "shfl.sync.bfly.b32 %r4"},
    {.name = "a mask of lanes that are not there",
     .block = 16,
     .body = "vote.sync.any.pred %p1, 1, $;\n",
     .good = "0xffff",
     .bad = "0xffffffff",
     .kind = SIM_FAULT_EXITED_LANE,
     .at = "vote.sync.any.pred"},
    {.name = "a divergent mma",
     .body = "setp.lt.u32 %p1, %r1, $;\n@!%p1 bra DONE;\n" MMA "DONE:\n",
     .good = "32",
     .bad = "16",
     .kind = SIM_FAULT_DIVERGED,
     .at = "mma.sync.aligned"},
    {.name = "an mma after lanes have exited",
     .body = "setp.ge.u32 %p1, %r1, $;\n@%p1 exit;\n" MMA,
     .good = "32",
     .bad = "31",
     .kind = SIM_FAULT_EXITED_LANE,
     .at = "mma.sync.aligned"},
    {.name = "an ldmatrix after lanes have exited",
     .body = ".shared .align 16 .b8 s[512];\nmov.u32 %r4, s;\nmad.lo.u32 %r4, %r1, 16, %r4;\nst.shared.v4.u32 [%r4], {%r1, "
             "%r1, %r1, %r1};\nbar.warp.sync -1;\nsetp.ge.u32 %p1, %r1, $;\n@%p1 exit;\n"
             "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r5, %r6, %r7, %r8}, [%r4];\n",
     .good = "32",
     .bad = "31",
     .kind = SIM_FAULT_EXITED_LANE,
     .at = "ldmatrix.sync.aligned"},
    {.name = "a barrier in one branch",
     .body = "setp.lt.u32 %p1, %r1, $;\n@!%p1 bra DONE;\nbar.sync 0;\nDONE:\nmov.u32 %r4, 0;\nbar.sync 1;\n",
     .good = "32",
     .bad = "16",
     .kind = SIM_FAULT_DIVERGED,
     .at = "bar.sync"},
    {.name = "a barrier of a warp that never comes",
     .block = 64,
     .body = "setp.lt.u32 %p1, %r1, 32;\n@%p1 bra FIRST;\n$\nbra DONE;\nFIRST:\nbar.sync 1, 64;\nDONE:\n",
     .good = "bar.sync 1, 64;",
     .bad = "",
     .kind = SIM_FAULT_DEADLOCK,
     .at = "bar.sync 1, 64"},
    {.name = "a barrier's number",
     .body = "bar.sync $;\n",
     .good = "15",
     .bad = "16",
     .kind = SIM_FAULT_BARRIER,
     .at = "bar.sync 16"},
    {.name = "a barrier's count",
     .body = "bar.sync 1, $;\n",
     .good = "32",
     .bad = "33",
     .kind = SIM_FAULT_BARRIER,
     .at = "bar.sync 1, 33"},
    {.name = "unlike counts",
     .block = 128,
     .body = "setp.lt.u32 %p1, %r1, 64;\nselp.u32 %r4, 128, $, %p1;\nbar.sync 1, %r4;\n",
     .good = "128",
     .bad = "96",
     .kind = SIM_FAULT_BARRIER,
     .at = "bar.sync 1, %r4"},
    {.name = "a spin that nobody ends",
     .grid = 2,
     .block = 1,
     .body = "setp.eq.u32 %p1, %r2, 0;\n@%p1 bra WRITER;\nWAIT:\nld.volatile.global.u32 %r4, [%d3+$];\nsetp.eq.u32 %p2, %r4, "
             "0;\n@%p2 bra WAIT;\nbra DONE;\nWRITER:\nst.volatile.global.u32 [%d3], 1;\nDONE:\n",
     .good = "0",
     .bad = "4",
     .kind = SIM_FAULT_TIME_LIMIT,
     .at = ""},
    {.name = "lanes that wait for a lane of their warp",
     .body = "setp.eq.u32 %p1, %r1, 5;\n@%p1 bra WRITER;\nWAIT:\nld.volatile.global.u32 %r4, [%d3+$];\nsetp.eq.u32 %p2, %r4, "
             "0;\n@%p2 bra WAIT;\nbra DONE;\nWRITER:\nst.volatile.global.u32 [%d3], 1;\nDONE:\n",
     .good = "0",
     .bad = "4",
     .kind = SIM_FAULT_TIME_LIMIT,
     .at = ""},
    {.name = "a lock that lanes take in turn",
     .body = "LOCK:\natom.global.cas.b32 %r4, [%d3], 0, 1;\nsetp.ne.u32 %p1, %r4, 0;\n@%p1 bra LOCK;\nld.volatile.global.u32 "
             "%r5, [%d3+8];\nadd.u32 %r5, %r5, 1;\nst.volatile.global.u32 [%d3+8], %r5;\n"
             "atom.global.exch.b32 %r6, [%d3], $;\n",
     .good = "0",
     .bad = "1",
     .kind = SIM_FAULT_TIME_LIMIT,
     .at = ""},
    {.name = "a trap",
     .body = "setp.gt.u32 %p1, %r1, $;\n@%p1 trap;\n",
     .good = "31",
     .bad = "30",
     .kind = SIM_FAULT_TRAP,
     .at = "@%p1 trap"},
    {.name = "a recursion without an end",
     .outside =
         ".func (.param .b32 r) f(.param .b32 a)\n{\n.reg .b32 %r<4>; .reg .pred %p<2>;\nld.param.u32 %r1, [a];\nsetp.eq.u32 "
         "%p1, %r1, 0;\nmov.u32 %r2, 1;\n@%p1 bra L;\nsub.u32 %r1, %r1, 1;\n{\n.param .b32 a0; .param .b32 r0;\n"
         "st.param.b32 [a0], %r1;\ncall.uni (r0), f, (a0);\nld.param.b32 %r2, [r0];\n}\nadd.u32 %r2, %r2, 1;\nL:\nst.param.b32 "
         "[r], %r2;\nret;\n}\n",
     .body = "{\n.param .b32 a0; .param .b32 r0;\nst.param.b32 [a0], $;\ncall.uni (r0), f, (a0);\nld.param.b32 %r5, "
             "[r0];\n}\nst.global.u32 [%d6], %r5;\n",
     .good = "20",
     .bad = "2000",
     .kind = SIM_FAULT_STACK,
     .at = "call.uni (r0), f, (a0);"},
    {.name = "a call to what is no function",
     .outside = ".func (.param .b32 r) f(.param .b32 a)\n{\n.reg .b32 %r<2>;\nld.param.u32 %r1, [a];\nst.param.b32 [r], "
                "%r1;\nret;\n}\n",
     .body = "mov.u64 %d8, f;\nadd.s64 %d8, %d8, $;\n{\n.param .b32 a0; .param .b32 r0;\nst.param.b32 [a0], %r1;\nP: "
             ".callprototype (.param .b32 _) _ (.param .b32 _);\ncall (r0), %d8, (a0), P;\nld.param.b32 %r5, "
             "[r0];\n}\nst.global.u32 [%d6], %r5;\n",
     .good = "0",
     .bad = "8",
     .kind = SIM_FAULT_BAD_CALL,
     .at = "call (r0), %d8, (a0), P;"},
    {.name = "an index beyond the table",
     .body = "T: .branchtargets A, B;\nmov.u32 %r4, $;\nbrx.idx %r4, T;\nA:\nB:\n",
     .good = "1",
     .bad = "2",
     .kind = SIM_FAULT_BAD_CALL,
     .at = "brx.idx %r4, T"},
};

static void loose(void **state) { /* the line hangs on the order */
  const pair *p = *state;
  for (uint64_t seed = 0; seed < 2; seed++) {
    pair_run(p, p->good, seed, 0);
    char text[16384];
    lab x;
    uint32_t in[256] = {0};
    lab_open(&x);
    pair_text(p, p->bad, text, sizeof text);
    lab_load(&x, text);
    const uint64_t a = lab_upload(&x, in, sizeof in), b = lab_buffer(&x, sizeof in), c = lab_upload(&x, in, sizeof in);
    x.grid = p->grid ? p->grid : 1;
    x.block = p->block ? p->block : 32;
    x.seed = seed;
    x.limit = 500000;
    const sim_fault_kind kind = LAB_TRY(&x, "k", a, b, c, a);
    if (kind != p->kind) fail_msg("%s was wanted, not: %s %s", sim_fault_name(p->kind), sim_fault_name(kind), x.fault.text);
    assert_non_null(strstr(x.fault.ptx_text, p->at));
    lab_close(&x);
  }
}

int main(void) {
  enum { N = sizeof pairs / sizeof *pairs };
  struct CMUnitTest tests[N];
  for (int i = 0; i < N; i++)
    tests[i] = (struct CMUnitTest){
        pairs[i].name, pairs[i].kind == SIM_FAULT_TIME_LIMIT || strcmp(pairs[i].at, "bar.sync") == 0 ? loose : pair_test, NULL,
        NULL, (void *)(uintptr_t)&pairs[i]};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
