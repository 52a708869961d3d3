/* report.c -- lines to stderr or a file, counted. */
#include "report.h"

#include "settings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static sim_report_counts counts;
static char last[4096];

/* The file is opened for each line: children that fork, and tests that read it in between, see whole lines. */
static void write_line(const char *text) {
  const char *path = sim_settings_get()->log;
  FILE *file = path == NULL ? NULL : fopen(path, "ae");
  fprintf(file == NULL ? stderr : file, "ptxsim: %s\n", text);
  if (file != NULL) fclose(file);
}

static void keep(const char *text) {
  snprintf(last, sizeof last, "%s", text);
  write_line(text);
}

static void count_and_keep(uint64_t *count, const char *format, va_list args) {
  char text[1024];
  vsnprintf(text, sizeof text, format, args);
  ++*count;
  keep(text);
}

void sim_report_misuse(const char *format, ...) {
  va_list args;
  va_start(args, format);
  count_and_keep(&counts.misuses, format, args);
  va_end(args);
}

void sim_report_finding(const char *format, ...) {
  va_list args;
  va_start(args, format);
  count_and_keep(&counts.findings, format, args);
  va_end(args);
}

void sim_report_fault(const char *text) {
  counts.faults++;
  keep(text);
}

void sim_report_say(const char *format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  write_line(text);
}

sim_report_counts sim_report_count(void) {
  return counts;
}

void sim_report_reset(void) {
  memset(&counts, 0, sizeof counts);
  last[0] = '\0';
}

const char *sim_report_last(void) {
  return last;
}
