/* library_calls.c -- cuLibrary*, cuKernel*: a library is a module of the context that is current when it is loaded, and a
 * kernel of it may be launched as it is. (On a device a library serves every context; here another context's launch of it is
 * refused.) */
#include "call.h"
#include "capture.h"
#include "handles.h"
#include "module.h"
#include "stream.h"

#include <stdlib.h>

typedef struct library {
  CUmodule module; /* its handle: the context may go before the library */
} library;

SIM_CALL(SIM_CONTEXT, cuLibraryLoadData,
         (CUlibrary * out, const void *image, const CUjit_option *jit_options, void **jit_values, unsigned n_jit,
          const int *options, void **values, unsigned n),
         (out, image, jit_options, jit_values, n_jit, options, values, n)) {
  sim_load_options none = {0};
  CUresult result = sim_capture_check_unsafe();
  if (result != CUDA_SUCCESS) return result;
  (void)jit_options;
  (void)jit_values;
  (void)options;
  (void)values;
  if (out == NULL || image == NULL)
    return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the image or the address for the library is NULL");
  if (n_jit != 0 || n != 0) return sim_refuse(CUDA_ERROR_NOT_SUPPORTED, "ptxsim loads libraries without options only");
  library *l = calloc(1, sizeof *l);
  sim_module_object *module = l == NULL ? NULL : sim_module_load(sim_context_current(), image, &none, &result);
  CUlibrary handle = module == NULL ? NULL : sim_handle_new(SIM_KIND_LIBRARY, l);
  if (handle != NULL) {
    l->module = module->handle;
    *out = handle;
    return CUDA_SUCCESS;
  }
  if (module != NULL) sim_module_unload(module);
  free(l);
  return result != CUDA_SUCCESS ? result : CUDA_ERROR_OUT_OF_MEMORY;
}

SIM_CALL(SIM_CONTEXT, cuLibraryUnload, (CUlibrary handle), (handle)) {
  CUresult result = CUDA_SUCCESS;
  library *l = sim_handle_find(handle, SIM_KIND_LIBRARY, &result);
  if (l == NULL) return result;
  sim_module_object *module = sim_handle_object(l->module, SIM_KIND_MODULE);
  if (module != NULL) {
    result = sim_context_run_all(module->context);
    sim_module_unload(module);
  }
  sim_handle_end(handle);
  free(l);
  return result;
}

static sim_module_object *module_of(CUlibrary handle, CUresult *result) {
  const library *l = sim_handle_find(handle, SIM_KIND_LIBRARY, result);
  return l == NULL ? NULL : sim_handle_find(l->module, SIM_KIND_MODULE, result);
}

SIM_CALL(SIM_CONTEXT, cuLibraryGetKernel, (CUkernel * out, CUlibrary handle, const char *name), (out, handle, name)) {
  CUresult result = CUDA_SUCCESS;
  sim_module_object *module = module_of(handle, &result);
  if (module == NULL) return result;
  if (out == NULL || name == NULL)
    return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the name or the address for the kernel is NULL");
  const sim_function_object *function = sim_module_kernel(module, name, &result);
  if (function == NULL) return result;
  *out = (CUkernel)function->handle;
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_CONTEXT, cuLibraryGetModule, (CUmodule * out, CUlibrary handle), (out, handle)) {
  CUresult result = CUDA_SUCCESS;
  const sim_module_object *module = module_of(handle, &result);
  if (module == NULL) return result;
  if (out == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the address for the module is NULL");
  *out = module->handle;
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_CONTEXT, cuKernelGetFunction, (CUfunction * out, CUkernel kernel), (out, kernel)) {
  CUresult result = CUDA_SUCCESS;
  const sim_function_object *function = sim_function_find((CUfunction)kernel, &result);
  if (function == NULL) return result;
  if (out == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the address for the function is NULL");
  *out = function->handle;
  return CUDA_SUCCESS;
}
