/* folder.h -- a copy of templates/ for one test, and edits in it that must find their place. */
#ifndef RGT_TESTS_FOLDER_H
#define RGT_TESTS_FOLDER_H

#include "tests/support/scratch.h"

/* templates/, and what `more` (NULL: nothing) adds to it. */
static SCRATCH_UNUSED void folder_copy(const char *folder, const char *more) {
  char command[1200];
  snprintf(command, sizeof command, "mkdir -p %s && cp -r %s/templates/. %s/ && { [ -z '%s' ] || cp -r '%s'/. %s/; }", folder,
           RGT_SOURCE_DIR, folder, more ? more : "", more ? more : "", folder);
  assert_int_equal(system(command), 0);
}

static SCRATCH_UNUSED char *folder_read(const char *folder, const char *name) {
  char path[400];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *f = fopen(path, "re");
  if (!f) fail_msg("%s is not there", path);
  char *text = calloc(1, 1 << 18);
  assert_true(fread(text, 1, (1 << 18) - 1, f) < (1 << 18) - 1);
  fclose(f);
  return text;
}

static SCRATCH_UNUSED void folder_write(const char *folder, const char *name, const char *text) {
  char path[400];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *f = fopen(path, "we");
  assert_non_null(f);
  assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
  assert_int_equal(fclose(f), 0);
}

/* from becomes to, everywhere; how often it stood there is returned. */
static SCRATCH_UNUSED int folder_replace(const char *folder, const char *name, const char *from, const char *to) {
  char *text = folder_read(folder, name), *out = calloc(1, 1 << 19), *at = text;
  int n = 0;
  for (char *next; (next = strstr(at, from)); at = next + strlen(from), n++) {
    strncat(out, at, (size_t)(next - at));
    strcat(out, to);
  }
  strcat(out, at);
  folder_write(folder, name, out);
  free(out);
  free(text);
  return n;
}

/* The one place of `from`: a template that changed so much that a patch no longer fits is a test to mend, not to pass. */
static SCRATCH_UNUSED void folder_patch(const char *folder, const char *name, const char *from, const char *to) {
  int n = folder_replace(folder, name, from, to);
  if (n != 1) fail_msg("%s holds \"%s\" %d times, not once", name, from, n);
}

/* Another family: <device>/<from>.{c,lua} under the name `to`, of rank 50. */
static SCRATCH_UNUSED void folder_clone(const char *folder, const char *from, const char *to) {
  static const char *const ends[] = {"c", "lua"};
  for (int i = 0; i < 2; i++) {
    char name[100], copy[100];
    snprintf(name, sizeof name, "cpu/%s.%s", from, ends[i]);
    snprintf(copy, sizeof copy, "cpu/%s.%s", to, ends[i]);
    char *text = folder_read(folder, name);
    folder_write(folder, copy, text);
    free(text);
    assert_true(folder_replace(folder, copy, from, to) > 0);
    if (i == 1) folder_patch(folder, copy, "rank = 0,", "rank = 50,");
  }
}

#endif
