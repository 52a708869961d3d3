/* device_near.h -- how far two device classes are apart. */
#ifndef RGT_RUNTIME_DEVICE_NEAR_H
#define RGT_RUNTIME_DEVICE_NEAR_H

/* rgt__device_near -- the distance of two class texts, such as "cuda:NVIDIA-H200:sm_90:sms=132:mem=144GiB:clock=1980MHz": 0 for
 * the same one; -1 where they cannot stand in for each other: another kind of device, or one measured and one modelled. Fields
 * are compared in their order: numbers by the logarithm of their ratio (in octaves), lists "a+b+c" by what only one of them
 * has, words by whether they are the same. Symmetric. */
double rgt__device_near(const char *a, const char *b);

#endif
