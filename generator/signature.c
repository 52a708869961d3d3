/* signature.c -- under what a result is kept: the op, and what of a call may change which variant is best. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "generator/op.h"

#define FORM "v1|OP|rROWS|SKEW|FORM|aALIGN|ORDER"
enum { VERSION, OP, BUCKET, SKEW, WEIGHTS, ALIGN, ORDER, N_FIELDS };

static int power_of_two(int64_t v, int64_t max) {
  return v >= 1 && v <= max && !(v & (v - 1));
}

#define BUCKET_MAX ((int64_t)1 << 31) /* RGT_COUNT_MAX rounded up */

rgt_status rgt__signature_format(const rgt__signature *s, char text[RGT_SIGNATURE_TEXT_MAX], rgt__error *err) {
  char op[RGT_OP_TEXT_MAX];
  rgt_status status = rgt__op_format(&s->op, op, err);
  if (status) return status;
  if (!power_of_two(s->bucket, BUCKET_MAX))
    return rgt__error_set(err, RGT_EINVAL, "signature: bucket is %" PRId64 "; it must be a power of two from 1 to %" PRId64,
                          s->bucket, BUCKET_MAX);
  if (!power_of_two(s->align_bytes, 16))
    return rgt__error_set(err, RGT_EINVAL, "signature: alignment is %d; it must be 1, 2, 4, 8 or 16", s->align_bytes);
  const char *skew = rgt__op_skew_word(s->skew), *form = rgt__op_form_word(s->form), *order = rgt__op_order_word(s->order);
  if (*skew == '?' || *form == '?' || *order == '?')
    return rgt__error_set(err, RGT_EINVAL, "signature: skew %d, weight form %d or order %d is none of ragtune.h's",
                          (int)s->skew, (int)s->form, (int)s->order);
  snprintf(text, RGT_SIGNATURE_TEXT_MAX, "v1|%s|r%" PRId64 "|%s|%s|a%d|%s", op, s->bucket, skew, form, s->align_bytes, order);
  return RGT_OK;
}

/* A letter and a power of two in plain digits, no leading zero; 0 if it is anything else. */
static int64_t letter_power(const char *text, char letter, int64_t max) {
  if (*text++ != letter || *text == '0') return 0;
  int64_t v = 0;
  for (; *text >= '0' && *text <= '9'; text++) {
    v = v * 10 + (*text - '0');
    if (v > max) return 0;
  }
  return !*text && power_of_two(v, max) ? v : 0;
}

static rgt_status wrong(rgt__error *err, const char *field, const char *value, const char *accepted) {
  return rgt__error_set(err, RGT_EINVAL, "signature: %s \"%.60s\": must be %s", field, value, accepted);
}

/* Splits a copy of text at '|' into N_FIELDS strings; 0 if there are more or fewer. */
static int split(char *copy, char *fields[N_FIELDS]) {
  int n = 0;
  for (char *p = copy; p; n++) {
    char *bar = strchr(p, '|');
    if (bar) *bar++ = 0;
    if (n < N_FIELDS) fields[n] = p;
    p = bar;
  }
  return n == N_FIELDS;
}

rgt_status rgt__signature_parse(const char *text, rgt__signature *s, rgt__error *err) {
  char copy[RGT_SIGNATURE_TEXT_MAX], *f[N_FIELDS];
  size_t length = strlen(text);
  if (length >= sizeof copy)
    return rgt__error_set(err, RGT_EINVAL, "signature \"%.60s...\": longer than %d bytes", text, RGT_SIGNATURE_TEXT_MAX - 1);
  memcpy(copy, text, length + 1);
  if (!split(copy, f)) return rgt__error_set(err, RGT_EINVAL, "signature \"%.120s\": must be " FORM, text);

  rgt__signature out = {0};
  if (strcmp(f[VERSION], "v1")) return wrong(err, "version", f[VERSION], "v1");
  if (rgt__op_parse(f[OP], &out.op, err)) return rgt__error_prefix(err, RGT_EINVAL, "signature");
  out.bucket = letter_power(f[BUCKET], 'r', BUCKET_MAX);
  if (!out.bucket) return wrong(err, "bucket", f[BUCKET], "r and a power of two up to 2147483648, as in r64");
  if (!rgt__op_skew_parse(f[SKEW], &out.skew)) return wrong(err, "skew", f[SKEW], "unknown, uniform, zipf or one");
  if (!rgt__op_form_parse(f[WEIGHTS], &out.form)) return wrong(err, "weight form", f[WEIGHTS], "stacked or pointers");
  out.align_bytes = (int)letter_power(f[ALIGN], 'a', 16);
  if (!out.align_bytes) return wrong(err, "alignment", f[ALIGN], "a1, a2, a4, a8 or a16");
  if (!rgt__op_order_parse(f[ORDER], &out.order)) return wrong(err, "order", f[ORDER], "raw, sorted or offsets");
  *s = out;
  return RGT_OK;
}
