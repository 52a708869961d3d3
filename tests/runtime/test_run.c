/* test_run.c -- rgt_op_run: y for every way to pass a problem, every bad argument, and no allocation after prepare. */
#include "tests/support/front.h"

#include <stdatomic.h>

/* ---- every allocation of the process, the library's and others ---- */

static atomic_int counting, n_mallocs;

#if defined __SANITIZE_ADDRESS__
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
                                              void (*on_free)(const volatile void *));
static void on_malloc(const volatile void *p, size_t bytes) {
  (void)p, (void)bytes;
  if (counting) n_mallocs++;
}
static void on_free(const volatile void *p) {
  (void)p;
}
static void watch_mallocs(void) {
  assert_true(__sanitizer_install_malloc_and_free_hooks(on_malloc, on_free) > 0);
}
#elif defined __GLIBC__
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *p, size_t bytes);
void *malloc(size_t bytes) {
  if (counting) n_mallocs++;
  return __libc_malloc(bytes);
}
void *calloc(size_t n, size_t bytes) {
  if (counting) n_mallocs++;
  return __libc_calloc(n, bytes);
}
void *realloc(void *p, size_t bytes) {
  if (counting) n_mallocs++;
  return __libc_realloc(p, bytes);
}
static void watch_mallocs(void) {}
#else
#define NO_MALLOC_HOOK 1
static void watch_mallocs(void) {}
#endif

static atomic_int n_hooked;

static void *counting_realloc(void *user, void *p, size_t bytes) {
  (void)user;
  if (counting) n_hooked++;
  if (bytes) return realloc(p, bytes);
  free(p);
  return NULL;
}

/* ---- fixture: one house for all, since the default variant compiles once ---- */

static front f;
static rgt_op *op;
static problem p;

static int open_house(void **state) {
  (void)state;
  watch_mallocs();
  rgt_set_alloc(counting_realloc, NULL);
  front_begin(&f);
  return 0;
}

static int close_house(void **state) {
  (void)state;
  front_end(&f);
  rgt_set_alloc(NULL, NULL);
  return 0;
}

static void begin(const char *text, int64_t rows, int padded, rgt_weight_form form) {
  rgt_op_options o = {.struct_size = sizeof o, .weight_form = form};
  front_open(&f);
  op = front_op_with(&f, text, &o);
  problem_make(&p, text, rows, padded);
}

static void end(void) {
  problem_free(&p);
  rgt_op_free(op);
}

static void run_right(void) {
  problem_reset_y(&p);
  front_ok(&f, rgt_op_run(op, &p.args, NULL));
  problem_check(&p);
}

/* ---- right ways ---- */

static void before_and_after_prepare(const char *text, int64_t rows, int padded, rgt_weight_form form, int bias_pointers) {
  begin(text, rows, padded, form);
  problem_use_pointers(&p, form == RGT_POINTERS, bias_pointers);
  run_right();
  assert_int_equal(front_compiles(&f), 0); /* the built-in kernel */
  front_ok(&f, rgt_op_prepare(op, rows, RGT_PREPARE_WAIT));
  front_compiles(&f);
  run_right();
  assert_int_equal(front_compiles(&f), 0);
  front_ok(&f, rgt_sync(op, NULL));
  end();
}

static void every_form(void **state) {
  (void)state;
  before_and_after_prepare(FRONT_MLP, 23, 0, RGT_STACKED, 0);
  before_and_after_prepare(FRONT_MLP, 23, 1, RGT_STACKED, 0);
  before_and_after_prepare(FRONT_MLP, 23, 1, RGT_POINTERS, 0);
  before_and_after_prepare(FRONT_MLP, 23, 1, RGT_POINTERS, 1);
  before_and_after_prepare(FRONT_MLP, 23, 1, RGT_STACKED, 1);
  before_and_after_prepare(FRONT_LINEAR, 23, 1, RGT_STACKED, 0);
  before_and_after_prepare(FRONT_LINEAR, 40, 0, RGT_POINTERS, 1);
  before_and_after_prepare("mlp:10-20-5:g4:f32:relu:b0:kn:i32", 17, 1, RGT_STACKED, 0);
  before_and_after_prepare("mlp:10-20-5:g4:f32:relu:b2:nk:i64", 17, 1, RGT_POINTERS, 0);
}

