/* bundle_write.c -- rgt_compile_bundle: a folder of code for machines without a compiler.
 *
 * A new bundle is filled under another name beside its own and renamed, so that it is there whole or not at all. To one that is
 * there, code is added file by file, each whole, and the table that names it comes last, while a lock keeps others from adding.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/alloc.h"
#include "runtime/base/file.h"
#include "runtime/bundle.h"
#include "runtime/bundle_table.h"
#include "runtime/gc.h"
#include "runtime/inspect.h"
#include "runtime/thread_pool.h"
#include "runtime/wishes.h"
#include "runtime/worker.h"

enum { CHOICES_MAX = 4 * RGT_BUCKETS_MAX, PATH_SIZE = 1024 };

typedef struct writing {
  rgt_op *op;
  const rgt_bundle_options *o;
  char folder[700], place[720]; /* where it shall be, and where it is written: the same when adding */
  int adding, lock;
  rgt__inspect in;
  rgt__code_cache *cache; /* of the bundle */
  rgt__bundle_table table;
  rgt__bundle_choice *choices; /* [CHOICES_MAX], as the database has them */
  int n_choices;
  rgt__candidate *c;   /* [n]; the default variant first */
  rgt__worker *worker; /* NULL until something is verified */
  unsigned char *ended;
  int n, room, next, stopped;
  rgt_status status; /* of what went on in a callback */
} writing;

/* ---- the folder ---- */

static rgt_status cannot(writing *w, const char *what, const char *path) {
  return rgt__error_set(&w->op->ctx->error, RGT_EIO, "cannot %s %s: %s", what, path, strerror(errno));
}

/* 1: nothing in it; 0: something; -1: not there; -2: no folder, or not to be read. */
static int look(const char *path) {
  int empty = 1;
  DIR *folder = opendir(path);
  if (!folder) return errno == ENOENT ? -1 : -2;
  for (struct dirent *e; (e = readdir(folder));) empty &= strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
  closedir(folder);
  return empty;
}

