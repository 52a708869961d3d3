/* path.c -- the database's file as the file system sees it.
 *
 * The file is never opened here once it exists: closing any descriptor of a file drops this process's POSIX locks on it, also
 * those that another thread's SQLite holds.
 */
#include "tunedb/path.h"

#include "tunedb/handle.h"

#include "runtime/base/alloc.h"
#include "runtime/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

static const char *const journals[] = {"-wal", "-shm", "-journal"};
enum { N_JOURNALS = 3 };

static int open_again(const char *path, int flags) {
  int fd;
  do fd = open(path, flags, 0600);
  while (fd < 0 && errno == EINTR);
  return fd;
}

static const char *kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

static rgt_status look_at(const char *path, int *exists, rgt__error *err) {
  struct stat st;
  if (stat(path, &st) != 0) {
    *exists = 0;
    if (errno == ENOENT) return RGT_OK;
    return rgt__error_set(err, RGT_EDB, "%s: cannot be looked at: %s", path, strerror(errno));
  }
  if (!S_ISREG(st.st_mode))
    return rgt__error_set(err, RGT_EDB, "%s: is %s; a tuned database is a regular file", path, kind_of(st.st_mode));
  *exists = 1;
  return RGT_OK;
}

rgt_status rgt__path_look(const char *path, int *exists, rgt__error *err) {
  if (!path[0]) return rgt__error_set(err, RGT_EDB, "the tuned database's path is empty; name a file or :memory:");
  int found = 0, ignored;
  rgt_status status = look_at(path, &found, err);
  for (int i = 0; i < N_JOURNALS && !status; i++) {
    char *side = rgt__strjoin(path, journals[i]);
    if (!side) return rgt__error_nomem(err, strlen(path) + 16);
    status = look_at(side, &ignored, err);
    rgt__free(side);
  }
  if (!status) *exists = found;
  return status;
}