/* The same bits before and after prepare, also where sums round. */
static void builtin_has_the_default_bits(void **state) {
  enum { ROWS = 37, N_OUT = 11 };
  static const char *const texts[] = {"mlp:33-29-11:g4:f32:gelu:b12:nk:i64", "linear:77-11:g4:f32:tanh:b1:kn:i32"};
  float first[ROWS * N_OUT];
  (void)state;
  for (int t = 0; t < 2; t++) {
    begin(texts[t], ROWS, 0, RGT_STACKED);
    for (int64_t i = 0; i < ROWS * p.d.n_in; i++)
      if (!isnan(p.x[i])) p.x[i] *= 0.1f * (float)(i % 17);
    front_ok(&f, rgt_op_run(op, &p.args, NULL));
    memcpy(first, p.y, sizeof first);
    problem_reset_y(&p);
    front_ok(&f, rgt_op_prepare(op, ROWS, RGT_PREPARE_WAIT));
    front_ok(&f, rgt_op_run(op, &p.args, NULL));
    assert_memory_equal(first, p.y, sizeof first);
    end();
  }
}

static void masked_rows_are_zero(void **state) {
  (void)state;
  begin(FRONT_MLP, 12, 1, RGT_STACKED);
  for (int64_t r = 0; r < 12; r++) {
    problem_set_group(&p, r, -1);
    problem_fill(p.x + r * p.ld_x, (size_t)p.d.n_in, r % 2 ? 0x7f800000 : 0x7fc00000); /* Inf, NaN */
  }
  problem_expect(&p);
  run_right();
  front_ok(&f, rgt_op_prepare(op, 12, RGT_PREPARE_WAIT));
  run_right();
  end();
}

static void no_rows_take_nulls(void **state) {
  rgt_args a = {.struct_size = sizeof a};
  (void)state;
  begin(FRONT_MLP, 3, 0, RGT_STACKED);
  front_ok(&f, rgt_op_run(op, &a, NULL));
  front_ok(&f, rgt_op_prepare(op, 3, RGT_PREPARE_WAIT));
  front_ok(&f, rgt_op_run(op, &a, NULL));
  p.args.rows = 0;
  front_ok(&f, rgt_op_run(op, &p.args, NULL));
  problem_untouched(&p);
  end();
}

/* The op's groups are what it is tuned for; a call may have fewer or more. */
static void other_group_counts(void **state) {
  (void)state;
  begin("mlp:10-20-5:g7:f32:relu:b12:nk:i64", 30, 1, RGT_STACKED);
  rgt_op *narrow = front_op(&f, "mlp:10-20-5:g2:f32:relu:b12:nk:i64");
  p.args.groups = 7;
  front_ok(&f, rgt_op_run(narrow, &p.args, NULL));
  problem_check(&p);
  front_ok(&f, rgt_op_prepare(narrow, 30, RGT_PREPARE_WAIT));
  problem_reset_y(&p);
  front_ok(&f, rgt_op_run(narrow, &p.args, NULL));
  problem_check(&p);
  p.args.groups = 0; /* the op's two: groups 2 to 5 are errors now, and their rows 0 */
  front_fails(&f, rgt_op_run(narrow, &p.args, NULL), RGT_EINDEX, "it can be -1 (masked) to 1");
  p.args.groups = 6; /* fewer than op has: group 6 is not used */
  problem_reset_y(&p);
  front_ok(&f, rgt_op_run(op, &p.args, NULL));
  problem_check(&p);
  end();
}

