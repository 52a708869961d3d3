/* test_bundle_table.c -- what a bundle holds comes back as it was; whatever is damaged, cut or newer is refused in one line. */
#include "runtime/bundle_table.h"

#include "tests/support/scratch.h"

static scratch s;
static rgt__bundle_table table;

static rgt__digest digest_of(const char *text) {
  rgt__digest d;
  rgt__digest_of(text, strlen(text), &d);
  return d;
}

static rgt__bundle_code some_code(const char *variant) {
  rgt__bundle_code c;
  memset(&c, 0, sizeof c);
  c.made_for = (rgt__bundle_for){
      .target = "x86-64-avx2", .op = "linear:4-8:g4:f32:none:b0:kn:i32", .form = RGT_POINTERS, .align_bytes = 8};
  snprintf(c.variant, sizeof c.variant, "%s", variant);
  c.revision = 3;
  c.local = digest_of(variant);
  c.key = digest_of("key");
  c.binary = digest_of("binary");
  c.bytes = 12345678901;
  c.verified = 1;
  snprintf(c.toolchain, sizeof c.toolchain, "cc \"quoted\" \\ 12.2");
  return c;
}

static rgt__bundle_choice some_choice(int64_t bucket) {
  rgt__bundle_choice c;
  memset(&c, 0, sizeof c);
  c.made_for = some_code("").made_for;
  snprintf(c.device_class, sizeof c.device_class, "cpu:Some Vendor:6-1-1");
  c.made_for.order = RGT_ORDER_SORTED;
  c.skew = RGT_SKEW_ZIPF;
  c.bucket = bucket;
  snprintf(c.variant, sizeof c.variant, "tiles:block=4");
  c.time_ps = 7;
  c.low_ps = 6;
  c.high_ps = 8;
  c.ratio_ppm = 500000;
  c.second_ppm = 600000;
  c.n_runs = 2;
  return c;
}

static int begin(void **state) {
  (void)state;
  scratch_open(&s);
  rgt__bundle_code a = some_code("rows:lanes=4"), b = some_code("tiles:block=4");
  rgt__bundle_choice c = some_choice(8), d = some_choice((int64_t)1 << 31);
  b.has_ptx = 1;
  b.ptx = digest_of("ptx");
  b.made_for.order = RGT_ORDER_OFFSETS;
  snprintf(d.runner_up, sizeof d.runner_up, "rows:lanes=4");
  assert_int_equal(rgt__bundle_table_add_code(&table, &a, NULL), RGT_OK);
  assert_int_equal(rgt__bundle_table_add_code(&table, &b, NULL), RGT_OK);
  assert_int_equal(rgt__bundle_table_add_choice(&table, &c, NULL), RGT_OK);
  assert_int_equal(rgt__bundle_table_add_choice(&table, &d, NULL), RGT_OK);
  return 0;
}

static int end(void **state) {
  (void)state;
  rgt__bundle_table_free(&table);
  scratch_close(&s);
  return 0;
}

static void write_table(void) {
  rgt__error err = {""};
  if (rgt__bundle_table_write(s.folder, &table, &err) != RGT_OK) fail_msg("%s", err.text);
}

static void assert_table(const rgt__bundle_table *t) {
  assert_int_equal(t->n_code, table.n_code);
  assert_int_equal(t->n_choices, table.n_choices);
  assert_memory_equal(t->code, table.code, (size_t)t->n_code * sizeof *t->code);
  assert_memory_equal(t->choices, table.choices, (size_t)t->n_choices * sizeof *t->choices);
}

static void what_is_written_is_read(void **state) {
  rgt__bundle_table t = {0};
  rgt__error err = {""};
  struct stat st;
  (void)state;
  write_table();
  if (rgt__bundle_table_read(s.folder, &t, &err) != RGT_OK) fail_msg("%s", err.text);
  assert_table(&t);
  rgt__bundle_table_free(&t);
  assert_int_equal(scratch_count(s.folder), 2);
  assert_int_equal(stat(scratch_path(&s, RGT_BUNDLE_TABLE), &st), 0);
  assert_int_equal(st.st_mode & 0777, 0644); /* others load it */
}

static void an_empty_table(void **state) {
  rgt__bundle_table none = {0}, t = {0};
  (void)state;
  assert_int_equal(rgt__bundle_table_write(s.folder, &none, NULL), RGT_OK);
  assert_int_equal(rgt__bundle_table_read(s.folder, &t, NULL), RGT_OK);
  assert_int_equal(t.n_code + t.n_choices, 0);
  rgt__bundle_table_free(&t);
}

