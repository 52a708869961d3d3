/* test_program.c -- the text form is pinned, parses back, and damaged texts are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generator/program.h"

static const char golden[] = "rgt-program 1\n"
                             "kargs 3\n"
                             "valid rows <= 2147483647 and groups < 100\n"
                             "workspace groups * 4\n"
                             "memset offset 0 ; bytes groups * 4 ; value 255\n"
                             "kernel row_gather_0a1b2c grid ceil_div(rows, 4) ; block 128 ; shared 0 ; cluster 0\n";

static void set(rgt__formula *f, const char *text) {
  assert_int_equal(rgt__formula_parse(text, NULL, 0, f, NULL), RGT_OK);
}

static rgt__program *example(void) {
  static rgt__program p;
  memset(&p, 0, sizeof p);
  p.kargs_version = 3;
  p.n_steps = 2;
  set(&p.valid, "rows <= 2147483647 and groups < 100");
  set(&p.workspace, "groups * 4");
  p.steps[0].kind = RGT_STEP_MEMSET;
  set(&p.steps[0].bytes, "groups * 4");
  p.steps[0].value = 255;
  strcpy(p.steps[1].kernel, "row_gather_0a1b2c");
  set(&p.steps[1].grid, "ceil_div(rows, 4)");
  set(&p.steps[1].block, "128");
  return &p;
}

static void formats(void **state) {
  (void)state;
  rgt__buffer b = {0};
  rgt__program_format(example(), &b);
  assert_string_equal(b.data, golden);
  rgt__buffer_free(&b);
}

static void parses(void **state) {
  (void)state;
  static rgt__program p;
  rgt__error err = {{0}};
  memset(&p, 0x55, sizeof p);
  assert_int_equal(rgt__program_parse(golden, &p, &err), RGT_OK);
  rgt__buffer b = {0};
  rgt__program_format(&p, &b);
  assert_string_equal(b.data, golden);
  rgt__buffer_free(&b);
  assert_int_equal(p.kargs_version, 3);
  assert_int_equal(p.n_steps, 2);
  assert_int_equal(p.steps[0].value, 255);
  assert_string_equal(p.steps[1].kernel, "row_gather_0a1b2c");
  assert_int_equal(p.steps[0].kind, RGT_STEP_MEMSET);
  assert_int_equal(p.steps[1].kind, RGT_STEP_KERNEL);
  static const int64_t vars[RGT_N_VARS] = {9, 5, 1, 1, 1};
  assert_int_equal(rgt__formula_eval(&p.steps[1].grid, vars), 3);
  assert_int_equal(rgt__formula_eval(&p.workspace, vars), 20);
}

static void no_steps_and_eight(void **state) {
  (void)state;
  static rgt__program p;
  rgt__error err;
  char text[2048] = "rgt-program 1\nkargs 0\nvalid 1\nworkspace 0\n";
  assert_int_equal(rgt__program_parse(text, &p, NULL), RGT_OK);
  assert_int_equal(p.n_steps, 0);
  for (int i = 0; i < RGT_STEPS_MAX; i++) strcat(text, "memset offset 0 ; bytes 1 ; value 0\n");
  assert_int_equal(rgt__program_parse(text, &p, NULL), RGT_OK);
  assert_int_equal(p.n_steps, 8);
  rgt__buffer b = {0};
  rgt__program_format(&p, &b);
  assert_string_equal(b.data, text);
  rgt__buffer_free(&b);
  strcat(text, "memset offset 0 ; bytes 1 ; value 0\n");
  assert_int_equal(rgt__program_parse(text, &p, &err), RGT_EIO);
  assert_non_null(strstr(err.text, "line 13: expected the end: a program has at most 8 steps"));
}

static void refuse(const char *text, const char *message) {
  static rgt__program p, before;
  rgt__error err = {{0}};
  memset(&p, 0x55, sizeof p);
  memcpy(&before, &p, sizeof p);
  assert_int_equal(rgt__program_parse(text, &p, &err), RGT_EIO);
  assert_memory_equal(&p, &before, sizeof p);
  if (!strstr(err.text, message)) fail_msg("\"%s\" lacks \"%s\"", err.text, message);
}

static void refuses(void **state) {
  (void)state;
#define HEAD "rgt-program 1\nkargs 1\nvalid 1\nworkspace 0\n"
  refuse("", "line 0: expected rgt-program 1");
  refuse("rgt-program 2\n", "line 1: expected rgt-program 1, found \"rgt-program 2\"");
  refuse("rgt-program 1\n", "expected kargs");
  refuse("rgt-program 1\nkargs x\n", "line 2: expected a number in its range, found \"x\"");
  refuse("rgt-program 1\nkargs -1\n", "line 2: expected a number");
  refuse("rgt-program 1\nkargs 99999999999999999999\n", "line 2: expected a number");
  refuse("rgt-program 1\nkargs 1\nvalid rows +\nworkspace 0\n", "program text, line 3: formula \"rows +\", column 7");
  refuse("rgt-program 1\nkargs 1\nvalid n_in\nworkspace 0\n", "unknown name \"n_in\""); /* no constants here */
  refuse("rgt-program 1\nkargs 1\nworkspace 0\nvalid 1\n", "line 3: expected valid");
  refuse(HEAD "\n", "line 5: expected kernel or memset");
  refuse(HEAD "launch a grid 1\n", "line 5: expected kernel or memset, found \"launch a grid 1\"");
  refuse(HEAD "kernel  grid 1 ; block 1 ; shared 0 ; cluster 0\n", "expected a kernel's name");
  refuse(HEAD "kernel a-b grid 1 ; block 1 ; shared 0 ; cluster 0\n", "expected a kernel's name");
  refuse(HEAD "kernel 9a grid 1 ; block 1 ; shared 0 ; cluster 0\n", "expected a kernel's name");
  refuse(HEAD "kernel a block 1 ; shared 0 ; cluster 0\n", "expected grid");
  refuse(HEAD "kernel a grid 1 ; block 1 ; shared 0\n", "expected \" ; \" after a formula");
  refuse(HEAD "kernel a grid 1 ; block 1 ; shared 0 ; cluster 0 ; more\n", "line 5");
  refuse(HEAD "memset offset 0 ; bytes 1 ; value 256\n", "expected a number in its range");
  refuse(HEAD "memset offset 0 ; bytes 1 ; value 1 2\n", "expected a number in its range");
  refuse(HEAD "memset offset 0 ; bytes 1 ; value 1", "expected a line break at the end");
  char text[400];
  snprintf(text, sizeof text, HEAD "kernel %0*d grid 1 ; block 1 ; shared 0 ; cluster 0\n", RGT_KERNEL_NAME_MAX, 0);
  text[strlen(HEAD "kernel ")] = 'k'; /* 96 letters: one too many */
  refuse(text, "expected a kernel's name");
}

/* Every text cut off inside is refused, but at the ends of step lines, where it is a shorter program: the code cache keeps a
 * digest of the text for that. */
static void cut(void **state) {
  (void)state;
  static rgt__program p;
  char text[sizeof golden];
  int accepted = 0;
  for (size_t n = 0; n < sizeof golden - 1; n++) {
    memcpy(text, golden, n);
    text[n] = 0;
    accepted += rgt__program_parse(text, &p, NULL) == RGT_OK;
  }
  assert_int_equal(accepted, 2); /* after workspace, after the memset */
}

static void *none(void *user, void *p, size_t bytes) {
  (void)user;
  if (!bytes) free(p);
  return NULL;
}

static void no_memory(void **state) {
  (void)state;
  static rgt__program p;
  rgt_set_alloc(none, NULL);
  rgt_status status = rgt__program_parse(golden, &p, NULL);
  rgt_set_alloc(NULL, NULL);
  assert_int_equal(status, RGT_ENOMEM);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(formats), cmocka_unit_test(parses), cmocka_unit_test(no_steps_and_eight),
                                     cmocka_unit_test(refuses), cmocka_unit_test(cut),    cmocka_unit_test(no_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
