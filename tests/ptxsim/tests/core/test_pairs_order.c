/* test_pairs_order.c -- conflicts between blocks, races within a block, copies in flight. */
#include "pairs.h"

#define SHARED ".shared .align 16 .b8 s[1024];\nmov.u32 %r4, s;\nadd.u32 %r5, %r4, %r3;\n"
#define NEIGHBOUR "xor.b32 %r6, %r3, 128;\nadd.u32 %r6, %r4, %r6;\n" /* the word of the same lane in the other warp */
#define LANE "xor.b32 %r6, %r3, 4;\nadd.u32 %r6, %r4, %r6;\n"        /* of the next lane */

static const pair pairs[] = {
    {.name = "two blocks write a row",
     .grid = 2,
     .body = "mad.lo.u32 %r4, %r2, $, %r1;\nmul.wide.u32 %d8, %r4, 4;\nadd.s64 %d8, %d2, %d8;\nst.global.u32 [%d8], %r1;\n",
     .good = "32",
     .bad = "0",
     .kind = SIM_FAULT_GLOBAL_WRITE_WRITE,
     .at = "st.global.u32 [%d8], %r1"},
    {.name = "rows that overlap by one",
     .grid = 4,
     .body = "mad.lo.u32 %r4, %r2, $, %r1;\nmul.wide.u32 %d8, %r4, 4;\nadd.s64 %d8, %d2, %d8;\nst.global.u32 [%d8], %r1;\n",
     .good = "32",
     .bad = "31",
     .kind = SIM_FAULT_GLOBAL_WRITE_WRITE,
     .at = "st.global.u32 [%d8], %r1"},
    {.name = "halves of a word by two blocks",
     .grid = 2,
     .block = 1,
     .body = "mad.lo.u32 %r4, %r2, $, 0;\nmul.wide.u32 %d8, %r4, 1;\nadd.s64 %d8, %d2, %d8;\nmov.u16 %h1, 1;\nst.global.u16 "
             "[%d8], %h1;\n",
     .good = "2",
     .bad = "0",
     .kind = SIM_FAULT_GLOBAL_WRITE_WRITE,
     .at = "st.global.u16 [%d8], %h1"},
    {.name = "a block reads what another writes",
     .grid = 2,
     .block = 1,
     .body = "setp.eq.u32 %p1, %r2, 0;\n@%p1 st.global.u32 [%d1+16], %r1;\n@%p1 bra DONE;\nld.global.u32 %r4, "
             "[%d1+$];\nDONE:\n",
     .good = "20",
     .bad = "16",
     .kind = SIM_FAULT_GLOBAL_READ_WRITE,
     .at = "[%d1+16]"},
    {.name = "data behind a flag needs a fence",
     .grid = 2,
     .block = 1,
     .body = "setp.eq.u32 %p1, %r2, 0;\n@%p1 bra WRITER;\nWAIT:\nld.volatile.global.u32 %r4, [%d3];\nsetp.eq.u32 %p2, %r4, "
             "0;\n@%p2 bra WAIT;\nmembar.gl;\nld.global.u32 %r5, [%d2];\nbra DONE;\n"
             "WRITER:\nst.global.u32 [%d2], 5;\n$\nst.volatile.global.u32 [%d3], 1;\nDONE:\n",
     .good = "membar.gl;",
     .bad = "",
     .kind = SIM_FAULT_GLOBAL_READ_WRITE,
     .at = "ld.global.u32 %r5, [%d2]"},
    {.name = "data behind a flag, released and acquired",
     .grid = 2,
     .block = 1,
     .body = "setp.eq.u32 %p1, %r2, 0;\n@%p1 bra WRITER;\nWAIT:\nld.$.gpu.global.u32 %r4, [%d3];\nsetp.eq.u32 %p2, %r4, "
             "0;\n@%p2 bra WAIT;\nld.global.u32 %r5, [%d2];\nbra DONE;\n"
             "WRITER:\nst.global.u32 [%d2], 5;\nst.release.gpu.global.u32 [%d3], 1;\nDONE:\n",
     .good = "acquire",
     .bad = "relaxed",
     .kind = SIM_FAULT_GLOBAL_READ_WRITE,
     .at = "ld.global.u32 %r5, [%d2]"},
    {.name = "a barrier removed",
     .block = 64,
     .body = SHARED NEIGHBOUR "st.shared.u32 [%r5], %r1;\n$\nld.shared.u32 %r7, [%r6];\n",
     .good = "bar.sync 0;",
     .bad = "",
     .kind = SIM_FAULT_SHARED_RACE,
     .at = "shared.u32 "},
    {.name = "the second barrier removed",
     .block = 64,
     .body =
         SHARED NEIGHBOUR "mov.u32 %r8, 0;\nLOOP:\nadd.u32 %r9, %r1, %r8;\nst.shared.u32 [%r5], %r9;\nbar.sync "
                          "0;\nld.shared.u32 %r7, [%r6];\n$\nadd.u32 %r8, %r8, 1;\nsetp.lt.u32 %p1, %r8, 3;\n@%p1 bra LOOP;\n",
     .good = "bar.sync 0;",
     .bad = "",
     .kind = SIM_FAULT_SHARED_RACE,
     .at = "s"},
    {.name = "a warp's barrier removed",
     .body = SHARED LANE "st.shared.u32 [%r5], %r1;\n$\nld.shared.u32 %r7, [%r6];\n",
     .good = "bar.warp.sync 0xffffffff;",
     .bad = "",
     .kind = SIM_FAULT_SHARED_RACE,
     .at = "ld.shared.u32 %r7, [%r6]"},
    {.name = "a shuffle is no barrier",
     .body = SHARED LANE "st.shared.u32 [%r5], %r1;\n$\nld.shared.u32 %r7, [%r6];\n",
     .good = "bar.warp.sync -1;",
     .bad = "shfl.sync.bfly.b32 %r9, %r1, 1, 31, -1;",
     .kind = SIM_FAULT_SHARED_RACE,
     .at = "ld.shared.u32 %r7, [%r6]"},
    {.name = "a barrier of half a warp",
     .body = SHARED LANE "st.shared.u32 [%r5], %r1;\nsetp.lt.u32 %p1, %r1, 16;\n@%p1 bar.warp.sync 0xffff;\nsetp.lt.u32 %p2, "
                         "%r1, $;\n@%p2 ld.shared.u32 %r7, [%r6];\n",
     .good = "16",
     .bad = "18",
     .kind = SIM_FAULT_SHARED_RACE,
     .at = "@%p2 ld.shared.u32 %r7, [%r6]"},
    {.name = "a barrier with another number",
     .block = 64,
     .body = SHARED NEIGHBOUR "setp.lt.u32 %p1, %r1, 32;\n@%p1 bra FIRST;\nst.shared.u32 [%r5], %r1;\nbar.arrive 1, 64;\nbra "
                              "DONE;\nFIRST:\n$\nld.shared.u32 %r7, [%r6];\nDONE:\n",
     .good = "bar.sync 1, 64;",
     .bad = "bar.sync 2, 32;",
     .kind = SIM_FAULT_SHARED_RACE,
     .at = "[%r"},
    {.name = "written before it was read",
     .block = 64,
     .body =
         SHARED NEIGHBOUR "st.shared.u32 [%r5], %r1;\nbar.sync 0;\nld.shared.u32 %r7, [%r6];\n$\nst.shared.u32 [%r5+0], %r7;\n",
     .good = "bar.sync 0;",
     .bad = "",
     .kind = SIM_FAULT_SHARED_RACE,
     .at = "[%r"},
    {.name = "halves of a shared word",
     .body = SHARED "mul.lo.u32 %r8, %r1, $;\nadd.u32 %r8, %r8, %r4;\ncvt.u16.u32 %h1, %r1;\nst.shared.u16 [%r8], %h1;\n",
     .good = "2",
     .bad = "0",
     .kind = SIM_FAULT_SHARED_RACE,
     .at = "st.shared.u16 [%r8], %h1"},
    {.name = "lanes write one word",
     .body = SHARED "st.shared.u32 [%r4], $;\n",
     .good = "7",
     .bad = "%r1",
     .kind = SIM_FAULT_SHARED_RACE,
     .at = "st.shared.u32 [%r4], %r1"},
    {.name = "atomics and a plain read",
     .block = 64,
     .body = SHARED "setp.eq.u32 %p1, %r1, 0;\n@%p1 st.shared.u32 [%r4], 0;\nbar.sync 0;\nred.shared.add.u32 [%r4], "
                    "1;\n$\nld.shared.u32 %r7, [%r4];\n",
     .good = "bar.sync 0;",
     .bad = "",
     .kind = SIM_FAULT_SHARED_RACE,
     .at = "shared"},
    {.name = "wait_group off by one",
     .body = SHARED "shl.b32 %r8, %r1, 2;\nadd.u32 %r8, %r4, %r8;\ncp.async.ca.shared.global [%r8], [%d5], "
                    "4;\ncp.async.commit_group;\ncp.async.ca.shared.global [%r8+256], [%d5], 4;\ncp.async.commit_group;\n"
                    "cp.async.wait_group $;\nld.shared.u32 %r9, [%r8];\nst.global.u32 [%d6], %r9;\n",
     .good = "1",
     .bad = "2",
     .kind = SIM_FAULT_ASYNC_IN_FLIGHT,
     .at = "ld.shared.u32 %r9, [%r8]"},
    {.name = "no group was made",
     .body = SHARED "cp.async.ca.shared.global [%r5], [%d5], 4;\n$\ncp.async.wait_group 0;\nld.shared.u32 %r9, [%r5];\n",
     .good = "cp.async.commit_group;",
     .bad = "",
     .kind = SIM_FAULT_ASYNC_IN_FLIGHT,
     .at = "ld.shared.u32 %r9, [%r5]"},
    {.name = "a copy is seen by others behind a barrier only",
     .block = 64,
     .body = SHARED NEIGHBOUR
     "cp.async.ca.shared.global [%r5], [%d5], 4;\ncp.async.commit_group;\ncp.async.wait_all;\n$\nld.shared.u32 %r9, [%r6];\n",
     .good = "bar.sync 0;",
     .bad = "bar.warp.sync -1;",
     .kind = SIM_FAULT_SHARED_RACE,
     .at = "[%r"},
    {.name = "a store into a copy's target",
     .body = SHARED "cp.async.ca.shared.global [%r5], [%d5], 4;\n$\nst.shared.u32 [%r5], %r1;\ncp.async.wait_all;\n",
     .good = "cp.async.wait_all;",
     .bad = "",
     .kind = SIM_FAULT_ASYNC_IN_FLIGHT,
     .at = "st.shared.u32 [%r5], %r1"},
};

/* Which of two accesses comes second hangs on the order of warps, and a copy's race may show at the wait; so those name no
 * line. */
static void loose(void **state) {
  const pair *p = *state;
  for (uint64_t seed = 0; seed < 6; seed++) {
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
    const sim_fault_kind kind = LAB_TRY(&x, "k", a, b, c, a);
    if (kind != p->kind) fail_msg("%s was wanted, not: %s %s", sim_fault_name(p->kind), sim_fault_name(kind), x.fault.text);
    assert_non_null(strstr(x.fault.ptx_text, p->at));
    assert_true(x.fault.has_address && x.fault.lane >= 0 && x.fault.warp >= 0);
    lab_close(&x);
  }
}

static int is_loose(const pair *p) {
  return p->block == 64 || p->grid == 2;
}

int main(void) {
  enum { N = sizeof pairs / sizeof *pairs };
  struct CMUnitTest tests[N];
  for (int i = 0; i < N; i++)
    tests[i] =
        (struct CMUnitTest){pairs[i].name, is_loose(&pairs[i]) ? loose : pair_test, NULL, NULL, (void *)(uintptr_t)&pairs[i]};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
