/* test_data_files.c -- problems from .npy files: rounding, biases by the files that are there, y, messages. */
#include "runtime/cli/data_files.c"
#include "runtime/cli/message.c"
#include "runtime/cli/nearest.c"
#include "runtime/cli/npy.c"
#include "runtime/cli/option_table.c"
#include "runtime/cli/options.c"
#include "runtime/cli/out_file.c"
#include "runtime/cli/problem_text.c"
#include "runtime/cli/progress.c"
#include "runtime/cli/row_order.c"
#include "runtime/cli/units.c"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static char folder[] = "/tmp/ragtune-data-XXXXXX";

static const char *at(const char *name) {
  static char path[4][128];
  static int next_path;
  char *p = path[next_path++ % 4];
  snprintf(p, sizeof *path, "%s/%s", folder, name);
  return p;
}

static void put_text(const char *text) {
  FILE *file = fopen(at("problem.txt"), "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

static void put(const char *name, rgt__npy_type type, int n_dims, const int64_t *shape, const void *data) {
  rgt__message m = {0};
  if (rgt__npy_write(at(name), type, n_dims, shape, data, &m) != RGT_OK) fail_msg("%s", m.text);
}

#define TEXT(hidden, bias, exact) \
  "in=2 hidden=" hidden " out=1 groups=1 rows=2 act=relu bias=" bias " layout=nk index=int64 exact=" exact "\n"

/* one group, two rows: 1.0009766 = 1 + 2^-10 lies between two bf16 numbers */
static const float x[4] = {1.0009765625f, -2, 0.5f, 3};

static int make_folder(void **unused) {
  static const int64_t x_shape[2] = {2, 2}, i_shape[1] = {2}, w1_shape[3] = {1, 3, 2}, w2_shape[3] = {1, 1, 3},
                       b1_shape[2] = {1, 3}, y_shape[2] = {2, 1};
  static const int64_t index[2] = {0, -1};
  static const float w[6] = {1, 2, 3, 4, 5, 6};
  static const double y[2] = {1, 0};
  (void)unused;
  if (!mkdtemp(folder)) return -1;
  put("x.npy", RGT_NPY_F4, 2, x_shape, x);
  put("index.npy", RGT_NPY_I8, 1, i_shape, index);
  put("w1.npy", RGT_NPY_F4, 3, w1_shape, w);
  put("w2.npy", RGT_NPY_F4, 3, w2_shape, w);
  put("b1.npy", RGT_NPY_F4, 2, b1_shape, w);
  put("y.npy", RGT_NPY_F8, 2, y_shape, y);
  return 0;
}

static int remove_folder(void **unused) {
  DIR *dir = opendir(folder);
  struct dirent *entry;
  (void)unused;
  while (dir && (entry = readdir(dir)))
    if (entry->d_name[0] != '.') unlinkat(dirfd(dir), entry->d_name, 0);
  if (dir) closedir(dir);
  return rmdir(folder);
}

static rgt__options options(int dtype) {
  rgt__options o;
  set_unset(&o);
  o.case_dir = folder;
  o.dtype = dtype;
  return o;
}

static void biases_are_those_whose_files_are_there(void **unused) {
  rgt__options o = options(-1);
  rgt__message m = {0};
  rgt__data d;
  (void)unused;
  put_text(TEXT("3", "1", "1"));
  if (rgt__data_files_case(&o, NULL, 1, &d, &m) != RGT_OK) fail_msg("%s", m.text);
  assert_int_equal(d.desc.bias, RGT_BIAS_1);
  assert_int_equal(d.desc.kind, RGT_MLP);
  assert_int_equal(d.desc.dtype, RGT_F32);
  assert_memory_equal(d.x.data, x, sizeof x);
  assert_non_null(d.b1.data);
  assert_null(d.b2.data);
  assert_true(((const double *)d.y.data)[0] == 1);
  assert_true(d.exact && d.rows == 2);
  rgt__data_files_free(&d);
  assert_int_equal(rgt__data_files_case(&o, NULL, 0, &d, &m), RGT_OK);
  assert_null(d.y.data); /* not asked for */
  rgt__data_files_free(&d);
  put_text(TEXT("3", "0", "1"));
  assert_int_equal(rgt__data_files_case(&o, NULL, 0, &d, &m), RGT_EINVAL);
  assert_non_null(strstr(m.text, "/b1.npy: there, though problem.txt says bias=0"));
  assert_null(d.x.data);
}

static void inputs_are_rounded_to_16_bits(void **unused) {
  static const uint16_t bf16[4] = {0x3f80, 0xc000, 0x3f00, 0x4040}, f16[4] = {0x3c01, 0xc000, 0x3800, 0x4200};
  rgt__options o = options(RGT_BF16);
  rgt__message m = {0};
  rgt__data d;
  (void)unused;
  put_text(TEXT("3", "1", "0"));
  if (rgt__data_files_case(&o, NULL, 0, &d, &m) != RGT_OK) fail_msg("%s", m.text);
  assert_int_equal(d.desc.dtype, RGT_BF16);
  assert_int_equal(d.x.type, RGT_NPY_U2);
  assert_int_equal(d.x.bytes, sizeof bf16);
  assert_memory_equal(d.x.data, bf16, sizeof bf16);
  rgt__data_files_free(&d);
  o = options(RGT_F16);
  if (rgt__data_files_case(&o, NULL, 0, &d, &m) != RGT_OK) fail_msg("%s", m.text);
  assert_int_equal(d.x.type, RGT_NPY_F2);
  assert_memory_equal(d.x.data, f16, sizeof f16);
  rgt__data_files_free(&d);
}

/* single files hold the storage type itself */
static void single_files_are_not_rounded(void **unused) {
  static const int64_t shape[2] = {2, 2};
  static const uint16_t bits[4] = {0x3f80, 0xc000, 0x3f00, 0x4040};
  rgt_op_desc op = {.struct_size = sizeof op,
                    .kind = RGT_LINEAR,
                    .n_in = 2,
                    .n_out = 2,
                    .groups = 1,
                    .dtype = RGT_BF16,
                    .index_type = RGT_I64};
  static const int64_t w_shape[3] = {1, 2, 2};
  rgt__options o = options(-1);
  rgt__message m = {0};
  rgt__data d;
  char index[128], xs[128], ws[128];
  (void)unused;
  snprintf(index, sizeof index, "%s/index.npy", folder);
  snprintf(xs, sizeof xs, "%s/x.npy", folder);
  snprintf(ws, sizeof ws, "%s/w16.npy", folder);
  o.x = xs;
  o.index = index;
  o.w1 = ws;
  assert_int_equal(rgt__data_files_single(&o, &op, &d, &m), RGT_EINVAL);
  assert_non_null(strstr(m.text, "x.npy holds <f4 (2, 2), wanted <u2 or <V2 (bf16) (rows, 2)"));
  snprintf(xs, sizeof xs, "%s/x16.npy", folder);
  put("x16.npy", RGT_NPY_V2, 2, shape, bits);
  put("w16.npy", RGT_NPY_U2, 3, w_shape, bits);
  if (rgt__data_files_single(&o, &op, &d, &m) != RGT_OK) fail_msg("%s", m.text);
  assert_int_equal(d.rows, 2);
  assert_memory_equal(d.x.data, bits, sizeof bits);
  rgt__data_files_free(&d);
  o.b2 = xs;
  assert_int_equal(rgt__data_files_single(&o, &op, &d, &m), RGT_EINVAL);
  assert_string_equal(m.text, "--b2 is given, but the op has no use for it: its --bias says so");
}

static void the_op_given_must_be_the_folders(void **unused) {
  rgt__options o = options(-1);
  rgt__message m = {0};
  rgt__data d;
  rgt_op_desc op = {.struct_size = sizeof op,
                    .kind = RGT_MLP,
                    .n_in = 2,
                    .n_hidden = 3,
                    .n_out = 1,
                    .groups = 1,
                    .dtype = RGT_F16,
                    .act = RGT_ACT_RELU,
                    .bias = RGT_BIAS_1,
                    .index_type = RGT_I64};
  (void)unused;
  put_text(TEXT("3", "1", "0"));
  if (rgt__data_files_case(&o, &op, 0, &d, &m) != RGT_OK) fail_msg("%s", m.text); /* but for the storage type */
  assert_int_equal(d.desc.dtype, RGT_F16);
  rgt__data_files_free(&d);
  op.act = RGT_ACT_SILU;
  assert_int_equal(rgt__data_files_case(&o, &op, 0, &d, &m), RGT_EINVAL);
  assert_non_null(strstr(m.text, "the op given is mlp:2-3-1:g1:f32:silu:b1:nk:i64, but "));
}

static void an_index_alone(void **unused) {
  rgt_op_desc op = {.struct_size = sizeof op, .groups = 1, .index_type = RGT_I64};
  rgt__message m = {0};
  rgt__npy index;
  (void)unused;
  assert_int_equal(rgt__data_files_index(at("index.npy"), &op, &index, &m), RGT_OK);
  assert_int_equal(index.elems, 2);
  rgt__npy_free(&index);
  op.index_type = RGT_I32;
  assert_int_equal(rgt__data_files_index(at("index.npy"), &op, &index, &m), RGT_EINVAL);
  assert_non_null(strstr(m.text, "index.npy holds <i8 (2,), wanted <i4 (--index-type i32) (rows,)"));
  assert_null(index.data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(biases_are_those_whose_files_are_there),
      cmocka_unit_test(inputs_are_rounded_to_16_bits),
      cmocka_unit_test(single_files_are_not_rounded),
      cmocka_unit_test(the_op_given_must_be_the_folders),
      cmocka_unit_test(an_index_alone),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