/* ---- index errors: y is complete all the same ---- */

static void index_out_of_range_at(const char *text, int prepared) {
  char word[80];
  begin(text, 33, 1, RGT_STACKED);
  if (prepared) front_ok(&f, rgt_op_prepare(op, 33, RGT_PREPARE_WAIT));
  problem_set_group(&p, 30, 4);
  problem_set_group(&p, 7, p.d.index_type == RGT_I64 ? (int64_t)1 << 32 : INT32_MIN); /* not group 0 */
  problem_set_group(&p, 12, -2);
  problem_expect(&p);
  snprintf(word, sizeof word, "index[7] is %lld; it can be -1 (masked) to 3; 3 such rows", (long long)problem_group(&p, 7));
  for (int turn = 0; turn < 2; turn++) { /* the counter starts anew in every call */
    problem_reset_y(&p);
    front_fails(&f, rgt_op_run(op, &p.args, NULL), RGT_EINDEX, word);
    problem_check(&p);
  }
  problem_set_group(&p, 7, 0);
  problem_set_group(&p, 12, 1);
  problem_reset_y(&p);
  front_fails(&f, rgt_op_run(op, &p.args, NULL), RGT_EINDEX, "index[30] is 4; it can be -1 (masked) to 3; 1 such row,");
  problem_set_group(&p, 30, 2);
  for (int64_t r = 0; r < 33; r++)
    for (int64_t k = 0; k < p.d.n_in && problem_group(&p, r) >= 0; k++) p.x[r * p.ld_x + k] = problem_value(r + k);
  problem_expect(&p);
  run_right();
  front_ok(&f, rgt_sync(op, NULL));
  end();
}

static void index_out_of_range(void **state) {
  (void)state;
  for (int prepared = 0; prepared < 2; prepared++) {
    index_out_of_range_at(FRONT_MLP, prepared);
    index_out_of_range_at(FRONT_LINEAR, prepared);
  }
}

/* ---- bad arguments: a status, a line, and y left alone ---- */

static void refuse(rgt_args a, rgt_status want, const char *word) {
  problem_reset_y(&p);
  front_fails(&f, rgt_op_run(op, &a, NULL), want, word);
  problem_untouched(&p);
}

#define REFUSE(change, want, word) \
  do {                             \
    rgt_args a = p.args;           \
    a.change;                      \
    refuse(a, want, word);         \
  } while (0)