static rgt_status begin_adding(writing *w) {
  rgt__error *err = &w->op->ctx->error;
  char path[PATH_SIZE];
  rgt_status status = rgt__file_join(path, sizeof path, w->folder, RGT_BUNDLE_TABLE, err);
  if (status == RGT_OK && access(path, F_OK) != 0)
    return rgt__error_set(err, RGT_EINVAL, "%s is not empty and no bundle; name a new folder, an empty one or a bundle",
                          w->folder);
  w->adding = 1;
  snprintf(w->place, sizeof w->place, "%s", w->folder);
  w->lock = open(w->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (w->lock < 0 || flock(w->lock, LOCK_EX) != 0) return cannot(w, "lock", w->folder);
  return rgt__bundle_table_read(w->folder, &w->table, err);
}

/* What a process that was killed here before left goes first. */
static rgt_status begin_new(writing *w) {
  rgt__gc g = {.dry_run = 0};
  rgt__gc_bundle(&g, w->folder);
  snprintf(w->place, sizeof w->place, "%s.tmp-XXXXXX", w->folder);
  if (!mkdtemp(w->place)) {
    w->place[0] = 0;
    return cannot(w, "make a folder beside", w->folder);
  }
  return chmod(w->place, 0755) == 0 ? RGT_OK : cannot(w, "make", w->place);
}

static rgt_status begin_folder(writing *w, const char *folder) {
  rgt__error *err = &w->op->ctx->error;
  size_t n = strlen(folder);
  while (n > 1 && folder[n - 1] == '/') n--;
  if (n == 0 || n >= sizeof w->folder)
    return rgt__error_set(err, RGT_EINVAL, "the folder of a bundle has a name of %zu bytes; it can be 1 to %zu", n,
                          sizeof w->folder - 1);
  snprintf(w->folder, sizeof w->folder, "%.*s", (int)n, folder);
  int found = look(w->folder);
  if (found == -2) return cannot(w, "write a bundle to", w->folder);
  rgt_status status = found == 0 ? begin_adding(w) : begin_new(w);
  return status == RGT_OK ? rgt__code_cache_open_bundle(w->place, &w->cache, err) : status;
}

/* "code" and "code/ab" as others may read them; the cache finds them made. */
static rgt_status make_folders(writing *w, const rgt__digest *key) {
  char path[PATH_SIZE], hex[RGT_DIGEST_HEX_MAX];
  rgt__digest_hex(key, hex);
  for (int deep = 0; deep < 2; deep++) {
    snprintf(path, sizeof path, "%s/code%s%.*s", w->place, deep ? "/" : "", deep ? 2 : 0, hex);
    if (mkdir(path, 0755) != 0 && errno != EEXIST) return cannot(w, "make", path);
    if (access(path, W_OK) != 0) return cannot(w, "write to", path);
  }
  return RGT_OK;
}

static rgt_status publish(writing *w) {
  rgt_status status = rgt__bundle_table_write(w->place, &w->table, &w->op->ctx->error);
  if (status != RGT_OK || w->adding) return status;
  if (rename(w->place, w->folder) != 0) return cannot(w, "rename to", w->folder);
  w->place[0] = 0;
  return RGT_OK;
}

static void end_folder(writing *w) {
  if (!w->adding && w->place[0]) rgt__file_remove_tree(w->place);
  if (w->lock >= 0) close(w->lock);
  rgt__code_cache_free(w->cache);
  rgt__bundle_table_free(&w->table);
}

/* ---- which variants ---- */

static int place_of(const writing *w, const char *variant) {
  for (int i = 0; i < w->n; i++)
    if (strcmp(w->c[i].text, variant) == 0) return i;
  return -1;
}

static rgt_status grow(writing *w) {
  if (w->n < w->room) return RGT_OK;
  int room = w->room ? 2 * w->room : 64;
  rgt__candidate *c = rgt__realloc(w->c, (size_t)room * sizeof *c);
  if (!c) return rgt__error_nomem(&w->op->ctx->error, (size_t)room * sizeof *c);
  w->c = c;
  w->room = room;
  return RGT_OK;
}

static rgt_status add_variant(writing *w, const rgt__variant *v) {
  char text[RGT_VARIANT_TEXT_MAX];
  rgt__variant_format(v, text);
  if (place_of(w, text) >= 0) return RGT_OK;
  rgt_status status = grow(w);
  if (status == RGT_OK) status = rgt__candidate_render(&w->in.maker, v, &w->op->desc, &w->c[w->n], &w->op->ctx->error);
  if (status == RGT_OK) w->n++;
  return status;
}

static rgt_status add_standing(writing *w, const rgt__tunedb_standing *s, char text[RGT_VARIANT_TEXT_MAX]) {
  rgt__variant v;
  rgt__context_variant_text(s, text);
  rgt_status status = rgt__variant_parse(w->in.maker.families, w->in.device->ops->kind, text, &v, &w->op->ctx->error);
  return status == RGT_OK ? add_variant(w, &v) : status;
}

static void fill_for(const writing *w, rgt__bundle_for *out) {
  snprintf(out->target, sizeof out->target, "%s", w->in.device->info.target.name);
  rgt__op_format(&w->op->desc, out->op, NULL);
  out->form = w->op->options.weight_form;
  out->align_bytes = w->op->options.align_bytes;
  out->order = w->op->options.order;
}

static rgt_status add_winner(writing *w, rgt_skew skew, int64_t bucket, const rgt__tunedb_winner *found) {
  rgt__bundle_choice *c = &w->choices[w->n_choices];
  memset(c, 0, sizeof *c);
  fill_for(w, &c->made_for);
  snprintf(c->device_class, sizeof c->device_class, "%s", w->in.device->info.class_text);
  c->skew = skew;
  c->bucket = bucket;
  c->time_ps = found->winner.time_ps;
  c->low_ps = found->winner.low_ps;
  c->high_ps = found->winner.high_ps;
  c->ratio_ppm = found->winner.ratio_ppm;
  c->n_runs = found->winner.n_runs;
  rgt_status status = add_standing(w, &found->winner, c->variant);
  if (status == RGT_OK && found->has_runner_up) {
    c->second_ppm = found->runner_up.ratio_ppm;
    status = add_standing(w, &found->runner_up, c->runner_up);
  }
  if (status == RGT_OK) w->n_choices++;
  return status;
}

/* What dispatch would find here for this very op. */
static rgt_status add_stored(writing *w) {
  rgt_op *op = w->op;
  rgt__error *err = &op->ctx->error;
  rgt__tunedb *db = NULL;
  rgt__tunedb_limits limits;
  rgt__op_key key;
  rgt__tunedb_winner *found = rgt__alloc_zero(1, sizeof *found);
  if (!found) return rgt__error_nomem(err, sizeof *found);
  rgt_status status = rgt__context_db(op->ctx, &db);
  rgt__op_limits(op, &limits);
  for (int s = RGT_SKEW_UNKNOWN; s <= RGT_SKEW_ONE && status == RGT_OK; s++) {
    int64_t buckets[RGT_BUCKETS_MAX];
    int n = 0;
    status = rgt__op_key_make(op, 1, (rgt_skew)s, RGT_POLICY_WARM, &key, err);
    if (status == RGT_OK) status = rgt__tunedb_buckets(db, &key.signature, &key.place, buckets, RGT_BUCKETS_MAX, &n, err);
    for (int i = 0; i < n && status == RGT_OK; i++) {
      status = rgt__op_key_make(op, buckets[i], (rgt_skew)s, RGT_POLICY_WARM, &key, err);
      if (status == RGT_OK) status = rgt__tunedb_find(db, &key.signature, &key.place, &limits, found, err);
      if (status == RGT_OK)
        status = add_winner(w, (rgt_skew)s, buckets[i], found);
      else if (status == RGT_EMISS)
        status = RGT_OK;
    }
  }
  rgt__free(found);
  return status;
}

/* A ban is for this device class alone. */
static rgt_status leave_out_banned(writing *w) {
  rgt_op *op = w->op;
  rgt_status status = rgt__wishes_load(op);
  if (status == RGT_OK && w->o->variant) return rgt__wishes_refuse(op, &w->in.space.variants[0], &op->ctx->error);
  if (status == RGT_OK) rgt__wishes_drop_banned(op, &w->in.space, "not in the bundle");
  return status;
}

static rgt_status choose_variants(writing *w) {
  rgt_op *op = w->op;
  rgt__variant first;
  int named = w->o->variant || w->o->sample > 0;
  w->choices = rgt__alloc_zero(CHOICES_MAX, sizeof *w->choices);
  if (!w->choices) return rgt__error_nomem(&op->ctx->error, CHOICES_MAX * sizeof *w->choices);
  rgt_status status = w->in.owns_device ? RGT_OK : leave_out_banned(w);
  if (status == RGT_OK) status = rgt__prepare_default(op, w->in.device->ops->kind, &first);
  if (status == RGT_OK) status = add_variant(w, &first);
  for (int i = 0; named && i < w->in.space.n && status == RGT_OK; i++) status = add_variant(w, &w->in.space.variants[i]);
  int asks = !named && !w->in.owns_device && op->ctx->mode != RGT_MODE_OFF;
  if (status == RGT_OK && asks) status = add_stored(w);
  return status;
}

/* ---- what becomes of each ---- */

/* In a child where there is a worker, else here; opened for the first that needs it. */
static rgt_status open_worker(writing *w) {
  rgt_ctx *ctx = w->op->ctx;
  if (w->worker) return RGT_OK;
  rgt_status status = rgt__worker_open(&w->in.maker, &w->op->desc, NULL, 1, 0, &w->worker, &ctx->error);
  if (status != RGT_ENOWORKER) return status;
  rgt__context_log(ctx, RGT_LOG_WARNING, "%s; variants are verified in this process", ctx->error.text);
  return rgt__worker_open_local(&w->in.maker, &w->op->desc, NULL, 1, 0, &w->worker, &ctx->error);
}

static void set_outcome(rgt__candidate *c, rgt_outcome outcome, const char *reason) {
  c->outcome = outcome;
  snprintf(c->reason, sizeof c->reason, "%.255s", reason);
}

/* The same variant with relu, which makes an exact pass possible; *twin is zero where the op needs none. */
static rgt_status make_twin(writing *w, const rgt__candidate *c, rgt__candidate *twin) {
  rgt_op_desc relu = rgt__op_relu_twin(&w->op->desc);
  memset(twin, 0, sizeof *twin);
  if (w->op->desc.act == RGT_ACT_NONE || w->op->desc.act == RGT_ACT_RELU) return RGT_OK;
  rgt_status status = rgt__candidate_render(&w->in.maker, &c->variant, &relu, twin, &w->op->ctx->error);
  return status == RGT_OK ? rgt__candidate_compile(&w->in.maker, twin, 0, &w->op->ctx->error) : status;
}

/* What the bundle calls verified was verified here and now: trials may come from somebody else's database. A verdict of "wrong"
 * is an outcome. */
static rgt_status verify_one(writing *w, rgt__candidate *c) {
  rgt__error *err = &w->op->ctx->error;
  rgt__candidate twin = {.text = ""};
  rgt__verify_result r = {.status = RGT_OK};
  if (w->in.owns_device || c->outcome != RGT_TRIAL_OK) return RGT_OK;
  rgt_status status = open_worker(w);
  if (status == RGT_OK) status = make_twin(w, c, &twin);
  if (status == RGT_OK && twin.outcome != RGT_TRIAL_OK) {
    set_outcome(c, twin.outcome, twin.reason);
  } else if (status == RGT_OK) {
    status = w->worker->ops->check(w->worker, c, twin.source ? &twin : c, &r, err);
    if (status == RGT_OK && r.status != RGT_OK) set_outcome(c, RGT_TRIAL_WRONG, r.reason);
    if (status == RGT_EINFEASIBLE) set_outcome(c, RGT_TRIAL_INFEASIBLE, err->text);
    if (w->worker->ops->forget) {
      w->worker->ops->forget(w->worker, c);
      w->worker->ops->forget(w->worker, &twin);
    }
  }
  rgt__candidate_free(w->in.device, &twin);
  return c->outcome == RGT_TRIAL_OK ? status : RGT_OK;
}

static rgt_status hash_ptx(rgt__bundle_code *out, const rgt__code_entry *e, rgt__error *err) {
  enum { PTX_MAX = 256 << 20 };
  char path[sizeof e->path];
  rgt__buffer text = {0};
  rgt__code_cache_ptx_path(e->path, path, sizeof path);
  out->has_ptx = access(path, F_OK) == 0;
  if (!out->has_ptx) return RGT_OK;
  rgt_status status = rgt__file_read(path, PTX_MAX, &text, err);
  if (status == RGT_OK) rgt__digest_of(text.data, text.size, &out->ptx);
  rgt__buffer_free(&text);
  return status;
}

/* Into the bundle, and read back from there: what cannot be read here could not be loaded elsewhere. */
static rgt_status keep_one(writing *w, const rgt__candidate *c) {
  rgt__error *err = &w->op->ctx->error;
  rgt__bundle_code code;
  rgt__buffer binary = {0};
  char params[RGT_VARIANT_TEXT_MAX];
  rgt__code_entry *e = rgt__alloc_zero(1, sizeof *e);
  if (!e) return rgt__error_nomem(err, sizeof *e);
  memset(&code, 0, sizeof code);
  rgt_status status = make_folders(w, &c->code);
  if (status == RGT_OK && w->in.maker.cache != w->cache) {
    status = rgt__code_cache_copy(w->in.maker.cache, w->cache, &c->code, err);
    if (status == RGT_EMISS)
      status = rgt__error_set(err, RGT_EIO, "%s: the code of %s was not kept there", rgt__code_cache_folder(w->in.maker.cache),
                              c->text);
  }
  if (status == RGT_OK) status = rgt__code_cache_get(w->cache, &c->code, e, err);
  if (status == RGT_EMISS) status = RGT_EIO;
  if (status == RGT_OK) status = rgt__file_read(e->path, e->code_bytes, &binary, err);
  if (status == RGT_OK) status = hash_ptx(&code, e, err);
  if (status == RGT_OK) {
    fill_for(w, &code.made_for);
    snprintf(code.variant, sizeof code.variant, "%s", c->text);
    snprintf(code.toolchain, sizeof code.toolchain, "%s", w->in.toolchain);
    code.revision = c->variant.family->revision;
    code.verified = !w->in.owns_device;
    code.bytes = (int64_t)e->code_bytes;
    code.key = c->code;
    rgt__digest_of(binary.data, binary.size, &code.binary);
    rgt__variant_params_format(&c->variant, params);
    rgt__candidate_local_key(c->variant.family->name, c->variant.family->revision, params, &w->op->desc, &w->in.maker.facts,
                             &c->variant.family->template_digest, "", w->in.device->info.target.name, &code.local);
    status = rgt__bundle_table_add_code(&w->table, &code, err);
  }
  rgt__buffer_free(&binary);
  rgt__code_entry_free(e);
  rgt__free(e);
  return status;
}

static int report_one(const writing *w, const rgt__candidate *c) {
  return w->o->fn ? rgt__candidate_tell(c, w->o->fn, w->o->user) : 0;
}

/* In the order of the list, whatever the order in which compiles end; on the calling thread. */
static int one_ended(void *user, int i) {
  writing *w = user;
  w->ended[i] = 1;
  while (!w->stopped && w->next < w->n && w->ended[w->next]) {
    rgt__candidate *c = &w->c[w->next];
    w->next++;
    w->status = verify_one(w, c);
    if (w->status == RGT_OK && c->outcome == RGT_TRIAL_OK) w->status = keep_one(w, c);
    w->stopped = w->status != RGT_OK || report_one(w, c) != 0;
  }
  return w->stopped;
}

static rgt_status default_failed(const writing *w) {
  static const rgt_status statuses[RGT_N_OUTCOMES] = {RGT_OK,     RGT_EINFEASIBLE, RGT_ECOMPILE,
                                                      RGT_EWRONG, RGT_ECRASH,      RGT_ETIMEOUT};
  const rgt__candidate *c = &w->c[0];
  if (c->outcome == RGT_TRIAL_OK) return RGT_OK;
  return rgt__error_set(&w->op->ctx->error, statuses[c->outcome], "the default variant %s: %s", c->text, c->reason);
}

static rgt_status make_code(writing *w) {
  w->ended = rgt__alloc_zero((size_t)w->n, 1);
  if (!w->ended) return rgt__error_nomem(&w->op->ctx->error, (size_t)w->n);
  if (!rgt__code_cache_folder(w->in.maker.cache)[0]) { /* no cache of the user's: straight into the bundle */
    w->in.maker.cache = w->cache;
    for (int i = 0; i < w->n; i++) {
      rgt_status status = make_folders(w, &w->c[i].code);
      if (status != RGT_OK) return status;
    }
  }
  rgt_status status =
      rgt__candidate_compile_all(&w->in.maker, w->c, w->n, rgt__pool_affinity(), 0, one_ended, w, &w->op->ctx->error);
  if (w->status != RGT_OK) return w->status;
  return status == RGT_OK ? default_failed(w) : status;
}

/* Only what is in the bundle can be chosen from it. */
static rgt_status keep_choices(writing *w) {
  rgt_status status = RGT_OK;
  for (int i = 0; i < w->n_choices && status == RGT_OK; i++) {
    rgt__bundle_choice *c = &w->choices[i];
    int winner = place_of(w, c->variant), second = c->runner_up[0] ? place_of(w, c->runner_up) : -1;
    if (winner < 0 || w->c[winner].outcome != RGT_TRIAL_OK) continue;
    if (second < 0 || w->c[second].outcome != RGT_TRIAL_OK) c->runner_up[0] = 0;
    status = rgt__bundle_table_add_choice(&w->table, c, &w->op->ctx->error);
  }
  return status;
}

rgt_status rgt_compile_bundle(rgt_op *op, const rgt_bundle_options *options, const char *folder) {
  static const rgt_bundle_options defaults = {.struct_size = sizeof defaults};
  rgt__error *err = &op->ctx->error;
  if (options && options->struct_size != sizeof *options)
    return rgt__error_set(err, RGT_EINVAL, "rgt_bundle_options.struct_size is %zu; this library's is %zu", options->struct_size,
                          sizeof *options);
  if (!folder) return rgt__error_set(err, RGT_EINVAL, "folder is NULL; it can be a new folder, an empty one or a bundle");
  writing *w = rgt__alloc_zero(1, sizeof *w);
  if (!w) return rgt__error_nomem(err, sizeof *w);
  w->op = op;
  w->o = options ? options : &defaults;
  w->lock = -1;
  rgt_status status = rgt__inspect_open(op, w->o->target, w->o->variant, w->o->sample, w->o->seed, 1, &w->in);
  if (status == RGT_OK) status = begin_folder(w, folder);
  if (status == RGT_OK) status = choose_variants(w);
  if (status == RGT_OK) status = make_code(w);
  if (status == RGT_OK) status = keep_choices(w);
  if (status == RGT_OK) status = publish(w);
  if (w->worker) w->worker->ops->close(w->worker);
  for (int i = 0; i < w->n; i++) rgt__candidate_free(w->in.device, &w->c[i]);
  rgt__free(w->c);
  rgt__free(w->ended);
  rgt__free(w->choices);
  end_folder(w);
  rgt__inspect_close(&w->in);
  rgt__free(w);
  return status;
}
