/* units.c -- numbers as people read them. */
#include "units.h"

#include <math.h>
#include <stdio.h>

/* Three significant digits without an exponent, for 0.01 <= v < 1000 or so. */
static void three(double v, const char *unit, char *out, size_t size) {
  int places = v < 9.995 ? 2 : v < 99.95 ? 1 : 0;
  snprintf(out, size, "%.*f%s", places, v, unit);
}

char *rgt__units_ps(int64_t ps, char *out, size_t size) {
  double v = (double)ps;
  if (ps < 0)
    snprintf(out, size, "-");
  else if (v < 999.5e3)
    three(v / 1e3, " ns", out, size);
  else if (v < 999.5e6)
    three(v / 1e6, " us", out, size);
  else if (v < 999.5e9)
    three(v / 1e9, " ms", out, size);
  else
    three(v / 1e12, " s", out, size);
  return out;
}

char *rgt__units_seconds(double s, char *out, size_t size) {
  long whole = s > 0 && s < 1e9 ? lround(s) : 0;
  if (whole < 100)
    snprintf(out, size, "%ld s", whole);
  else if (whole < 3600)
    snprintf(out, size, "%ld min %ld s", whole / 60, whole % 60);
  else
    snprintf(out, size, "%ld h %ld min", whole / 3600, whole / 60 % 60);
  return out;
}

char *rgt__units_scaled(double v, char *out, size_t size) {
  static const char *const units[] = {"", "k", "M", "G", "T", "P"};
  int i = 0;
  if (!isfinite(v) || v <= 0) {
    snprintf(out, size, "-");
    return out;
  }
  for (; v >= 999.5 && i < 5; i++) v /= 1e3;
  three(v, units[i], out, size);
  return out;
}

char *rgt__units_percent(double share, char *out, size_t size) {
  if (!isfinite(share) || share <= 0)
    snprintf(out, size, "-");
  else
    three(100 * share, " %", out, size);
  return out;
}

char *rgt__units_times(int64_t slow_ps, int64_t fast_ps, char *out, size_t size) {
  if (slow_ps <= 0 || fast_ps <= 0)
    snprintf(out, size, "-");
  else
    three((double)slow_ps / (double)fast_ps, "x", out, size);
  return out;
}
