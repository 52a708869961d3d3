/* npy.c -- NumPy's .npy files: reading and writing. */
#include "npy.h"
#include "out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ALIGNMENT 64
#define READ_MAX ((size_t)1 << 30) /* bytes of one read() */

static const struct {
  const char *name;
  size_t bytes;
} types[RGT_N_NPY_TYPES] = {
    [RGT_NPY_F4] = {"<f4", 4}, [RGT_NPY_F2] = {"<f2", 2}, [RGT_NPY_F8] = {"<f8", 8}, [RGT_NPY_U2] = {"<u2", 2},
    [RGT_NPY_V2] = {"<V2", 2}, [RGT_NPY_I4] = {"<i4", 4}, [RGT_NPY_I8] = {"<i8", 8},
};

const char *rgt__npy_type_name(rgt__npy_type type) {
  return types[type].name;
}
size_t rgt__npy_type_bytes(rgt__npy_type type) {
  return types[type].bytes;
}

int64_t rgt__npy_integer(const rgt__npy *a, size_t i) {
  return a->type == RGT_NPY_I4 ? ((const int32_t *)a->data)[i] : ((const int64_t *)a->data)[i];
}

char *rgt__npy_shape(int n_dims, const int64_t *shape, char *out, size_t size) {
  size_t n = (size_t)snprintf(out, size, "(");
  for (int i = 0; i < n_dims && n < size; i++) n += (size_t)snprintf(out + n, size - n, "%s%" PRId64, i ? ", " : "", shape[i]);
  if (n < size) snprintf(out + n, size - n, n_dims == 1 ? ",)" : ")");
  return out;
}

/* ---- the header's dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } ------------------- */

typedef struct cursor {
  const unsigned char *p, *end;
  const char *name; /* of the file */
  rgt__message *m;
} cursor;

static rgt_status bad(const cursor *c, const char *what) {
  return rgt__message_set(c->m, RGT_EINVAL, "%s: not a readable .npy file: %s", c->name, what);
}

static void skip_blanks(cursor *c) {
  while (c->p < c->end && (*c->p == ' ' || *c->p == '\t' || *c->p == '\n' || *c->p == '\r')) c->p++;
}

/* takes the character if it comes next, blanks skipped */
static int take(cursor *c, char character) {
  skip_blanks(c);
  if (c->p == c->end || *c->p != (unsigned char)character) return 0;
  c->p++;
  return 1;
}

static int take_word(cursor *c, const char *word) {
  size_t n = strlen(word);
  skip_blanks(c);
  if ((size_t)(c->end - c->p) < n || memcmp(c->p, word, n) != 0) return 0;
  c->p += n;
  return 1;
}

/* a quoted string of printable characters without escapes */
static int take_string(cursor *c, char *out, size_t size) {
  unsigned char quote;
  size_t n = 0;
  skip_blanks(c);
  if (c->p == c->end || (*c->p != '\'' && *c->p != '"')) return 0;
  for (quote = *c->p++; c->p < c->end && *c->p != quote; c->p++) {
    if (n + 1 >= size || *c->p < ' ' || *c->p > '~' || *c->p == '\\') return 0;
    out[n++] = (char)*c->p;
  }
  if (c->p == c->end) return 0;
  c->p++;
  out[n] = 0;
  return 1;
}

static rgt_status parse_descr(cursor *c, rgt__npy *a) {
  char text[32];
  skip_blanks(c);
  if (c->p < c->end && *c->p == '[') return bad(c, "its type is a structure; plain numbers are read");
  if (!take_string(c, text, sizeof text)) return bad(c, "'descr' is no short string");
  for (int i = 0; i < RGT_N_NPY_TYPES; i++)
    if (strcmp(text, types[i].name) == 0 || (i == RGT_NPY_V2 && strcmp(text, "|V2") == 0)) {
      a->type = (rgt__npy_type)i;
      return RGT_OK;
    }
  return rgt__message_set(c->m, RGT_EINVAL, "%s: type '%s' is not read%s; want one of <f4 <f2 <f8 <u2 <V2 <i4 <i8", c->name,
                          text, *text == '>' ? " (big-endian)" : "");
}

static int take_number(cursor *c, int64_t *out) {
  int64_t v = 0;
  const unsigned char *from;
  skip_blanks(c);
  for (from = c->p; c->p < c->end && *c->p >= '0' && *c->p <= '9'; c->p++) {
    int digit = *c->p - '0';
    if (v > (INT64_MAX - digit) / 10) return 0;
    v = 10 * v + digit;
  }
  *out = v;
  return c->p > from;
}

