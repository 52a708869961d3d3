/* device_near.c -- how far two device classes are apart, field by field. */
#include "runtime/device_near.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OTHER_WORD 2.0 /* as far as a factor of four in a number */
#define MODELLED "modelled"

typedef struct field {
  const char *text;
  size_t n;
} field;

static field next_field(const char **at, const char *separators) {
  field f = {*at, strcspn(*at, separators)};
  *at += f.n + (f.text[f.n] != 0);
  return f;
}

static int same(field a, field b) {
  return a.n == b.n && memcmp(a.text, b.text, a.n) == 0;
}

/* "sms=132", "mem=144GiB", "sm_90", "f1": letters that both have, a number, the same letters again. */
static int numbers(field a, field b, double *octaves) {
  size_t start = 0;
  char *end_a, *end_b;
  while (start < a.n && start < b.n && a.text[start] == b.text[start] && !(a.text[start] >= '0' && a.text[start] <= '9'))
    start++;
  if (start == a.n || start == b.n || strspn(a.text + start, "0123456789") == 0 || strspn(b.text + start, "0123456789") == 0)
    return 0;
  double x = strtod(a.text + start, &end_a), y = strtod(b.text + start, &end_b);
  size_t rest_a = (size_t)(a.text + a.n - end_a), rest_b = (size_t)(b.text + b.n - end_b);
  if (end_a > a.text + a.n || end_b > b.text + b.n || rest_a != rest_b || memcmp(end_a, end_b, rest_a) != 0) return 0;
  *octaves = fabs(log2(x + 1) - log2(y + 1));
  return 1;
}

/* What of list a is not in list b. */
static int lacking(field a, field b) {
  int n = 0;
  for (const char *at = a.text; at < a.text + a.n;) {
    field item = {at, strcspn(at, "+:")};
    int found = 0;
    at += item.n + 1;
    for (const char *other = b.text; other < b.text + b.n && !found;) {
      field candidate = {other, strcspn(other, "+:")};
      found = same(item, candidate);
      other += candidate.n + 1;
    }
    n += !found;
  }
  return n;
}

static double field_distance(field a, field b) {
  double octaves;
  if (same(a, b)) return 0;
  if (memchr(a.text, '+', a.n) || memchr(b.text, '+', b.n)) return lacking(a, b) + lacking(b, a);
  if (numbers(a, b, &octaves)) return octaves;
  return OTHER_WORD;
}

double rgt__device_near(const char *a, const char *b) {
  double sum = 0;
  field kind_a = next_field(&a, ":"), kind_b = next_field(&b, ":");
  if (!same(kind_a, kind_b) || (strstr(a, MODELLED) != NULL) != (strstr(b, MODELLED) != NULL)) return -1;
  while (*a || *b) sum += field_distance(next_field(&a, ":"), next_field(&b, ":"));
  return sum;
}
