/* cache_sweep.c -- what in the code cache nobody needs: entries over the quota, least recently used first, and leftovers.
 *
 * An entry is taken away under its lock, .program first, so that a reader finds all of it or nothing, and whoever makes it just
 * now keeps it. A process that had found it compiles it again, or has it in memory: what is loaded stays loaded.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/alloc.h"
#include "runtime/gc.h"

enum { PATH_SIZE = 1200, HALF_AGE_S = 3600 };

typedef struct entry {
  rgt__digest key;
  int64_t bytes, used_s; /* used_s: 0 while no .program was seen */
  int64_t newest_s;
} entry;

typedef struct sweep {
  rgt__gc *gc;
  const rgt__code_cache *cache;
  entry *all; /* [n], owned */
  int n, room;
  int only_quota, failed;
  int64_t now_s, total;
} sweep;

static entry *entry_of(sweep *s, const rgt__digest *key, int first) {
  for (int i = s->n - 1; i >= first; i--)
    if (rgt__digest_equal(&s->all[i].key, key)) return &s->all[i];
  if (s->n == s->room) {
    int room = s->room ? 2 * s->room : 256;
    entry *grown = rgt__realloc(s->all, (size_t)room * sizeof *grown);
    if (!grown) {
      s->failed = 1;
      return NULL;
    }
    s->all = grown;
    s->room = room;
  }
  s->all[s->n] = (entry){.key = *key};
  return &s->all[s->n++];
}

/* "<64 hex digits><suffix>": 1, with the suffix. */
static int split_name(const char *name, rgt__digest *key, const char **suffix) {
  char hex[RGT_DIGEST_HEX_MAX];
  if (strlen(name) < 64) return 0;
  snprintf(hex, sizeof hex, "%.64s", name);
  *suffix = name + 64;
  return rgt__digest_parse(hex, key);
}

static int is_temporary(const char *name) {
  const char *at = strstr(name, ".tmp-");
  return at && strlen(at) == 11;
}

/* A file of whole entries goes into the list; what a process that was killed left behind is offered at once. first: entries of
 * this folder begin there. */
static void take_file(sweep *s, const char *folder, const char *name, const struct stat *st, int first) {
  rgt__digest key;
  const char *suffix = "";
  char path[PATH_SIZE];
  int old = st->st_mtime + HALF_AGE_S < s->now_s;
  if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path) return;
  if (is_temporary(name)) {
    if (!s->only_quota && old &&
        rgt__gc_offer(s->gc, path, st->st_size, "a file that was being written when its process ended"))
      unlink(path);
    return;
  }
  if (!split_name(name, &key, &suffix)) return;
  if (strcmp(suffix, ".lock") == 0) {
    if (!s->only_quota && old && rgt__gc_offer(s->gc, path, st->st_size, "the lock of a process that ended"))
      rgt__flight_clear(path);
    return;
  }
  int is_of_map = !suffix[0];
  entry *e = is_of_map || rgt__code_cache_is_part(suffix) ? entry_of(s, &key, first) : NULL;
  if (!e) return;
  e->bytes += st->st_size;
  if (st->st_mtime > e->newest_s) e->newest_s = st->st_mtime;
  if (strcmp(suffix, ".program") == 0) e->used_s = st->st_mtime > 0 ? st->st_mtime : 1;
  s->total += st->st_size;
}

