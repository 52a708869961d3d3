/* tally.h -- what a test broke, as lines that table.sh makes a table of:
 * fault<TAB>what was done<TAB>how often<TAB>what happened. */
#ifndef RGT_TESTS_TALLY_H
#define RGT_TESTS_TALLY_H

#include <stdarg.h>
#include <stdio.h>

__attribute__((format(printf, 1, 2), unused)) static void tally(const char *format, ...) {
  va_list args;
  va_start(args, format);
  fputs("fault\t", stdout);
  vprintf(format, args);
  putchar('\n');
  fflush(stdout);
  va_end(args);
}

#endif