static void bad_arguments(void **state) {
  (void)state;
  begin(FRONT_MLP, 9, 0, RGT_STACKED);
  const void *list[4] = {p.w[0], p.w[0], p.w[0], p.w[0]};
  for (int prepared = 0; prepared < 2; prepared++) {
    REFUSE(struct_size = sizeof a - 8, RGT_EINVAL, "struct_size");
    REFUSE(rows = -1, RGT_EINVAL, "rows is -1");
    REFUSE(rows = RGT_COUNT_MAX + 1, RGT_EINVAL, "rows is 2147483648");
    REFUSE(groups = -3, RGT_EINVAL, "groups is -3");
    REFUSE(groups = RGT_COUNT_MAX + 1, RGT_EINVAL, "groups is 2147483648");
    REFUSE(x = NULL, RGT_EINVAL, "x is NULL with 9 rows");
    REFUSE(index = NULL, RGT_EINVAL, "index is NULL");
    REFUSE(y = NULL, RGT_EINVAL, "y is NULL");
    REFUSE(ld_x = 9, RGT_EINVAL, "ld_x is 9");
    REFUSE(ld_x = -10, RGT_EINVAL, "ld_x is -10");
    REFUSE(ld_y = 4, RGT_EINVAL, "ld_y is 4");
    REFUSE(ld_y = -1, RGT_EINVAL, "ld_y is -1");
    REFUSE(x_div = -1, RGT_EINVAL, "x_div is -1; it can be 0 or 1 (every row has its own x) to 2147483647");
    REFUSE(x_div = RGT_COUNT_MAX + 1, RGT_EINVAL, "x_div is 2147483648");
    REFUSE(y_mode = (rgt_y_mode)2, RGT_EINVAL, "y_mode is 2; it can be 0 (RGT_Y_SET) or 1 (RGT_Y_ADD)");
    REFUSE(order = RGT_ORDER_SORTED, RGT_EINVAL, "order is 1; the op was made with 0 (raw)");
    REFUSE(offsets = p.index, RGT_EINVAL, "and the op's order raw; it can be NULL, or the op made with offsets");
    REFUSE(row_scale = p.x, RGT_EUNSUPPORTED, "row_scale is 0x");
    REFUSE(layer3.w = p.x, RGT_EUNSUPPORTED, "layer3.w is set");
    REFUSE(layer3.w_ptrs = list, RGT_EUNSUPPORTED, "layer3.w_ptrs is set");
    REFUSE(layer3.b = p.x, RGT_EUNSUPPORTED, "layer3.b is set");
    REFUSE(layer1.w = NULL, RGT_EINVAL, "layer1");
    REFUSE(layer1.w_ptrs = list, RGT_EINVAL, "layer1");
    REFUSE(layer2.w = NULL, RGT_EINVAL, "layer2");
    REFUSE(layer1.ld_w = 9, RGT_EINVAL, "ld_w is 9");
    REFUSE(layer2.ld_w = 19, RGT_EINVAL, "layer2: ld_w is 19");
    REFUSE(layer1.ld_w = INT64_MAX, RGT_EINVAL, "offsets pass 2^63");
    REFUSE(layer1.stride_w = -1, RGT_EINVAL, "layer1: a stride is negative");
    REFUSE(layer2.stride_b = -1, RGT_EINVAL, "layer2: a stride is negative");
    REFUSE(layer1.b = NULL, RGT_EINVAL, "layer1: the op has a bias there");
    REFUSE(layer2.b_ptrs = list, RGT_EINVAL, "layer2: b and b_ptrs");
    front_ok(&f, rgt_op_prepare(op, 9, RGT_PREPARE_WAIT));
  }
  p.args.x_div = 1; /* is the same as 0 */
  run_right();
  end();
}

/* y on an input: refused before a byte is written. */
static void on(const void *input, const char *name, size_t offset, int64_t rows) {
  char word[40];
  unsigned char before[64];
  rgt_args a = p.args;
  a.y = (char *)(uintptr_t)input + offset;
  a.rows = rows; /* of small arrays one row's y, which reaches no other array */
  memcpy(before, a.y, sizeof before);
  snprintf(word, sizeof word, " lies on %s (0x", name);
  front_fails(&f, rgt_op_run(op, &a, NULL), RGT_EINVAL, word);
  assert_memory_equal(before, a.y, sizeof before);
}

static void y_on_an_input(void **state) {
  (void)state;
  for (int padded = 0; padded < 2; padded++) {
    begin(FRONT_MLP, 31, padded, RGT_STACKED);
    on(p.x, "x", 0, 31);
    on((char *)p.x + (31 * p.ld_x - 16) * 4, "x", 0, 31);
    on(p.index, "index", 31 * 8 - 64, 31);
    on(p.w[0], "layer1.w", 0, 1);
    on(p.w[1], "layer2.w", (size_t)(3 * p.stride_w[1] * 4), 1);
    on(p.b[0], "layer1.b", 0, 1);
    on(p.b[1], "layer2.b", 0, 1);
    run_right();
    end();
  }
}

