/* nvrtc_log.c -- reading NVRTC's log.
 *
 * With --ptxas-options=-v the assembler's report stands in the program's log, two lines a function:
 *     ptxas         .     16 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads
 *     ptxas info    : Used 70 registers, used 1 barriers, 16 bytes cumulative stack size, 400 bytes smem
 * Errors come in three forms: "file(7): error: ...", "ptxas ..., line 23; error   : ...", "nvrtc: error: ...".
 */
#include "runtime/nvrtc_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number before `words` in a line; 0 if the words are not there. */
static int number_before(const char *line, size_t n, const char *words) {
  const char *at = memmem(line, n, words, strlen(words));
  if (at == NULL) return 0;
  while (at > line && at[-1] == ' ') at--;
  while (at > line && at[-1] >= '0' && at[-1] <= '9') at--;
  return atoi(at);
}

static void raise_to(int *largest, int value) {
  if (value > *largest) *largest = value;
}

int rgt__nvrtc_log_resources(const char *log, rgt__compiled *out) {
  int registers = 0, shared = 0, spill = 0, stack = 0;
  for (const char *line = log; *line != '\0';) {
    size_t n = strcspn(line, "\n");
    if (strncmp(line, "ptxas", 5) == 0) {
      raise_to(&registers, number_before(line, n, " registers"));
      raise_to(&shared, number_before(line, n, " bytes smem"));
      raise_to(&spill, number_before(line, n, " bytes spill stores"));
      raise_to(&spill, number_before(line, n, " bytes spill loads"));
      raise_to(&stack, number_before(line, n, " bytes stack frame"));
      raise_to(&stack, number_before(line, n, " bytes cumulative stack size"));
    }
    line += n + (line[n] == '\n');
  }
  if (registers == 0) return 0;
  out->registers = registers;
  out->shared_bytes = shared;
  out->spill_bytes = spill;
  out->stack_bytes = stack;
  return 1;
}

static int states_error(const char *line, size_t n) {
  static const char *const marks[] = {"error:", "error :", "error   :", "fatal   :", "catastrophic error"};
  for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
    if (memmem(line, n, marks[i], strlen(marks[i])) != NULL) return 1;
  return 0;
}

void rgt__nvrtc_log_first_error(const char *log, char *line, size_t line_size) {
  for (const char *p = log; *p != '\0';) {
    size_t n = strcspn(p, "\n");
    if (states_error(p, n)) {
      snprintf(line, line_size, "%.*s", (int)n, p);
      return;
    }
    p += n + (p[n] == '\n');
  }
  /* Too much shared memory is refused without a word; the report that stands there tells. */
  rgt__compiled used = {0};
  if (rgt__nvrtc_log_resources(log, &used))
    snprintf(line, line_size, "refused without a message: a kernel takes %d registers and %d bytes of static shared memory",
             used.registers, used.shared_bytes);
  else
    snprintf(line, line_size, "refused without a message");
}
