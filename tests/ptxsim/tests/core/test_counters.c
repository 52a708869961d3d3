/* test_counters.c -- what a launch counts: instructions, sectors, banks, the L2, divergence; and that it is the same every
 * time. */
#include "lab.h"

#define HEAD                                                                                                              \
  ".visible .entry k(.param .u64 p0)\n{\n.reg .pred %p<8>; .reg .b32 %r<16>; .reg .f32 %f<8>; .reg .b64 %d<8>;\n.shared " \
  ".align 16 .b8 s[16384];\n"                                                                                             \
  "ld.param.u64 %d1, [p0]; mov.u32 %r1, %tid.x; mov.u32 %r2, s;\n"

static sim_counters counted(const char *body, unsigned grid, unsigned block, size_t words) {
  char text[4096];
  lab x;
  lab_open(&x);
  snprintf(text, sizeof text, "%s%s\nret;\n}\n", HEAD, body);
  lab_load(&x, text);
  uint32_t *zero = calloc(words, 4);
  const uint64_t at = lab_upload(&x, zero, words * 4);
  free(zero);
  x.grid = grid;
  x.block = block;
  LAB_RUN(&x, "k", at);
  const sim_counters c = x.counters;
  LAB_RUN(&x, "k", at); /* once more: the same */
  assert_memory_equal(&c, &x.counters, sizeof c);
  lab_close(&x);
  return c;
}

static void instructions(void **state) {
  (void)state;
  const sim_counters c =
      counted("add.u32 %r3, %r1, 1; setp.lt.u32 %p1, %r1, 8; @%p1 add.u32 %r3, %r3, 1; mov.f32 %f1, 0f3F800000; fma.rn.f32 "
              "%f2, %f1, %f1, %f1; rcp.approx.f32 %f3, %f2; cvt.rzi.u32.f32 %r4, %f3; bar.sync 0; bar.warp.sync -1;\n"
              "@%p1 bra L; add.u32 %r3, %r3, 2;\nL: shfl.sync.idx.b32 %r5, %r1, 0, 31, -1;",
              3, 64, 64);
  assert_int_equal(c.blocks, 3);
  assert_int_equal(c.warps, 6);
  assert_int_equal(c.inst_executed, 6 * 16);
  assert_int_equal(c.inst_fp32, 6);
  assert_int_equal(c.flop_fp32, 3 * 64 * 3);
  assert_int_equal(c.inst_special, 6);
  assert_int_equal(c.inst_convert, 6);
  assert_int_equal(c.inst_exchange, 6);
  assert_int_equal(c.barriers, 6);
  assert_int_equal(c.warp_syncs, 6);
  assert_int_equal(c.branches, 6);
  assert_int_equal(c.branches_divergent, 3); /* the first warp of each block */
  assert_int_equal(c.inst_barrier, 12);
  assert_int_equal(c.thread_inst_executed, 3 * (64 * 16 - 56 - 56 - 8));
}

