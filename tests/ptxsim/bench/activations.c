/* activations.c -- the CUDA activations of the core, compiled by NVRTC and run here, against float64 and the declared errors.
 *
 *   ptxsim_activations [STEP [ACTIVATION]]     every STEP-th f32 (1: all, some ten minutes an activation); one activation or
 * all
 *
 * Each value also has the bits of the C form with FMA. Exit status 1 if one is wrong, naming the first. */
#include "../tests/support/kernels.h"

#include "activation_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 20, THREADS = 256 };

void activation_form_fma8(int act, const float *z, float *y, int n);

/* In cmocka's words, as every test program reports. */
static int skipped(const char *why) {
  printf("skipped: %s\n[  SKIPPED ] 1 test(s), listed below:\n[  SKIPPED ] ptxsim_activations\n", why);
  return 0;
}

static const char text_before[] =
    "#define DEV static __device__ __forceinline__\n"
    "enum : int { ACT_NONE, ACT_RELU, ACT_GELU, ACT_GELU_TANH, ACT_SILU, ACT_TANH, ACT = CHOSEN };\n";
static const char text_behind[] = "\nextern \"C\" __global__ void sweep(unsigned first, unsigned step, float *out) {\n"
                                  "  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                                  "  out[i] = act_f32(__int_as_float((int)(first + i * step)));\n"
                                  "}\n";

static CUfunction compile(int act) {
  char option[32];
  const char *options[] = {option, NULL};
  CUmodule module = NULL;
  char *act_text = sim_read_file(SIM_SOURCE_DIR "/templates/cuda/lib/act.cuh");
  size_t size = sizeof text_before + strlen(act_text) + sizeof text_behind;
  char *source = malloc(size);
  if (source == NULL) exit(1);
  snprintf(source, size, "%s%s%s", text_before, act_text, text_behind);
  snprintf(option, sizeof option, "-DCHOSEN=%d", act);
  sim_compiled compiled = sim_nvrtc_compile(source, "act.cu", sim_profile_sm(), options);
  cu.cuModuleLoadData(&module, compiled.cubin);
  MUST(cu.cuModuleLoadData(&module, compiled.ptx));
  sim_compiled_free(&compiled);
  free(source);
  free(act_text);
  return sim_kernel(module, "sweep");
}

/* Whether y is act(z), within the declared error and with the bits of the C form. */
static int is_right(int act, const activation_error *declared, float z, float y, float c_form) {
  if (isnan(z)) return isnan(y);
  if (memcmp(&y, &c_form, sizeof y) != 0) return 0;
  if (isinf(z)) return 1; /* the C form's infinities have a test of their own */
  double want = activation_reference(act, (double)z);
  return fabs((double)y - want) <= declared->alpha * fabs(want) + declared->beta * fabs((double)z) + 0x1p-150;
}

typedef struct sweep {
  int act;
  activation_error declared;
  int64_t n_checked, n_wrong;
} sweep;

static void check(sweep *s, const float *z, const float *y, int n) {
  static float c_form[CHUNK];
  activation_form_fma8(s->act, z, c_form, n);
  for (int i = 0; i < n; i++) {
    if (is_right(s->act, &s->declared, z[i], y[i], c_form[i])) continue;
    if (s->n_wrong++ == 0)
      printf("%s(%a) is %a on the device, %a in C, %.17g in float64\n", activation_name(s->act), (double)z[i], (double)y[i],
             (double)c_form[i], activation_reference(s->act, (double)z[i]));
  }
  s->n_checked += n;
}

static void run(sweep *s, CUfunction f, CUdeviceptr out, uint32_t step) {
  static float z[CHUNK], y[CHUNK];
  int64_t left = (((int64_t)1 << 32) + step - 1) / step;
  for (uint32_t first = 0; left > 0; left -= CHUNK, first += (uint32_t)CHUNK * step) {
    int n = left < CHUNK ? (int)left : CHUNK;
    unsigned blocks = (unsigned)(n + THREADS - 1) / THREADS;
    RUN(f, (sim_shape){{blocks, 1, 1}, {THREADS, 1, 1}, 0}, &first, &step, &out, NULL);
    sim_download(y, out, (size_t)n * sizeof *y);
    for (int i = 0; i < n; i++) {
      uint32_t bits = first + (uint32_t)i * step;
      memcpy(&z[i], &bits, sizeof bits);
    }
    check(s, z, y, n);
  }
}

int main(int argc, char **argv) {
  uint32_t step = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1;
  activation_error errors[N_ACTIVATIONS];
  char message[256];
  void *state = NULL;
  int passed = 0, failed = 0;
  if (step == 0 || argc > 3) {
    fprintf(stderr, "usage: ptxsim_activations [STEP [ACTIVATION]]\n");
    return 2;
  }
  if (sim_nvrtc_missing() != NULL) return skipped(sim_nvrtc_missing());
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    return skipped("this processor has no FMA, so there is no C form to compare with");
  if (activation_errors(errors, message) != 0 || sim_setup(&state) != 0) {
    fprintf(stderr, "%s\n", message);
    return 1;
  }
  CUdeviceptr out = sim_buffer(CHUNK * sizeof(float));
  for (int act = 0; act < N_ACTIVATIONS; act++) {
    if (argc > 2 && strcmp(argv[2], activation_name(act)) != 0) continue;
    sweep s = {.act = act, .declared = errors[act]};
    run(&s, compile(act), out, step);
    printf("%-9s %lld values, %lld wrong\n", activation_name(act), (long long)s.n_checked, (long long)s.n_wrong);
    fflush(stdout);
    if (s.n_wrong > 0 || s.n_checked == 0)
      failed++;
    else
      passed++;
  }
  sim_teardown(&state);
  printf("[  PASSED  ] %d test(s).\n", passed);
  if (failed > 0) printf("[  FAILED  ] %d test(s), listed below:\n[  FAILED  ] ptxsim_activations\n", failed);
  return failed > 0;
}