/* y that begins before an input and reaches into it. */
static void y_into_an_input(void **state) {
  (void)state;
  begin(FRONT_MLP, 31, 0, RGT_STACKED);
  float *both = calloc(31 * 5 + 31 * 10, sizeof *both);
  memcpy(both + 31 * 5, p.x, 31 * 10 * sizeof *both);
  p.args.x = both + 31 * 5;
  p.args.y = both;
  front_ok(&f, rgt_op_run(op, &p.args, NULL)); /* side by side */
  for (int i = 0; i < 31 * 5; i++)
    if ((double)both[i] != p.expected[i]) fail_msg("y[%d] is wrong", i);
  p.args.y = both + 1;
  front_fails(&f, rgt_op_run(op, &p.args, NULL), RGT_EINVAL, "lies on x");
  p.args.x = both;
  p.args.y = both + 31 * 10;
  front_ok(&f, rgt_op_run(op, &p.args, NULL));
  free(both);
  end();
}

/* Columns of one matrix are no overlap: x on the left, y on the right; one column more is. */
static void y_beside_x_in_one_matrix(void **state) {
  enum { LD = 10 + 5 + 1 };
  (void)state;
  begin(FRONT_MLP, 20, 0, RGT_STACKED);
  float *both = calloc(20 * LD, sizeof *both);
  for (int r = 0; r < 20; r++) memcpy(both + r * LD, p.x + r * 10, 10 * sizeof *both);
  p.args.x = both;
  p.args.y = both + 11;
  p.args.ld_x = p.args.ld_y = LD;
  front_ok(&f, rgt_op_run(op, &p.args, NULL));
  for (int r = 0; r < 20; r++)
    for (int o = 0; o < 5; o++)
      if ((double)both[r * LD + 11 + o] != p.expected[r * 5 + o]) fail_msg("row %d: wrong beside x", r);
  p.args.y = both + 9;
  front_fails(&f, rgt_op_run(op, &p.args, NULL), RGT_EINVAL, "lies on x");
  p.args.y = both + 12; /* its last column is the next row's first */
  front_fails(&f, rgt_op_run(op, &p.args, NULL), RGT_EINVAL, "lies on x");
  free(both);
  end();
}

static void promised_alignment(void **state) {
  rgt_op_options promise = {.struct_size = sizeof promise, .align_bytes = 16};
  (void)state;
  problem_make(&p, "mlp:12-20-8:g4:f32:relu:b12:nk:i64", 9, 0);
  op = front_op_with(&f, "mlp:12-20-8:g4:f32:relu:b12:nk:i64", &promise);
  run_right();
  REFUSE(x = p.x + 1, RGT_EINVAL, "x is at 0x");
  REFUSE(y = p.y + 2, RGT_EINVAL, "y is at 0x");
  REFUSE(layer1.w = p.w[0] + 1, RGT_EINVAL, "layer1.w is at 0x");
  REFUSE(layer2.b = p.b[1] + 3, RGT_EINVAL, "layer2.b is at 0x");
  REFUSE(ld_x = 13, RGT_EINVAL, "ld_x is 13 elements of 4 bytes, no multiple of 16 bytes");
  REFUSE(ld_y = 9, RGT_EINVAL, "ld_y is 9");
  REFUSE(layer1.ld_w = 13, RGT_EINVAL, "ld_w of layer1 is 13");
  REFUSE(layer1.stride_b = 21, RGT_EINVAL, "stride_b of layer1 is 21");
  REFUSE(layer2.stride_w = 161, RGT_EINVAL, "stride_w of layer2 is 161");
  p.args.rows = p.rows = 1; /* with one row its distance to the next is no promise */
  p.args.ld_x = 13;
  run_right();
  end();
  begin(FRONT_MLP, 9, 0, RGT_STACKED); /* without a promise the element's own alignment is one */
  REFUSE(x = (char *)p.x + 2, RGT_EINVAL, "no multiple of 4 bytes");
  run_right();
  end();
}

static void bad_forms(void **state) {
  (void)state;
  begin("linear:9-6:g4:f32:none:b0:kn:i32", 9, 0, RGT_POINTERS);
  refuse(p.args, RGT_EINVAL, "weight_form is pointers");
  problem_use_pointers(&p, 1, 0);
  REFUSE(layer1.b = p.x, RGT_EINVAL, "the op has no bias there");
  run_right();
  end();
}

