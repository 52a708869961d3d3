/* peak.c -- what the GPU can do at most, measured: bytes read from its memory, f32 multiply-adds, bf16 mma.sync.
 *
 *     gpu_peak [MIB [TURNS]]            reads MIB (4096, or a quarter of what is free), TURNS loops of arithmetic (20000)
 *     gpu_peak --compile sm_XX          compiles the kernels and no more, for whoever records that
 *
 * Prints one line of JSON. mma.sync is what RagTune's families use; wgmma goes further on sm_90. Exit status: 0; 2 usage; 3 the
 * surroundings.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/cuda_api.h"
#include "runtime/nvrtc.h"

enum { THREADS = 256, BLOCKS_PER_SM = 8, ROUNDS = 5, CHAINS = 8 };

/* What is summed is stored only where it is a number that it never is. */
static const char source[] =
    "extern \"C\" __global__ void peak_read(const float4 *p, unsigned long long n, float *out) {\n"
    "  float s = 0;\n"
    "  unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;\n"
    "#pragma unroll 8\n"
    "  for (unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {\n"
    "    float4 v = p[i];\n"
    "    s += (v.x + v.y) + (v.z + v.w);\n"
    "  }\n"
    "  if (s == 12345.5f) *out = s;\n"
    "}\n"
    "extern \"C\" __global__ void peak_fma(int turns, float *out) {\n"
    "  float c[8], s = 0;\n"
    "#pragma unroll\n"
    "  for (int j = 0; j < 8; j++) c[j] = (float)(threadIdx.x + j);\n"
    "  for (int i = 0; i < turns; i++) {\n"
    "#pragma unroll\n"
    "    for (int j = 0; j < 8; j++) c[j] = __fmaf_rn(c[j], 0.999f, 0.001f);\n"
    "  }\n"
    "#pragma unroll\n"
    "  for (int j = 0; j < 8; j++) s += c[j];\n"
    "  if (s == 12345.5f) *out = s;\n"
    "}\n"
    "extern \"C\" __global__ void peak_mma(int turns, float *out) {\n"
    "  float c[8][4] = {}, s = 0;\n"
    "  unsigned a = threadIdx.x * 3u, b = threadIdx.x * 5u; /* tiny numbers */\n"
    "  for (int i = 0; i < turns; i++) {\n"
    "#pragma unroll\n"
    "    for (int j = 0; j < 8; j++)\n"
    "      asm volatile(\"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, {%5, %5}, "
    "\"\n"
    "                   \"{%0, %1, %2, %3};\" : \"+f\"(c[j][0]), \"+f\"(c[j][1]), \"+f\"(c[j][2]), \"+f\"(c[j][3]) : \"r\"(a), "
    "\"r\"(b));\n"
    "  }\n"
    "#pragma unroll\n"
    "  for (int j = 0; j < 8; j++) s += c[j][0] + c[j][1] + c[j][2] + c[j][3];\n"
    "  if (s == 12345.5f) *out = s;\n"
    "}\n";

typedef struct gpu {
  rgt__cuda_api api;
  void *context, *module, *events[2];
  rgt__cuda_address data, out;
  size_t bytes;
  int turns, n_sms;
  char target[16];
} gpu;

static int fail(const char *what) {
  fprintf(stderr, "gpu_peak: %s\n", what);
  return 3;
}

static rgt_status compile(const rgt__environment *env, const char *target, rgt__compiled *out, rgt__error *err) {
  rgt__nvrtc *nvrtc = NULL;
  rgt_status status = rgt__nvrtc_open(env, &nvrtc, err);
  if (status == RGT_OK) status = rgt__nvrtc_compile(nvrtc, source, target, out, err);
  rgt__nvrtc_close(nvrtc);
  return status;
}

static int attribute(const gpu *g, int device, int which) {
  int value = 0;
  g->api.cuDeviceGetAttribute(&value, which, device);
  return value;
}

static const char *open_device(gpu *g, const rgt__environment *env, rgt__error *err) {
  int device = 0;
  if (rgt__cuda_api_open(env, &g->api, err) != RGT_OK) return err->text;
  if (g->api.cuDeviceGet(&device, 0) || g->api.cuDevicePrimaryCtxRetain(&g->context, device) ||
      g->api.cuCtxPushCurrent_v2(g->context))
    return "the first GPU gives no context";
  g->n_sms = attribute(g, device, RGT_CUDA_DEVICE_SM_COUNT);
  snprintf(g->target, sizeof g->target, "sm_%d%d", attribute(g, device, RGT_CUDA_DEVICE_CC_MAJOR),
           attribute(g, device, RGT_CUDA_DEVICE_CC_MINOR));
  return NULL;
}

