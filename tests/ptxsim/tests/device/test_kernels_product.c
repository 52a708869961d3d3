/* test_kernels_product.c -- templates/cuda/lib/product.cuh: every product type against float64, under the p that
 * templates/lib/product.lua declares; exact data bit for bit; infinities, NaN, the largest and the smallest numbers. */
#include "../support/kernels.h"

#include <lauxlib.h>
#include <lualib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 16, COLUMNS = 8, MAX_K = 64, TILES = 16, TILE = ROWS * COLUMNS };

typedef struct kind {
  const char *name, *dtype;
  int number;       /* p.product */
  double p;         /* from product.lua */
  double subnormal; /* what a product errs by more, in units of the other operand */
  uint16_t (*narrow)(float);
  float (*widen)(uint16_t);
} kind;

static kind kinds[] = {
    {"f16", "f16", 0, -1, 0, sim_to_half, sim_from_half}, {"bf16", "bf16", 0, -1, 0, sim_to_bf16, sim_from_bf16},
    {"3xtf32", "f32", 0, -1, 0x1p-145, NULL, NULL},       {"tf32", "f32", 1, -1, 0x1p-137, NULL, NULL},
    {"bf16x3", "f32", 2, -1, 0x1p-140, NULL, NULL},       {"bf16x6", "f32", 3, -1, 0x1p-145, NULL, NULL}};
enum { KINDS = sizeof kinds / sizeof *kinds, FIRST_OF_F32 = 2 };

static struct {
  int k;
  float a[TILES][ROWS][MAX_K], b[TILES][COLUMNS][MAX_K];
  float c[TILES][ROWS][COLUMNS];
} t;

/* ---- declared errors ---- */

static int read_declared(void) {
  lua_State *l = luaL_newstate();
  int ok = l != NULL && luaL_dofile(l, SIM_SOURCE_DIR "/templates/lib/product.lua") == 0;
  for (int i = 0; i < KINDS && ok; i++) {
    lua_getfield(l, -1, "of");
    lua_newtable(l);
    lua_pushstring(l, kinds[i].dtype);
    lua_setfield(l, -2, "dtype");
    lua_newtable(l);
    lua_pushinteger(l, kinds[i].number);
    lua_setfield(l, -2, "product");
    ok = lua_pcall(l, 2, 1, 0) == 0 && lua_getfield(l, -1, "name") == LUA_TSTRING &&
         strcmp(lua_tostring(l, -1), kinds[i].name) == 0 && lua_getfield(l, -2, "p") == LUA_TNUMBER;
    if (ok) kinds[i].p = lua_tonumber(l, -1);
    lua_settop(l, 1);
  }
  if (l) lua_close(l);
  return ok ? 0 : -1;
}

/* The shared table says what each is: admission (2^-20 for f32 storage) must not change by chance. */
static void declared(void **state) {
  static const double wanted[KINDS] = {0, 0, 0x1p-21, 0x1p-10, 0x1p-15, 0x1p-22};
  (void)state;
  for (int i = 0; i < KINDS; i++) assert_true(kinds[i].p == wanted[i]);
}

/* ---- compile and run ---- */

static CUfunction compile(const kind *of, const char *kernel) {
  static const char *const parts[] = {"/templates/cuda/lib/base.cuh",    "/templates/cuda/lib/ptx.cuh",
                                      "/templates/cuda/lib/number.cuh",  "/templates/cuda/lib/mma.cuh",
                                      "/templates/cuda/lib/product.cuh", "/tests/ptxsim/tests/kernels/product.cu"};
  static char source[1 << 17];
  int at = snprintf(source, sizeof source,
                    "#define DTYPE_F32 0\n#define DTYPE_F16 1\n#define DTYPE_BF16 2\n#define DTYPE %d\n#define ELEM_BYTES %d\n"
                    "#define INDEX_BITS 64\n#define ALIGN_BYTES 16\n#define DEVICE_SM %d\n#define PRODUCT %d\n",
                    of->widen == NULL            ? 0
                    : of->widen == sim_from_half ? 1
                                                 : 2,
                    of->widen == NULL ? 4 : 2, sim_profile_sm(), of->number);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    char path[1024];
    snprintf(path, sizeof path, "%s%s", SIM_SOURCE_DIR, parts[i]);
    char *text = sim_read_file(path);
    at += snprintf(source + at, sizeof source - (size_t)at, "#line 1 \"%s\"\n%s\n", parts[i], text);
    assert_true((size_t)at < sizeof source);
    free(text);
  }
  CUmodule module = NULL;
  sim_compiled compiled = sim_nvrtc_compile(source, "product.cu", sim_profile_sm(), NULL);
  FAILS(CUDA_ERROR_NO_BINARY_FOR_GPU, cu.cuModuleLoadData(&module, compiled.cubin));
  MUST(cu.cuModuleLoadData(&module, compiled.ptx));
  sim_compiled_free(&compiled);
  return sim_kernel(module, kernel);
}

