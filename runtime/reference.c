/* reference.c -- the op in float64 and the bound of verify.md, from the definition alone: no kernel's code or order of sums.
 *
 * The bound, layer by layer. Let z be what the activation is applied to, a = act(z), and ~ mark what a variant holds.
 *
 * A sum of K products and a bias. Rounding the operands to the product type moves each product by p |w x| at most (both
 * operands together). Every f32 rounding moves its result by 2^-24 of it; a term takes part in at most K of them in any order
 * of sums (K - 1 additions, the bias), and its product is rounded once more where no FMA is used: (K + 8) 2^-24 S covers that,
 * with S = sum |w x| + |b|, together with the second-order terms of the usual K. Adders that truncate lose twice as much. A
 * product below the normal range loses up to 2^-150, K of them and the result (K + 1) 2^-150. So e1 = |z~ - z| <= (p1 + A(in))
 * S1 + (in + 1) 2^-150.
 *
 * The activation. |act(u) - act(v)| <= L |u - v| with L the largest slope: 1 for none, relu and tanh; silu's is 1.0998 near
 * 2.4, gelu's 1.1289 at sqrt 2 (gelu_tanh's is below gelu's constant too). Its evaluation adds alpha |a| + beta |z|. Stored in
 * 16 bits it is rounded once more: u_h |a| + eta_h.
 *     eh = |h~ - h| <= L e1 + alpha |a| + beta |z| + [u_h |a| + eta_h]
 *
 * The second layer takes h~ for h: sum |w2| eh on top of its own sum, (p2 + A(hidden)) S2 + (hidden + 1) 2^-150. Last, y is
 * rounded to storage: u_y |y| + eta_y. What these first-order terms leave out (they hold for h, z, y where the variant has h~,
 * z~, y~) and float64's own rounding are far below the 2 % on top. */
#include "runtime/reference.h"

#include <float.h>
#include <math.h>

#include "runtime/base/number.h"
#include "runtime/problem_parts.h"

#define CHUNK 256 /* weights widened at a time */
#define SLACK 1.02

double rgt__reference_act(rgt_act act, double z) {
  switch (act) {
  case RGT_ACT_NONE:
    break;
  case RGT_ACT_RELU:
    return z > 0 || z != z ? z : 0;
  case RGT_ACT_TANH:
    return tanh(z);
  case RGT_ACT_GELU: /* erfc: 1 + erf would cancel for negative z */
    return z == -INFINITY ? -0.0 : 0.5 * z * erfc(-z * M_SQRT1_2);
  case RGT_ACT_GELU_TANH: { /* (1 + tanh t) / 2 = 1 / (1 + exp -2t), without its cancellation */
    if (z == -INFINITY) return -0.0;
    double t = M_2_SQRTPI * M_SQRT1_2 * (z + 0.044715 * z * z * z);
    return z / (1 + exp(-2 * t));
  }
  case RGT_ACT_SILU:
    return z == -INFINITY ? -0.0 : z / (1 + exp(-z));
  }
  return z;
}

static double slope(rgt_act act) {
  switch (act) {
  case RGT_ACT_SILU:
    return 1.0999;
  case RGT_ACT_GELU:
  case RGT_ACT_GELU_TANH:
    return 1.1290;
  default:
    return 1;
  }
}

static double sums_error(int64_t k, const rgt__numeric *n) { /* A(K) */
  return ((double)k + 8) * 0x1p-24 * (n->mma ? 2 : 1);
}

static double underflow_error(int64_t k) {
  return ((double)k + 1) * 0x1p-150;
}

/* One layer of one group: sums over k of w[k] in[k] for the features asked for. */
typedef struct layer {
  rgt_dtype dtype;
  const unsigned char *w, *b; /* the group's; b may be NULL */
  size_t element;
  int64_t n_k, n_f;
  int64_t step_k, step_f;      /* elements from one k, one feature to the next */
  const double *in, *in_error; /* in_error may be NULL */
  const int64_t *ks;           /* the k that count, NULL: all */
  int64_t n_ks;
} layer;

typedef struct sums {
  double z, s, e; /* of w in, |w in|, |w| in_error */
} sums;

static const float *widen(const layer *l, int64_t first, int64_t n, float *room) {
  const unsigned char *from = l->w + (size_t)first * l->element;
  if (l->dtype == RGT_F32) return (const float *)(const void *)from;
  rgt_to_float(l->dtype, from, room, (size_t)n);
  return room;
}