int rgt__path_holds_database(const char *path) {
  static const char magic[16] = "SQLite format 3", schema[] = "CREATE TABLE";
  static const unsigned char id[4] = {RGT_TUNEDB_APPLICATION_ID >> 24, RGT_TUNEDB_APPLICATION_ID >> 16 & 255,
                                      RGT_TUNEDB_APPLICATION_ID >> 8 & 255, RGT_TUNEDB_APPLICATION_ID & 255};
  char page[4096];
  int fd = open_again(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return 1;
  ssize_t n = read(fd, page, sizeof page);
  close(fd);
  if (n <= 0) return 1;
  if (memcmp(page, magic, (size_t)(n < 16 ? n : 16)) == 0) return 1;
  if (n >= 72 && memcmp(page + 68, id, sizeof id) == 0) return 1;
  return memmem(page, (size_t)n, schema, sizeof schema - 1) != NULL;
}

int rgt__path_has_wal(const char *path) {
  struct stat st;
  char *journal = rgt__strjoin(path, "-wal");
  int has = !journal || stat(journal, &st) == 0 || errno != ENOENT;
  rgt__free(journal);
  return has;
}

rgt_status rgt__path_in_use(const char *path, const char **journal, rgt__error *err) {
  static const char *const ends[] = {"-wal", "-journal"};
  const char *found = NULL;
  for (size_t i = 0; i < sizeof ends / sizeof ends[0] && !found; i++) {
    struct stat st;
    char *name = rgt__strjoin(path, ends[i]);
    if (!name) return rgt__error_nomem(err, strlen(path) + 16);
    if (stat(name, &st) == 0 && st.st_size > 0) found = ends[i];
    rgt__free(name);
  }
  *journal = found;
  return RGT_OK;
}

int rgt__path_is_resting(const char *path) {
  enum { READ_VERSION = 19, WAL = 2 }; /* of the file's header */
  unsigned char head[20];
  int fd = rgt__path_has_wal(path) ? -1 : open_again(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return 0;
  ssize_t n = read(fd, head, sizeof head);
  close(fd);
  return n == (ssize_t)sizeof head && head[READ_VERSION] == WAL;
}

char *rgt__path_folder(const char *path) {
  const char *slash = strrchr(path, '/');
  if (!slash) return rgt__strdup(".");
  size_t n = slash == path ? 1 : (size_t)(slash - path);
  char *folder = rgt__alloc(n + 1);
  if (!folder) return NULL;
  memcpy(folder, path, n);
  folder[n] = 0;
  return folder;
}

/* The file is made under another name, closed, and only then linked to its own: see the top. Where there are no hard links,
 * or where the name is a link to nothing yet, it is made in place. */
static rgt_status create_file(const char *path, rgt__error *err) {
  char *temp = rgt__strjoin(path, ".new-XXXXXX");
  if (!temp) return rgt__error_nomem(err, strlen(path) + 16);
  int code = 0, fd = mkostemp(temp, O_CLOEXEC); /* 0600 */
  if (fd < 0) {
    code = errno;
  } else {
    close(fd);
    struct stat st;
    if (link(temp, path) != 0 && (errno != EEXIST || stat(path, &st) != 0)) {
      fd = open_again(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY);
      if (fd < 0) code = errno;
      if (fd >= 0) close(fd);
    }
    unlink(temp);
  }
  rgt__free(temp);
  return code ? rgt__error_set(err, RGT_EDB, "%s: cannot be made: %s", path, strerror(code)) : RGT_OK;
}

rgt_status rgt__path_create(const char *path, rgt__error *err) {
  char *folder = rgt__path_folder(path);
  if (!folder) return rgt__error_nomem(err, strlen(path) + 1);
  rgt_status status = rgt__file_make_folder(folder, err);
  rgt__free(folder);
  if (status == RGT_ENOMEM) return status;
  if (status) return rgt__error_prefix(err, RGT_EDB, "%s", path);
  return create_file(path, err);
}

int rgt__path_writable(const char *path) {
  char *folder = rgt__path_folder(path);
  if (!folder) return -1;
  int yes = faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 && faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) == 0;
  rgt__free(folder);
  return yes;
}

int rgt__path_lock(const char *path) {
  char *folder = rgt__path_folder(path);
  if (!folder) return -1;
  int fd = open_again(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  rgt__free(folder);
  if (fd < 0) return -1;
  while (flock(fd, LOCK_EX) != 0) {
    if (errno == EINTR) continue;
    close(fd);
    return -1;
  }
  return fd;
}

void rgt__path_unlock(int lock) {
  if (lock >= 0) close(lock);
}

void rgt__path_stamp(char text[32]) {
  time_t now = time(NULL);
  struct tm tm;
  if (!gmtime_r(&now, &tm) || strftime(text, 32, "%Y%m%dT%H%M%SZ", &tm) == 0) memcpy(text, "0", 2);
}

/* The first name that is free: two damaged files may be found in one second. */
static char *free_name(const char *path) {
  char stamp[32], end[96];
  struct stat st;
  rgt__path_stamp(stamp);
  for (int i = 0; i < 1000; i++) {
    if (i == 0)
      snprintf(end, sizeof end, ".corrupt-%s", stamp);
    else
      snprintf(end, sizeof end, ".corrupt-%s-%d", stamp, i);
    char *name = rgt__strjoin(path, end);
    if (!name || lstat(name, &st) != 0) return name;
    rgt__free(name);
  }
  return NULL;
}

/* The journals go along, for what was committed may still be in them. */
/* The journals go first: once the file is away another process may make a new one, and journals at these names are then that
 * one's. */
rgt_status rgt__path_aside(const char *path, char **aside, rgt__error *err) {
  char *name = free_name(path);
  if (!name) return rgt__error_nomem(err, strlen(path) + 96);
  for (int i = 0; i < N_JOURNALS; i++) {
    char *from = rgt__strjoin(path, journals[i]), *to = rgt__strjoin(name, journals[i]);
    if (from && to && rename(from, to) != 0) unlink(from); /* it must not meet the new file */
    rgt__free(from);
    rgt__free(to);
  }
  if (rename(path, name) != 0) {
    rgt_status status =
        rgt__error_set(err, RGT_EDB, "%s: is damaged and cannot be moved to %s: %s", path, name, strerror(errno));
    rgt__free(name);
    return status;
  }
  *aside = name;
  return RGT_OK;
}

/* Numbers of statfs(2). FUSE may be anything, so it counts as a network. */
int rgt__path_network_kind(unsigned long type) {
  static const unsigned long kinds[] = {
      0x6969,     /* NFS */
      0x517B,     /* SMB */
      0xFF534D42, /* CIFS */
      0xFE534D42, /* SMB2 */
      0x65735546, /* FUSE */
      0x0BD00BD0, /* Lustre */
      0x47504653, /* GPFS */
      0x19830326, /* BeeGFS */
      0x00C36400, /* Ceph */
      0x5346414F, /* AFS */
      0x6B414653, /* kAFS */
      0x73757245, /* Coda */
      0x01021997, /* 9P */
      0x564C,     /* NCP */
      0x7461636F, /* OCFS2 */
      0x01161970, /* GFS2 */
      0x20030528, /* OrangeFS */
      0xAAD7AAEA, /* PanFS */
  };
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
    if ((type & 0xFFFFFFFF) == kinds[i]) return 1;
  return 0;
}

int rgt__path_on_network(const char *path) {
  struct statfs fs;
  char *folder = rgt__path_folder(path);
  if (!folder) return -1;
  int yes = statfs(folder, &fs) == 0 && rgt__path_network_kind((unsigned long)fs.f_type);
  rgt__free(folder);
  return yes;
}

char *rgt__path_uri(const char *path) {
  static const char hex[] = "0123456789ABCDEF", plain[] = "/-._~", end[] = "?immutable=1";
  char *real = realpath(path, NULL);
  if (!real) return NULL;
  char *uri = rgt__alloc(5 + 3 * strlen(real) + sizeof end), *p = uri;
  if (uri) {
    memcpy(p, "file:", 5);
    p += 5;
    for (const char *c = real; *c; c++) {
      int letter = (*c >= '0' && *c <= '9') || (*c >= 'A' && *c <= 'Z') || (*c >= 'a' && *c <= 'z');
      if (letter || strchr(plain, *c)) {
        *p++ = *c;
        continue;
      }
      *p++ = '%';
      *p++ = hex[(unsigned char)*c >> 4];
      *p++ = hex[(unsigned char)*c & 15];
    }
    memcpy(p, end, sizeof end);
  }
  free(real); /* realpath's own malloc */
  return uri;
}
