/* fixture.h -- what the generator's tests share: the fixture families, small families written on the spot, targets. */
#ifndef RGT_TESTS_FIXTURE_H
#define RGT_TESTS_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "generator/render.h"
#include "runtime/base/file.h"

#define UNUSED __attribute__((unused))

typedef struct fixture {
  rgt__sources *sources;
  rgt__families *families;
  rgt__error err;
  rgt_status status; /* of opening */
  char folder[64];   /* "" for the fixture folder of the tests */
} fixture;

static UNUSED const rgt__target cpu_target = {
    .device = "cpu", .name = "plain", .n_facts = 2, .facts = {{"lanes_max", 8}, {"vector_bytes", 32}}};
static UNUSED const rgt__target cuda_target = {
    .device = "cuda", .name = "sm_90", .n_facts = 2, .facts = {{"sm", 90}, {"shared_max", 49152}}};
static UNUSED const rgt__render_facts stacked4 = {RGT_STACKED, 4, RGT_ORDER_RAW};

static UNUSED rgt_op_desc op_of(const char *text) {
  rgt_op_desc op;
  rgt__error err = {""};
  if (rgt__op_parse(text, &op, &err) != RGT_OK) fail_msg("%s", err.text);
  return op;
}

static UNUSED void fixture_open_folder(fixture *x, const char *folder) {
  assert_int_equal(rgt__sources_open(folder, &x->sources, &x->err), RGT_OK);
  x->status = rgt__families_open(x->sources, &x->families, &x->err);
}

/* fixture_open -- tests/fixtures/templates. */
static UNUSED void fixture_open(fixture *x) {
  *x = (fixture){0};
  fixture_open_folder(x, RGT_TESTS_DIR "/fixtures/templates");
  if (x->status != RGT_OK) fail_msg("%s", x->err.text);
}

static UNUSED void fixture_put(const fixture *x, const char *name, const char *text) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s", x->folder, name);
  *strrchr(path, '/') = '\0';
  assert_int_equal(rgt__file_make_folder(path, NULL), RGT_OK);
  snprintf(path, sizeof path, "%s/%s", x->folder, name);
  assert_int_equal(rgt__file_write(path, text, strlen(text), 0600, NULL), RGT_OK);
}

/* fixture_write -- a folder with these files: name, text, name, text, ..., NULL. x->status says how opening went. */
static UNUSED void fixture_write(fixture *x, ...) {
  va_list args;
  *x = (fixture){0};
  strcpy(x->folder, "/tmp/rgt-generator-XXXXXX");
  assert_non_null(mkdtemp(x->folder));
  va_start(args, x);
  for (const char *name = va_arg(args, const char *); name; name = va_arg(args, const char *)) {
    fixture_put(x, name, va_arg(args, const char *));
  }
  va_end(args);
  fixture_open_folder(x, x->folder);
}

static UNUSED void fixture_close(fixture *x) {
  char command[128];
  rgt__families_free(x->families);
  rgt__sources_free(x->sources);
  if (!x->folder[0]) return;
  snprintf(command, sizeof command, "rm -rf %s", x->folder);
  assert_int_equal(system(command), 0);
}

static UNUSED const rgt__family *fixture_family(const fixture *x, const char *device, const char *name) {
  const rgt__family *family = rgt__families_find(x->families, device, name);
  assert_non_null(family);
  return family;
}

static UNUSED rgt__variant fixture_variant(const fixture *x, const char *device, const char *text) {
  rgt__variant v;
  rgt__error err = {""};
  if (rgt__variant_parse(x->families, device, text, &v, &err) != RGT_OK) fail_msg("%s", err.text);
  return v;
}

/* A spec with nothing special, around the fields that a test is about. */
#define SPEC_WITHOUT_STEPS                                                                        \
  "return family {\n"                                                                             \
  "  about = 'a', source = 's', revision = 1, device = 'cpu', ops = { 'linear', 'mlp' },\n"       \
  "  dtypes = { 'f32' }, numeric = { p1 = 0, p2 = 0, hidden = 'f32', alpha = 0, class = 'c' },\n" \
  "  work = { flops = 'rows', bytes = 'rows' },\n"
#define SPEC(more) SPEC_WITHOUT_STEPS "  steps = { { kernel = 'k', grid = 'rows' } },\n" more "}\n"

#endif