static rgt_status parse_shape(cursor *c, rgt__npy *a) {
  int comma = 1;
  if (!take(c, '(')) return bad(c, "'shape' is no tuple");
  for (a->n_dims = 0; !take(c, ')'); a->n_dims++) {
    int64_t n;
    if (!comma || !take_number(c, &n)) return bad(c, "'shape' holds something else than sizes below 2^63");
    if (a->n_dims == RGT_NPY_DIMS_MAX) return bad(c, "it has more than 3 dimensions");
    a->shape[a->n_dims] = n;
    comma = take(c, ',');
  }
  if (a->n_dims == 1 && !comma) return bad(c, "'shape' is no tuple");
  return RGT_OK;
}

enum { KEY_DESCR = 1, KEY_ORDER = 2, KEY_SHAPE = 4, KEY_ALL = 7 };

static rgt_status parse_entry(cursor *c, int *seen, int *fortran, rgt__npy *a) {
  char key[32];
  int bit;
  if (!take_string(c, key, sizeof key) || !take(c, ':')) return bad(c, "its header is no dictionary of names and values");
  bit = strcmp(key, "descr") == 0 ? KEY_DESCR : strcmp(key, "fortran_order") == 0 ? KEY_ORDER : KEY_SHAPE;
  if (bit == KEY_SHAPE && strcmp(key, "shape") != 0)
    return bad(c, "its header holds something else than descr, fortran_order and shape");
  if (*seen & bit) return bad(c, "its header says something twice");
  *seen |= bit;
  if (bit == KEY_DESCR) return parse_descr(c, a);
  if (bit == KEY_SHAPE) return parse_shape(c, a);
  *fortran = take_word(c, "True");
  return *fortran || take_word(c, "False") ? RGT_OK : bad(c, "'fortran_order' is neither True nor False");
}

static rgt_status parse_dictionary(cursor *c, rgt__npy *a) {
  int seen = 0, fortran = 0, comma = 1;
  rgt_status s;
  if (!take(c, '{')) return bad(c, "its header is no dictionary");
  while (!take(c, '}')) {
    if (!comma) return bad(c, "its header lacks a comma or its end");
    if ((s = parse_entry(c, &seen, &fortran, a)) != RGT_OK) return s;
    comma = take(c, ',');
  }
  skip_blanks(c);
  if (c->p != c->end) return bad(c, "something follows its header's dictionary");
  if (seen != KEY_ALL) return bad(c, "its header lacks one of descr, fortran_order and shape");
  if (fortran && a->n_dims > 1)
    return rgt__message_set(c->m, RGT_EINVAL, "%s: the array is in Fortran order; save it in C order (numpy.ascontiguousarray)",
                            c->name);
  return RGT_OK;
}

/* elems and bytes from the shape; a size of 0 makes all of it 0, whatever the others are */
static rgt_status measure(const cursor *c, rgt__npy *a) {
  size_t elems = 1, width = types[a->type].bytes;
  for (int i = 0; i < a->n_dims; i++)
    if (a->shape[i] == 0) elems = 0;
  for (int i = 0; i < a->n_dims && elems; i++) {
    if ((uint64_t)a->shape[i] > (uint64_t)INT64_MAX / width / elems) return bad(c, "its shape passes 2^63 bytes");
    elems *= (size_t)a->shape[i];
  }
  a->elems = elems;
  a->bytes = elems * width;
  return RGT_OK;
}

rgt_status rgt__npy_parse(const unsigned char *bytes, size_t n, const char *name, rgt__npy *a, rgt__message *m) {
  static const unsigned char magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
  cursor c = {bytes, bytes + n, name, m};
  rgt__npy parsed = {0};
  size_t start, length;
  rgt_status s;
  if (n < 6 || memcmp(bytes, magic, 6) != 0) return bad(&c, "it does not begin as one");
  if (n < 12) return bad(&c, "it ends within its header");
  if (bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0)
    return rgt__message_set(m, RGT_EINVAL, "%s: .npy format %d.%d is not read; want 1.0, 2.0 or 3.0", name, bytes[6], bytes[7]);
  start = bytes[6] == 1 ? 10 : 12;
  length = (size_t)bytes[8] | (size_t)bytes[9] << 8;
  if (start == 12) length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
  if (length > RGT_NPY_HEADER_MAX - 12) return bad(&c, "its header is longer than 64 KiB");
  if (length > n - start) return bad(&c, "it ends within its header");
  c.p = bytes + start;
  c.end = c.p + length;
  if ((s = parse_dictionary(&c, &parsed)) != RGT_OK || (s = measure(&c, &parsed)) != RGT_OK) return s;
  parsed.data_offset = start + length;
  *a = parsed;
  return RGT_OK;
}