static const char *prepare(gpu *g, const rgt__environment *env, size_t mib, rgt__error *err) {
  rgt__compiled code = {0};
  size_t available = 0, total = 0;
  if (compile(env, g->target, &code, err) != RGT_OK) return err->text;
  int result = g->api.cuModuleLoadDataEx(&g->module, code.code, 0, NULL, NULL);
  if (result) result = g->api.cuModuleLoadDataEx(&g->module, code.ptx, 0, NULL, NULL);
  rgt__free(code.code);
  rgt__free(code.ptx);
  if (result) return "the driver takes neither cubin nor PTX";
  if (g->api.cuMemGetInfo_v2(&available, &total)) return "cuMemGetInfo failed";
  g->bytes = mib << 20 < available / 4 ? mib << 20 : available / 4 / 16 * 16;
  if (g->api.cuMemAlloc_v2(&g->data, g->bytes) || g->api.cuMemAlloc_v2(&g->out, 4)) return "no memory";
  if (g->api.cuMemsetD8Async(g->data, 0, g->bytes, NULL)) return "cuMemsetD8 failed";
  if (g->api.cuEventCreate(&g->events[0], 0) || g->api.cuEventCreate(&g->events[1], 0)) return "cuEventCreate failed";
  return NULL;
}

/* Seconds of the fastest launch but the first; 0: it failed. */
static double seconds_of(gpu *g, const char *name, void **params) {
  void *function = NULL;
  double best = 0;
  if (g->api.cuModuleGetFunction(&function, g->module, name)) return 0;
  for (int i = 0; i < ROUNDS; i++) {
    float ms = 0;
    if (g->api.cuEventRecord(g->events[0], NULL) ||
        g->api.cuLaunchKernel(function, (unsigned)(g->n_sms * BLOCKS_PER_SM), 1, 1, THREADS, 1, 1, 0, NULL, params, NULL) ||
        g->api.cuEventRecord(g->events[1], NULL) || g->api.cuEventSynchronize(g->events[1]) ||
        rgt__cuda_api_elapsed(&g->api, &ms, g->events[0], g->events[1]))
      return 0;
    if (i > 0 && (best == 0 || ms < best)) best = ms;
  }
  return best / 1e3;
}

static void print_rate(const char *name, double work, double seconds, const char *end) {
  if (seconds > 0)
    printf("\"%s\": %.6g%s", name, work / seconds, end);
  else
    printf("\"%s\": null%s", name, end);
}

static int measure(gpu *g) {
  unsigned long long n = g->bytes / 16;
  void *read[] = {&g->data, &n, &g->out}, *turn[] = {&g->turns, &g->out};
  double threads = (double)g->n_sms * BLOCKS_PER_SM * THREADS, turns = g->turns;
  double read_s = seconds_of(g, "peak_read", read), fma_s = seconds_of(g, "peak_fma", turn),
         mma_s = seconds_of(g, "peak_mma", turn);
  printf("{\"target\": \"%s\", \"sms\": %d, ", g->target, g->n_sms);
  print_rate("bytes_per_s", (double)g->bytes, read_s, ", ");
  print_rate("f32_flop_per_s", threads * turns * CHAINS * 2, fma_s, ", ");
  print_rate("mma_flop_per_s", threads / 32 * turns * CHAINS * 4096, mma_s, "}\n");
  return read_s > 0 && fma_s > 0 && mma_s > 0 ? 0 : fail("a kernel failed");
}

static int run(int argc, char **argv, const rgt__environment *env) {
  gpu g = {.turns = argc > 2 ? atoi(argv[2]) : 20000};
  rgt__error err = {""};
  int mib = argc > 1 ? atoi(argv[1]) : 4096;
  if (argc == 3 && strcmp(argv[1], "--compile") == 0) {
    rgt__compiled code = {0};
    rgt_status status = compile(env, argv[2], &code, &err);
    rgt__free(code.code);
    rgt__free(code.ptx);
    return status == RGT_OK ? 0 : fail(err.text);
  }
  if (argc > 3 || mib < 1 || g.turns < 1) {
    fputs("usage: gpu_peak [MIB [TURNS]] | --compile sm_XX\n", stderr);
    return 2;
  }
  const char *wrong = open_device(&g, env, &err);
  if (!wrong) wrong = prepare(&g, env, (size_t)mib, &err);
  return wrong ? fail(wrong) : measure(&g); /* the process ends: the driver takes back what it gave */
}

int main(int argc, char **argv) {
  rgt__environment env;
  rgt__error err = {""};
  if (rgt__environment_read(&env, &err) != RGT_OK) return fail(err.text);
  int status = run(argc, argv, &env);
  rgt__environment_free(&env);
  return status;
}
