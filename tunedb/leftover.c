/* leftover.c -- the names of files that may lie beside a database: which of them are leftovers. */
#include "tunedb/tunedb.h"

#include <string.h>

static int ends_with(const char *text, const char *end) {
  size_t n = strlen(text), m = strlen(end);
  return n >= m && strcmp(text + n - m, end) == 0;
}

/* "20260101T000000Z", what rgt__path_stamp writes: how long, or 0. */
static size_t stamp_length(const char *text) {
  int is_stamp = strspn(text, "0123456789") == 8 && text[8] == 'T' && strspn(text + 9, "0123456789") == 6 && text[15] == 'Z';
  return is_stamp ? 16 : 0;
}

static rgt__tunedb_leftover aside(const char *end) {
  size_t n = stamp_length(end);
  if (!n) return RGT_LEFTOVER_NONE;
  end += n;
  if (*end == '-' && strspn(end + 1, "0123456789") > 0) end += 1 + strspn(end + 1, "0123456789");
  if (!*end) return RGT_LEFTOVER_ASIDE;
  int journal = strcmp(end, "-wal") == 0 || strcmp(end, "-shm") == 0 || strcmp(end, "-journal") == 0;
  return journal ? RGT_LEFTOVER_JOURNAL : RGT_LEFTOVER_NONE;
}

rgt__tunedb_leftover rgt__tunedb_leftover_of(const char *db_path, const char *name) {
  const char *slash = strrchr(db_path, '/'), *own = slash ? slash + 1 : db_path;
  size_t n = strlen(own);
  if (strncmp(name, own, n) != 0 || name[n] != '.') return RGT_LEFTOVER_NONE;
  const char *end = name + n;
  if (strncmp(end, ".new-", 5) == 0 && strlen(end) == 11) return RGT_LEFTOVER_TEMP;
  if (strncmp(end, ".v", 2) == 0 && ends_with(end, ".part")) return RGT_LEFTOVER_TEMP;
  return strncmp(end, ".corrupt-", 9) == 0 ? aside(end + 9) : RGT_LEFTOVER_NONE;
}
