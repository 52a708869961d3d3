/* source.c -- the files of templates/: the built-in table, or a folder read whole. */
#include "generator/source.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/base/alloc.h"
#include "runtime/base/file.h"

#define FILE_BYTES_MAX ((size_t)1 << 20)
#define FILES_MAX 4096
#define DEPTH_MAX 8 /* of folders: also ends a loop of links */
#define PATH_BYTES_MAX 4096

struct rgt__sources {
  rgt__source_file *files;
  int n, capacity;
  int owned; /* names and texts are ours: read from a folder */
};

static int by_name(const void *a, const void *b) {
  return strcmp(((const rgt__source_file *)a)->name, ((const rgt__source_file *)b)->name);
}

static rgt_status grow(rgt__sources *s, rgt__error *err) {
  if (s->n < s->capacity) return RGT_OK;
  int capacity = s->capacity ? 2 * s->capacity : 32;
  size_t bytes = (size_t)capacity * sizeof *s->files;
  rgt__source_file *files = rgt__realloc(s->files, bytes);
  if (!files) return rgt__error_nomem(err, bytes);
  s->files = files;
  s->capacity = capacity;
  return RGT_OK;
}

/* The kinds of file that the build collects into the built-in table. */
static int is_source_name(const char *name) {
  static const char *const ends[] = {".lua", ".c", ".cu", ".h", ".cuh"};
  const char *dot = strrchr(name, '.');
  for (size_t i = 0; dot && i < sizeof ends / sizeof *ends; i++)
    if (!strcmp(dot, ends[i])) return 1;
  return 0;
}

static rgt_status read_one(rgt__sources *s, const char *path, const char *name, rgt__error *err) {
  rgt__buffer b = {0};
  size_t size;
  rgt_status status =
      s->n < FILES_MAX ? grow(s, err) : rgt__error_set(err, RGT_EIO, "%s: more than %d template files", path, FILES_MAX);
  if (!status) status = rgt__file_read(path, FILE_BYTES_MAX, &b, err);
  if (!status && memchr(b.data, 0, b.size)) status = rgt__error_set(err, RGT_EIO, "%s: not a text, it holds a NUL byte", path);
  char *text = status ? NULL : rgt__buffer_take(&b, &size);
  char *own_name = status ? NULL : rgt__strdup(name);
  rgt__buffer_free(&b);
  if (!text || !own_name) {
    rgt__free(text);
    rgt__free(own_name);
    return status ? status : rgt__error_nomem(err, strlen(name) + 1);
  }
  s->files[s->n++] = (rgt__source_file){own_name, text, size};
  return RGT_OK;
}

/* Reads every source file in folder/below, a path below the folder that was asked for ("" for itself). Hidden entries are left
 * out: editors and version control keep their own there. */
static rgt_status read_folder(rgt__sources *s, const char *folder, const char *below, int depth, rgt__error *err) {
  char path[PATH_BYTES_MAX], name[PATH_BYTES_MAX], entry_path[PATH_BYTES_MAX];
  rgt_status status = rgt__file_join(path, sizeof path, folder, below, err);
  if (status) return rgt__error_prefix(err, RGT_EIO, "templates");
  if (depth == DEPTH_MAX) return rgt__error_set(err, RGT_EIO, "%s: more than %d folders deep", path, DEPTH_MAX);
  DIR *dir = opendir(path);
  if (!dir) return rgt__error_set(err, RGT_EIO, "cannot open the template folder %s: %s", path, strerror(errno));
  for (struct dirent *e; !status && (errno = 0, e = readdir(dir));) {
    struct stat st;
    if (e->d_name[0] == '.') continue;
    if (rgt__file_join(name, sizeof name, below, e->d_name, err) ||
        rgt__file_join(entry_path, sizeof entry_path, folder, name, err)) {
      status = rgt__error_prefix(err, RGT_EIO, "templates");
    } else if (stat(entry_path, &st)) {
      if (is_source_name(name)) status = rgt__error_set(err, RGT_EIO, "cannot look at %s: %s", entry_path, strerror(errno));
    } else if (S_ISDIR(st.st_mode)) {
      status = read_folder(s, folder, name, depth + 1, err);
    } else if (is_source_name(name)) {
      status = read_one(s, entry_path, name, err);
    }
  }
  if (!status && errno) status = rgt__error_set(err, RGT_EIO, "cannot read the template folder %s: %s", path, strerror(errno));
  closedir(dir);
  return status;
}

static rgt_status use_builtin(rgt__sources *s, rgt__error *err) {
  rgt_status status = RGT_OK;
  for (const rgt__source_file *f = rgt__source_builtin; !status && f->name; f++)
    if (!(status = grow(s, err))) s->files[s->n++] = *f;
  return status;
}

rgt_status rgt__sources_open(const char *folder, rgt__sources **out, rgt__error *err) {
  rgt__sources *s = rgt__alloc_zero(1, sizeof *s);
  if (!s) return rgt__error_nomem(err, sizeof *s);
  s->owned = folder != NULL;
  rgt_status status = folder ? read_folder(s, folder, "", 0, err) : use_builtin(s, err);
  if (!status && folder && !s->n)
    status = rgt__error_set(err, RGT_EIO, "%s: holds no templates (.lua, .c, .cu, .h, .cuh below it)", folder);
  if (status) {
    rgt__sources_free(s);
    return status;
  }
  if (s->n) qsort(s->files, (size_t)s->n, sizeof *s->files, by_name);
  *out = s;
  return RGT_OK;
}

void rgt__sources_free(rgt__sources *s) {
  if (!s) return;
  for (int i = 0; s->owned && i < s->n; i++) {
    rgt__free((void *)(uintptr_t)s->files[i].name);
    rgt__free((void *)(uintptr_t)s->files[i].text);
  }
  rgt__free(s->files);
  rgt__free(s);
}

const rgt__source_file *rgt__sources_find(const rgt__sources *s, const char *name) {
  rgt__source_file key = {.name = name};
  return s->n ? bsearch(&key, s->files, (size_t)s->n, sizeof *s->files, by_name) : NULL;
}

int rgt__sources_count(const rgt__sources *s) {
  return s->n;
}

const rgt__source_file *rgt__sources_at(const rgt__sources *s, int i) {
  return i >= 0 && i < s->n ? &s->files[i] : NULL;
}