static void sectors(void **state) {
  (void)state;
  static const struct {
    const char *body;
    uint64_t sectors, bytes;
  } loads[] = {{"mul.wide.u32 %d2, %r1, 4; add.u64 %d3, %d1, %d2; ld.global.u32 %r3, [%d3];", 4, 128},
               {"mul.wide.u32 %d2, %r1, 32; add.u64 %d3, %d1, %d2; ld.global.u32 %r3, [%d3];", 32, 128},
               {"mul.wide.u32 %d2, %r1, 4; add.u64 %d3, %d1, %d2; ld.global.u32 %r3, [%d3+4];", 5, 128},
               {"ld.global.u32 %r3, [%d1];", 1, 128},
               {"mul.wide.u32 %d2, %r1, 16; add.u64 %d3, %d1, %d2; ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%d3];", 16, 512},
               {"xor.b32 %r4, %r1, 31; mul.wide.u32 %d2, %r4, 8; add.u64 %d3, %d1, %d2; ld.global.u64 %d4, [%d3];", 8, 256},
               {"mul.lo.u32 %r4, %r1, 7; and.b32 %r4, %r4, 31; mul.wide.u32 %d2, %r4, 4; add.u64 %d3, %d1, %d2; ld.global.u32 "
                "%r3, [%d3];",
                4, 128}};
  for (size_t k = 0; k < sizeof loads / sizeof *loads; k++) {
    const sim_counters c = counted(loads[k].body, 1, 32, 512);
    assert_int_equal(c.global_load_requests, 1);
    assert_int_equal(c.global_load_sectors, loads[k].sectors);
    assert_int_equal(c.global_load_bytes, loads[k].bytes);
    assert_int_equal(c.global_unique_sectors, loads[k].sectors);
    assert_int_equal(c.dram_read_bytes, 32 * loads[k].sectors);
  }
  const sim_counters twice = counted("mul.wide.u32 %d2, %r1, 4; add.u64 %d3, %d1, %d2; ld.global.u32 %r3, [%d3]; ld.global.u32 "
                                     "%r3, [%d3]; st.global.u32 [%d3+2048], %r3;",
                                     1, 32, 1024);
  assert_int_equal(twice.global_load_sectors, 8);
  assert_int_equal(twice.global_store_sectors, 4);
  assert_int_equal(twice.global_unique_sectors, 8);
  assert_int_equal(twice.l2_hit_sectors, 4);
  assert_int_equal(twice.l2_miss_sectors, 8);
  assert_int_equal(twice.dram_read_bytes, 128);
  assert_int_equal(twice.dram_write_bytes, 128);
  /* twice over what is twice the L2 (1 MiB): nothing is found again; over half of it: everything */
  static const char sweep[] = "mov.u32 %%r5, 0;\nL: mov.u32 %%r4, %%r1;\nM: mul.wide.u32 %%d2, %%r4, 4; add.u64 %%d3, %%d1, "
                              "%%d2; ld.global.u32 %%r3, [%%d3]; add.u32 %%r4, %%r4, 1024; setp.lt.u32 %%p1, %%r4, %d; @%%p1 "
                              "bra M; add.u32 %%r5, %%r5, 1; setp.lt.u32 %%p1, %%r5, 2; @%%p1 bra L;";
  for (int large = 0; large < 2; large++) {
    char body[512];
    const int words = large ? 524288 : 131072;
    snprintf(body, sizeof body, sweep, words);
    const sim_counters c = counted(body, 1, 1024, (size_t)words);
    assert_int_equal(c.global_unique_sectors, words / 8);
    if (large)
      assert_true(c.dram_read_bytes > 7u * (unsigned)words);
    else
      assert_int_equal(c.dram_read_bytes, 4 * words);
  }
  const sim_counters atomic = counted("red.global.add.u32 [%d1], 1;", 2, 64, 64);
  assert_int_equal(atomic.global_atomic_sectors, 4);
  assert_int_equal(atomic.inst_atomic, 4);
}

static void banks(void **state) {
  (void)state;
  static const struct {
    int pitch, bytes;
    uint64_t passes, least;
  } loads[] = {{4, 4, 1, 1},   {8, 4, 2, 1},   {128, 4, 32, 1}, {132, 4, 1, 1}, {0, 4, 1, 1},  {8, 8, 2, 2},
               {16, 16, 4, 4}, {32, 16, 8, 4}, {144, 16, 4, 4}, {2, 2, 1, 1},   {64, 2, 16, 1}};
  for (size_t k = 0; k < sizeof loads / sizeof *loads; k++) {
    char body[256];
    snprintf(body, sizeof body, "mad.lo.u32 %%r3, %%r1, %d, %%r2; %s", loads[k].pitch,
             loads[k].bytes == 2   ? "ld.shared.u16 %r4, [%r3];"
             : loads[k].bytes == 4 ? "ld.shared.u32 %r4, [%r3];"
             : loads[k].bytes == 8 ? "ld.shared.v2.u32 {%r4, %r5}, [%r3];"
                                   : "ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r3];");
    const sim_counters c = counted(body, 1, 32, 1);
    if (c.shared_passes != loads[k].passes || c.shared_passes_least != loads[k].least)
      fail_msg("%d bytes every %d: %d and %d passes", loads[k].bytes, loads[k].pitch, (int)c.shared_passes,
               (int)c.shared_passes_least);
    assert_int_equal(c.shared_load_requests, 1);
  }
  for (int pitch = 16; pitch <= 144; pitch += 128) { /* ldmatrix: rows of 16 bytes; conflicts where they are 128 apart */
    char body[256];
    snprintf(body, sizeof body,
             "mad.lo.u32 %%r3, %%r1, %d, %%r2; ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%%r4, %%r5, %%r6, %%r7}, [%%r3];",
             pitch == 16 ? 128 : 144);
    const sim_counters c = counted(body, 1, 32, 1);
    assert_int_equal(c.shared_passes, pitch == 16 ? 32 : 4);
    assert_int_equal(c.shared_passes_least, 4);
  }
}

