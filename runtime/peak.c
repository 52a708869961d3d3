/* peak.c -- what the processor can do at most, measured here and now.
 *
 * Two kernels for the target's widest vectors, built with the templates' own vec.h: twelve independent chains of multiply-adds
 * (latency 4, two a cycle: eight would do), and eight running sums over memory. A share of the peak is a call's operations or
 * bytes over these, whichever share is larger.
 */
#include "runtime/peak.h"

#include <string.h>

#include "runtime/base/alloc.h"

static const char kernels[] =
    "void KERNEL_PEAK(const rgt_kargs *k, void *workspace, int step, rgt_int64 part, rgt_int64 n_parts) {\n"
    "  float *out = (float *)k->y + part * 16;\n"
    "  if (k->y_mode == 0) {\n"
    "    vf a = vf_set1(0.999f), b = vf_set1(0.001f), s[12];\n"
    "    for (int j = 0; j < 12; j++) s[j] = vf_set1((float)j);\n"
    "    for (rgt_int64 i = 0; i < k->rows; i++) { UNROLL for (int j = 0; j < 12; j++) s[j] = vf_fma(s[j], a, b); }\n"
    "    for (int j = 1; j < 12; j++) s[0] += s[j];\n"
    "    out[0] = s[0][0];\n"
    "  } else {\n"
    "    const float *p = (const float *)k->x + part * k->ld_x;\n"
    "    vf s[8];\n"
    "    for (int j = 0; j < 8; j++) s[j] = vf_zero();\n"
    "    for (rgt_int64 r = 0; r < k->rows; r++) {\n"
    "      for (rgt_int64 i = 0; i + 8 * LANES <= k->ld_x; i += 8 * LANES) { UNROLL for (int j = 0; j < 8; j++) s[j] += "
    "vf_load(p + i + j * LANES); }\n"
    "      __asm__ volatile(\"\" ::: \"memory\");\n"
    "    }\n"
    "    for (int j = 1; j < 8; j++) s[0] += s[j];\n"
    "    out[0] = s[0][0];\n"
    "  }\n"
    "}\n";

static const char program_text[] = "rgt-program 1\nkargs 1\nvalid 1\nworkspace 0\n";

static int64_t fact(const rgt__target *t, const char *name) {
  for (int i = 0; i < t->n_facts; i++)
    if (strcmp(t->facts[i].name, name) == 0) return t->facts[i].value;
  return 0;
}

static rgt_status build(const rgt__candidate_maker *m, rgt__program *program, rgt__candidate *c, rgt__error *err) {
  const rgt__sources *sources = rgt__families_sources(m->families);
  const rgt__source_file *kargs = rgt__sources_find(sources, "lib/kargs.h"), *vec = rgt__sources_find(sources, "cpu/lib/vec.h");
  rgt__buffer text = {0};
  if (strcmp(m->target.device, "cpu") != 0 || !kargs || !vec)
    return rgt__error_set(err, RGT_EUNSUPPORTED, "no peak to measure there");
  rgt__buffer_format(&text, "#define LANES %d\n", (int)fact(&m->target, "lanes_max"));
  rgt__buffer_add(&text, kargs->text, kargs->size);
  rgt__buffer_add(&text, vec->text, vec->size);
  rgt__buffer_text(&text, "#define KERNEL_PEAK ragtune_peak\n__attribute__((visibility(\"default\"))) ");
  rgt__buffer_text(&text, kernels);
  memset(c, 0, sizeof *c);
  c->source = rgt__buffer_take(&text, &c->source_bytes);
  if (!c->source) return rgt__error_nomem(err, sizeof kernels);
  rgt__digest_of(c->source, c->source_bytes, &c->source_digest);
  rgt__code_cache_key(&c->source_digest, m->toolchain, m->target.name, &c->code);
  c->program = *program;
  rgt_status status = rgt__candidate_compile(m, c, 0, err);
  if (status == RGT_OK && c->outcome != RGT_TRIAL_OK) status = rgt__error_set(err, RGT_ECOMPILE, "%s", c->reason);
  return status == RGT_OK ? rgt__candidate_load(m, c, err) : status;
}

