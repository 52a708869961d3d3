/* variant.c -- a family and a value for each of its params, and its text form. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generator/families.h"
#include "generator/spec.h"

int64_t rgt__variant_get(const rgt__variant *v, const char *param) {
  for (int i = 0; i < v->family->n_params; i++) {
    if (strcmp(v->family->params[i].name, param) == 0) return v->family->params[i].values[v->value[i]];
  }
  return -1;
}

void rgt__variant_default(const rgt__family *family, rgt__variant *v) {
  *v = (rgt__variant){.family = family};
  for (int i = 0; i < family->n_params; i++) v->value[i] = (uint8_t)family->params[i].default_value;
}

void rgt__variant_params_format(const rgt__variant *v, char text[RGT_VARIANT_TEXT_MAX]) {
  size_t used = 0;
  text[0] = '\0';
  for (int i = 0; i < v->family->n_params && used < RGT_VARIANT_TEXT_MAX; i++) {
    const rgt__param *param = &v->family->params[i];
    used += (size_t)snprintf(text + used, RGT_VARIANT_TEXT_MAX - used, "%s%s=%" PRId64, i ? "," : "", param->name,
                             param->values[v->value[i]]);
  }
}

void rgt__variant_format(const rgt__variant *v, char text[RGT_VARIANT_TEXT_MAX]) {
  char params[RGT_VARIANT_TEXT_MAX];
  rgt__variant_params_format(v, params);
  int used = snprintf(text, RGT_VARIANT_TEXT_MAX, "%s", v->family->name);
  if (params[0]) snprintf(text + used, (size_t)(RGT_VARIANT_TEXT_MAX - used), ":%s", params);
}

/* list_families -- the names of a device's families, for messages. */
static void list_families(const rgt__families *f, const char *device, char *out, size_t size) {
  size_t used = 0;
  out[0] = '\0';
  for (int i = 0; i < rgt__families_count(f) && used < size; i++) {
    const rgt__family *family = rgt__families_at(f, i);
    if (strcmp(family->device, device)) continue;
    used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", family->name);
  }
}

static void list_values(const rgt__param *param, char *out, size_t size) {
  size_t used = 0;
  for (int i = 0; i < param->n_values && used < size; i++) {
    used += (size_t)snprintf(out + used, size - used, "%s%" PRId64, i ? ", " : "", param->values[i]);
  }
}

/* parse_pair -- "threads=128" of length n. */
static rgt_status parse_pair(const char *text, const char *pair, size_t n, rgt__variant *v, unsigned *seen, rgt__error *err) {
  const rgt__family *family = v->family;
  const char *equals = memchr(pair, '=', n);
  size_t n_name = equals ? (size_t)(equals - pair) : n;
  int i = 0;
  while (i < family->n_params && (strlen(family->params[i].name) != n_name || memcmp(family->params[i].name, pair, n_name)))
    i++;
  if (!equals || i == family->n_params) {
    char whole[RGT_VARIANT_TEXT_MAX];
    rgt__variant_format(v, whole);
    return rgt__error_set(err, RGT_EINVAL, "variant \"%.200s\": \"%.*s\" is no param of %s; write %s", text, (int)n, pair,
                          family->name, whole);
  }
  if (*seen >> i & 1)
    return rgt__error_set(err, RGT_EINVAL, "variant \"%.200s\": %s is there twice", text, family->params[i].name);
  *seen |= 1u << i;
  for (int k = 0; k < family->params[i].n_values; k++) {
    char value[24];
    size_t n_value = (size_t)snprintf(value, sizeof value, "%" PRId64, family->params[i].values[k]);
    if (n_value == n - n_name - 1 && memcmp(value, equals + 1, n_value) == 0) {
      v->value[i] = (uint8_t)k;
      return RGT_OK;
    }
  }
  char values[256];
  list_values(&family->params[i], values, sizeof values);
  return rgt__error_set(err, RGT_EINVAL, "variant \"%.200s\": %.*s is none of the values %s", text, (int)n, pair, values);
}

/* The family's name alone is its default variant; with params, each must be given, in any order. */
rgt_status rgt__variant_parse(const rgt__families *f, const char *device, const char *text, rgt__variant *v, rgt__error *err) {
  char name[RGT_NAME_MAX];
  size_t n = strcspn(text, ":");
  snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : 0), text);
  const rgt__family *family = rgt__families_find(f, device, name);
  for (int i = 0; i < f->n_faults; i++) /* it is there, and broken */
    if (strcmp(f->faults[i].device, device) == 0 && strcmp(f->faults[i].name, name) == 0)
      return rgt__error_set(err, RGT_ETEMPLATE, "%s", f->faults[i].text);
  if (!family) {
    char names[512];
    list_families(f, device, names, sizeof names);
    return rgt__error_set(err, RGT_EINVAL, "variant \"%.200s\": no family \"%.*s\" for %s; there are %s", text, (int)n, text,
                          device, names);
  }
  rgt__variant read;
  rgt__variant_default(family, &read);
  unsigned seen = 0;
  rgt_status status = RGT_OK;
  const char *at = text + n;
  while (status == RGT_OK && *at) { /* at a ':' or ',' */
    at++;
    n = strcspn(at, ",");
    status = parse_pair(text, at, n, &read, &seen, err);
    at += n;
  }
  if (status != RGT_OK) return status;
  for (int i = 0; seen && i < family->n_params; i++) {
    if (seen >> i & 1) continue;
    return rgt__error_set(err, RGT_EINVAL, "variant \"%.200s\": %s is missing", text, family->params[i].name);
  }
  *v = read;
  return RGT_OK;
}
