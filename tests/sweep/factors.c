/* factors.c -- what is varied: the factors, their values, and a number for each value. */
#include "factors.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/random.h"

typedef struct dims {
  int n_in, n_hidden, n_out;
} dims;

/* One of each; tiny; the questions'; odd; multiples of 8 and of 16; long sums of each layer; many outputs. */
static const dims all_dims[] = {{1, 1, 1},     {3, 5, 1},   {10, 20, 5},  {6, 12, 2},    {33, 17, 9},  {16, 16, 16},
                                {64, 128, 64}, {8, 40, 72}, {129, 7, 31}, {300, 24, 10}, {12, 260, 6}, {7, 9, 200}};
static const char *const targets[SWEEP_TARGETS] = {"sm_80", "sm_90", "sm_120"};
static const int aligns[] = {0, 8, 16}, x_divs[] = {1, 3};
static const int groups[] = {1, 2, 3, 5, 17, 64, 300};
static const char *const names[SWEEP_N_GLOBAL] = {"kind",  "dims",  "dtype", "layout", "target", "act",   "bias",
                                                  "index", "order", "form",  "align",  "x_div",  "y_mode"};

#define N_OF(list) ((int)(sizeof(list) / sizeof *(list)))

int sweep_factor_values(int factor) {
  static const int n[SWEEP_N_GLOBAL] = {2, N_OF(all_dims), 3, 2, SWEEP_TARGETS, 6, 4, 2, 3, 2, N_OF(aligns), N_OF(x_divs), 2};
  return n[factor];
}

const char *sweep_target_name(int i) {
  return targets[i];
}

rgt_status sweep_factors_make(const rgt__families *families, const char *only, sweep_factors *out, rgt__error *err) {
  memset(out, 0, sizeof *out);
  int n = 0;
  for (int i = 0; i < SWEEP_N_GLOBAL; i++) {
    out->first[i] = n;
    n += sweep_factor_values(i);
  }
  for (int i = 0; i < rgt__families_count(families); i++) {
    const rgt__family *f = rgt__families_at(families, i);
    if (strcmp(f->device, "cuda") || (only && strcmp(f->name, only))) continue;
    if (out->n_families == SWEEP_FAMILIES_MAX)
      return rgt__error_set(err, RGT_EINVAL, "more than %d CUDA families", SWEEP_FAMILIES_MAX);
    out->family[out->n_families++] = f;
  }
  if (!out->n_families) return rgt__error_set(err, RGT_EINVAL, "no CUDA family%s%s", only ? " named " : "", only ? only : "");
  out->first_family = n;
  n += out->n_families;
  for (int i = 0; i < out->n_families; i++)
    for (int j = 0; j < out->family[i]->n_params; j++) {
      out->first_param[i][j] = n;
      n += out->family[i]->params[j].n_values;
    }
  out->n_values = n;
  return n <= SWEEP_VALUES_MAX ? RGT_OK : rgt__error_set(err, RGT_EINVAL, "%d values of params; up to %d", n, SWEEP_VALUES_MAX);
}

int sweep_point_op(const unsigned char value[SWEEP_N_GLOBAL], rgt_op_desc *op) {
  const dims *d = &all_dims[value[SWEEP_DIMS]];
  *op = (rgt_op_desc){.struct_size = sizeof *op,
                      .kind = (rgt_op_kind)value[SWEEP_KIND],
                      .n_in = d->n_in,
                      .n_hidden = value[SWEEP_KIND] == RGT_MLP ? d->n_hidden : 0,
                      .n_out = d->n_out,
                      .groups = 3,
                      .dtype = (rgt_dtype)value[SWEEP_DTYPE],
                      .act = (rgt_act)value[SWEEP_ACT],
                      .bias = value[SWEEP_BIAS],
                      .layout = (rgt_layout)value[SWEEP_LAYOUT],
                      .index_type = (rgt_index_type)value[SWEEP_INDEX]};
  return op->kind == RGT_MLP || !(op->bias & RGT_BIAS_2);
}

void sweep_point_row(const sweep_point *p, uint64_t seed, sweep_row *row) {
  rgt__random r;
  memset(row, 0, sizeof *row);
  sweep_point_op(p->value, &row->op);
  rgt__random_seed(&r, seed);
  row->op.groups = groups[rgt__random_below(&r, N_OF(groups))];
  snprintf(row->target, sizeof row->target, "%s", targets[p->value[SWEEP_TARGET]]);
  rgt__variant_format(&p->variant, row->variant);
  row->form = (rgt_weight_form)p->value[SWEEP_FORM];
  row->order = (rgt_order)p->value[SWEEP_ORDER];
  row->align_bytes = aligns[p->value[SWEEP_ALIGN]];
  row->x_div = x_divs[p->value[SWEEP_X_DIV]];
  row->y_mode = (rgt_y_mode)p->value[SWEEP_Y_MODE];
}

static int place_of(const int *list, int n, int v) {
  int i = 0;
  while (i < n && list[i] != v) i++;
  return i < n ? i : -1;
}