static sums one_feature_sparse(const layer *l, int64_t f) {
  sums a = {0};
  for (int64_t i = 0; i < (l->ks ? l->n_ks : l->n_k); i++) {
    int64_t k = l->ks ? l->ks[i] : i;
    double w = rgt__number_load(l->dtype, l->w, f * l->step_f + k * l->step_k), t = w * l->in[k];
    a.z += t;
    a.s += fabs(t);
    if (l->in_error) a.e += fabs(w) * l->in_error[k];
  }
  return a;
}

/* Weights of one feature side by side (nk): four sums of each kind run next to each other. */
static sums one_feature_dense(const layer *l, int64_t f) {
  double z[4] = {0}, s[4] = {0}, e[4] = {0};
  float room[CHUNK];
  for (int64_t first = 0; first < l->n_k; first += CHUNK) {
    int64_t n = l->n_k - first < CHUNK ? l->n_k - first : CHUNK, i = 0;
    const float *w = widen(l, f * l->step_f + first, n, room);
    const double *in = l->in + first, *error = l->in_error ? l->in_error + first : NULL;
    for (; i + 4 <= n; i += 4) {
      for (int j = 0; j < 4; j++) {
        double t = w[i + j] * in[i + j];
        z[j] += t;
        s[j] += fabs(t);
      }
      for (int j = 0; error && j < 4; j++) e[j] += fabs((double)w[i + j]) * error[i + j];
    }
    for (; i < n; i++) {
      double t = w[i] * in[i];
      z[0] += t;
      s[0] += fabs(t);
      if (error) e[0] += fabs((double)w[i]) * error[i];
    }
  }
  return (sums){z[0] + z[1] + z[2] + z[3], s[0] + s[1] + s[2] + s[3], e[0] + e[1] + e[2] + e[3]};
}

/* All features at once (kn): a row of weights for each k. */
static void all_features(const layer *l, double *z, double *s, double *e) {
  float room[CHUNK];
  for (int64_t f = 0; f < l->n_f; f++) z[f] = s[f] = e[f] = 0;
  for (int64_t i = 0; i < (l->ks ? l->n_ks : l->n_k); i++) {
    int64_t k = l->ks ? l->ks[i] : i;
    double in = l->in[k], error = l->in_error ? l->in_error[k] : 0;
    for (int64_t first = 0; first < l->n_f; first += CHUNK) {
      int64_t n = l->n_f - first < CHUNK ? l->n_f - first : CHUNK;
      const float *w = widen(l, k * l->step_k + first, n, room);
      double *zf = z + first, *sf = s + first, *ef = e + first;
      for (int64_t f = 0; f < n; f++) {
        double t = w[f] * in;
        zf[f] += t;
        sf[f] += fabs(t);
        if (l->in_error) ef[f] += fabs((double)w[f]) * error;
      }
    }
  }
}

/* z, s, e of features cols[0 .. n_cols) (NULL: all), the bias added to z and s. */
static void run_layer(const layer *l, const int64_t *cols, int64_t n_cols, double *z, double *s, double *e) {
  int by_rows = !cols && l->step_f == 1;
  if (by_rows) all_features(l, z, s, e);
  for (int64_t i = 0; i < n_cols; i++) {
    int64_t f = cols ? cols[i] : i;
    if (!by_rows) {
      sums a = l->step_k == 1 && !l->ks ? one_feature_dense(l, f) : one_feature_sparse(l, f);
      z[i] = a.z;
      s[i] = a.s;
      e[i] = a.e;
    }
    if (!l->b) continue;
    double b = rgt__number_load(l->dtype, l->b, f);
    z[i] += b;
    s[i] += fabs(b);
  }
}

static layer layer_of(const rgt__problem *p, int which, int64_t group) {
  const rgt_op_desc *op = &p->op;
  layer l = {.dtype = op->dtype, .element = rgt__number_bytes(op->dtype)};
  l.n_k = rgt__problem_layer_in(op, which);
  l.n_f = rgt__problem_layer_out(op, which);
  l.step_k = op->layout == RGT_NK ? 1 : l.n_f;
  l.step_f = op->layout == RGT_NK ? l.n_k : 1;
  const unsigned char *w = which == 1 ? p->w1 : p->w2, *b = which == 1 ? p->b1 : p->b2;
  l.w = w + (size_t)(group * l.n_k * l.n_f) * l.element;
  l.b = b && rgt__problem_has_bias(op, which) ? b + (size_t)(group * l.n_f) * l.element : NULL;
  return l;
}

/* x, ks, then hidden and its error and S1, then S and e of y. */
int64_t rgt__reference_scratch(const rgt_op_desc *op) {
  return 2 * op->n_in + 3 * op->n_hidden + 2 * op->n_out;
}

