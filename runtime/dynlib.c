/* dynlib.c -- libraries found at run time, by dlopen. */
#include "runtime/dynlib.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

void rgt__dynlib_why(rgt__buffer *why, const char *name, const char *reason) {
  rgt__buffer_format(why, "%s%s (%s)", why->size > 0 ? ", " : "", name, reason);
}

/* The loader's text begins with the name, which stands in the entry already, and says "not found" at length. */
static const char *short_reason(const char *text, const char *name) {
  if (text == NULL) return "the loader gave no reason";
  if (strstr(text, "cannot open shared object file: No such file") != NULL && strncmp(text, name, strlen(name)) == 0)
    return "not found";
  size_t n = strlen(name);
  if (strncmp(text, name, n) == 0 && strncmp(text + n, ": ", 2) == 0) return text + n + 2;
  return text;
}

/* Local, so that its symbols meet nobody else's. Kept mapped after the last close: such libraries start threads and register
 * exit handlers. */
void *rgt__dynlib_open(const char *name, rgt__buffer *why) {
  void *lib = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (lib == NULL) rgt__dynlib_why(why, name, short_reason(dlerror(), name));
  return lib;
}

void rgt__dynlib_close(void *lib) {
  if (lib != NULL) dlclose(lib);
}

const char *rgt__dynlib_symbols(void *lib, const rgt__dynlib_symbol *symbols, size_t n, void *table) {
  for (size_t i = 0; i < n; i++) {
    void *address = dlsym(lib, symbols[i].name);
    if (address == NULL) return symbols[i].name;
    memcpy((char *)table + symbols[i].offset, &address, sizeof address);
  }
  return NULL;
}

int rgt__dynlib_path(const void *address, char *path, size_t path_size) {
  Dl_info info;
  char real[PATH_MAX];
  if (dladdr(address, &info) == 0 || info.dli_fname == NULL || realpath(info.dli_fname, real) == NULL) return 0;
  if (strlen(real) + 1 > path_size) return 0;
  strcpy(path, real);
  return 1;
}