/* Counters that the order cannot change do not hang on the seed; work of each block. */
static void blocks(void **state) {
  (void)state;
  static const char text[] = HEAD "mov.u32 %r3, %ctaid.x; setp.eq.u32 %p1, %r3, 0; @%p1 bra L; mul.lo.u32 %r4, %r3, 100;\nM: "
                                  "sub.u32 %r4, %r4, 1; setp.gt.u32 %p2, %r4, 0; @%p2 bra M;\nL: ret;\n}\n";
  lab x;
  lab_open(&x);
  lab_load(&x, text);
  uint64_t inst[5], first[5], params[1] = {lab_buffer(&x, 4)};
  for (uint64_t seed = 0; seed < 4; seed++) {
    sim_launch l = {.function = sim_module_function(x.module, "k"),
                    .profile = &lab_profile,
                    .memory = x.memory,
                    .grid = {5, 1, 1},
                    .block = {32, 1, 1},
                    .params = params,
                    .param_bytes = 8,
                    .seed = seed,
                    .checks = SIM_CHECK_ALL,
                    .block_inst = inst};
    assert_int_equal(sim_launch_run(&l, &x.counters, &x.fault), 0);
    if (seed == 0) memcpy(first, inst, sizeof inst);
    assert_memory_equal(first, inst, sizeof inst);
    for (int b = 1; b < 5; b++) assert_int_equal(inst[b] - inst[0], 1 + 300 * (uint64_t)b);
    assert_int_equal(x.counters.block_most_inst, inst[4]);
    assert_int_equal(x.counters.block_least_inst, inst[0]);
  }
  lab_close(&x);
}

static void limits(void **state) {
  (void)state;
  lab x;
  uint64_t param = 0;
  lab_open(&x);
  lab_load(&x, ".entry k(.param .u64 p)\n.maxntid 64\n{\nret;\n}\n.entry r()\n.reqntid 32, 2\n{\nret;\n}\n");
  sim_launch good = {.function = sim_module_function(x.module, "k"),
                     .profile = &lab_profile,
                     .memory = x.memory,
                     .grid = {1, 1, 1},
                     .block = {64, 1, 1},
                     .params = &param,
                     .param_bytes = 8},
             l = good;
  assert_int_equal(sim_launch_run(&l, &x.counters, &x.fault), 0);
#define BAD(change)                                                  \
  do {                                                               \
    l = good;                                                        \
    change;                                                          \
    assert_int_equal(sim_launch_run(&l, &x.counters, &x.fault), -1); \
    assert_int_equal(x.fault.kind, SIM_FAULT_LAUNCH);                \
  } while (0)
  BAD(l.block[0] = 65);
  BAD(l.block[0] = 0);
  BAD(l.grid[1] = 65536);
  BAD(l.grid[2] = 0);
  BAD(l.param_bytes = 4);
  BAD(l.dynamic_shared = 101377);
  BAD(l.cluster[0] = 2);
  BAD(l.function = sim_module_function(x.module, "r"));
  l = good;
  l.function = sim_module_function(x.module, "r");
  l.block[0] = 32, l.block[1] = 2;
  assert_int_equal(sim_launch_run(&l, &x.counters, &x.fault), 0);
  lab_close(&x);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(instructions), cmocka_unit_test(sectors), cmocka_unit_test(banks),
                                     cmocka_unit_test(blocks), cmocka_unit_test(limits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
