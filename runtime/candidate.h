/* candidate.h -- one variant on its way from params to loaded code: render, look in the code cache, compile, load. */
#ifndef RGT_RUNTIME_CANDIDATE_H
#define RGT_RUNTIME_CANDIDATE_H

#include "generator/render.h"
#include "runtime/code_cache.h"
#include "runtime/device.h"
#include "runtime/worker_farm.h"

typedef struct rgt__candidate {
  rgt__variant variant;
  char text[RGT_VARIANT_TEXT_MAX];
  rgt__numeric numeric;
  rgt_op_desc op; /* what it was rendered for: the op or its relu twin */
  char *source;   /* owned */
  size_t source_bytes;
  rgt__digest source_digest, code;
  rgt__program program;
  rgt_outcome outcome; /* RGT_TRIAL_OK until something fails */
  char reason[RGT_REASON_MAX];
  int registers, shared_bytes, spill_bytes, stack_bytes;
  double milliseconds; /* compiling; 0 when it came from the cache */
  size_t code_bytes;
  rgt__code_entry entry;
  rgt__module *module; /* NULL until loaded */
} rgt__candidate;

/* What candidates are made with; borrowed. */
typedef struct rgt__candidate_maker {
  rgt__families *families;
  rgt__device *device;
  rgt__target target;
  rgt__code_cache *cache;
  const char *toolchain;
  rgt__render_facts facts;
  rgt__worker_farm *farm; /* compiles; NULL: the device itself does */
} rgt__candidate_maker;

/* rgt__candidate_render -- text, numeric facts, source and program of a variant. On RGT_EINFEASIBLE (a named constraint) the
 * outcome and reason are set and RGT_OK is returned; template errors are returned. Not thread-safe (one Lua state). */
rgt_status rgt__candidate_render(const rgt__candidate_maker *m, const rgt__variant *v, const rgt_op_desc *op,
                                 rgt__candidate *out, rgt__error *err);
/* rgt__candidate_compile -- from the cache, else by the compiler, and into the cache. A source that does not compile, or code
 * that spills or uses a stack frame on CUDA, is an outcome, and so is a compiler that crashes or does not end; RGT_ENOCOMPILER,
 * RGT_ENOMEM, RGT_EIO and RGT_EINTERRUPTED (the device's stop) are returned.
 * Thread-safe for different candidates. force: compile even if cached. */
rgt_status rgt__candidate_compile(const rgt__candidate_maker *m, rgt__candidate *c, int force, rgt__error *err);
/* rgt__candidate_load -- into the device; RGT_OK at once where it is loaded. A cache file that cannot be loaded is compiled
 * anew. */
rgt_status rgt__candidate_load(const rgt__candidate_maker *m, rgt__candidate *c, rgt__error *err);
/* rgt__candidate_tell -- what compiling made of it, to the caller's function; returns what that returns. */
int rgt__candidate_tell(const rgt__candidate *c, rgt_compile_fn fn, void *user);
void rgt__candidate_unload(rgt__device *device, rgt__candidate *c);
void rgt__candidate_free(rgt__device *device, rgt__candidate *c);

/* rgt__candidate_has_code -- or is past needing any: it has failed. */
int rgt__candidate_has_code(const rgt__candidate *c);
/* rgt__candidate_compile_list -- on `threads` threads, in order, no candidate twice; done(user, i) on the calling thread after
 * each that has an outcome (in any order), non-zero stops: it is not called again, and those in work are finished.
 * RGT_EINTERRUPTED when stopped. rgt__candidate_compile_all -- the same of an array of them. */
typedef int (*rgt__candidate_done)(void *user, int i);
rgt_status rgt__candidate_compile_list(const rgt__candidate_maker *m, rgt__candidate *const *list, int n, int threads,
                                       int force, rgt__candidate_done done, void *user, rgt__error *err);
rgt_status rgt__candidate_compile_all(const rgt__candidate_maker *m, rgt__candidate *c, int n, int threads, int force,
                                      rgt__candidate_done done, void *user, rgt__error *err);

/* rgt__candidate_local_key -- what the cache's map is asked with on a hit: variant, op without groups, form, alignment,
 * template digest, compiler's stamp, target. No Lua, no compiler. */
void rgt__candidate_local_key(const char *family, int revision, const char *params, const rgt_op_desc *op,
                              const rgt__render_facts *facts, const rgt__digest *template_digest, const char *compiler_stamp,
                              const char *target, rgt__digest *key);

#endif
