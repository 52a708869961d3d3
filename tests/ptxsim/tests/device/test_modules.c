/* test_modules.c -- loading: PTX, logs, versions and targets, cubins, variables, kernels and what is known of them. */
#include "../support/basic.h"
#include "../support/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Loads with logs, as the product does. */
static int load_with_logs(CUmodule *module, const char *ptx, char *error, size_t size) {
  char info[256] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_INFO_LOG_BUFFER,
                            CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_LOG_VERBOSE};
  void *values[] = {error, (void *)size, info, (void *)sizeof info, (void *)1};
  return cu.cuModuleLoadDataEx(module, ptx, 5, options, values);
}

static void unknown_instruction(void **state) {
  static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n\t.reg .b32 %r<3>;\n"
                            "\tfrobnicate.b32 %r1, %r2;\n\tret;\n}\n";
  char error[1024] = "";
  CUmodule module = NULL;
  (void)state;
  FAILS(CUDA_ERROR_INVALID_PTX, load_with_logs(&module, ptx, error, sizeof error));
  assert_null(module);
  assert_non_null(strstr(error, "frobnicate.b32 %r1, %r2"));
  assert_non_null(strstr(error, "7")); /* the line */
  sim_expect_report("frobnicate");
}

static void versions_and_targets(void **state) {
  static const struct {
    const char *text;
    int on_80, on_90, on_120;
  } heads[] = {
      {".version 7.0\n.target sm_80\n", CUDA_SUCCESS, CUDA_SUCCESS, CUDA_SUCCESS},
      {".version 9.0\n.target sm_90\n", CUDA_ERROR_INVALID_PTX, CUDA_SUCCESS, CUDA_SUCCESS},
      {".version 9.0\n.target sm_90a\n", CUDA_ERROR_INVALID_PTX, CUDA_SUCCESS, CUDA_ERROR_INVALID_PTX},
      {".version 9.0\n.target sm_120\n", CUDA_ERROR_INVALID_PTX, CUDA_ERROR_INVALID_PTX, CUDA_SUCCESS},
      {".version 9.9\n.target sm_80\n", CUDA_ERROR_UNSUPPORTED_PTX_VERSION, CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
       CUDA_ERROR_UNSUPPORTED_PTX_VERSION},
  };
  int sm = sim_profile_sm();
  (void)state;
  for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
    CUmodule module = NULL;
    char text[256], error[256] = "";
    snprintf(text, sizeof text, "%s.address_size 64\n.visible .entry k() { ret; }\n", heads[i].text);
    int wanted = sm == 80 ? heads[i].on_80 : sm == 90 ? heads[i].on_90 : heads[i].on_120;
    FAILS(wanted, load_with_logs(&module, text, error, sizeof error));
    assert_true((wanted == CUDA_SUCCESS) == (error[0] == '\0'));
    if (module != NULL) MUST(cu.cuModuleUnload(module));
  }
}

static void images_that_are_none(void **state) {
  CUmodule module = NULL;
  const unsigned char elf[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1}, fat[16] = {0x50, 0xed, 0x55, 0xba};
  (void)state;
  FAILS(CUDA_ERROR_INVALID_IMAGE, cu.cuModuleLoadData(&module, ""));
  FAILS(CUDA_ERROR_INVALID_IMAGE, cu.cuModuleLoadData(&module, elf));
  sim_expect_report("no cubin");
  FAILS(CUDA_ERROR_NO_BINARY_FOR_GPU, cu.cuModuleLoadData(&module, fat));
  FAILS(CUDA_ERROR_INVALID_PTX, cu.cuModuleLoadData(&module, "this is no PTX"));
  FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuModuleLoadData(&module, NULL));
  assert_null(module);
}

static void variables(void **state) {
  CUdeviceptr seven = 0, table = 0;
  size_t bytes = 0;
  (void)state;
  CUmodule module = sim_basic();
  CUfunction add = sim_kernel(module, "add_seven");
  CUdeviceptr p = sim_buffer(4);
  MUST(cu.cuModuleGetGlobal_v2(&seven, &bytes, module, "seven"));
  assert_int_equal(bytes, 4);
  assert_int_equal(sim_word(seven), 7);
  MUST(cu.cuModuleGetGlobal_v2(&table, &bytes, module, "table"));
  assert_int_equal(bytes, 24);
  assert_int_equal(table % 8, 0);
  assert_int_equal(sim_word(table), 0);
  FAILS(CUDA_ERROR_NOT_FOUND, cu.cuModuleGetGlobal_v2(&table, &bytes, module, "eight"));
  MUST(cu.cuMemsetD32_v2(p, 100, 1));
  RUN(add, (sim_shape){{1}, {1}, 0}, &p, NULL);
  assert_int_equal(sim_word(p), 107);
  MUST(cu.cuMemsetD32_v2(seven, 70, 1));
  RUN(add, (sim_shape){{1}, {1}, 0}, &p, NULL);
  assert_int_equal(sim_word(p), 177);
  CUmodule second = sim_basic(); /* with a variable of its own */
  RUN(sim_kernel(second, "add_seven"), (sim_shape){{1}, {1}, 0}, &p, NULL);
  assert_int_equal(sim_word(p), 184);
  FAILS(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree_v2(seven));
}

