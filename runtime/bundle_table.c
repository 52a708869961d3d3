/* bundle_table.c -- what a bundle holds: read from its table, written as table and manifest. */
#include "runtime/bundle_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/base/file.h"
#include "templates/lib/kargs.h"

enum { TABLE_MAX = 64 << 20, PATH_SIZE = 1024 };

void rgt__bundle_table_free(rgt__bundle_table *t) {
  rgt__free(t->code);
  rgt__free(t->choices);
  memset(t, 0, sizeof *t);
}

/* ---- adding ---- */

static rgt_status grow(void *list, int n, int *room, size_t size, rgt__error *err) {
  void **p = list;
  if (n < *room) return RGT_OK;
  int larger = *room ? 2 * *room : 16;
  void *grown = rgt__realloc(*p, (size_t)larger * size);
  if (!grown) return rgt__error_nomem(err, (size_t)larger * size);
  *p = grown;
  *room = larger;
  return RGT_OK;
}

rgt_status rgt__bundle_table_add_code(rgt__bundle_table *t, const rgt__bundle_code *code, rgt__error *err) {
  for (int i = 0; i < t->n_code; i++)
    if (rgt__digest_equal(&t->code[i].local, &code->local)) {
      t->code[i] = *code;
      return RGT_OK;
    }
  rgt_status status = grow(&t->code, t->n_code, &t->code_room, sizeof *t->code, err);
  if (status == RGT_OK) t->code[t->n_code++] = *code;
  return status;
}

static int same_for(const rgt__bundle_for *a, const rgt__bundle_for *b) {
  return strcmp(a->target, b->target) == 0 && strcmp(a->op, b->op) == 0 && a->form == b->form &&
         a->align_bytes == b->align_bytes && a->order == b->order;
}

rgt_status rgt__bundle_table_add_choice(rgt__bundle_table *t, const rgt__bundle_choice *choice, rgt__error *err) {
  for (int i = 0; i < t->n_choices; i++) {
    rgt__bundle_choice *c = &t->choices[i];
    if (same_for(&c->made_for, &choice->made_for) && strcmp(c->device_class, choice->device_class) == 0 &&
        c->skew == choice->skew && c->bucket == choice->bucket) {
      *c = *choice;
      return RGT_OK;
    }
  }
  rgt_status status = grow(&t->choices, t->n_choices, &t->choices_room, sizeof *t->choices, err);
  if (status == RGT_OK) t->choices[t->n_choices++] = *choice;
  return status;
}

/* ---- reading ---- */

/* The fields of one line: tabs become NULs. How many there are; `most` + 1 where there are more. */
static int split(char *line, char **fields, int most) {
  int have = 0;
  for (char *at = line; at; have++) {
    if (have == most) return most + 1;
    fields[have] = at;
    at = strchr(at, '\t');
    if (at) *at++ = 0;
  }
  return have;
}

static int read_text(const char *field, char *out, size_t size) {
  return (size_t)snprintf(out, size, "%s", field) < size;
}

static int read_number(const char *field, int64_t low, int64_t high, int64_t *out) {
  char *end;
  long long v = strtoll(field, &end, 10);
  *out = v;
  return *field && !*end && v >= low && v <= high;
}

static int read_int(const char *field, int low, int high, int *out) {
  int64_t v = 0;
  int ok = read_number(field, low, high, &v);
  *out = (int)v;
  return ok;
}

static int read_for(char *const *f, rgt__bundle_for *out) {
  return read_text(f[0], out->target, sizeof out->target) && read_text(f[1], out->op, sizeof out->op) &&
         rgt__op_form_parse(f[2], &out->form) && read_int(f[3], 1, 16, &out->align_bytes);
}