rgt_status rgt__peak_open(const rgt__candidate_maker *maker, rgt__peak *out, rgt__error *err) {
  rgt__peak p;
  memset(&p, 0, sizeof p);
  p.maker = *maker;
  rgt_status status = rgt__program_parse(program_text, &p.program, err);
  if (status != RGT_OK) return status;
  p.program.n_steps = 1;
  memcpy(p.program.steps[0].kernel, "ragtune_peak", sizeof "ragtune_peak");
  rgt__candidate *c = rgt__alloc_zero(1, sizeof *c);
  if (!c) return rgt__error_nomem(err, sizeof *c);
  status = build(maker, &p.program, c, err);
  if (status == RGT_OK) {
    p.module = c->module;
    c->module = NULL;
    *out = p;
  }
  rgt__candidate_free(maker->device, c);
  rgt__free(c);
  return status;
}

void rgt__peak_close(rgt__peak *p) {
  if (p->module) p->maker.device->ops->unload(p->maker.device, p->module);
  p->module = NULL;
}

/* Shortest of several runs of one launch, in seconds. */
static double shortest(rgt__peak *p, const rgt_kargs *k) {
  rgt__device *d = p->maker.device;
  rgt__plan plan = {.valid = 1};
  int64_t least = INT64_MAX;
  plan.steps[0].grid = d->info.n_threads;
  for (int i = 0; i < 5; i++) {
    int64_t start = d->ops->now_ps(d, NULL);
    if (d->ops->launch(d, p->module, &p->program, &plan, k, NULL, NULL, NULL) != RGT_OK) return 0;
    int64_t time = d->ops->now_ps(d, NULL) - start;
    if (i > 0 && time < least) least = time;
  }
  return least > 0 ? (double)least / 1e12 : 0;
}

double rgt__peak_flops(rgt__peak *p) {
  enum { TURNS = 200000 };
  rgt__device *d = p->maker.device;
  rgt_kargs k;
  memset(&k, 0, sizeof k);
  void *y = NULL;
  if (d->ops->mem_alloc(d, (size_t)d->info.n_threads * 64, &y, NULL) != RGT_OK) return 0;
  k.y = y;
  k.rows = TURNS;
  double time = shortest(p, &k), turns = (double)TURNS * (double)d->info.n_threads;
  d->ops->mem_free(d, y);
  return time > 0 ? turns * 12 * 2 * (double)fact(&d->info.target, "lanes_max") / time : 0;
}

double rgt__peak_bytes(rgt__peak *p, int64_t bytes) {
  rgt__device *d = p->maker.device;
  rgt_kargs k;
  memset(&k, 0, sizeof k);
  void *x = NULL, *y = NULL;
  int64_t block = 8 * 16 * 4, per_thread = bytes / d->info.n_threads / block * block;
  if (per_thread < 16 * block) per_thread = 16 * block;
  if (per_thread > ((int64_t)128 << 20)) per_thread = (int64_t)128 << 20;
  size_t total = (size_t)per_thread * (size_t)d->info.n_threads;
  double rate = 0;
  char *zeros = rgt__alloc_zero(1, total);
  if (zeros && d->ops->mem_alloc(d, total, &x, NULL) == RGT_OK &&
      d->ops->mem_alloc(d, (size_t)d->info.n_threads * 64, &y, NULL) == RGT_OK &&
      d->ops->mem_write(d, x, zeros, total, NULL) == RGT_OK) {
    k.x = x;
    k.y = y;
    k.y_mode = 1;
    k.ld_x = per_thread / 4;
    k.rows = per_thread > (4 << 20) ? 1 : (4 << 20) / per_thread;
    double time = shortest(p, &k);
    if (time > 0) rate = (double)total * (double)k.rows / time;
  }
  rgt__free(zeros);
  d->ops->mem_free(d, x);
  d->ops->mem_free(d, y);
  return rate;
}
