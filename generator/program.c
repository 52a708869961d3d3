/* program.c -- a program's text form: what the code cache keeps beside a binary. */
#include "generator/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/alloc.h"

static void field(rgt__buffer *out, const char *name, const rgt__formula *f, const char *end) {
  rgt__buffer_format(out, "%s ", name);
  rgt__formula_format(f, out);
  rgt__buffer_text(out, end);
}

void rgt__program_format(const rgt__program *p, rgt__buffer *out) {
  rgt__buffer_format(out, "rgt-program 1\nkargs %d\n", p->kargs_version);
  field(out, "valid", &p->valid, "\n");
  field(out, "workspace", &p->workspace, "\n");
  for (int i = 0; i < p->n_steps; i++) {
    const rgt__step *s = &p->steps[i];
    if (s->kind == RGT_STEP_MEMSET) {
      field(out, "memset offset", &s->offset, " ; ");
      field(out, "bytes", &s->bytes, " ; ");
      rgt__buffer_format(out, "value %d\n", s->value);
    } else {
      rgt__buffer_format(out, "kernel %s ", s->kernel);
      field(out, "grid", &s->grid, " ; ");
      field(out, "block", &s->block, " ; ");
      field(out, "shared", &s->shared, " ; ");
      field(out, "cluster", &s->cluster, "\n");
    }
  }
}

/* ---- parsing: line by line, every line of one exact form ---------------------------------------------------- */

typedef struct reader {
  char *line; /* the rest of the line in work, NUL-terminated */
  char *next; /* the text after it; NULL: this was the last */
  int number;
  rgt__error *err;
} reader;

/* The next line into r->line; 0 at the end. A last line without a line break means that the text was cut off. */
static int next_line(reader *r) {
  if (!r->next || !*r->next) {
    r->line += strlen(r->line); /* nothing to show in a message */
    return 0;
  }
  r->line = r->next;
  r->number++;
  char *end = strchr(r->line, '\n');
  r->next = end ? end + 1 : NULL;
  if (end) *end = 0;
  return 1;
}

static rgt_status damaged(reader *r, const char *expected) {
  return rgt__error_set(r->err, RGT_EIO, "program text, line %d: expected %s, found \"%.80s\"", r->number, expected, r->line);
}

/* Past `word` at the start of the line's rest; 0 if it is not there. */
static int take(reader *r, const char *word) {
  size_t n = strlen(word);
  if (strncmp(r->line, word, n)) return 0;
  r->line += n;
  return 1;
}

/* "NAME formula" up to `end` (" ; ") or, with NULL, up to the end of the line. */
static rgt_status take_formula(reader *r, const char *name, const char *end, rgt__formula *f) {
  if (!take(r, name) || !take(r, " ")) return damaged(r, name);
  char *stop = end ? strstr(r->line, end) : r->line + strlen(r->line);
  if (!stop) return damaged(r, "\" ; \" after a formula");
  char kept = *stop;
  *stop = 0;
  rgt_status status = rgt__formula_parse(r->line, NULL, 0, f, r->err);
  *stop = kept;
  if (status) return rgt__error_prefix(r->err, RGT_EIO, "program text, line %d", r->number);
  r->line = stop + (end ? strlen(end) : 0);
  return RGT_OK;
}

static rgt_status take_number(reader *r, const char *name, int max, int *out) {
  if (!take(r, name) || !take(r, " ")) return damaged(r, name);
  char *end;
  long v = strtol(r->line, &end, 10);
  if (*r->line < '0' || *r->line > '9' || *end || v > max) return damaged(r, "a number in its range");
  *out = (int)v;
  return RGT_OK;
}

/* A name that a C compiler and a driver can take, and nothing else: it is looked up in loaded code. */
static rgt_status take_kernel_name(reader *r, char name[RGT_KERNEL_NAME_MAX]) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  size_t n = strspn(r->line, letters);
  if (!n || n >= RGT_KERNEL_NAME_MAX || r->line[n] != ' ' || (r->line[0] >= '0' && r->line[0] <= '9'))
    return damaged(r, "a kernel's name");
  memcpy(name, r->line, n);
  name[n] = 0;
  r->line += n + 1;
  return RGT_OK;
}

static rgt_status parse_step(reader *r, rgt__step *s) {
  rgt_status status;
  if (take(r, "memset ")) {
    s->kind = RGT_STEP_MEMSET;
    if ((status = take_formula(r, "offset", " ; ", &s->offset))) return status;
    if ((status = take_formula(r, "bytes", " ; ", &s->bytes))) return status;
    return take_number(r, "value", 255, &s->value);
  }
  if (!take(r, "kernel ")) return damaged(r, "kernel or memset");
  s->kind = RGT_STEP_KERNEL;
  if ((status = take_kernel_name(r, s->kernel))) return status;
  if ((status = take_formula(r, "grid", " ; ", &s->grid))) return status;
  if ((status = take_formula(r, "block", " ; ", &s->block))) return status;
  if ((status = take_formula(r, "shared", " ; ", &s->shared))) return status;
  return take_formula(r, "cluster", NULL, &s->cluster);
}

static rgt_status parse_lines(reader *r, rgt__program *p) {
  rgt_status status;
  if (!next_line(r) || strcmp(r->line, "rgt-program 1")) return damaged(r, "rgt-program 1");
  if (!next_line(r)) return damaged(r, "kargs");
  if ((status = take_number(r, "kargs", 1 << 20, &p->kargs_version))) return status;
  if (!next_line(r)) return damaged(r, "valid");
  if ((status = take_formula(r, "valid", NULL, &p->valid))) return status;
  if (!next_line(r)) return damaged(r, "workspace");
  if ((status = take_formula(r, "workspace", NULL, &p->workspace))) return status;
  while (next_line(r)) {
    if (p->n_steps == RGT_STEPS_MAX) return damaged(r, "the end: a program has at most 8 steps");
    if ((status = parse_step(r, &p->steps[p->n_steps]))) return status;
    p->n_steps++;
  }
  return r->next ? RGT_OK : damaged(r, "a line break at the end");
}

rgt_status rgt__program_parse(const char *text, rgt__program *p, rgt__error *err) {
  char *copy = rgt__strdup(text);                            /* cut into lines in place */
  rgt__program *parsed = rgt__alloc_zero(1, sizeof *parsed); /* too big for a small thread's stack */
  rgt_status status;
  if (!copy || !parsed) {
    status = rgt__error_nomem(err, strlen(text) + sizeof *parsed);
  } else {
    reader r = {.line = copy, .next = copy, .err = err};
    status = parse_lines(&r, parsed);
    if (!status) *p = *parsed;
  }
  rgt__free(parsed);
  rgt__free(copy);
  return status;
}
