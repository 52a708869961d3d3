/* code_cache.h -- compiled code on disk: local, disposable, checked by hash. Apart from the tuned database.
 *
 *   <folder>/code/<ab>/<code key>.bin      the binary (shared object or cubin); .ptx beside it where there is one
 *                                 .program    its program, a hash of itself and of the binary, static resources
 *                                 .src        the source it came from
 *   <folder>/map/<ab>/<local key>             the code key that (variant, template digest, compiler's stamp, target) led to
 *
 * Beside either, <key>.lock while a process makes it. The time of .program is that of its last use.
 */
#ifndef RGT_RUNTIME_CODE_CACHE_H
#define RGT_RUNTIME_CODE_CACHE_H

#include "generator/program.h"
#include "runtime/base/digest.h"
#include "runtime/device.h"
#include "runtime/flight.h"

typedef struct rgt__code_cache rgt__code_cache;

enum { RGT_CODE_PATH_MAX = 1024 };

/* rgt__code_cache_open -- folder NULL: no cache, every get is a miss, every put keeps nothing. A folder that others can write,
 * or that cannot be made: RGT_EIO (the caller warns and opens with NULL). */
rgt_status rgt__code_cache_open(const char *folder, rgt__code_cache **out, rgt__error *err);
/* rgt__code_cache_open_bundle -- the code of a bundle (bundle.h), in the same format, which somebody keeps and others may read:
 * nothing is made here, sources are left out, files are 0644, and what is damaged stays where it is: get then is RGT_EIO and
 * says what is wrong. RGT_EIO (path too long), RGT_ENOMEM. */
rgt_status rgt__code_cache_open_bundle(const char *folder, rgt__code_cache **out, rgt__error *err);
void rgt__code_cache_free(rgt__code_cache *c);
const char *rgt__code_cache_folder(const rgt__code_cache *c); /* "" if none */

typedef struct rgt__code_entry {
  char path[RGT_CODE_PATH_MAX]; /* of the binary; "" when it lives in memory only */
  void *code;                   /* owned, only when path is "": the bytes, with the PTX (code_pair.h) where there is one */
  size_t code_bytes;
  rgt__program program;
  int registers, shared_bytes, spill_bytes, stack_bytes;
} rgt__code_entry;
void rgt__code_entry_free(rgt__code_entry *e);

/* code key: source digest, toolchain, target, launch ABI (kargs version) */
void rgt__code_cache_key(const rgt__digest *source, const char *toolchain, const char *target, rgt__digest *key);
/* get -- RGT_OK; RGT_EMISS (absent, or damaged: the entry is removed); RGT_ENOMEM; of a bundle RGT_EIO (damaged). */
rgt_status rgt__code_cache_get(rgt__code_cache *c, const rgt__digest *key, rgt__code_entry *out, rgt__error *err);
rgt_status rgt__code_cache_put(rgt__code_cache *c, const rgt__digest *key, const rgt__compiled *compiled,
                               const rgt__program *program, const char *source, size_t source_bytes,
                               rgt__error *err); /* RGT_EIO */
/* hold -- this process has loaded it: no sweep of this process takes it from the disk while c is open. */
void rgt__code_cache_hold(rgt__code_cache *c, const rgt__digest *key);
int rgt__code_cache_holds(const rgt__digest *key); /* by any cache of the process. Threads: any. */
/* added -- bytes put since the last call. */
int64_t rgt__code_cache_added(rgt__code_cache *c);
/* begin -- the turn to make the code of `key`, or what the map shall lead to from `local`; others wait as long as
 * rgt__code_cache_wait said (60 s). Without a folder, and in a bundle, everybody goes on alone. rgt__flight_end ends it. */
void rgt__code_cache_wait(rgt__code_cache *c, double limit_s);
rgt__flight_turn rgt__code_cache_begin(rgt__code_cache *c, const rgt__digest *key, const rgt__stop *stop, rgt__flight *out);
rgt__flight_turn rgt__code_cache_map_begin(rgt__code_cache *c, const rgt__digest *local, const rgt__stop *stop,
                                           rgt__flight *out);
/* copy -- an entry of one cache into another, checked on the way. RGT_EMISS (not in `from`, or damaged there), RGT_EIO,
 * RGT_ENOMEM. */
rgt_status rgt__code_cache_copy(rgt__code_cache *from, rgt__code_cache *to, const rgt__digest *key, rgt__error *err);
/* ptx_path -- where the PTX of an entry lies: beside the binary, whose path is given. */
void rgt__code_cache_ptx_path(const char *binary, char *path, size_t path_size);
/* map -- local key (any canonical text) to code key. */
rgt_status rgt__code_cache_map_get(const rgt__code_cache *c, const rgt__digest *local,
                                   rgt__digest *key); /* RGT_OK, RGT_EMISS */
rgt_status rgt__code_cache_map_put(rgt__code_cache *c, const rgt__digest *local, const rgt__digest *key, rgt__error *err);
/* path -- of one file: kind "code" with one of an entry's suffixes, "map" with ""; ".lock" of either. is_part -- is it a suffix
 * of an entry? remove -- the files of an entry, .program first, so that a reader finds all of it or nothing. */
void rgt__code_cache_path(const rgt__code_cache *c, const char *kind, const rgt__digest *key, const char *suffix,
                          char path[RGT_CODE_PATH_MAX]);
int rgt__code_cache_is_part(const char *suffix);
void rgt__code_cache_remove(const rgt__code_cache *c, const rgt__digest *key);

#endif
