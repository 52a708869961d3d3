/* nearest.c -- which known word a mistyped one was meant to be: an edit distance with swaps. */
#include "nearest.h"

#include <string.h>

#define WORD_MAX 32

static int least(int a, int b) {
  return a < b ? a : b;
}

/* d[i][j]: changes from the first i letters of a to the first j of b. */
static int distance(const char *a, int n_a, const char *b, int n_b) {
  int d[WORD_MAX + 1][WORD_MAX + 1];
  for (int i = 0; i <= n_a; i++) {
    for (int j = 0; j <= n_b; j++) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = least(d[i - 1][j - 1] + (a[i - 1] != b[j - 1]), 1 + least(d[i - 1][j], d[i][j - 1]));
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[n_a][n_b];
}

void rgt__nearest_try(const char *typed, size_t length, const char *known, int *best, const char **near) {
  size_t n = strlen(known), dashes = strspn(known, "-");
  int changes;
  if (length == 0 || length > WORD_MAX || n > WORD_MAX) return;
  changes = distance(typed, (int)length, known, (int)n);
  if (changes > 2 || 2 * changes > (int)(n - dashes) || changes >= *best) return;
  *best = changes;
  *near = known;
}