/* ---- files ------------------------------------------------------------------------------------------------- */

/* n bytes at offset, fewer at the file's end; -1 with errno */
static ssize_t read_at(int fd, void *to, size_t n, size_t offset) {
  size_t done = 0;
  while (done < n) {
    size_t want = n - done < READ_MAX ? n - done : READ_MAX;
    ssize_t k = pread(fd, (char *)to + done, want, (off_t)(offset + done));
    if (k < 0 && errno == EINTR) continue;
    if (k < 0) return -1;
    if (k == 0) break;
    done += (size_t)k;
  }
  return (ssize_t)done;
}

static rgt_status wrong_length(const rgt__npy *a, const char *path, size_t found, rgt__message *m) {
  char shape[96];
  rgt__npy_shape(a->n_dims, a->shape, shape, sizeof shape);
  return rgt__message_set(m, RGT_EINVAL, "%s: %s: %zu bytes of data are there, %zu are needed for %s %s", path,
                          found < a->bytes ? "truncated" : "too long", found, a->bytes, types[a->type].name, shape);
}

static rgt_status read_data(int fd, const char *path, rgt__npy *a, rgt__message *m) {
  size_t room = (a->bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT; /* at least one byte */
  ssize_t n;
  a->data = aligned_alloc(ALIGNMENT, room);
  if (!a->data) return rgt__message_set(m, RGT_ENOMEM, "%s: no memory for its %zu bytes", path, a->bytes);
  n = read_at(fd, a->data, a->bytes, a->data_offset);
  if (n < 0) return rgt__message_set(m, RGT_EIO, "%s: %s", path, strerror(errno));
  return (size_t)n == a->bytes ? RGT_OK : wrong_length(a, path, (size_t)n, m);
}

static rgt_status read_open(int fd, const char *path, rgt__npy *a, rgt__message *m) {
  static unsigned char head[RGT_NPY_HEADER_MAX];
  struct stat info;
  ssize_t n;
  size_t found;
  rgt_status s;
  if (fstat(fd, &info) != 0) return rgt__message_set(m, RGT_EIO, "%s: %s", path, strerror(errno));
  if (!S_ISREG(info.st_mode)) return rgt__message_set(m, RGT_EIO, "%s is not a regular file", path);
  n = read_at(fd, head, sizeof head, 0);
  if (n < 0) return rgt__message_set(m, RGT_EIO, "%s: %s", path, strerror(errno));
  if ((s = rgt__npy_parse(head, (size_t)n, path, a, m)) != RGT_OK) return s;
  found = (size_t)info.st_size > a->data_offset ? (size_t)info.st_size - a->data_offset : 0;
  if (found != a->bytes) return wrong_length(a, path, found, m);
  return read_data(fd, path, a, m);
}

rgt_status rgt__npy_read(const char *path, rgt__npy *a, rgt__message *m) {
  rgt__npy read = {0};
  rgt_status s;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe without a writer shall not hang */
  if (fd < 0) return rgt__message_set(m, RGT_EIO, "%s: %s", path, strerror(errno));
  s = read_open(fd, path, &read, m);
  close(fd);
  if (s == RGT_OK)
    *a = read;
  else
    rgt__npy_free(&read);
  return s;
}

void rgt__npy_free(rgt__npy *a) {
  free(a->data);
  memset(a, 0, sizeof *a);
}

/* ---- writing ----------------------------------------------------------------------------------------------- */

rgt_status rgt__npy_write(const char *path, rgt__npy_type type, int n_dims, const int64_t *shape, const void *data,
                          rgt__message *m) {
  char header[256], text[96];
  rgt__out_part parts[2];
  size_t bytes = types[type].bytes, n;
  for (int i = 0; i < n_dims; i++) bytes *= (size_t)shape[i];
  memcpy(header, "\x93NUMPY\x01\x00", 8);
  n = 10;
  n += (size_t)snprintf(header + n, sizeof header - n, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }",
                        types[type].name, rgt__npy_shape(n_dims, shape, text, sizeof text));
  while ((n + 1) % ALIGNMENT != 0) header[n++] = ' '; /* so that the data begin on a multiple of 64 */
  header[n++] = '\n';
  header[8] = (char)((n - 10) & 255);
  header[9] = (char)((n - 10) >> 8);
  parts[0] = (rgt__out_part){header, n};
  parts[1] = (rgt__out_part){data, bytes};
  return rgt__out_file_write(path, parts, 2, m);
}