/* n values as they are stored; v becomes what was stored. */
static CUdeviceptr stored(const kind *of, float *v, size_t n) {
  if (of->widen == NULL) return sim_upload(v, n * sizeof *v);
  uint16_t *narrow = malloc(n * sizeof *narrow);
  assert_non_null(narrow);
  for (size_t i = 0; i < n; i++) {
    narrow[i] = of->narrow(v[i]);
    v[i] = of->widen(narrow[i]);
  }
  CUdeviceptr p = sim_upload(narrow, n * sizeof *narrow);
  free(narrow);
  return p;
}

static void run(CUfunction f, const kind *of) {
  static float a[TILES * ROWS * MAX_K], b[TILES * COLUMNS * MAX_K];
  const size_t n_a = (size_t)(TILES * ROWS * t.k), n_b = (size_t)(TILES * COLUMNS * t.k);
  for (int i = 0; i < TILES * ROWS; i++) memcpy(a + i * t.k, t.a[i / ROWS][i % ROWS], (size_t)t.k * sizeof *a);
  for (int i = 0; i < TILES * COLUMNS; i++) memcpy(b + i * t.k, t.b[i / COLUMNS][i % COLUMNS], (size_t)t.k * sizeof *b);
  CUdeviceptr da = stored(of, a, n_a), db = stored(of, b, n_b), dc = sim_buffer(sizeof t.c);
  for (int i = 0; i < TILES * ROWS; i++) memcpy(t.a[i / ROWS][i % ROWS], a + i * t.k, (size_t)t.k * sizeof *a);
  for (int i = 0; i < TILES * COLUMNS; i++) memcpy(t.b[i / COLUMNS][i % COLUMNS], b + i * t.k, (size_t)t.k * sizeof *b);
  RUN(f, (sim_shape){{TILES}, {32}, 0}, &da, &db, &dc, &t.k, NULL);
  sim_download(t.c, dc, sizeof t.c);
  MUST(cu.cuMemFree_v2(da));
  MUST(cu.cuMemFree_v2(db));
  MUST(cu.cuMemFree_v2(dc));
}

/* ---- data ---- */

static uint32_t seed;

static float power(int from, int to) { /* random in [1, 2), signed, times 2^from .. 2^to */
  const int e = from + (int)(sim_random_bits(&seed) % (uint32_t)(to - from + 1));
  const float v = ldexpf(1.0f + (float)(sim_random_bits(&seed) >> 9) * 0x1p-23f, e);
  return sim_random_bits(&seed) & 1 ? v : -v;
}

static void fill(int k, int a_from, int a_to, int b_from, int b_to) {
  t.k = k;
  seed = 12345;
  for (int i = 0; i < TILES; i++)
    for (int x = 0; x < k; x++) {
      for (int r = 0; r < ROWS; r++) t.a[i][r][x] = power(a_from, a_to);
      for (int c = 0; c < COLUMNS; c++) t.b[i][c][x] = power(b_from, b_to);
    }
}

typedef struct sums {
  double y, size, parts; /* of a b, |a b|, |a| + |b| */
} sums;

static sums wanted(int tile, int r, int c) {
  sums s = {0};
  for (int x = 0; x < t.k; x++) {
    const double p = (double)t.a[tile][r][x] * (double)t.b[tile][c][x];
    s.y += p;
    s.size += fabs(p);
    s.parts += fabs((double)t.a[tile][r][x]) + fabs((double)t.b[tile][c][x]);
  }
  return s;
}

/* Within (p + sums) S + what subnormal parts lose; returns the largest error / S. */
static double check(const kind *of, double of_sums, double subnormal, const char *what) {
  double worst = 0;
  for (int i = 0; i < TILES * TILE; i++) {
    const int tile = i / TILE, r = i % TILE / COLUMNS, c = i % COLUMNS;
    const sums s = wanted(tile, r, c);
    const double got = (double)t.c[tile][r][c];
    if (!(s.size <= 0x1.fffffep127)) continue;
    if (!(fabs(got - s.y) <= (of->p + of_sums) * s.size + subnormal * s.parts + (t.k + 1) * 0x1p-150))
      fail_msg("%s, %s: c[%d][%d] of tile %d is %a, and should be %a within %.3g of %a", of->name, what, r, c, tile, got, s.y,
               of->p + of_sums, s.size);
    if (s.size > 0) worst = fmax(worst, fabs(got - s.y) / s.size);
  }
  return worst;
}

static double adders(int k) {
  return (k + 8) * 0x1p-23;
}

/* ---- tests ---- */