static void adding_replaces_what_stands_for_the_same(void **state) {
  (void)state;
  rgt__bundle_code a = some_code("rows:lanes=4");
  rgt__bundle_choice c = some_choice(8);
  a.key = digest_of("newer");
  snprintf(c.variant, sizeof c.variant, "rows:lanes=4");
  assert_int_equal(rgt__bundle_table_add_code(&table, &a, NULL), RGT_OK);
  assert_int_equal(rgt__bundle_table_add_choice(&table, &c, NULL), RGT_OK);
  assert_int_equal(table.n_code, 2);
  assert_int_equal(table.n_choices, 2);
  assert_true(rgt__digest_equal(&table.code[0].key, &a.key));
  assert_string_equal(table.choices[0].variant, "rows:lanes=4");
  c.skew = RGT_SKEW_ONE; /* another question */
  assert_int_equal(rgt__bundle_table_add_choice(&table, &c, NULL), RGT_OK);
  c.made_for.order = RGT_ORDER_RAW;
  assert_int_equal(rgt__bundle_table_add_choice(&table, &c, NULL), RGT_OK);
  snprintf(c.device_class, sizeof c.device_class, "another device");
  assert_int_equal(rgt__bundle_table_add_choice(&table, &c, NULL), RGT_OK);
  assert_int_equal(table.n_choices, 5);
}

/* A toolchain's text may hold anything: separators in it become blanks, and the rest of the line stays readable. */
static void separators_in_texts(void **state) {
  rgt__bundle_table t = {0};
  (void)state;
  snprintf(table.code[0].toolchain, sizeof table.code[0].toolchain, "cc\twith\ntabs");
  write_table();
  assert_int_equal(rgt__bundle_table_read(s.folder, &t, NULL), RGT_OK);
  assert_string_equal(t.code[0].toolchain, "cc with tabs");
  assert_int_equal(t.n_code, 2);
  rgt__bundle_table_free(&t);
}

static void refused(const char *word) {
  rgt__bundle_table t = {0};
  rgt__error err = {""};
  rgt_status status = rgt__bundle_table_read(s.folder, &t, &err);
  if (status != RGT_EIO || !strstr(err.text, word) || !strstr(err.text, s.folder) || strchr(err.text, '\n'))
    fail_msg("%s: \"%s\" should be one line with \"%s\"", rgt_status_name(status), err.text, word);
  assert_null(t.code);
  assert_null(t.choices);
}

static void every_flipped_byte_and_every_cut(void **state) {
  rgt__buffer b = {0};
  (void)state;
  write_table();
  const char *path = scratch_path(&s, RGT_BUNDLE_TABLE);
  assert_int_equal(rgt__file_read(path, 1 << 20, &b, NULL), RGT_OK);
  for (size_t i = 0; i < b.size; i++) {
    FILE *f = fopen(path, "we");
    b.data[i] ^= 4;
    assert_int_equal(fwrite(b.data, 1, b.size, f), b.size);
    assert_int_equal(fclose(f), 0);
    b.data[i] ^= 4;
    refused("");
    if (i % 16) continue;
    f = fopen(path, "we");
    assert_int_equal(fwrite(b.data, 1, i, f), i);
    assert_int_equal(fclose(f), 0);
    refused("");
  }
  rgt__buffer_free(&b);
}

static void write_by_hand(const char *body) {
  char text[2048], hex[RGT_DIGEST_HEX_MAX];
  rgt__digest d = digest_of(body);
  rgt__digest_hex(&d, hex);
  snprintf(text, sizeof text, RGT_BUNDLE_TABLE " 1 %s\n%s", hex, body);
  scratch_write(&s, RGT_BUNDLE_TABLE, text, 0644);
}

#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define CODE                                                                                                              \
  "code\tplain\tlinear:4-8:g4:f32:none:b0:kn:i32\tstacked\t4\trows:lanes=4\t1\t" HASH "\t" HASH "\t" HASH "\t-\t1\t1\tcc" \
  " 12"