static void read_folder(sweep *s, const char *folder) {
  struct stat st;
  int first = s->n;
  DIR *d = opendir(folder);
  if (!d) return;
  for (struct dirent *e; !s->failed && !s->gc->stopped && (e = readdir(d));)
    if (e->d_name[0] != '.' && fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
      take_file(s, folder, e->d_name, &st, first);
  closedir(d);
}

static void read_kind(sweep *s, const char *kind) {
  for (int i = 0; i < 256; i++) {
    char folder[PATH_SIZE];
    snprintf(folder, sizeof folder, "%s/%s/%02x", rgt__code_cache_folder(s->cache), kind, i);
    read_folder(s, folder);
  }
}

/* 1: it is away, or would be. */
static int remove_entry(sweep *s, const entry *e, const char *why) {
  char path[RGT_CODE_PATH_MAX], lock[RGT_CODE_PATH_MAX];
  rgt__flight flight = {.fd = -1};
  rgt__code_cache_path(s->cache, "code", &e->key, ".lock", lock);
  if (rgt__flight_begin(lock, 0, NULL, &flight) != RGT_FLIGHT_MINE) return 0;
  rgt__code_cache_path(s->cache, "code", &e->key, e->used_s ? ".program" : ".bin", path);
  int goes = rgt__gc_offer(s->gc, path, e->bytes, why);
  if (goes) rgt__code_cache_remove(s->cache, &e->key);
  rgt__flight_end(&flight);
  return goes || (s->gc->dry_run && !s->gc->stopped);
}

static int by_use(const void *a, const void *b) {
  const entry *x = a, *y = b;
  if (x->used_s != y->used_s) return x->used_s < y->used_s ? -1 : 1;
  return memcmp(x->key.bytes, y->key.bytes, sizeof x->key.bytes);
}

static int by_bytes(const void *a, const void *b) {
  return memcmp(a, b, sizeof(rgt__digest));
}

static int is_pinned(const rgt__pinned *p, const rgt__digest *key) {
  return p->n > 0 && bsearch(key, p->keys, (size_t)p->n, sizeof *key, by_bytes) != NULL;
}

static void say_last_use(const sweep *s, const entry *e, int64_t quota_bytes, char why[96]) {
  int64_t age_s = s->now_s - e->used_s;
  if (age_s >= 2 * 86400)
    snprintf(why, 96, "over the quota of %.4g MiB, last used %lld days ago", (double)quota_bytes / 0x1p20,
             (long long)(age_s / 86400));
  else
    snprintf(why, 96, "over the quota of %.4g MiB, last used %lld hours ago", (double)quota_bytes / 0x1p20,
             (long long)(age_s / 3600));
}

/* Entries in the order of their use, until what is left fits; a negative quota: all of it fits. */
static void keep_quota(sweep *s, int64_t quota_bytes, const rgt__pinned *pinned) {
  rgt_gc_total *total = &s->gc->total;
  for (int i = 0; i < s->n && !s->gc->stopped; i++) {
    const entry *e = &s->all[i];
    char why[96];
    if (!e->used_s) continue;
    int stays = is_pinned(pinned, &e->key);
    total->n_pinned += stays;
    if (stays || quota_bytes < 0 || total->kept_bytes <= quota_bytes || rgt__code_cache_holds(&e->key)) continue;
    say_last_use(s, e, quota_bytes, why);
    if (remove_entry(s, e, why)) total->kept_bytes -= e->bytes;
  }
}

static void remove_halves(sweep *s) {
  for (int i = 0; i < s->n && !s->gc->stopped; i++) {
    const entry *e = &s->all[i];
    if (e->used_s || e->newest_s + HALF_AGE_S > s->now_s) continue;
    if (remove_entry(s, e, "half an entry, left by a process that ended")) s->gc->total.kept_bytes -= e->bytes;
  }
}

/* Of the map: what leads to code that is not there any more. */
static rgt_status sweep_map(sweep *s) {
  s->n = 0;
  read_kind(s, "map");
  if (s->failed) return RGT_ENOMEM;
  for (int i = 0; i < s->n && !s->gc->stopped; i++) {
    const entry *e = &s->all[i];
    char path[RGT_CODE_PATH_MAX], code[RGT_CODE_PATH_MAX];
    rgt__digest key;
    rgt__code_cache_path(s->cache, "map", &e->key, "", path);
    int leads = rgt__code_cache_map_get(s->cache, &e->key, &key) == RGT_OK;
    if (leads) rgt__code_cache_path(s->cache, "code", &key, ".program", code);
    if (e->newest_s + HALF_AGE_S < s->now_s && (!leads || access(code, F_OK) != 0) &&
        rgt__gc_offer(s->gc, path, e->bytes, "leads to code that is not there any more"))
      unlink(path);
  }
  return RGT_OK;
}

rgt_status rgt__cache_sweep(rgt__gc *g, const rgt__code_cache *cache, int64_t quota_bytes, int only_quota,
                            rgt_status (*find_pinned)(void *user, rgt__pinned *out), void *user, rgt__error *err) {
  sweep s = {.gc = g, .cache = cache, .only_quota = only_quota, .now_s = (int64_t)time(NULL)};
  rgt__pinned pinned = {0};
  rgt_status status = RGT_OK;
  if (!rgt__code_cache_folder(cache)[0]) return RGT_OK;
  read_kind(&s, "code");
  for (int i = 0; i < s.n; i++) g->total.n_entries += s.all[i].used_s != 0;
  g->total.quota_bytes = quota_bytes;
  g->total.cache_bytes = g->total.kept_bytes = s.total;
  if (s.failed) status = rgt__error_nomem(err, (size_t)s.room * sizeof *s.all);
  int over = quota_bytes >= 0 && s.total > quota_bytes;
  if (status == RGT_OK && (over || !only_quota)) {
    status = find_pinned(user, &pinned);
    if (status == RGT_OK && pinned.n) qsort(pinned.keys, (size_t)pinned.n, sizeof *pinned.keys, by_bytes);
    if (status == RGT_OK && s.n) qsort(s.all, (size_t)s.n, sizeof *s.all, by_use);
    if (status == RGT_OK && !only_quota) remove_halves(&s);
    if (status == RGT_OK) keep_quota(&s, quota_bytes, &pinned);
    if (status == RGT_OK && !only_quota) status = sweep_map(&s);
    if (status == RGT_ENOMEM) rgt__error_nomem(err, 0);
  }
  rgt__free(pinned.keys);
  rgt__free(s.all);
  return status;
}