static void of_all_sizes(void **state) {
  (void)state;
  SKIP_WITHOUT_NVRTC();
  for (int i = 0; i < KINDS; i++) {
    const kind *of = &kinds[i];
    CUfunction f = compile(of, "product_tile");
    fill(48, 0, 0, 0, 0);
    run(f, of);
    check(of, adders(t.k), 0, "numbers of one size");
    fill(64, -10, 0, -10, 0);
    run(f, of);
    check(of, adders(t.k), 0, "numbers of many sizes");
    if (i < FIRST_OF_F32) continue;
    fill(32, -60, 60, -60, 60);
    run(f, of);
    check(of, adders(t.k), 0, "very large and small numbers");
    fill(32, -124, -100, 0, 100);
    run(f, of);
    check(of, adders(t.k), of->subnormal, "next to the smallest normal numbers");
    fill(16, -149, -120, -2, 2);
    run(f, of);
    check(of, adders(t.k), of->subnormal, "subnormal numbers");
    fill(16, -2, 2, -149, -120);
    run(f, of);
    check(of, adders(t.k), of->subnormal, "subnormal numbers in B");
  }
  sim_expect_no_report();
}

/* One product and zeros: no sum's rounding hides what splitting lost. p holds, and is not many times too large. */
static void of_one_product(void **state) {
  (void)state;
  SKIP_WITHOUT_NVRTC();
  for (int i = 0; i < KINDS; i++) {
    const kind *of = &kinds[i];
    CUfunction f = compile(of, "product_tile");
    double worst = 0;
    for (int at = 0; at < 16; at++) {
      fill(16, 0, 0, 0, 0);
      for (int j = 0; j < TILES; j++) {
        for (int x = 0; x < 16; x++)
          for (int r = 0; r < ROWS; r++)
            if (x != at) t.a[j][r][x] = 0;
        for (int c = 0; c < COLUMNS; c++) /* 1 and a little: where the loss is largest */
          if (c % 2) t.b[j][c][at] = 1.0f + (t.b[j][c][at] - truncf(t.b[j][c][at])) * 0x1p-6f;
        for (int r = 0; r < ROWS; r++)
          if (r % 2) t.a[j][r][at] = 1.0f + (t.a[j][r][at] - truncf(t.a[j][r][at])) * 0x1p-6f;
      }
      run(f, of);
      worst = fmax(worst, check(of, 2 * 0x1p-24, 0, "one product"));
    }
    if (i >= FIRST_OF_F32 && worst < of->p / 8) fail_msg("%s loses %.3g at most, and declares %.3g", of->name, worst, of->p);
  }
}

static void exact(void **state) {
  (void)state;
  SKIP_WITHOUT_NVRTC();
  for (int i = 0; i < KINDS; i++) {
    CUfunction f = compile(&kinds[i], "product_tile");
    t.k = 64;
    seed = 99;
    for (int j = 0; j < TILES; j++)
      for (int x = 0; x < t.k; x++) {
        for (int r = 0; r < ROWS; r++)
          t.a[j][r][x] = (x + r) % 11 == 0 ? (float)((int)(sim_random_bits(&seed) % 17) - 8) / 4 : 0.0f;
        for (int c = 0; c < COLUMNS; c++) t.b[j][c][x] = (float)((int)(sim_random_bits(&seed) % 33) - 16) / 4;
      }
    run(f, &kinds[i]);
    for (int j = 0; j < TILES * TILE; j++)
      assert_true((double)t.c[j / TILE][j % TILE / COLUMNS][j % COLUMNS] ==
                  wanted(j / TILE, j % TILE / COLUMNS, j % COLUMNS).y);
  }
}

/* The largest numbers, which rounding up would make infinite. */
static void largest(void **state) {
  (void)state;
  SKIP_WITHOUT_NVRTC();
  for (int i = FIRST_OF_F32; i < KINDS; i++) {
    CUfunction f = compile(&kinds[i], "product_tile");
    fill(16, -60, 0, -30, -20);
    for (int j = 0; j < TILES; j++) /* at a k of each row: 0x7f7fffff and a few below it */
      for (int r = 0; r < ROWS; r++) t.a[j][r][r] = ldexpf((float)(0xffffff - 255 * j * r), 104) * (r % 2 ? 1.0f : -1.0f);
    run(f, &kinds[i]);
    check(&kinds[i], adders(16), 0, "the largest numbers");
    fill(16, -30, -20, -60, 0);
    for (int j = 0; j < TILES; j++)
      for (int c = 0; c < COLUMNS; c++) t.b[j][c][c] = ldexpf((float)(0xffffff - 255 * j * c), 104) * (c % 2 ? 1.0f : -1.0f);
    run(f, &kinds[i]);
    check(&kinds[i], adders(16), 0, "the largest numbers in B");
    fill(16, 0, 0, 0, 0); /* sums of absolute values just below the largest number */
    for (int j = 0; j < TILES * ROWS * 16; j++) t.a[j / (ROWS * 16)][j / 16 % ROWS][j % 16] = 0x1.fffffep123f;
    for (int j = 0; j < TILES * COLUMNS * 16; j++)
      t.b[j / (COLUMNS * 16)][j / 16 % COLUMNS][j % 16] = (j % 3 ? 1.0f : -1.0f) * (1.0f - 0x1p-20f);
    run(f, &kinds[i]);
    check(&kinds[i], adders(16), 0, "sums next to the largest number");
  }
}