static rgt_status read_code(rgt__bundle_table *t, char *line, rgt__error *err) {
  enum { N = 13 }; /* and the order, where it is not raw */
  char *f[N + 1];
  rgt__bundle_code c;
  memset(&c, 0, sizeof c);
  int n = split(line, f, N + 1);
  if (n < N || n > N + 1 || (n == N + 1 && !rgt__op_order_parse(f[N], &c.made_for.order)) || !read_for(f, &c.made_for) ||
      !read_text(f[4], c.variant, sizeof c.variant) || !read_int(f[5], 0, INT32_MAX, &c.revision) ||
      !rgt__digest_parse(f[6], &c.local) || !rgt__digest_parse(f[7], &c.key) || !rgt__digest_parse(f[8], &c.binary) ||
      !read_number(f[10], 0, INT64_MAX, &c.bytes) || !read_int(f[11], 0, 1, &c.verified) ||
      !read_text(f[12], c.toolchain, sizeof c.toolchain))
    return RGT_EIO;
  c.has_ptx = strcmp(f[9], "-") != 0;
  if (c.has_ptx && !rgt__digest_parse(f[9], &c.ptx)) return RGT_EIO;
  return rgt__bundle_table_add_code(t, &c, err);
}

static rgt_status read_choice(rgt__bundle_table *t, char *line, rgt__error *err) {
  enum { N = 16 };
  char *f[N];
  rgt__bundle_choice c;
  memset(&c, 0, sizeof c);
  if (split(line, f, N) != N || !read_for(f, &c.made_for) || !read_text(f[4], c.device_class, sizeof c.device_class) ||
      !rgt__op_order_parse(f[5], &c.made_for.order) || !rgt__op_skew_parse(f[6], &c.skew) ||
      !read_number(f[7], 1, (int64_t)1 << 31, &c.bucket) || (c.bucket & (c.bucket - 1)) ||
      !read_text(f[8], c.variant, sizeof c.variant) || !read_text(f[9], c.runner_up, sizeof c.runner_up) ||
      !read_number(f[10], 0, INT64_MAX, &c.time_ps) || !read_number(f[11], 0, INT64_MAX, &c.low_ps) ||
      !read_number(f[12], 0, INT64_MAX, &c.high_ps) || !read_number(f[13], 0, INT64_MAX, &c.ratio_ppm) ||
      !read_number(f[14], 0, INT64_MAX, &c.second_ppm) || !read_int(f[15], 0, INT32_MAX, &c.n_runs))
    return RGT_EIO;
  return rgt__bundle_table_add_choice(t, &c, err);
}

static rgt_status read_lines(rgt__bundle_table *t, char *text, rgt__error *err) {
  rgt_status status = RGT_OK;
  for (char *line = text; *line && status == RGT_OK;) {
    char *end = strchr(line, '\n');
    if (!end) return RGT_EIO;
    *end = 0;
    if (strncmp(line, "code\t", 5) == 0)
      status = read_code(t, line + 5, err);
    else if (strncmp(line, "choice\t", 7) == 0)
      status = read_choice(t, line + 7, err);
    else
      status = RGT_EIO;
    line = end + 1;
  }
  return status;
}

/* The first line says whose file this is, and is all that another version need have in common. */
static rgt_status read_head(const char *folder, const rgt__buffer *b, char **rest, rgt__error *err) {
  char hex[RGT_DIGEST_HEX_MAX] = "";
  rgt__digest want, have;
  long version = 0;
  int at = 0;
  if (strlen(b->data) != b->size || sscanf(b->data, RGT_BUNDLE_TABLE " %ld %64s%n", &version, hex, &at) < 1)
    return rgt__error_set(err, RGT_EIO, "%s/" RGT_BUNDLE_TABLE " is no table of a bundle, or a damaged one", folder);
  if (version != RGT_BUNDLE_VERSION)
    return rgt__error_set(err, RGT_EIO, "%s is a bundle of version %ld; this library reads version %d", folder, version,
                          RGT_BUNDLE_VERSION);
  if (b->data[at] == '\n' && rgt__digest_parse(hex, &want)) {
    *rest = b->data + at + 1;
    rgt__digest_of(*rest, b->size - (size_t)at - 1, &have);
    if (rgt__digest_equal(&want, &have)) return RGT_OK;
  }
  return rgt__error_set(err, RGT_EIO, "%s/" RGT_BUNDLE_TABLE " is damaged; make the bundle again with ragtune compile -o",
                        folder);
}