static int of(CUfunction function, int attribute) {
  int value = -1;
  MUST(cu.cuFuncGetAttribute(&value, attribute, function));
  return value;
}

static void facts(void **state) {
  (void)state;
  CUmodule module = sim_basic();
  CUfunction bounded = sim_kernel(module, "bounded"), shared = sim_kernel(module, "much_shared");
  assert_int_equal(of(bounded, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 64);
  assert_int_equal(of(shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), 40960);
  assert_int_equal(of(shared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES), 49152 - 40960);
  assert_int_equal(of(shared, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES), 0);
  assert_int_equal(of(shared, CU_FUNC_ATTRIBUTE_PTX_VERSION), 80);
  assert_int_equal(of(shared, CU_FUNC_ATTRIBUTE_BINARY_VERSION), sim_profile_sm());
  assert_true(of(shared, CU_FUNC_ATTRIBUTE_NUM_REGS) > 0);
  FAILS(CUDA_ERROR_NOT_FOUND, cu.cuModuleGetFunction(&shared, module, "no_such_kernel"));
  sim_expect_report("no_such_kernel");
}

static void handles(void **state) {
  CUfunction function = NULL;
  CUdeviceptr p = sim_buffer(4);
  unsigned value = 1;
  void *pointers[] = {&p, &value};
  (void)state;
  CUmodule module = sim_basic();
  CUfunction put = sim_kernel(module, "put");
  MUST(cu.cuModuleUnload(module));
  FAILS(CUDA_ERROR_INVALID_HANDLE, cu.cuModuleUnload(module));
  FAILS(CUDA_ERROR_INVALID_HANDLE, cu.cuModuleGetFunction(&function, module, "put"));
  FAILS(CUDA_ERROR_INVALID_HANDLE, cu.cuLaunchKernel(put, 1, 1, 1, 1, 1, 1, 0, NULL, pointers, NULL));
  FAILS(CUDA_ERROR_INVALID_HANDLE, cu.cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, pointers, NULL));
  FAILS(CUDA_ERROR_INVALID_HANDLE, cu.cuModuleUnload((CUmodule)put));
}

static void libraries(void **state) {
  CUlibrary library = NULL;
  CUkernel kernel = NULL;
  (void)state;
  char *ptx = sim_read_file(SIM_TESTS_DIR "/kernels/basic.ptx");
  CUdeviceptr p = sim_buffer(4);
  MUST(cu.cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
  free(ptx);
  MUST(cu.cuLibraryGetKernel(&kernel, library, "put"));
  sim_put((CUfunction)kernel, p, 12, NULL);
  assert_int_equal(sim_word(p), 12);
  FAILS(CUDA_ERROR_NOT_FOUND, cu.cuLibraryGetKernel(&kernel, library, "nothing"));
  MUST(cu.cuLibraryUnload(library));
  FAILS(CUDA_ERROR_INVALID_HANDLE, cu.cuLibraryUnload(library));
}

/* The cubin is refused, and what it says of the kernel counts for the PTX: registers, stack, and so how many blocks fit. */
static void registers_from_a_cubin(void **state) {
  static const char source[] = "extern \"C\" __global__ void __launch_bounds__(256) k(float *p, int n) {\n"
                               "  float v[64];\n"
                               "  for (int i = 0; i < 64; i++) v[i] = p[threadIdx.x * 64 + i];\n"
                               "  for (int k = 0; k < n; k++)\n"
                               "#pragma unroll\n"
                               "    for (int i = 0; i < 64; i++) v[i] = v[i] * v[(i + 1) % 64] + 1;\n"
                               "#pragma unroll\n"
                               "  for (int i = 0; i < 64; i++) p[threadIdx.x * 64 + i] = v[i];\n"
                               "}\n";
  CUmodule module = NULL;
  int blocks = 0;
  (void)state;
  SKIP_WITHOUT_NVRTC();
  sim_compiled compiled = sim_nvrtc_compile(source, "k.cu", sim_profile_sm(), NULL);
  FAILS(CUDA_ERROR_NO_BINARY_FOR_GPU, cu.cuModuleLoadData(&module, compiled.cubin));
  assert_int_equal(sim_reports().misuses, 0); /* a program may offer it first */
  MUST(cu.cuModuleLoadData(&module, compiled.ptx));
  CUfunction k = sim_kernel(module, "k");
  int registers = of(k, CU_FUNC_ATTRIBUTE_NUM_REGS);
  assert_in_range(registers, 64, 168);
  MUST(cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, k, 256, 0));
  assert_int_equal(blocks, 65536 / 4 / ((registers + 7) / 8 * 8 * 32) * 4 / 8);
  compiled.cubin_bytes = 0;
  sim_compiled_free(&compiled);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(unknown_instruction, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(versions_and_targets, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(images_that_are_none, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(variables, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(facts, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(handles, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(libraries, sim_setup, sim_teardown),
      cmocka_unit_test_setup_teardown(registers_from_a_cubin, sim_setup, sim_teardown),
  };
  sim_quiet();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
