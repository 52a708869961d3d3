/* progress.c -- how far a search is: a bar on a terminal, plain lines otherwise, on stderr. */
#include "progress.h"
#include "units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define REDRAW_S 0.1 /* a bar is drawn at most so often */
#define LINE_S 10.0  /* a plain line within one phase at most so often */
#define CELLS 20

static struct {
  int on, terminal, drawn;
  rgt_phase phase; /* of the last line */
  int64_t bucket;
  double last_s; /* when something was last shown; < 0: never */
} state;

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const char *phase_word(rgt_phase phase) {
  static const char *const words[] = {"generate", "compile", "verify", "time", "duel", "store"};
  return (unsigned)phase < sizeof words / sizeof *words ? words[phase] : "work";
}

void rgt__progress_start(int quiet) {
  const char *term = getenv("TERM");
  memset(&state, 0, sizeof state);
  state.on = !quiet;
  state.terminal = isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb") != 0;
  state.last_s = -1;
}

/* "verify 36/72, 64 rows, 12 s left", without what is not known */
static int facts(const rgt_progress *p, char *out, size_t size) {
  char count[48] = "", bucket[48] = "", left[48] = "", time[32];
  if (p->done > 0) snprintf(count, sizeof count, " %" PRId64 "/%" PRId64, p->done, p->total); /* nothing of it says nothing */
  if (p->bucket > 0) snprintf(bucket, sizeof bucket, ", %" PRId64 " rows", p->bucket);
  if (p->left_s >= 0) snprintf(left, sizeof left, ", %s left", rgt__units_seconds(p->left_s, time, sizeof time));
  return snprintf(out, size, "%s%s%s%s", phase_word(p->phase), count, bucket, left);
}

/* Of the whole search by time where the time left is known, of the phase otherwise. */
static double share_done(const rgt_progress *p) {
  double share = 0;
  if (p->left_s >= 0 && p->elapsed_s + p->left_s > 0)
    share = p->elapsed_s / (p->elapsed_s + p->left_s);
  else if (p->total > 0)
    share = (double)p->done / (double)p->total;
  return share < 0 ? 0 : share > 1 ? 1 : share;
}

int rgt__progress_bar(const rgt_progress *p, int width, char *out, size_t out_size) {
  char cells[CELLS + 1], text[128];
  double share = share_done(p);
  int filled = (int)(share * CELLS + 0.5), n;
  memset(cells, '-', CELLS);
  memset(cells, '#', (size_t)filled);
  cells[CELLS] = 0;
  facts(p, text, sizeof text);
  n = snprintf(out, out_size, "[%s] %3.0f %%  %s%s%s", cells, 100 * share, text, p->line && *p->line ? "  " : "",
               p->line ? p->line : "");
  if (n < 0) return 0;
  if ((size_t)n >= out_size) n = (int)out_size - 1;
  if (width > 0 && n >= width) n = width - 1; /* the last column stays free: no terminal wraps */
  out[n] = 0;
  return n;
}

int rgt__progress_line(const rgt_progress *p, char *out, size_t out_size) {
  char text[128], time[32];
  int n;
  facts(p, text, sizeof text);
  n = snprintf(out, out_size, "%s: %s%s%s", rgt__units_seconds(p->elapsed_s, time, sizeof time), text,
               p->line && *p->line ? ", " : "", p->line ? p->line : "");
  return n < 0 ? 0 : n;
}

static int terminal_width(void) {
  struct winsize size;
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void rgt__progress_show(void *user, const rgt_progress *p) {
  char text[512];
  double now = now_s();
  int fresh = state.last_s < 0 || p->phase != state.phase || p->bucket != state.bucket;
  (void)user;
  if (!state.on) return;
  if (!fresh && now - state.last_s < (state.terminal ? REDRAW_S : LINE_S)) return;
  state.phase = p->phase;
  state.bucket = p->bucket;
  state.last_s = now;
  if (state.terminal) {
    rgt__progress_bar(p, terminal_width(), text, sizeof text);
    fprintf(stderr, "\r\x1b[K%s", text);
    state.drawn = 1;
  } else {
    rgt__progress_line(p, text, sizeof text);
    fprintf(stderr, "%s\n", text);
  }
  fflush(stderr);
}

void rgt__progress_clear(void) {
  if (!state.drawn) return;
  fputs("\r\x1b[K", stderr);
  fflush(stderr);
  state.drawn = 0;
}
