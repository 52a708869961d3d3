/* module.c -- loading an image: PTX is parsed; a cubin is read for its register counts and refused. */
#include "module.h"

#include "call.h"
#include "handles.h"
#include "stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KERNELS = 256, FAT_BINARY_WORD = 0xba55ed50 };

static void write_log(char *buffer, size_t bytes, const char *text) {
  if (buffer != NULL && bytes > 0) snprintf(buffer, bytes, "%s", text);
}

static sim_module_object *refuse(sim_load_options *options, CUresult code, CUresult *result, const char *text) {
  write_log(options->error, options->error_bytes, text);
  *result = sim_refuse(code, "%s", text);
  return NULL;
}

/* No report: offering the cubin first is what a program does on every device. */
static sim_module_object *refuse_cubin(const void *image, sim_load_options *options, CUresult *result) {
  static sim_cubin_kernel kernels[MOST_KERNELS];
  int n = sim_cubin_read(image, sim_cubin_size(image), kernels, MOST_KERNELS);
  if (n < 0) return refuse(options, CUDA_ERROR_INVALID_IMAGE, result, "the cubin is damaged");
  for (int i = 0; i < n && i < MOST_KERNELS; i++) sim_cubin_remember(&kernels[i]);
  write_log(options->error, options->error_bytes,
            "ptxsim cannot run a cubin; it noted the registers of its kernels. Load the PTX.");
  *result = CUDA_ERROR_NO_BINARY_FOR_GPU;
  return NULL;
}

/* A target with a letter runs on that device alone (a) or on its family (f); without one on every newer device. */
static int target_fits(const sim_profile *p, int target, int suffix) {
  int own = p->cc_major * 10 + p->cc_minor;
  if (suffix == 'a') return target == own;
  if (suffix == 'f') return target / 10 == p->cc_major && target <= own;
  return target <= own;
}

static CUresult check_code(const sim_module *code, const sim_profile *p, char *text, size_t size) {
  int suffix = 0, target = sim_module_target(code, &suffix), version = sim_module_version(code);
  if (version > SIM_PTX_VERSION) {
    snprintf(text, size, "the PTX is of version %d.%d; this driver knows 9.0", version / 10, version % 10);
    return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  }
  if (!target_fits(p, target, suffix)) {
    char letter[2] = {(char)suffix, '\0'};
    snprintf(text, size, ".target sm_%d%s does not run on %s", target, letter, p->name);
    return CUDA_ERROR_INVALID_PTX;
  }
  for (int i = 0; i < sim_module_function_count(code); i++) {
    const sim_function_facts *facts = sim_function_get_facts(sim_module_function_at(code, i));
    if (facts->param_bytes > (uint32_t)p->max_param_bytes) {
      snprintf(text, size, "%s has %u bytes of parameters; %d are possible", facts->name, facts->param_bytes,
               p->max_param_bytes);
      return CUDA_ERROR_INVALID_PTX;
    }
    if (facts->static_shared_bytes > p->shared_static_max) {
      snprintf(text, size, "%s has %u bytes of static shared memory; %lld are possible", facts->name,
               facts->static_shared_bytes, (long long)p->shared_static_max);
      return CUDA_ERROR_INVALID_PTX;
    }
  }
  return CUDA_SUCCESS;
}

static sim_module_object *object_new(sim_context *context, sim_module *code) {
  sim_module_object *module = calloc(1, sizeof *module);
  if (module == NULL) return NULL;
  module->handle = sim_handle_new(SIM_KIND_MODULE, module);
  if (module->handle == NULL || sim_module_place(code, context->memory) != 0) {
    sim_handle_end(module->handle);
    free(module);
    return NULL;
  }
  module->context = context;
  module->code = code;
  module->next = context->modules;
  context->modules = module;
  return module;
}

static sim_module_object *load_ptx(sim_context *context, const char *ptx, sim_load_options *options, CUresult *result) {
  char text[1024] = "";
  sim_module *code = NULL;
  if (sim_module_parse(ptx, strlen(ptx), &code, text, sizeof text) != 0)
    return refuse(options, CUDA_ERROR_INVALID_PTX, result, text);
  CUresult code_result = check_code(code, &context->device->model->profile, text, sizeof text);
  if (code_result != CUDA_SUCCESS) {
    sim_module_free(code);
    return refuse(options, code_result, result, text);
  }
  sim_module_object *module = object_new(context, code);
  if (module == NULL) {
    sim_module_free(code);
    *result = CUDA_ERROR_OUT_OF_MEMORY;
    return NULL;
  }
  module->max_registers = options->max_registers;
  snprintf(text, sizeof text, "ptxsim: %d kernels, interpreted", sim_module_function_count(code));
  write_log(options->info, options->info_bytes, text);
  return module;
}

sim_module_object *sim_module_load(sim_context *context, const void *image, sim_load_options *options, CUresult *result) {
  unsigned char first[sizeof(uint32_t)];
  uint32_t word;
  memcpy(first, image, 1);
  if (first[0] == '\0') return refuse(options, CUDA_ERROR_INVALID_IMAGE, result, "the image is empty");
  if (first[0] == 0x7f) {
    memcpy(first, image, sizeof first);
    if (memcmp(first, "\177ELF", 4) == 0 && sim_cubin_is(image, 64)) return refuse_cubin(image, options, result);
    return refuse(options, CUDA_ERROR_INVALID_IMAGE, result, "the image is an ELF file, but no cubin");
  }
  if (first[0] == (FAT_BINARY_WORD & 0xff)) {
    memcpy(&word, image, sizeof word);
    if (word == FAT_BINARY_WORD)
      return refuse(options, CUDA_ERROR_NO_BINARY_FOR_GPU, result, "ptxsim cannot read fat binaries");
  }
  return load_ptx(context, image, options, result);
}

/* Its handles end with it: a graph that holds one of its kernels finds out at its next launch. */
void sim_module_unload(sim_module_object *module) {
  sim_context *context = module->context;
  sim_module_object **link = &context->modules;
  while (*link != module) link = &(*link)->next;
  *link = module->next;
  while (module->functions != NULL) {
    sim_function_object *function = module->functions;
    module->functions = function->next;
    sim_handle_end(function->handle);
    free(function);
  }
  sim_handle_end(module->handle);
  if (context->memory != NULL) sim_module_remove(module->code, context->memory);
  sim_module_free(module->code);
  free(module);
}

void sim_modules_drop(sim_context *context) {
  while (context->modules != NULL) sim_module_unload(context->modules);
}