static void weights_handles(void **state) {
  rgt_weights *w = NULL, *other = NULL;
  (void)state;
  begin(FRONT_MLP, 21, 1, RGT_STACKED);
  rgt_op *second = front_op(&f, FRONT_MLP);
  front_ok(&f, rgt_weights_new(op, 4, &p.args.layer1, &p.args.layer2, &w));
  front_ok(&f, rgt_weights_new(second, 4, &p.args.layer1, &p.args.layer2, &other));
  memset(&p.args.layer1, 0, sizeof p.args.layer1);
  memset(&p.args.layer2, 0, sizeof p.args.layer2);
  p.args.weights = w;
  run_right();
  REFUSE(groups = 5, RGT_EINVAL, "no more than the weights'");
  p.args.groups = 3; /* the fourth group is not used */
  run_right();
  REFUSE(weights = other, RGT_EINVAL, "weights belong to another op");
  rgt_weights_free(w);
  rgt_weights_free(other);
  end();
}

static void more_rows_than_prepared(void **state) {
  (void)state;
  begin(FRONT_LINEAR, 20, 0, RGT_STACKED);
  front_ok(&f, rgt_op_prepare(op, 19, RGT_PREPARE_WAIT));
  refuse(p.args, RGT_ESIZE, "rows is 20; the op was prepared for at most 19");
  p.args.rows = p.rows = 19;
  run_right();
  front_ok(&f, rgt_op_prepare(op, 20, RGT_PREPARE_WAIT)); /* and again, larger */
  p.args.rows = p.rows = 20;
  run_right();
  end();
}

/* ---- no allocation after prepare ---- */

static void prepared_runs_allocate_nothing(const char *text, const char *variant) {
  begin(text, 1000, 1, RGT_STACKED);
  if (variant)
    front_ok(&f, rgt_op_prepare_variant(op, variant, 1000));
  else
    front_ok(&f, rgt_op_prepare(op, 1000, RGT_PREPARE_WAIT));
  n_hooked = n_mallocs = 0;
  counting = 1;
  rgt_status status = RGT_OK;
  for (int64_t rows = 1000; rows > 0 && status == RGT_OK; rows -= 111) { /* the first call too: nothing is put off to it */
    p.args.rows = rows;
    status = rgt_op_run(op, &p.args, NULL);
  }
  counting = 0;
  front_ok(&f, status);
  assert_int_equal(n_hooked, 0);
#ifndef NO_MALLOC_HOOK
  assert_int_equal(n_mallocs, 0);
  counting = 1;
  void *volatile one = malloc(10);
  counting = 0;
  free(one);
  assert_int_equal(n_mallocs, 1); /* the counter does count */
#endif
  p.args.rows = 1000;
  run_right();
  end();
}

static void nothing_is_allocated(void **state) {
  (void)state;
  prepared_runs_allocate_nothing(FRONT_MLP, NULL);
  prepared_runs_allocate_nothing(FRONT_MLP, "builtin");
  prepared_runs_allocate_nothing(FRONT_LINEAR, NULL);
}

/* ---- rows that share their x, come in order, are added ---- */

/* The op of p in an order, in place of the one that begin made. */
static void reopen(rgt_order order) {
  rgt_op_options o = {.struct_size = sizeof o, .order = order};
  rgt_op_free(op);
  front_ok(&f, rgt_op_new(f.ctx, &p.d, &o, &op));
  p.args.order = order;
}