int sweep_point_of(const rgt__families *families, const sweep_row *row, sweep_point *p) {
  const rgt_op_desc *op = &row->op;
  int dim = 0, target = 0, align = place_of(aligns, N_OF(aligns), row->align_bytes),
      x_div = place_of(x_divs, N_OF(x_divs), row->x_div);
  while (dim < N_OF(all_dims) && (all_dims[dim].n_in != op->n_in || all_dims[dim].n_out != op->n_out ||
                                  (op->kind == RGT_MLP && all_dims[dim].n_hidden != op->n_hidden)))
    dim++;
  while (target < SWEEP_TARGETS && strcmp(targets[target], row->target)) target++;
  if (dim == N_OF(all_dims) || target == SWEEP_TARGETS || align < 0 || x_div < 0) return 0;
  const int value[SWEEP_N_GLOBAL] = {
      [SWEEP_KIND] = op->kind,     [SWEEP_DIMS] = dim,       [SWEEP_DTYPE] = op->dtype, [SWEEP_LAYOUT] = op->layout,
      [SWEEP_TARGET] = target,     [SWEEP_ACT] = op->act,    [SWEEP_BIAS] = op->bias,   [SWEEP_INDEX] = op->index_type,
      [SWEEP_ORDER] = row->order,  [SWEEP_FORM] = row->form, [SWEEP_ALIGN] = align,     [SWEEP_X_DIV] = x_div,
      [SWEEP_Y_MODE] = row->y_mode};
  for (int i = 0; i < SWEEP_N_GLOBAL; i++) p->value[i] = (unsigned char)value[i];
  return rgt__variant_parse(families, "cuda", row->variant, &p->variant, NULL) == RGT_OK;
}

int sweep_family_place(const sweep_factors *f, const rgt__family *family) {
  for (int i = 0; i < f->n_families; i++)
    if (f->family[i] == family) return i;
  return -1;
}

int sweep_point_values(const sweep_factors *f, const sweep_point *p, int out[SWEEP_ROW_VALUES]) {
  int n = 0, at = sweep_family_place(f, p->variant.family);
  for (int i = 0; i < SWEEP_N_GLOBAL; i++) out[n++] = f->first[i] + p->value[i];
  out[n++] = f->first_family + at;
  for (int j = 0; j < p->variant.family->n_params; j++) out[n++] = f->first_param[at][j] + p->variant.value[j];
  return n;
}

int sweep_value_factor(const sweep_factors *f, int value) {
  for (int i = SWEEP_N_GLOBAL - 1; i >= 0 && value < f->first_family; i--)
    if (value >= f->first[i]) return i;
  return -1;
}

static void global_name(int factor, int at, char *out, size_t size) {
  static const char *const kinds[] = {"linear", "mlp"}, *const biases[] = {"b0", "b1", "b2", "b12"};
  const char *word = NULL;
  char text[40];
  switch (factor) {
  case SWEEP_KIND:
    word = kinds[at == RGT_MLP];
    break;
  case SWEEP_DTYPE:
    word = rgt__op_dtype_word((rgt_dtype)at);
    break;
  case SWEEP_LAYOUT:
    word = rgt__op_layout_word((rgt_layout)at);
    break;
  case SWEEP_TARGET:
    word = targets[at];
    break;
  case SWEEP_ACT:
    word = rgt__op_act_word((rgt_act)at);
    break;
  case SWEEP_BIAS:
    word = biases[at];
    break;
  case SWEEP_INDEX:
    word = rgt__op_index_word((rgt_index_type)at);
    break;
  case SWEEP_ORDER:
    word = rgt__op_order_word((rgt_order)at);
    break;
  case SWEEP_FORM:
    word = rgt__op_form_word((rgt_weight_form)at);
    break;
  case SWEEP_Y_MODE:
    word = at == RGT_Y_ADD ? "add" : "set";
    break;
  case SWEEP_DIMS:
    snprintf(text, sizeof text, "%d-%d-%d", all_dims[at].n_in, all_dims[at].n_hidden, all_dims[at].n_out);
    break;
  default:
    snprintf(text, sizeof text, "%d", factor == SWEEP_ALIGN ? aligns[at] : x_divs[at]);
    break;
  }
  snprintf(out, size, "%s=%s", names[factor], word ? word : text);
}

void sweep_value_name(const sweep_factors *f, int value, char *out, size_t size) {
  int factor = sweep_value_factor(f, value);
  if (factor >= 0) {
    global_name(factor, value - f->first[factor], out, size);
    return;
  }
  if (value < f->first_family + f->n_families) {
    snprintf(out, size, "family=%s", f->family[value - f->first_family]->name);
    return;
  }
  for (int i = 0; i < f->n_families; i++)
    for (int j = 0; j < f->family[i]->n_params; j++) {
      const rgt__param *param = &f->family[i]->params[j];
      int at = value - f->first_param[i][j];
      if (at >= 0 && at < param->n_values)
        snprintf(out, size, "%s.%s=%lld", f->family[i]->name, param->name, (long long)param->values[at]);
    }
}
