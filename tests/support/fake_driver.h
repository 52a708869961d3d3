/* fake_driver.h -- the fake CUDA driver for a test: loaded, set up, and looked at. */
#ifndef RGT_TESTS_FAKE_DRIVER_H
#define RGT_TESTS_FAKE_DRIVER_H

#include <dlfcn.h>

#include "tests/support/fake_cuda/fake_cuda.h"
#include "tests/support/scratch.h"

#define FAKE_DRIVER RGT_BUILD_DIR "/tests/libfake_cuda_0.so"
#define FAKE_DRIVER_CUT RGT_BUILD_DIR "/tests/libfake_cuda_1.so"  /* without cuLaunchKernel */
#define FAKE_DRIVER_BARE RGT_BUILD_DIR "/tests/libfake_cuda_2.so" /* without what a driver may lack */

static SCRATCH_UNUSED fake_cuda *fake;
static SCRATCH_UNUSED void *fake_library;

static SCRATCH_UNUSED void *fake_symbol(const char *name) {
  void *p = dlsym(fake_library, name);
  if (!p) fail_msg("the fake driver has no %s", name);
  return p;
}

/* Loads the driver at `path` and puts it back to its beginning. */
static SCRATCH_UNUSED void fake_open(const char *path) {
  fake_cuda_reset_fn reset;
  fake_library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!fake_library) fail_msg("%s", dlerror());
  void *p = fake_symbol("fake_cuda_reset");
  memcpy(&reset, &p, sizeof reset);
  reset();
  fake = fake_symbol("fake_cuda");
}

static SCRATCH_UNUSED const char *fake_name(int call) {
  fake_cuda_name_fn fn;
  void *p = fake_symbol("fake_cuda_name");
  memcpy(&fn, &p, sizeof fn);
  return fn(call);
}

static SCRATCH_UNUSED unsigned fake_flags(int call) {
  fake_cuda_flags_fn fn;
  void *p = fake_symbol("fake_cuda_flags");
  memcpy(&fn, &p, sizeof fn);
  return fn(call);
}

static SCRATCH_UNUSED int fake_depth(void) {
  fake_cuda_depth_fn fn;
  void *p = fake_symbol("fake_cuda_depth");
  memcpy(&fn, &p, sizeof fn);
  return fn();
}

/* This thread's mode towards captures: 0 unless somebody forgot to put it back. */
static SCRATCH_UNUSED int fake_mode(void) {
  fake_cuda_depth_fn fn;
  void *p = fake_symbol("fake_cuda_mode");
  memcpy(&fn, &p, sizeof fn);
  return fn();
}

/* A context of the caller's own. */
static SCRATCH_UNUSED void *fake_context(int ordinal) {
  fake_cuda_context_fn fn;
  void *p = fake_symbol("fake_cuda_context");
  memcpy(&fn, &p, sizeof fn);
  return fn(ordinal);
}

static SCRATCH_UNUSED int fake_pointer_call(const char *name, void *argument) {
  int (*fn)(void *);
  void *p = fake_symbol(name);
  memcpy(&fn, &p, sizeof fn);
  return fn(argument);
}

static SCRATCH_UNUSED void fake_push(void *context) {
  assert_int_equal(fake_pointer_call("cuCtxPushCurrent_v2", context), 0);
}

static SCRATCH_UNUSED void *fake_pop(void) {
  void *context = NULL;
  assert_int_equal(fake_pointer_call("cuCtxPopCurrent_v2", &context), 0);
  return context;
}

/* The device's primary context, held once more. */
static SCRATCH_UNUSED void *fake_hold(int ordinal) {
  int (*fn)(void **, int);
  void *p = fake_symbol("cuDevicePrimaryCtxRetain"), *context = NULL;
  memcpy(&fn, &p, sizeof fn);
  assert_int_equal(fn(&context, 100 + ordinal), 0);
  return context;
}

static SCRATCH_UNUSED void fake_give_back(int ordinal) {
  int (*fn)(int);
  void *p = fake_symbol("cuDevicePrimaryCtxRelease_v2");
  memcpy(&fn, &p, sizeof fn);
  assert_int_equal(fn(100 + ordinal), 0);
}

static SCRATCH_UNUSED void *fake_stream(unsigned flags) {
  int (*fn)(void **, unsigned);
  void *p = fake_symbol("cuStreamCreate"), *stream = NULL;
  memcpy(&fn, &p, sizeof fn);
  assert_int_equal(fn(&stream, flags), 0);
  return stream;
}

static SCRATCH_UNUSED void fake_stream_free(void *stream) {
  assert_int_equal(fake_pointer_call("cuStreamDestroy_v2", stream), 0);
}

static SCRATCH_UNUSED int fake_begin_capture(void *stream, int mode) {
  int (*fn)(void *, int);
  void *p = fake_symbol("cuStreamBeginCapture_v2");
  memcpy(&fn, &p, sizeof fn);
  return fn(stream, mode);
}

static SCRATCH_UNUSED int fake_end_capture(void *stream, void **graph) {
  int (*fn)(void *, void **);
  void *p = fake_symbol("cuStreamEndCapture");
  memcpy(&fn, &p, sizeof fn);
  return fn(stream, graph);
}

/* Nothing is left that was taken, and nothing was done that a driver would not have had. */
static SCRATCH_UNUSED void fake_is_clean_at(const char *what, const char *file, int line) {
  if (fake->misuse[0]) fail_msg("%s:%d: %s: misuse: %s", file, line, what, fake->misuse);
  if (fake->contexts || fake->modules || fake->streams || fake->events || fake->graphs || fake->execs || fake->blocks)
    fail_msg("%s:%d: %s: left: %d contexts, %d modules, %d streams, %d events, %d graphs, %d executable graphs, %d blocks",
             file, line, what, fake->contexts, fake->modules, fake->streams, fake->events, fake->graphs, fake->execs,
             fake->blocks);
}
#define fake_is_clean(what) fake_is_clean_at((what), __FILE__, __LINE__)

#endif