/* Groups rising, masked rows last; x of live rows is finite wherever they come to lie. */
static void sort_rows(void) {
  int64_t to = 0;
  for (int64_t g = 0; g < 3; g++)
    for (int64_t n = 0; n < 2 + 3 * g; n++) problem_set_group(&p, to++, g);
  while (to < p.rows) problem_set_group(&p, to++, -1);
  for (int64_t r = 0; r < p.rows; r++)
    for (int64_t k = 0; k < p.d.n_in; k++) p.x[r * p.ld_x + k] = problem_group(&p, r) < 0 ? NAN : problem_value(r * 31 + k);
  problem_expect(&p);
}

/* 0, 2, 7, 15, 15: group 3 has no rows. */
static void fill_offsets(void *offsets) {
  for (int64_t g = 0, at = 0; g <= p.d.groups; at += g < 3 ? 2 + 3 * g : 0, g++) {
    if (p.d.index_type == RGT_I64)
      ((int64_t *)offsets)[g] = at;
    else
      ((int32_t *)offsets)[g] = (int32_t)at;
  }
}

static void in_order_at(const char *text, int prepared) {
  int64_t offsets[8];
  for (rgt_order order = RGT_ORDER_RAW; order <= RGT_ORDER_OFFSETS; order++) {
    begin(text, 19, 1, RGT_STACKED);
    sort_rows();
    reopen(order);
    if (order == RGT_ORDER_OFFSETS) {
      fill_offsets(offsets);
      p.args.offsets = offsets;
      p.args.index = NULL;
    }
    if (prepared) front_ok(&f, rgt_op_prepare(op, 19, RGT_PREPARE_WAIT));
    problem_reset_y(&p);
    front_ok(&f, rgt_op_run(op, &p.args, NULL));
    problem_check(&p);
    end();
  }
}

static void rows_in_order(void **state) {
  (void)state;
  for (int prepared = 0; prepared < 2; prepared++) {
    in_order_at(FRONT_MLP, prepared);
    in_order_at("linear:9-6:g4:f32:relu:b1:kn:i32", prepared);
  }
}

static void wrong_offsets(void **state) {
  int64_t offsets[5];
  (void)state;
  begin(FRONT_MLP, 19, 1, RGT_STACKED);
  sort_rows();
  reopen(RGT_ORDER_OFFSETS);
  problem_reset_y(&p);
  REFUSE(offsets = NULL, RGT_EINVAL, "offsets is NULL with 19 rows");
  p.args.offsets = offsets;
#define WRONG(g, value, word)                                           \
  do {                                                                  \
    fill_offsets(offsets);                                              \
    offsets[g] = (value);                                               \
    front_fails(&f, rgt_op_run(op, &p.args, NULL), RGT_EINVAL, (word)); \
    problem_untouched(&p);                                              \
  } while (0)
  for (int prepared = 0; prepared < 2; prepared++) {
    WRONG(0, 1,
          "offsets[0] is 1 with 19 rows; offsets can be 0 first, each no less than the one before, and no more than rows");
    WRONG(0, -1, "offsets[0] is -1");
    WRONG(2, 1, "offsets[2] is 1 after 2");
    WRONG(1, -5, "offsets[1] is -5 after 0");
    WRONG(3, 20, "offsets[3] is 20 with 19 rows");
    WRONG(4, INT64_MAX, "offsets[4] is 9223372036854775807 with 19 rows");
    WRONG(4, 14, "offsets[4] is 14 after 15");
    front_ok(&f, rgt_op_prepare(op, 19, RGT_PREPARE_WAIT));
  }
#undef WRONG
  fill_offsets(offsets);
  rgt_args a = p.args;
  a.y = offsets;
  a.rows = 1;
  front_fails(&f, rgt_op_run(op, &a, NULL), RGT_EINVAL, "lies on offsets (0x");
  run_right();
  end();
}

