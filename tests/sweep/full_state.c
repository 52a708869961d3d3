/* full_state.c -- what a full sweep has found so far. */
#include "full_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/alloc.h"

static int by_digest(const void *a, const void *b) { /* then by line */
  const sweep_known *x = a, *y = b;
  int order = strcmp(x->digest, y->digest);
  return order ? order : x->line < y->line ? -1 : x->line > y->line;
}

static int is_digest(const void *key, const void *known) {
  return strcmp(key, ((const sweep_known *)known)->digest);
}

static rgt_status remember(sweep_full_state *s, const sweep_known *k, rgt__error *err) {
  if (s->n == s->capacity) {
    int capacity = s->capacity ? 2 * s->capacity : 1024;
    sweep_known *grown = rgt__realloc(s->known, (size_t)capacity * sizeof *grown);
    if (!grown) return rgt__error_nomem(err, (size_t)capacity * sizeof *grown);
    s->known = grown;
    s->capacity = capacity;
  }
  s->known[s->n] = *k;
  s->known[s->n].line = s->n;
  s->n++;
  return RGT_OK;
}

/* "DIGEST OUTCOME-WITH-DASHES ROW" */
static void dashed(sweep_state state, char word[32]) {
  snprintf(word, 32, "%s", sweep_state_word(state));
  for (char *p = word; *p; p++)
    if (*p == ' ') *p = '-';
}

static int parse(const char *line, sweep_known *k) {
  char digest[64], word[32], known[32];
  if (!strchr(line, '\n') || sscanf(line, "%63s %31s", digest, word) != 2 || strlen(digest) != SWEEP_DIGEST_SIZE - 1) return 0;
  strcpy(k->digest, digest);
  for (int i = SWEEP_RIGHT; i < SWEEP_N_STATES; i++) {
    dashed((sweep_state)i, known);
    k->state = (sweep_state)i;
    if (!strcmp(known, word)) return 1;
  }
  return 0;
}

/* Of lines with one digest the last one stays. */
static void sort(sweep_full_state *s) {
  int kept = 0;
  if (s->n) qsort(s->known, (size_t)s->n, sizeof *s->known, by_digest);
  for (int i = 0; i < s->n; i++)
    if (i + 1 == s->n || strcmp(s->known[i].digest, s->known[i + 1].digest)) s->known[kept++] = s->known[i];
  s->n = kept;
}

rgt_status sweep_full_state_open(const char *path, sweep_full_state *s, rgt__error *err) {
  char line[SWEEP_ROW_MAX + 128];
  sweep_known k;
  memset(s, 0, sizeof *s);
  FILE *f = fopen(path, "re");
  rgt_status status = RGT_OK;
  while (f && status == RGT_OK && fgets(line, sizeof line, f))
    if (parse(line, &k)) status = remember(s, &k, err);
  if (f) fclose(f);
  sort(s);
  if (status == RGT_OK && !(s->file = fopen(path, "ae")))
    status = rgt__error_set(err, RGT_EIO, "%s: %s", path, strerror(errno));
  return status;
}

void sweep_full_state_close(sweep_full_state *s) {
  if (s->file) fclose(s->file);
  rgt__free(s->known);
  memset(s, 0, sizeof *s);
}

sweep_state sweep_full_state_find(const sweep_full_state *s, const char *digest) {
  const sweep_known *found = s->n ? bsearch(digest, s->known, (size_t)s->n, sizeof *s->known, is_digest) : NULL;
  return found ? found->state : SWEEP_WAITING;
}

rgt_status sweep_full_state_add(sweep_full_state *s, const char *digest, const sweep_row *row, const sweep_result *r,
                                rgt__error *err) {
  char text[SWEEP_ROW_MAX], word[32];
  dashed(r->state, word);
  sweep_row_format(row, text);
  fprintf(s->file, "%s %s %s\n", digest, word, text);
  return fflush(s->file) == 0 ? RGT_OK : rgt__error_set(err, RGT_EIO, "the state file: %s", strerror(errno));
}