/* A bundle from before there were orders is one of raw code, and raw code is written as it was then. */
static void code_without_an_order_is_raw(void **state) {
  rgt__bundle_table t = {0};
  rgt__error err = {""};
  rgt__buffer b = {0};
  (void)state;
  write_by_hand(CODE "\n");
  if (rgt__bundle_table_read(s.folder, &t, &err) != RGT_OK) fail_msg("%s", err.text);
  assert_int_equal(t.n_code, 1);
  assert_int_equal(t.code[0].made_for.order, RGT_ORDER_RAW);
  assert_string_equal(t.code[0].toolchain, "cc 12");
  assert_int_equal(rgt__bundle_table_write(s.folder, &t, NULL), RGT_OK);
  rgt__bundle_table_free(&t);
  assert_int_equal(rgt__file_read(scratch_path(&s, RGT_BUNDLE_TABLE), 1 << 20, &b, NULL), RGT_OK);
  assert_non_null(strstr(b.data, "\n" CODE "\n"));
  rgt__buffer_free(&b);
  write_by_hand(CODE "\toffsets\n");
  if (rgt__bundle_table_read(s.folder, &t, &err) != RGT_OK) fail_msg("%s", err.text);
  assert_int_equal(t.code[0].made_for.order, RGT_ORDER_OFFSETS);
  rgt__bundle_table_free(&t);
}

static void the_manifest_has_the_order(void **state) {
  rgt__buffer b = {0};
  (void)state;
  write_table();
  assert_int_equal(rgt__file_read(scratch_path(&s, RGT_BUNDLE_MANIFEST), 1 << 20, &b, NULL), RGT_OK);
  const char *code = strstr(b.data, "\"tiles:block=4\""), *choices = strstr(b.data, "\"choices\"");
  assert_true(code && choices && code < choices);
  const char *order = strstr(b.data, "\"order\": \"offsets\"");
  assert_true(order && order < code);
  assert_non_null(strstr(choices, "\"order\": \"sorted\""));
  rgt__buffer_free(&b);
}

/* Right hashes over lines that this version never writes: made by hand, or by another program. */
static void strange_lines(void **state) {
  static const char *const bodies[] = {
      "code\n",
      "code\tx\n",
      "choice\t1\t2\t3\n",
      "else\tx\n",
      "code",
      "\n",
      "choice\tplain\tlinear:4-8:g4:f32:none:b0:kn:i32\tstacked\t4\tc\traw\tunknown\t9\tv\t\t1\t1\t1\t1\t1\t1\n", /* 9 rows */
      "choice\tplain\tlinear:4-8:g4:f32:none:b0:kn:i32\tstacked\t4\tc\traw\tunknown\t8\tv\t\t1\t1\t1\t1\t1\t1\tmore\n",
      CODE "\tupside-down\n",
      CODE "\tsorted\tmore\n"};
  (void)state;
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
    write_by_hand(bodies[i]);
    refused("a line is not what version 1 has");
  }
}

static void what_is_no_bundle(void **state) {
  (void)state;
  refused("is no bundle");
  scratch_write(&s, RGT_BUNDLE_TABLE, RGT_BUNDLE_TABLE " 2 whatever comes then\n", 0644);
  refused("is a bundle of version 2; this library reads version 1");
  scratch_write(&s, RGT_BUNDLE_TABLE, "", 0644);
  refused("is no table of a bundle");
  scratch_write(&s, RGT_BUNDLE_TABLE, "#!/bin/sh\n", 0644);
  refused("is no table of a bundle");
  assert_int_equal(unlink(scratch_path(&s, RGT_BUNDLE_TABLE)), 0);
  assert_int_equal(mkdir(scratch_path(&s, RGT_BUNDLE_TABLE), 0755), 0);
  refused("not a regular file");
}

static void memory_ends_anywhere(void **state) {
  int n = 0;
  rgt_status status = RGT_ENOMEM;
  (void)state;
  write_table();
  for (; status != RGT_OK; n++) {
    rgt__bundle_table t = {0};
    scratch_fail_after(n);
    status = rgt__bundle_table_read(s.folder, &t, NULL);
    if (status == RGT_OK) status = rgt__bundle_table_write(s.folder, &t, NULL);
    scratch_fail_never();
    if (status != RGT_OK) assert_int_equal(status, RGT_ENOMEM);
    rgt__bundle_table_free(&t);
    assert_true(n < 1000);
  }
  assert_true(n > 5);
  rgt__bundle_table t = {0};
  assert_int_equal(rgt__bundle_table_read(s.folder, &t, NULL), RGT_OK);
  assert_table(&t);
  rgt__bundle_table_free(&t);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
  const struct CMUnitTest tests[] = {
      TEST(what_is_written_is_read),
      TEST(an_empty_table),
      TEST(adding_replaces_what_stands_for_the_same),
      TEST(separators_in_texts),
      TEST(every_flipped_byte_and_every_cut),
      TEST(code_without_an_order_is_raw),
      TEST(the_manifest_has_the_order),
      TEST(strange_lines),
      TEST(what_is_no_bundle),
      TEST(memory_ends_anywhere),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