rgt_status rgt__bundle_table_read(const char *folder, rgt__bundle_table *t, rgt__error *err) {
  rgt__buffer b = {0};
  rgt__error why = {""};
  char path[PATH_SIZE], *rest = NULL;
  rgt_status status = rgt__file_join(path, sizeof path, folder, RGT_BUNDLE_TABLE, err);
  if (status != RGT_OK) return RGT_EIO;
  status = rgt__file_read(path, TABLE_MAX, &b, &why);
  if (status != RGT_OK) rgt__error_set(err, status, "%s is no bundle: %s", folder, why.text);
  if (status == RGT_OK) status = read_head(folder, &b, &rest, err);
  if (status == RGT_OK) {
    status = read_lines(t, rest, err);
    if (status == RGT_EIO) rgt__error_set(err, status, "%s/" RGT_BUNDLE_TABLE ": a line is not what version 1 has", folder);
  }
  rgt__buffer_free(&b);
  if (status != RGT_OK) rgt__bundle_table_free(t);
  return status;
}

/* ---- writing ---- */

/* Tabs and line ends separate what the table holds; a text from elsewhere (a toolchain's, a device's) must not bring any. */
static void add_field(rgt__buffer *b, const char *text) {
  rgt__buffer_text(b, "\t");
  for (; *text; text++) {
    char c = (unsigned char)*text < ' ' ? ' ' : *text;
    rgt__buffer_add(b, &c, 1);
  }
}

static void add_number(rgt__buffer *b, int64_t v) {
  rgt__buffer_format(b, "\t%lld", (long long)v);
}

static void add_digest(rgt__buffer *b, const rgt__digest *d) {
  char hex[RGT_DIGEST_HEX_MAX];
  rgt__digest_hex(d, hex);
  add_field(b, hex);
}

static void add_for(rgt__buffer *b, const rgt__bundle_for *made_for) {
  add_field(b, made_for->target);
  add_field(b, made_for->op);
  add_field(b, rgt__op_form_word(made_for->form));
  add_number(b, made_for->align_bytes);
}

static void table_text(const rgt__bundle_table *t, rgt__buffer *b) {
  for (int i = 0; i < t->n_code; i++) {
    const rgt__bundle_code *c = &t->code[i];
    rgt__buffer_text(b, "code");
    add_for(b, &c->made_for);
    add_field(b, c->variant);
    add_number(b, c->revision);
    add_digest(b, &c->local);
    add_digest(b, &c->key);
    add_digest(b, &c->binary);
    if (c->has_ptx)
      add_digest(b, &c->ptx);
    else
      add_field(b, "-");
    add_number(b, c->bytes);
    add_number(b, c->verified);
    add_field(b, c->toolchain);
    if (c->made_for.order != RGT_ORDER_RAW) add_field(b, rgt__op_order_word(c->made_for.order));
    rgt__buffer_text(b, "\n");
  }
  for (int i = 0; i < t->n_choices; i++) {
    const rgt__bundle_choice *c = &t->choices[i];
    rgt__buffer_text(b, "choice");
    add_for(b, &c->made_for);
    add_field(b, c->device_class);
    add_field(b, rgt__op_order_word(c->made_for.order));
    add_field(b, rgt__op_skew_word(c->skew));
    add_number(b, c->bucket);
    add_field(b, c->variant);
    add_field(b, c->runner_up);
    add_number(b, c->time_ps);
    add_number(b, c->low_ps);
    add_number(b, c->high_ps);
    add_number(b, c->ratio_ppm);
    add_number(b, c->second_ppm);
    add_number(b, c->n_runs);
    rgt__buffer_text(b, "\n");
  }
}

static void json_text(rgt__buffer *b, const char *name, const char *text) {
  rgt__buffer_format(b, "\"%s\": \"", name);
  for (; *text; text++) {
    unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\')
      rgt__buffer_format(b, "\\%c", c);
    else if (c < ' ')
      rgt__buffer_format(b, "\\u%04x", c);
    else
      rgt__buffer_add(b, text, 1);
  }
  rgt__buffer_text(b, "\"");
}

static void json_digest(rgt__buffer *b, const char *name, const rgt__digest *d) {
  char hex[RGT_DIGEST_HEX_MAX];
  rgt__digest_hex(d, hex);
  rgt__buffer_format(b, ", \"%s\": \"%s\"", name, hex);
}

