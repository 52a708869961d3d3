/* device.c -- cuInit and the questions about devices. */
#include "call.h"
#include "context.h"
#include "settings.h"
#include "table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEVICES = 8 };
static sim_device devices[MAX_DEVICES];
static int n_devices, ready;

int sim_devices_ready(void) {
  return ready;
}

sim_device *sim_device_find(CUdevice device, CUresult *result) {
  if (device >= 0 && device < n_devices) return &devices[device];
  *result = sim_refuse(CUDA_ERROR_INVALID_DEVICE, "device %d does not exist; there are %d", device, n_devices);
  return NULL;
}

SIM_CALL(SIM_ALWAYS, cuInit, (unsigned flags), (flags)) {
  if (flags != 0) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "flags are %u, must be 0", flags);
  if (!sim_settings_are_right()) return CUDA_ERROR_INVALID_VALUE;
  if (ready) return CUDA_SUCCESS;
  const sim_settings *settings = sim_settings_get();
  if (settings->n_devices == 0) return CUDA_ERROR_NO_DEVICE;
  n_devices = settings->n_devices;
  for (int i = 0; i < n_devices; i++) {
    devices[i].ordinal = i;
    devices[i].model = sim_model_find(settings->profile);
  }
  if (settings->report > 0) atexit(sim_table_print);
  ready = 1;
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_ALWAYS, cuDriverGetVersion, (int *version), (version)) {
  if (version == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the address for the version is NULL");
  *version = SIM_DRIVER_VERSION;
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_INITIALISED, cuDeviceGetCount, (int *count), (count)) {
  if (count == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the address for the count is NULL");
  *count = n_devices;
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_INITIALISED, cuDeviceGet, (CUdevice * device, int ordinal), (device, ordinal)) {
  CUresult result = CUDA_SUCCESS;
  if (device == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the address for the device is NULL");
  if (sim_device_find(ordinal, &result) == NULL) return result;
  *device = ordinal;
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_INITIALISED, cuDeviceGetName, (char *name, int size, CUdevice device), (name, size, device)) {
  CUresult result = CUDA_SUCCESS;
  const sim_device *d = sim_device_find(device, &result);
  if (d == NULL) return result;
  if (name == NULL || size < 1) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "there is no room for the name");
  snprintf(name, (size_t)size, "ptxsim %s (modelled)", d->model->profile.name);
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_INITIALISED, cuDeviceGetUuid_v2, (CUuuid * uuid, CUdevice device), (uuid, device)) {
  CUresult result = CUDA_SUCCESS;
  const sim_device *d = sim_device_find(device, &result);
  if (d == NULL) return result;
  if (uuid == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the address for the uuid is NULL");
  memset(uuid->bytes, 0, sizeof uuid->bytes);
  memcpy(uuid->bytes, "ptxsim ", 7);
  memcpy(uuid->bytes + 7, d->model->profile.name, strlen(d->model->profile.name));
  uuid->bytes[15] = (unsigned char)device;
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_INITIALISED, cuDeviceTotalMem_v2, (size_t * bytes, CUdevice device), (bytes, device)) {
  CUresult result = CUDA_SUCCESS;
  const sim_device *d = sim_device_find(device, &result);
  if (d == NULL) return result;
  if (bytes == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the address for the size is NULL");
  uint64_t given = sim_settings_get()->memory_bytes;
  *bytes = given > 0 ? given : (size_t)d->model->profile.global_bytes;
  return CUDA_SUCCESS;
}

static int size_attribute(const sim_profile *p, CUdevice_attribute attribute, int64_t *value) {
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    *value = p->max_threads_per_block;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    *value = p->max_block[0];
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
    *value = p->max_block[1];
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
    *value = p->max_block[2];
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
    *value = p->max_grid[0];
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    *value = p->max_grid[1];
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
    *value = p->max_grid[2];
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
    *value = p->shared_static_max;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
    *value = p->shared_optin_max;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
    *value = p->shared_per_sm;
    break;
  case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
    *value = p->shared_reserved_per_block;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
    *value = p->registers_per_block;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
    *value = p->registers_per_sm;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
    *value = p->max_threads_per_sm;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
    *value = p->max_blocks_per_sm;
    break;
  case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
    *value = p->l2_bytes;
    break;
  case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY:
    *value = 65536;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_PITCH:
    *value = 2147483647;
    break;
  case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT:
    *value = 512;
    break;
  default:
    return 0;
  }
  return 1;
}

static int speed_attribute(const sim_model *m, CUdevice_attribute attribute, int64_t *value) {
  const sim_profile *p = &m->profile;
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
    *value = p->warp_size;
    break;
  case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
    *value = p->clock_khz;
    break;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    *value = p->sm_count;
    break;
  case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
    *value = p->memory_clock_khz;
    break;
  case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
    *value = p->bus_bits;
    break;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    *value = p->cc_major;
    break;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    *value = p->cc_minor;
    break;
  case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH:
    *value = m->max_cluster > 1;
    break;
  default:
    return 0;
  }
  return 1;
}

/* What it can do beside: 1 for what is there, 0 for what ptxsim has not (managed memory, pools, tensor maps, virtual memory
 * ...). */
static int64_t ability(CUdevice_attribute attribute) {
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP:
  case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
  case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
  case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
  case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
  case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
    return 1;
  default:
    return 0;
  }
}

static int is_known(CUdevice_attribute attribute) {
  switch (attribute) {
#define KNOWN(name, number) case CU_DEVICE_ATTRIBUTE_##name:
    SIM_DEVICE_ATTRIBUTES(KNOWN)
#undef KNOWN
    return 1;
  default:
    return 0;
  }
}

SIM_CALL(SIM_INITIALISED, cuDeviceGetAttribute, (int *value, CUdevice_attribute attribute, CUdevice device),
         (value, attribute, device)) {
  CUresult result = CUDA_SUCCESS;
  const sim_device *d = sim_device_find(device, &result);
  int64_t found;
  if (d == NULL) return result;
  if (value == NULL) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "the address for the value is NULL");
  if (!is_known(attribute)) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "ptxsim has no attribute %d", (int)attribute);
  if (!size_attribute(&d->model->profile, attribute, &found) && !speed_attribute(d->model, attribute, &found))
    found = ability(attribute);
  *value = (int)found;
  return CUDA_SUCCESS;
}

SIM_CALL(SIM_INITIALISED, cuDeviceGetPCIBusId, (char *text, int size, CUdevice device), (text, size, device)) {
  CUresult result = CUDA_SUCCESS;
  if (sim_device_find(device, &result) == NULL) return result;
  if (text == NULL || size < 1) return sim_refuse(CUDA_ERROR_INVALID_VALUE, "there is no room for the bus id");
  snprintf(text, (size_t)size, "0000:%02x:00.0", device + 1);
  return CUDA_SUCCESS;
}
