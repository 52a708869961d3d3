/* scratch.h -- a folder for one test, files in it, and an environment with some variables set. */
#ifndef RGT_TESTS_SCRATCH_H
#define RGT_TESTS_SCRATCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/alloc.h"
#include "runtime/base/environment.h"
#include "runtime/base/file.h"

#define SCRATCH_UNUSED __attribute__((unused))

typedef struct scratch {
  char folder[64];
  char path[240]; /* of the last scratch_path */
} scratch;

static SCRATCH_UNUSED void scratch_open(scratch *s) {
  strcpy(s->folder, "/tmp/rgt-runtime-XXXXXX");
  assert_non_null(mkdtemp(s->folder));
}

static SCRATCH_UNUSED void scratch_close(scratch *s) {
  char command[256];
  snprintf(command, sizeof command, "chmod -R u+rwx %s; rm -rf %s", s->folder, s->folder);
  assert_int_equal(system(command), 0);
}

static SCRATCH_UNUSED const char *scratch_path(scratch *s, const char *name) {
  snprintf(s->path, sizeof s->path, "%s/%s", s->folder, name);
  return s->path;
}

static SCRATCH_UNUSED const char *scratch_write(scratch *s, const char *name, const char *text, mode_t mode) {
  const char *path = scratch_path(s, name);
  FILE *f = fopen(path, "we");
  assert_non_null(f);
  assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
  assert_int_equal(fclose(f), 0);
  assert_int_equal(chmod(path, mode), 0);
  return path;
}

/* How many entries a folder has, "." and ".." apart; by the shell, so that nothing of the library judges itself. */
static SCRATCH_UNUSED int scratch_count(const char *folder) {
  char command[600];
  int n = -1;
  snprintf(command, sizeof command, "find %s -mindepth 1 | wc -l", folder);
  FILE *p = popen(command, "r");
  assert_non_null(p);
  assert_int_equal(fscanf(p, "%d", &n), 1);
  pclose(p);
  return n;
}

static SCRATCH_UNUSED void environment_put(rgt__environment *env, rgt__environment_name name, const char *value) {
  rgt__free(env->values[name]);
  env->values[name] = value ? rgt__strdup(value) : NULL;
}

/* An allocation hook that fails from the n-th allocation on, counted from scratch_fail_after(n); INT_MAX for never. */
static SCRATCH_UNUSED int scratch_allocations_left;

static SCRATCH_UNUSED void *scratch_failing_realloc(void *user, void *p, size_t bytes) {
  (void)user;
  if (bytes == 0) {
    free(p);
    return NULL;
  }
  if (scratch_allocations_left == 0) return NULL;
  scratch_allocations_left--;
  return realloc(p, bytes);
}

static SCRATCH_UNUSED void scratch_fail_after(int n) {
  scratch_allocations_left = n;
  rgt_set_alloc(scratch_failing_realloc, NULL);
}

static SCRATCH_UNUSED void scratch_fail_never(void) {
  rgt_set_alloc(NULL, NULL);
}

#endif
