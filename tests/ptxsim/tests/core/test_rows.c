/* test_rows.c -- every row of the tables of lane-by-lane instructions: it is reached from PTX by its name, gives the same in
 * lanes that run alone as in whole warps, and leaves the other lanes' registers as they were. */
#include "arithmetic.h"

#include "exec/insn.h"

/* Rows that other instructions are made of, under names that PTX does not have. */
static int internal(const char *name) {
  return strncmp(name, "pack", 4) == 0 || strncmp(name, "part", 4) == 0 || strstr(name, ".carry.") ||
         strcmp(name, "mov.p1") == 0 || strcmp(name, "inwindow") == 0 || strcmp(name, "outofwindow") == 0;
}

static void results(const char *name, const char *signature, const char *suffix, const arguments *g, const char *guard,
                    uint64_t *out) {
  /* the guard's predicate and a known old value come as a prefix of the instruction */
  char instruction[256];
  const char *d = reg_of(*signature);
  if (!guard)
    snprintf(instruction, sizeof instruction, "%s", name);
  else
    snprintf(instruction, sizeof instruction, "and.b32 %%t5, %%t0, 5; setp.ne.u32 %%q1, %%t5, 0; mov.%s %s1, %s;\n@%%q1 %s",
             *signature == 'p'            ? "pred"
             : *signature == 'h'          ? "b16"
             : kind_of(*signature) == 'd' ? "b64"
                                          : "b32",
             d, *signature == 'p' ? "1" : "77", name);
  operation_run(instruction, signature, suffix, g->a, g->n, out, 1);
}

static void every_row(void **state) {
  (void)state;
  static const uint64_t edges[] = {0,
                                   1,
                                   2,
                                   0x3C00,
                                   0x3F80,
                                   0x7FFF,
                                   0x8000,
                                   0x3F800000,
                                   0xBF800000,
                                   0x40490FDB,
                                   0x7F800000,
                                   0x80000000,
                                   0xFFFFFFFF,
                                   0x3FF0000000000000,
                                   0xC000000000000000};
  enum { N = sizeof edges / sizeof *edges, ROOM = 2048 };
  uint64_t whole[ROOM], apart[ROOM];
  int n = 0;
  for (const sim_alu_table *const *t = sim__alu_tables; *t; t++)
    for (size_t k = 0; k < (*t)->n; k++) {
      const sim_alu_row *row = &(*t)->rows[k];
      assert_ptr_equal(sim__alu_find(row->name), row); /* no name stands twice */
      if (internal(row->name)) continue;
      const char *sources = strchr(row->signature, ':') + 1, *suffix = strcmp(row->name, "lop3.b32") == 0 ? ", 0x6A" : NULL;
      arguments g = arguments_make(sources, (const uint64_t *[]){edges, edges, edges, edges}, (const size_t[]){N, N, N, N}, 9);
      g.n = ROOM;
      results(row->name, row->signature, suffix, &g, NULL, whole);
      results(row->name, row->signature, suffix, &g, "", apart);
      for (size_t i = 0; i < g.n; i++) {
        const uint64_t wanted = i & 5 ? whole[i] : row->signature[0] == 'p' ? 1 : 77;
        if (apart[i] != wanted)
          fail_msg("%s: lane %d alone gives 0x%llx, not 0x%llx", row->name, (int)i % 32, (unsigned long long)apart[i],
                   (unsigned long long)wanted);
      }
      arguments_free(&g);
      n++;
    }
  assert_true(n > 500);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_row)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