/* x of the row as doubles; for sparse problems the positions of its non-zeros. */
static void load_x(const rgt__problem *p, int64_t row, double *x, int64_t *ks, layer *l) {
  int64_t n = p->op.n_in, n_ks = 0, first = row / p->x_div * n;
  for (int64_t k = 0; k < n; k++) {
    x[k] = rgt__number_load(p->op.dtype, p->x, first + k);
    if (p->sparse_x && x[k] != 0) ks[n_ks++] = k;
  }
  l->in = x;
  l->ks = p->sparse_x ? ks : NULL;
  l->n_ks = n_ks;
}

/* Hidden units in place of their z; their error in place of S1. Returns whether one of them may pass the range of what holds
 * it: the storage type where hidden is 16 bits wide (or nothing is known), else f32. */
static int hidden_layer(const rgt__problem *p, const layer *l, const rgt__numeric *n, double *h, double *eh, double *unused) {
  double limit = !n || n->hidden_16bit ? rgt__number_max(p->op.dtype) : FLT_MAX;
  int overflow = 0;
  run_layer(l, NULL, l->n_f, h, eh, unused);
  for (int64_t j = 0; j < l->n_f; j++) {
    double z = h[j], s1 = eh[j], e1 = 0;
    h[j] = rgt__reference_act(p->op.act, z);
    if (n) {
      e1 = (n->p1 + sums_error(l->n_k, n)) * s1 + underflow_error(l->n_k);
      eh[j] = slope(p->op.act) * e1 + n->alpha * fabs(h[j]) + n->beta * fabs(z);
      if (n->hidden_16bit) eh[j] += n->u_h * fabs(h[j]) + n->eta_h;
    }
    overflow |= s1 > FLT_MAX || fabs(h[j]) + (n ? eh[j] : 0) > limit;
  }
  return overflow;
}

static int passes_range(rgt_dtype dtype, double y, double bound) {
  return isinf(rgt__number_round(dtype, fabs(y) + bound));
}

void rgt__reference_elements(const rgt__problem *p, const rgt__numeric *n, int64_t row, const int64_t *cols, int64_t n_cols,
                             double *y64, double *bound, unsigned char *may_overflow, double *scratch) {
  static const rgt__numeric nothing = {0};
  const rgt_op_desc *op = &p->op;
  if (!cols) n_cols = op->n_out;
  int64_t g = rgt__problem_index_at(p, row);
  if (g < 0 || g >= op->groups) {
    for (int64_t i = 0; i < n_cols; i++) {
      y64[i] = 0;
      if (bound) bound[i] = 0;
      if (may_overflow) may_overflow[i] = 0;
    }
    return;
  }
  double *x = scratch, *h = x + 2 * op->n_in, *eh = h + op->n_hidden, *unused = eh + op->n_hidden;
  double *s = unused + op->n_hidden, *e = s + op->n_out, u = rgt__number_u(op->dtype), eta = rgt__number_eta(op->dtype);
  layer l = layer_of(p, 1, g);
  load_x(p, row, x, (int64_t *)(void *)(x + op->n_in), &l);
  int overflow = 0, mlp = op->kind == RGT_MLP;
  if (mlp) {
    overflow = hidden_layer(p, &l, n, h, eh, unused);
    l = layer_of(p, 2, g);
    l.in = h;
    l.in_error = n ? eh : NULL;
  }
  run_layer(&l, cols, n_cols, y64, s, e);
  if (!n) n = &nothing;
  for (int64_t i = 0; i < n_cols; i++) {
    double z = y64[i], b = ((mlp ? n->p2 : n->p1) + sums_error(l.n_k, n)) * s[i] + underflow_error(l.n_k);
    if (!mlp) {
      y64[i] = rgt__reference_act(op->act, z);
      b = slope(op->act) * b + n->alpha * fabs(y64[i]) + n->beta * fabs(z);
    }
    b = SLACK * (b + (mlp ? e[i] : 0) + u * fabs(y64[i]) + eta);
    if (bound) bound[i] = b;
    if (may_overflow) may_overflow[i] = (unsigned char)(overflow || s[i] > FLT_MAX || passes_range(op->dtype, y64[i], b));
  }
}

void rgt__reference_row(const rgt__problem *p, const rgt__numeric *numeric, int64_t row, double *y64, double *bound,
                        unsigned char *may_overflow, double *scratch) {
  rgt__reference_elements(p, numeric, row, NULL, p->op.n_out, y64, bound, may_overflow, scratch);
}