/* Rows 3 i to 3 i + 2 have x row i, whose groups differ. */
static void rows_share_x(void **state) {
  (void)state;
  for (int prepared = 0; prepared < 2; prepared++) {
    begin(FRONT_MLP, 20, 1, RGT_STACKED);
    int64_t ld = p.ld_x, n = p.d.n_in;
    float *shared = malloc(sizeof(float) * (size_t)(7 * ld));
    problem_fill(shared, (size_t)(7 * ld), 0x7fc00000);
    for (int64_t r = 0; r < 20; r++)
      for (int64_t k = 0; k < n; k++) p.x[r * ld + k] = shared[r / 3 * ld + k] = problem_value(r / 3 * 31 + k);
    problem_expect(&p);
    if (prepared) front_ok(&f, rgt_op_prepare(op, 20, RGT_PREPARE_WAIT));
    p.args.x = shared;
    p.args.x_div = 3;
    run_right();
    p.args.x_div = RGT_COUNT_MAX; /* one for all */
    for (int64_t r = 0; r < 20; r++) memcpy(p.x + r * ld, shared, (size_t)n * sizeof(float));
    problem_expect(&p);
    problem_reset_y(&p);
    run_right();
    free(shared);
    end();
  }
}

/* Right behind the last of 7 rows of x is no x any more: y may lie there, where 20 rows would reach into it. */
static void shared_x_beside_y(void **state) {
  (void)state;
  begin(FRONT_MLP, 20, 0, RGT_STACKED);
  float *both = calloc(7 * 10 + 20 * 5, sizeof *both);
  rgt_args a = p.args;
  a.x = both;
  a.y = both + 7 * 10;
  front_fails(&f, rgt_op_run(op, &a, NULL), RGT_EINVAL, "lies on x (0x");
  a.x_div = 3;
  front_ok(&f, rgt_op_run(op, &a, NULL));
  a.x_div = 2; /* ten rows */
  front_fails(&f, rgt_op_run(op, &a, NULL), RGT_EINVAL, "lies on x (0x");
  free(both);
  end();
}

static void y_is_added_to(void **state) {
  static const char *const texts[] = {FRONT_MLP, "linear:9-6:g4:f32:relu:b1:kn:i32", "mlp:3-2-3:g4:f32:none:b0:nk:i64"};
  (void)state;
  for (int t = 0; t < 3; t++) {
    for (int prepared = 0; prepared < 2; prepared++) {
      begin(texts[t], 23, 1, RGT_STACKED);
      if (prepared) front_ok(&f, rgt_op_prepare(op, 23, RGT_PREPARE_WAIT));
      p.args.y_mode = RGT_Y_ADD;
      for (int64_t r = 0; r < 23; r++)
        for (int64_t o = 0; o < p.d.n_out; o++) {
          float old = problem_value(r * 5 + o) + 1.25f;
          p.y[r * p.ld_y + o] = old; /* masked rows keep it */
          p.expected[r * p.d.n_out + o] += (double)old;
        }
      front_ok(&f, rgt_op_run(op, &p.args, NULL));
      problem_check(&p);
      end();
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_form),
      cmocka_unit_test(builtin_has_the_default_bits),
      cmocka_unit_test(masked_rows_are_zero),
      cmocka_unit_test(no_rows_take_nulls),
      cmocka_unit_test(other_group_counts),
      cmocka_unit_test(index_out_of_range),
      cmocka_unit_test(bad_arguments),
      cmocka_unit_test(bad_forms),
      cmocka_unit_test(y_on_an_input),
      cmocka_unit_test(y_into_an_input),
      cmocka_unit_test(y_beside_x_in_one_matrix),
      cmocka_unit_test(promised_alignment),
      cmocka_unit_test(weights_handles),
      cmocka_unit_test(more_rows_than_prepared),
      cmocka_unit_test(nothing_is_allocated),
      cmocka_unit_test(rows_in_order),
      cmocka_unit_test(wrong_offsets),
      cmocka_unit_test(rows_share_x),
      cmocka_unit_test(shared_x_beside_y),
      cmocka_unit_test(y_is_added_to),
  };
  return cmocka_run_group_tests(tests, open_house, close_house);
}
