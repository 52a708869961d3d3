/* fake_opened.h -- a CUDA device opened on the fake driver, and programs for it. */
#ifndef RGT_TESTS_FAKE_OPENED_H
#define RGT_TESTS_FAKE_OPENED_H

#include "runtime/code_pair.h"
#include "runtime/device.h"
#include "tests/support/fake_driver.h"

static SCRATCH_UNUSED rgt__environment fake_environment;
static SCRATCH_UNUSED rgt__device *device;
static SCRATCH_UNUSED rgt__error err;

static SCRATCH_UNUSED rgt_status fake_device_try(const char *driver, int ordinal) {
  rgt__device_options o = {.env = &fake_environment, .ordinal = ordinal};
  environment_put(&fake_environment, RGT_ENV_RAGTUNE_LIBCUDA, driver);
  err.text[0] = 0;
  device = NULL;
  rgt_status status = rgt__device_cuda_open(&o, &device, &err);
  assert_int_equal(status == RGT_OK, device != NULL);
  if (status != RGT_OK && (!err.text[0] || strchr(err.text, '\n'))) fail_msg("not one line: \"%s\"", err.text);
  return status;
}

static SCRATCH_UNUSED void fake_device_open(const char *driver) {
  fake_open(driver);
  if (fake_device_try(driver, 0) != RGT_OK) fail_msg("%s", err.text);
}

static SCRATCH_UNUSED void fake_device_close(void) {
  if (device) device->ops->close(device);
  device = NULL;
  rgt__environment_free(&fake_environment);
  memset(&fake_environment, 0, sizeof fake_environment);
}

#define OK(status)                                    \
  do {                                                \
    if ((status) != RGT_OK) fail_msg("%s", err.text); \
  } while (0)

#define FAILS(call, status, word)                                                                                            \
  do {                                                                                                                       \
    rgt_status got_ = (call);                                                                                                \
    if (got_ != (status) || !strstr(err.text, (word)) || strchr(err.text, '\n'))                                             \
      fail_msg("%s: \"%s\", which should be %s and one line with \"%s\"", rgt_status_name(got_), err.text, #status, (word)); \
  } while (0)

static const char fake_cubin[] = "\x7f"
                                 "ELF, as far as the fake looks",
                  fake_ptx[] = ".version 9.0\n.target sm_90\n";

static SCRATCH_UNUSED rgt_status fake_load(const char *lines, rgt__program *program, rgt__module **m) {
  char text[1000];
  rgt__compiled c = {.code = (char *)(uintptr_t)fake_cubin,
                     .code_bytes = sizeof fake_cubin,
                     .ptx = (char *)(uintptr_t)fake_ptx,
                     .ptx_bytes = sizeof fake_ptx - 1};
  void *piece = NULL;
  size_t bytes = 0;
  snprintf(text, sizeof text, "rgt-program 1\nkargs %d\n%s", RGT_KARGS_VERSION, lines);
  OK(rgt__program_parse(text, program, &err));
  OK(rgt__code_pair_join(&c, &piece, &bytes, &err));
  rgt_status status = device->ops->load(device, NULL, piece, bytes, program, m, &err);
  rgt__free(piece);
  return status;
}

static SCRATCH_UNUSED void *fake_memory(size_t bytes) {
  void *p = NULL;
  OK(device->ops->mem_alloc(device, bytes, &p, &err));
  return p;
}

#endif
