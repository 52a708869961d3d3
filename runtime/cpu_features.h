/* cpu_features.h -- what this processor can do, as a device class and as a target to generate code for. */
#ifndef RGT_RUNTIME_CPU_FEATURES_H
#define RGT_RUNTIME_CPU_FEATURES_H

#include "runtime/device.h"

/* rgt__cpu_target -- the richest target this processor has, no richer than `limit` (NULL, "plain", "avx2", "avx512").
 * RGT_EINVAL: limit is another word. */
rgt_status rgt__cpu_target(const char *limit, rgt__target *target, rgt__error *err);
/* rgt__cpu_target_by_name -- "plain", "x86-64-avx2", "x86-64-avx512", whether or not this processor has it. */
rgt_status rgt__cpu_target_by_name(const char *name, rgt__target *target, rgt__error *err);
/* rgt__cpu_class -- vendor, family-model-stepping, a fixed and versioned list of features, cores:
 * "cpu:GenuineIntel:6-143-8:f1:avx2+fma:cores=2"; with ":only-<target>" after the features where the target is limited. */
void rgt__cpu_class(const rgt__target *target, int cores, char *text, size_t text_size);

#endif
