/* device_cuda_describe.c -- what a CUDA device is: its target, and what makes timings comparable, without serial numbers. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "runtime/cuda_target.h"
#include "runtime/device_cuda.h"

#define GIB ((uint64_t)1 << 30)

static rgt_status attribute(rgt__cuda_device *c, int which, int *out, rgt__error *err) {
  int result = c->api.cuDeviceGetAttribute(out, which, c->device);
  if (result == RGT_CUDA_SUCCESS) return RGT_OK;
  return rgt__cuda_api_fail(&c->api, result, err, "cuDeviceGetAttribute %d of device %d", which, c->base.opened.ordinal);
}

/* What the class can be without: 0 then. */
static int attribute_or_zero(rgt__cuda_device *c, int which) {
  int value = 0;
  return attribute(c, which, &value, NULL) == RGT_OK ? value : 0;
}

/* "NVIDIA H200" as one word: letters, digits, '.' and '_' stay, anything else is a '-'. */
static rgt_status name_word(rgt__cuda_device *c, char *word, int size, rgt__error *err) {
  int result = c->api.cuDeviceGetName(word, size, c->device);
  if (result != RGT_CUDA_SUCCESS)
    return rgt__cuda_api_fail(&c->api, result, err, "cuDeviceGetName of device %d", c->base.opened.ordinal);
  word[size - 1] = 0;
  for (char *p = word; *p; p++)
    if (!isalnum((unsigned char)*p) && *p != '.' && *p != '_') *p = '-';
  return RGT_OK;
}

/* Size classes as cards are sold: what the driver keeps for itself, which differs between versions, must not tell. */
static uint64_t sold_gib(uint64_t bytes) {
  uint64_t gib = (bytes + GIB - 1) / GIB, unit = gib > 32 ? 8 : 1;
  return (gib + unit - 1) / unit * unit;
}

rgt_status rgt__cuda_describe(rgt__cuda_device *c, rgt__error *err) {
  rgt__device_info *info = &c->base.info;
  int major = 0, minor = 0, optin = 0;
  size_t free_bytes = 0, total = 0;
  char word[96];
  rgt_status status = attribute(c, RGT_CUDA_DEVICE_CC_MAJOR, &major, err);
  if (status == RGT_OK) status = attribute(c, RGT_CUDA_DEVICE_CC_MINOR, &minor, err);
  if (status == RGT_OK) status = attribute(c, RGT_CUDA_DEVICE_SM_COUNT, &info->sm_count, err);
  if (status == RGT_OK) status = attribute(c, RGT_CUDA_DEVICE_SHARED_OPTIN, &optin, err);
  if (status == RGT_OK) status = name_word(c, word, sizeof word, err);
  if (status != RGT_OK) return status;
  int result = c->api.cuMemGetInfo_v2(&free_bytes, &total);
  if (result != RGT_CUDA_SUCCESS)
    return rgt__cuda_api_fail(&c->api, result, err, "cuMemGetInfo_v2 of device %d", c->base.opened.ordinal);
  rgt__cuda_target_make(10 * major + minor, &info->target);
  int64_t listed = rgt__cuda_target_fact(&info->target, "shared_optin_max");
  c->shared_optin = optin < listed ? optin : listed;
  c->l2_bytes = attribute_or_zero(c, RGT_CUDA_DEVICE_L2_BYTES);
  c->reads_pageable = attribute_or_zero(c, RGT_CUDA_DEVICE_PAGEABLE);
  info->free_bytes = (int64_t)free_bytes;
  snprintf(info->driver, sizeof info->driver, "CUDA %d.%d", c->api.version / 1000, c->api.version % 1000 / 10);
  snprintf(info->class_text, sizeof info->class_text, "cuda:%s:%s:sms=%d:mem=%" PRIu64 "GiB:clock=%dMHz", word,
           info->target.name, info->sm_count, sold_gib(total), attribute_or_zero(c, RGT_CUDA_DEVICE_CLOCK_KHZ) / 1000);
  return RGT_OK;
}
