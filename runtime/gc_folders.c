/* gc_folders.c -- what ended processes left outside the code cache: temporary folders, half bundles, files beside the database.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/file.h"
#include "runtime/gc.h"

enum { PATH_SIZE = 1200, LEFT_AGE_S = 3600, ASIDE_AGE_S = 30 * 86400, DEPTH_MAX = 8 };

/* Ours alone, and untouched for so long. */
static int is_old(const struct stat *st, int64_t age_s) {
  return st->st_uid == geteuid() && (int64_t)st->st_mtime + age_s < (int64_t)time(NULL);
}

static int64_t bytes_below(int parent, const char *name, int depth) {
  int64_t bytes = 0;
  struct stat st;
  int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR *d = fd < 0 ? NULL : fdopendir(fd);
  if (!d && fd >= 0) close(fd);
  if (!d) return 0;
  for (struct dirent *e; (e = readdir(d));) {
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
    if (fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (S_ISREG(st.st_mode)) bytes += st.st_size;
    if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX) bytes += bytes_below(fd, e->d_name, depth + 1);
  }
  closedir(d);
  return bytes;
}

static void offer_folder(rgt__gc *g, const char *path, const char *why) {
  if (rgt__gc_offer(g, path, bytes_below(AT_FDCWD, path, 0), why)) rgt__file_remove_tree(path);
}

/* "<RGT_SCRATCH_NAME><pid>-XXXXXX" of a process that is not there any more. */
static int is_left_scratch(const char *name) {
  size_t n = strlen(RGT_SCRATCH_NAME);
  char *end = NULL;
  if (strncmp(name, RGT_SCRATCH_NAME, n) != 0) return 0;
  long pid = strtol(name + n, &end, 10);
  return pid > 0 && *end == '-' && strlen(end) == 7 && kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

static int is_half_bundle(const char *name, const char *bundle) {
  size_t n = strlen(bundle);
  return strncmp(name, bundle, n) == 0 && strncmp(name + n, ".tmp-", 5) == 0 && strlen(name + n) == 11;
}

/* Folders in `folder` that the test knows, left for an hour. */
static void sweep_folders(rgt__gc *g, const char *folder, const char *bundle, const char *why) {
  DIR *d = opendir(folder);
  struct stat st;
  if (!d) return;
  for (struct dirent *e; !g->stopped && (e = readdir(d));) {
    char path[PATH_SIZE];
    if (!(bundle ? is_half_bundle(e->d_name, bundle) : is_left_scratch(e->d_name))) continue;
    if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(st.st_mode) || !is_old(&st, LEFT_AGE_S))
      continue;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, e->d_name) < sizeof path) offer_folder(g, path, why);
  }
  closedir(d);
}

void rgt__gc_scratch(rgt__gc *g, const char *folder) {
  sweep_folders(g, folder, NULL, "the temporary folder of a process that ended");
}

/* "folder/name" in two; folder "." where there is none. */
static int split(const char *path, char folder[PATH_SIZE], const char **name) {
  const char *slash = strrchr(path, '/');
  *name = slash ? slash + 1 : path;
  if (!slash)
    snprintf(folder, PATH_SIZE, ".");
  else
    snprintf(folder, PATH_SIZE, "%.*s", slash == path ? 1 : (int)(slash - path), path);
  return strlen(path) < PATH_SIZE && **name;
}

void rgt__gc_bundle(rgt__gc *g, const char *bundle_folder) {
  char folder[PATH_SIZE];
  const char *name;
  if (split(bundle_folder, folder, &name))
    sweep_folders(g, folder, name, "a bundle that was being written when its process ended");
}

static const char *why_leftover(rgt__tunedb_leftover kind, const struct stat *st) {
  if (kind == RGT_LEFTOVER_TEMP && is_old(st, LEFT_AGE_S)) return "was being written when its process ended";
  if (kind == RGT_LEFTOVER_JOURNAL && st->st_size == 0 && is_old(st, 0)) return "an empty journal of a damaged database";
  if (kind != RGT_LEFTOVER_NONE && kind != RGT_LEFTOVER_TEMP && is_old(st, ASIDE_AGE_S))
    return "of a damaged database, moved aside over 30 days ago";
  return NULL;
}

void rgt__gc_database(rgt__gc *g, const char *db_path) {
  char folder[PATH_SIZE];
  const char *name;
  if (strcmp(db_path, ":memory:") == 0 || !split(db_path, folder, &name)) return;
  DIR *d = opendir(folder);
  if (!d) return;
  for (struct dirent *e; !g->stopped && (e = readdir(d));) {
    char path[PATH_SIZE];
    struct stat st;
    rgt__tunedb_leftover kind = rgt__tunedb_leftover_of(db_path, e->d_name);
    if (kind == RGT_LEFTOVER_NONE || fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
      continue;
    const char *why = why_leftover(kind, &st);
    if (why && (size_t)snprintf(path, sizeof path, "%s/%s", folder, e->d_name) < sizeof path &&
        rgt__gc_offer(g, path, st.st_size, why))
      unlink(path);
  }
  closedir(d);
}