static void json_for(rgt__buffer *b, const rgt__bundle_for *made_for) {
  json_text(b, "op", made_for->op);
  rgt__buffer_text(b, ", ");
  json_text(b, "target", made_for->target);
  rgt__buffer_format(b, ", \"weights\": \"%s\", \"align\": %d, \"order\": \"%s\", ", rgt__op_form_word(made_for->form),
                     made_for->align_bytes, rgt__op_order_word(made_for->order));
}

static void json_code(rgt__buffer *b, const rgt__bundle_code *c) {
  rgt__buffer_text(b, "{");
  json_for(b, &c->made_for);
  json_text(b, "variant", c->variant);
  rgt__buffer_format(b, ", \"revision\": %d, \"verified\": %s, ", c->revision, c->verified ? "true" : "false");
  json_text(b, "toolchain", c->toolchain);
  rgt__buffer_format(b, ", \"bytes\": %lld", (long long)c->bytes);
  json_digest(b, "key", &c->key);
  json_digest(b, "binary", &c->binary);
  if (c->has_ptx) json_digest(b, "ptx", &c->ptx);
  rgt__buffer_text(b, "}");
}

static void json_choice(rgt__buffer *b, const rgt__bundle_choice *c) {
  rgt__buffer_text(b, "{");
  json_for(b, &c->made_for);
  json_text(b, "device_class", c->device_class);
  rgt__buffer_format(b, ", \"skew\": \"%s\", \"rows\": %lld, ", rgt__op_skew_word(c->skew), (long long)c->bucket);
  json_text(b, "variant", c->variant);
  rgt__buffer_text(b, ", ");
  json_text(b, "runner_up", c->runner_up);
  rgt__buffer_format(b, ", \"time_ps\": %lld, \"ratio_ppm\": %lld}", (long long)c->time_ps, (long long)c->ratio_ppm);
}

static void manifest_text(const rgt__bundle_table *t, rgt__buffer *b) {
  rgt__buffer_format(b,
                     "{\"format\": \"%s\", \"format_version\": %d, \"ragtune\": \"%s\", \"kargs\": %d,\n"
                     " \"code\": [",
                     RGT_BUNDLE_TABLE, RGT_BUNDLE_VERSION, RGT_VERSION, RGT_KARGS_VERSION);
  for (int i = 0; i < t->n_code; i++) {
    rgt__buffer_text(b, i ? ",\n  " : "\n  ");
    json_code(b, &t->code[i]);
  }
  rgt__buffer_text(b, "],\n \"choices\": [");
  for (int i = 0; i < t->n_choices; i++) {
    rgt__buffer_text(b, i ? ",\n  " : "\n  ");
    json_choice(b, &t->choices[i]);
  }
  rgt__buffer_text(b, "]}\n");
}

static rgt_status write_one(const char *folder, const char *name, const rgt__buffer *b, rgt__error *err) {
  char path[PATH_SIZE];
  if (b->failed) return rgt__error_nomem(err, b->size);
  rgt_status status = rgt__file_join(path, sizeof path, folder, name, err);
  return status == RGT_OK ? rgt__file_write(path, b->data, b->size, 0644, err) : RGT_EIO;
}

rgt_status rgt__bundle_table_write(const char *folder, const rgt__bundle_table *t, rgt__error *err) {
  rgt__buffer manifest = {0}, rest = {0}, table = {0};
  rgt__digest hash;
  char hex[RGT_DIGEST_HEX_MAX];
  manifest_text(t, &manifest);
  rgt__buffer_text(&rest, "");
  table_text(t, &rest);
  rgt_status status = rest.failed ? rgt__error_nomem(err, rest.size) : RGT_OK;
  if (status == RGT_OK) {
    rgt__digest_of(rest.data, rest.size, &hash);
    rgt__digest_hex(&hash, hex);
    rgt__buffer_format(&table, RGT_BUNDLE_TABLE " %d %s\n", RGT_BUNDLE_VERSION, hex);
    rgt__buffer_add(&table, rest.data, rest.size);
    status = write_one(folder, RGT_BUNDLE_MANIFEST, &manifest, err);
  }
  if (status == RGT_OK) status = write_one(folder, RGT_BUNDLE_TABLE, &table, err);
  rgt__buffer_free(&manifest);
  rgt__buffer_free(&rest);
  rgt__buffer_free(&table);
  return status;
}