static float bits(uint32_t u) {
  float v;
  memcpy(&v, &u, sizeof v);
  return v;
}

/* An Inf gives Inf of its sign, NaN of any bits and Inf times 0 give NaN, and other rows and columns see nothing of them. */
static void not_finite(void **state) {
  (void)state;
  SKIP_WITHOUT_NVRTC();
  static const uint32_t special[] = {0x7f800000, 0xff800000, 0x7f800001, 0x7fc00000, 0xffffffff, 0xff802000};
  for (int i = 0; i < KINDS; i++) {
    CUfunction f = compile(&kinds[i], "product_tile");
    for (int in_b = 0; in_b < 2; in_b++) {
      fill(32, -3, 3, -3, 3);
      for (int j = 0; j < TILES; j++) /* every k of a step has its turn */
        for (int s = 0; s < 6; s++) {
          if (kinds[i].widen != NULL && special[s] == 0x7f800001) continue; /* no such value in 16 bits */
          (in_b ? t.b[j][s] : t.a[j][2 * s + j % 2])[j + 16 * (s % 2)] = bits(special[s]);
          if (!in_b) t.b[j][7][j] = 0;
          if (!in_b && s < 2) t.b[j][6][j + 16 * (s % 2)] = -INFINITY; /* against either Inf */
          if (in_b) t.a[j][15][j + 16 * (s % 2)] = 0;
        }
      run(f, &kinds[i]);
      for (int n = 0; n < TILES * TILE; n++) {
        const int j = n / TILE, r = n % TILE / COLUMNS, c = n % COLUMNS;
        const sums s = wanted(j, r, c);
        const float got = t.c[j][r][c];
        if (isnan(s.y))
          assert_true(isnan(got));
        else if (isinf(s.y))
          assert_true((double)got == s.y);
        else
          assert_true(fabs((double)got - s.y) <= (kinds[i].p + adders(32)) * s.size + 0x1p-130);
      }
    }
  }
}

/* Of 16-bit types by ldmatrix and movmatrix from shared memory that cp.async filled, with k of 8 at a time. */
static void from_shared(void **state) {
  (void)state;
  SKIP_WITHOUT_NVRTC();
  for (int i = 0; i < FIRST_OF_F32; i++) {
    static float a[ROWS * MAX_K], b[MAX_K * COLUMNS];
    CUfunction f = compile(&kinds[i], "product_shared");
    t.k = 56;
    fill(56, -2, 2, -2, 2);
    for (int r = 0; r < ROWS; r++) memcpy(a + r * t.k, t.a[0][r], (size_t)t.k * sizeof *a);
    for (int x = 0; x < t.k; x++)
      for (int c = 0; c < COLUMNS; c++) b[x * COLUMNS + c] = t.b[0][c][x];
    CUdeviceptr da = stored(&kinds[i], a, (size_t)(ROWS * t.k)), db = stored(&kinds[i], b, (size_t)(t.k * COLUMNS)),
                dc = sim_buffer(TILE * sizeof(float));
    RUN(f, (sim_shape){{1}, {32}, 0}, &da, &db, &dc, &t.k, NULL);
    sim_download(t.c[0], dc, TILE * sizeof(float));
    for (int r = 0; r < ROWS; r++)
      for (int c = 0; c < COLUMNS; c++) {
        double y = 0, size = 0;
        for (int x = 0; x < t.k; x++) {
          const double p = (double)a[r * t.k + x] * (double)b[x * COLUMNS + c];
          y += p;
          size += fabs(p);
        }
        sim_expect_close((double)t.c[0][r][c], y, adders(t.k) * size, kinds[i].name, (size_t)(r * COLUMNS + c));
      }
  }
  sim_expect_no_report();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(declared),
      cmocka_unit_test_setup_teardown(of_all_sizes, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(of_one_product, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(exact, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(largest, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(not_finite, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(from_shared, sim_setup, sim_teardown),
  };
  if (read_declared() != 0) {
    fprintf(stderr, "templates/lib/product.lua does not say what it declares\n");
    return 1;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
