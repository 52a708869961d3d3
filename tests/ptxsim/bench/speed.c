/* speed.c -- how fast kernels run here: thread instructions a second of one core, with all checks off and all on.
 *
 *   ptxsim_speed [--quick]      each kernel in a process of its own; --quick: sizes for a test that it still runs */
#include "../tests/support/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct prepared {
  CUfunction function;
  sim_shape shape;
  CUdeviceptr buffers[3];
  int numbers[3];
  void *pointers[6];
} prepared;

static CUfunction compile(const char *folder, const char *name) {
  char path[1024];
  CUmodule module = NULL;
  snprintf(path, sizeof path, "%s/../%s/%s.cu", SIM_TESTS_DIR, folder, name);
  char *source = sim_read_file(path);
  sim_compiled compiled = sim_nvrtc_compile(source, path, sim_profile_sm(), NULL);
  cu.cuModuleLoadData(&module, compiled.cubin);
  MUST(cu.cuModuleLoadData(&module, compiled.ptx));
  sim_compiled_free(&compiled);
  free(source);
  return sim_kernel(module, name);
}

static CUdeviceptr zeros(size_t bytes) {
  CUdeviceptr p = sim_buffer(bytes);
  MUST(cu.cuMemsetD8_v2(p, 0, bytes));
  return p;
}

static void prepare_scalar(prepared *p, int quick) {
  p->function = compile("bench", "scalar");
  p->shape = (sim_shape){{quick ? 2 : 64, 1, 1}, {256, 1, 1}, 0};
  p->buffers[0] = zeros(64 * 256 * 4);
  p->numbers[0] = quick ? 10 : 1000;
  p->pointers[0] = &p->buffers[0];
  p->pointers[1] = &p->numbers[0];
}

static void prepare_divergent(prepared *p, int quick) {
  p->function = compile("bench", "divergent");
  p->shape = (sim_shape){{quick ? 2 : 64, 1, 1}, {256, 1, 1}, 0};
  p->buffers[0] = zeros(1024 * 4);
  p->buffers[1] = zeros(64 * 256 * 4);
  p->numbers[0] = quick ? 10 : 500;
  p->pointers[0] = &p->buffers[0];
  p->pointers[1] = &p->buffers[1];
  p->pointers[2] = &p->numbers[0];
}

static void prepare_mma(prepared *p, int quick) {
  int size = quick ? 64 : 512;
  p->function = compile("tests/kernels", "matmul_mma");
  p->shape = (sim_shape){{(unsigned)size / 64, (unsigned)size / 64, 1}, {128, 1, 1}, 3 * (64 * 40 + 32 * 72) * 2};
  for (int i = 0; i < 3; i++) p->buffers[i] = zeros((size_t)size * (size_t)size * (i == 2 ? 4 : 2));
  for (int i = 0; i < 3; i++) p->numbers[i] = size;
  for (int i = 0; i < 3; i++) p->pointers[i] = &p->buffers[i];
  for (int i = 0; i < 3; i++) p->pointers[3 + i] = &p->numbers[i];
}

static const struct {
  const char *name;
  void (*prepare)(prepared *, int quick);
} kernels[] = {
    {"scalar f32 loop", prepare_scalar}, {"divergent loop", prepare_divergent}, {"cp.async, ldmatrix, mma", prepare_mma}};
enum { N_KERNELS = sizeof kernels / sizeof kernels[0] };

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The best of three; thread instructions come from the counters. */
static void measure(int i, const char *checks, int quick) {
  void *state = NULL;
  prepared p = {0};
  ptxsim_launches l;
  double best = 1e30;
  setenv("PTXSIM_CHECKS", checks, 1);
  if (sim_setup(&state) != 0) exit(1);
  kernels[i].prepare(&p, quick);
  for (int repeat = 0; repeat < 3; repeat++) {
    double begin = seconds();
    MUST(cu.cuLaunchKernel(p.function, p.shape.grid[0], p.shape.grid[1], 1, p.shape.block[0], 1, 1, p.shape.shared, NULL,
                           p.pointers, NULL));
    MUST(cu.cuCtxSynchronize());
    double took = seconds() - begin;
    best = took < best ? took : best;
  }
  if (cu.ptxsim_last_launch(&l) != 0) exit(1);
  printf("%-24s checks %-4s %8.3f G thread instructions/s  %8.3f G lanes/s  (%llu warp instructions in %.1f ms)\n",
         kernels[i].name, checks, (double)l.counters.thread_inst_executed / best * 1e-9,
         32 * (double)l.counters.inst_executed / best * 1e-9, (unsigned long long)l.counters.inst_executed, best * 1e3);
  sim_teardown(&state);
  exit(0);
}

int main(int argc, char **argv) {
  int quick = argc > 1 && strcmp(argv[1], "--quick") == 0, passed = 0, failed = 0;
  if (sim_nvrtc_missing() != NULL) {
    printf("skipped: %s\n[  SKIPPED ] 1 test(s), listed below:\n[  SKIPPED ] ptxsim_speed\n", sim_nvrtc_missing());
    return 0;
  }
  for (int i = 0; i < N_KERNELS; i++)
    for (int all = 0; all < 2; all++) {
      int status = -1;
      fflush(stdout);
      pid_t child = fork();
      if (child == 0) measure(i, all ? "all" : "none", quick);
      if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0)
        failed++;
      else
        passed++;
    }
  printf("[  PASSED  ] %d test(s).\n", passed);
  if (failed > 0) printf("[  FAILED  ] %d test(s), listed below:\n[  FAILED  ] ptxsim_speed\n", failed);
  return failed > 0;
}
