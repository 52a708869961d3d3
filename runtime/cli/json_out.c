/* json_out.c -- small steps towards one JSON object on stdout. */
#include "json_out.h"

#include <math.h>
#include <stdio.h>

/* A member that could not be made is missing from the object; rgt__json_print cannot tell, so that every step notes it. */
static int failed;

static void set(json_t *object, const char *key, json_t *value) {
  if (json_object_set_new(object, key, value) != 0) failed = 1;
}

void rgt__json_text(json_t *object, const char *key, const char *value) {
  json_t *text = value ? json_string(value) : NULL;
  set(object, key, text ? text : json_null());
}

void rgt__json_int(json_t *object, const char *key, int64_t value) {
  set(object, key, json_integer(value));
}

void rgt__json_real(json_t *object, const char *key, double value) {
  set(object, key, isfinite(value) ? json_real(value) : json_null());
}

void rgt__json_bool(json_t *object, const char *key, int value) {
  set(object, key, json_boolean(value));
}

json_t *rgt__json_array(json_t *object, const char *key) {
  json_t *array = json_array();
  set(object, key, array);
  return array;
}

json_t *rgt__json_child(json_t *object, const char *key) {
  json_t *child = json_object();
  set(object, key, child);
  return child;
}

void rgt__json_append(json_t *array, json_t *value) {
  if (json_array_append_new(array, value) != 0) failed = 1;
}

json_t *rgt__json_object(const char *verb) {
  json_t *object = json_object();
  rgt__json_text(object, "verb", verb);
  rgt__json_text(object, "version", RGT_VERSION);
  return object;
}

rgt_status rgt__json_print(json_t *object, rgt__message *m) {
  int bad = failed || !object || json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) != 0;
  json_decref(object);
  if (bad) return rgt__message_set(m, RGT_ENOMEM, "the JSON object could not be made");
  fputc('\n', stdout);
  return RGT_OK;
}
