/* worker_sweep.c -- removes the temporary folder of a process that may have been killed in mid-work. */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "runtime/worker_child.h"

enum { DEPTH_MAX = 8 };

/* What is in the folder behind fd, which is closed. Links are removed, not followed. */
static void sweep(int fd, int depth) {
  DIR *folder = fdopendir(fd);
  if (!folder) {
    close(fd);
    return;
  }
  for (struct dirent *e; (e = readdir(folder));) {
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
    if (unlinkat(dirfd(folder), e->d_name, 0) == 0 || depth == DEPTH_MAX) continue;
    int inner = openat(dirfd(folder), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (inner < 0) continue;
    sweep(inner, depth + 1);
    unlinkat(dirfd(folder), e->d_name, AT_REMOVEDIR);
  }
  closedir(folder);
}

void rgt__worker_sweep(const char *folder) {
  int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return;
  sweep(fd, 0);
  rmdir(folder);
}
