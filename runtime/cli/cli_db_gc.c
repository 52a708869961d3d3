/* cli_db_gc.c -- ragtune db gc: what nobody needs any more, in the code cache and beside the database. */
#include "cli_db.h"

#include <inttypes.h>

static void size_text(int64_t bytes, char *text, size_t size) {
  if (bytes < 1 << 20)
    snprintf(text, size, "%.1f KiB", (double)bytes / 1024);
  else
    snprintf(text, size, "%.1f MiB", (double)bytes / (1 << 20));
}

static int on_item(void *user, const rgt_gc_item *item) {
  rgt__db_work *w = user;
  char bytes[32];
  w->n++;
  if (w->list) {
    json_t *o = json_object();
    rgt__json_text(o, "path", item->path);
    rgt__json_text(o, "why", item->why);
    rgt__json_int(o, "bytes", item->bytes);
    rgt__json_append(w->list, o);
    return 0;
  }
  size_text(item->bytes, bytes, sizeof bytes);
  rgt__table_cell(&w->table, "%s", bytes);
  rgt__table_cell(&w->table, "%s", item->path);
  rgt__table_cell(&w->table, "%s", item->why);
  return 0;
}

static void print_total(const rgt__db_work *w, const rgt_gc_total *t) {
  char removed[32], kept[32], quota[48] = "no quota";
  size_text(t->removed_bytes, removed, sizeof removed);
  size_text(t->kept_bytes, kept, sizeof kept);
  if (t->quota_bytes >= 0) snprintf(quota, sizeof quota, "the quota is %.4g MiB", (double)t->quota_bytes / (1 << 20));
  printf("%s %" PRId64 " thing%s, %s; the code cache keeps %s, %s\n", w->o->dry_run ? "would remove" : "removed", t->n_removed,
         t->n_removed == 1 ? "" : "s", removed, kept, quota);
}

rgt_status rgt__db_gc(rgt__db_work *w, rgt__message *m) {
  static const char *const heads[] = {"size", "what", "why"};
  rgt_gc_total total = {.struct_size = sizeof total};
  rgt__db_begin_rows(w, "removed", "rll", heads);
  rgt_status s = rgt_cache_gc(w->session.ctx, w->o->dry_run, on_item, w, &total);
  if (s != RGT_OK) return rgt__message_from(m, s, w->session.ctx);
  if (w->object) {
    rgt__json_bool(w->object, "dry_run", w->o->dry_run);
    rgt__json_int(w->object, "removed_bytes", total.removed_bytes);
    rgt__json_int(w->object, "cache_bytes", total.cache_bytes);
    rgt__json_int(w->object, "kept_bytes", total.kept_bytes);
    rgt__json_int(w->object, "quota_bytes", total.quota_bytes);
    rgt__json_int(w->object, "entries", total.n_entries);
    rgt__json_int(w->object, "pinned", total.n_pinned);
    return RGT_OK;
  }
  if (w->n && rgt__table_print(&w->table, stdout) != RGT_OK)
    return rgt__message_set(m, RGT_ENOMEM, "out of memory while printing");
  print_total(w, &total);
  return RGT_OK;
}
