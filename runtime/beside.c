/* beside.c -- files that lie where the library or the program does. */
#include "runtime/beside.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void near(const char *what, const char *below, const char *name, char out[RGT_BESIDE_MAX]) {
  const char *end = strrchr(what, '/');
  out[0] = 0;
  if (end && (size_t)snprintf(out, RGT_BESIDE_MAX, "%.*s/%s/%s", (int)(end - what), what, below, name) >= RGT_BESIDE_MAX)
    out[0] = 0;
}

void rgt__beside_library(const char *below, const char *name, char out[RGT_BESIDE_MAX]) {
  static const char mark; /* lies in this library, or in the program that it is linked into */
  Dl_info info;
  out[0] = 0;
  if (!dladdr(&mark, &info) || !info.dli_fname) return;
  char *real = realpath(info.dli_fname, NULL);
  if (real) near(real, below, name, out);
  free(real);
}

void rgt__beside_program(const char *below, const char *name, char out[RGT_BESIDE_MAX]) {
  char self[RGT_BESIDE_MAX];
  ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  self[n > 0 ? n : 0] = 0;
  near(self, below, name, out);
}
