/* environment.c -- the one place that reads the environment. */
#include "runtime/base/environment.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/alloc.h"

static const char *const labels[] = {
#define LABEL(name, about) #name,
    RGT_ENVIRONMENT_LIST(LABEL)
#undef LABEL
};

static const char *const abouts[] = {
#define ABOUT(name, about) about,
    RGT_ENVIRONMENT_LIST(ABOUT)
#undef ABOUT
};

/* secure_getenv: a set-uid program must not load a compiler or a library from where its caller says. */
rgt_status rgt__environment_read(rgt__environment *env, rgt__error *err) {
  rgt__environment read = {0};
  for (int i = 0; i < RGT_N_ENVIRONMENT; i++) {
    const char *value = secure_getenv(labels[i]);
    if (!value || !value[0]) continue;
    read.values[i] = rgt__strdup(value);
    if (!read.values[i]) {
      rgt__environment_free(&read);
      return rgt__error_nomem(err, strlen(value) + 1);
    }
  }
  *env = read;
  return RGT_OK;
}

void rgt__environment_free(rgt__environment *env) {
  if (!env) return;
  for (int i = 0; i < RGT_N_ENVIRONMENT; i++) rgt__free(env->values[i]);
  *env = (rgt__environment){0};
}

const char *rgt__environment_get(const rgt__environment *env, rgt__environment_name name) {
  return env->values[name];
}

rgt_status rgt__environment_number(const rgt__environment *env, rgt__environment_name name, double most, double *out,
                                   rgt__error *err) {
  const char *text = rgt__environment_get(env, name);
  if (!text) return RGT_OK;
  char *end = NULL;
  double v = strtod(text, &end);
  if (end == text || *end || !(v >= 0 && v <= most))
    return rgt__error_set(err, RGT_EINVAL, "%s is \"%s\"; it can be a number from 0 to %.0f", labels[name], text, most);
  *out = v;
  return RGT_OK;
}

const char *rgt__environment_label(rgt__environment_name name) {
  return labels[name];
}

const char *rgt__environment_about(rgt__environment_name name) {
  return abouts[name];
}
