/* cases.c -- tests/cases: which there are, rows for them, and their data. Read with the command's own files. */
#include "cases.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/alloc.h"
#include "runtime/base/random.h"

#include "runtime/cli/data_files.c"
#include "runtime/cli/message.c"
#include "runtime/cli/nearest.c"
#include "runtime/cli/npy.c"
#include "runtime/cli/option_table.c"
#include "runtime/cli/options.c"
#include "runtime/cli/out_file.c"
#include "runtime/cli/problem_text.c"
#include "runtime/cli/progress.c"
#include "runtime/cli/row_order.c"
#include "runtime/cli/units.c"

enum { CASES_MAX = 64, PATH_SIZE = 1024 };

static int is_case(const struct dirent *e) {
  return e->d_name[0] != '.' && strlen(e->d_name) < SWEEP_CASE_MAX;
}

static rgt_status case_op(const char *name, rgt_op_desc *op, rgt__error *err) {
  char path[PATH_SIZE];
  rgt__problem_text text;
  rgt__message m;
  snprintf(path, sizeof path, "%s/cases/%s/problem.txt", RGT_TESTS_DIR, name);
  if (rgt__problem_text_read(path, &text, &m) != RGT_OK) return rgt__error_set(err, RGT_EIO, "%s", m.text);
  *op = text.desc;
  return RGT_OK;
}

/* A variant of each family that does the op. */
static rgt_status rows_of_case(const sweep_pool *pool, const sweep_factors *f, const char *name, int target, rgt_dtype dtype,
                               rgt__random *r, sweep_rows *rows, rgt__error *err) {
  sweep_row row = {.x_div = 1};
  rgt__space space = {0};
  rgt_status status = case_op(name, &row.op, err);
  row.op.dtype = dtype;
  snprintf(row.target, sizeof row.target, "%s", sweep_target_name(target));
  snprintf(row.case_name, sizeof row.case_name, "%s", name);
  if (status == RGT_OK)
    status = rgt__space_enumerate(pool->families, &row.op, &pool->target[target], NULL, NULL, 0, &space, err);
  for (int i = 0, next; status == RGT_OK && i < space.n; i = next) {
    for (next = i; next < space.n && space.variants[next].family == space.variants[i].family;) next++;
    const rgt__variant *v = &space.variants[i + (int)rgt__random_below(r, (uint64_t)(next - i))];
    if (sweep_family_place(f, v->family) < 0) continue;
    rgt__variant_format(v, row.variant);
    row.form = rgt__random_below(r, 2) ? RGT_POINTERS : RGT_STACKED;
    row.align_bytes = rgt__random_below(r, 2) ? 16 : 0;
    status = sweep_rows_add(rows, &row, err);
  }
  rgt__space_free(&space);
  return status;
}

rgt_status sweep_cases_rows(const sweep_pool *pool, const sweep_factors *f, uint64_t seed, sweep_rows *rows, int *n_cases,
                            rgt__error *err) {
  struct dirent **found = NULL;
  rgt__random r;
  rgt__random_seed(&r, seed);
  int n = scandir(RGT_TESTS_DIR "/cases", &found, is_case, alphasort);
  rgt_status status = n > 0 ? RGT_OK : rgt__error_set(err, RGT_EIO, "%s/cases holds no case", RGT_TESTS_DIR);
  for (int i = 0; i < n && status == RGT_OK; i++)
    for (int t = 0; t < SWEEP_TARGETS && status == RGT_OK; t++)
      status = rows_of_case(pool, f, found[i]->d_name, t, (rgt_dtype)((i + t + (int)(seed % 3)) % 3), &r, rows, err);
  for (int i = 0; i < n; i++) free(found[i]);
  free(found);
  *n_cases = n;
  return status;
}

struct sweep_case {
  rgt__data data;
  rgt_case view;
};

rgt_status sweep_case_open(const sweep_row *row, sweep_case **out, rgt__error *err) {
  char folder[PATH_SIZE];
  const char *argv[] = {"ragtune", "verify", "--case", folder, "--dtype", rgt__op_dtype_word(row->op.dtype)}, *words[6];
  rgt__options o;
  rgt__message m;
  sweep_case *c = rgt__alloc_zero(1, sizeof *c);
  if (!c) return rgt__error_nomem(err, sizeof *c);
  snprintf(folder, sizeof folder, "%s/cases/%s", RGT_TESTS_DIR, row->case_name);
  rgt_status status = rgt__options_parse(6, (char **)(void *)argv, words, &o, &m);
  if (status == RGT_OK) status = rgt__data_files_case(&o, NULL, 1, &c->data, &m);
  if (status != RGT_OK) {
    rgt__free(c);
    return rgt__error_set(err, status, "%s", m.text);
  }
  const rgt__data *d = &c->data;
  int y_applies = d->desc.dtype == RGT_F32 || d->exact;
  c->view = (rgt_case){.struct_size = sizeof c->view, .rows = d->rows, .exact = d->exact};
  c->view.x = d->x.data;
  c->view.index = d->index.data;
  c->view.w1 = d->w1.data;
  c->view.b1 = d->b1.data;
  c->view.w2 = d->w2.data;
  c->view.b2 = d->b2.data;
  c->view.y64 = y_applies ? d->y.data : NULL;
  *out = c;
  return RGT_OK;
}

const rgt_case *sweep_case_data(const sweep_case *c) {
  return c ? &c->view : NULL;
}

void sweep_case_free(sweep_case *c) {
  if (!c) return;
  rgt__data_files_free(&c->data);
  rgt__free(c);
}
