/* shapes.c -- the stored shapes that a signature could be near to, kept in the handle until the file changes.
 *
 * They come through an index, but each from a page of its own: thousands take milliseconds to read and microseconds to look
 * through. A handle asks for few classes, for one after the other of their buckets, so a few lists are kept, the oldest goes.
 */
#include "tunedb/shapes.h"

#include "runtime/base/alloc.h"
#include "tunedb/load.h"
#include "tunedb/memo.h"

#include <math.h>
#include <string.h>

enum { LISTS = 32 };

typedef struct list {
  const char *op_class, *form, *order;
  int64_t bucket;
  rgt__memo_stamp stamp;
  rgt__shape *items;
  int n, capacity;
  rgt__load_arena texts;
} list;

struct rgt__shapes {
  list lists[LISTS];
  int next;
};

void rgt__shapes_octaves(const rgt__tunedb_signature *sig, double octaves[4]) {
  const int64_t sizes[4] = {sig->n_in, sig->n_hidden, sig->n_out, sig->groups};
  for (int i = 0; i < 4; i++) octaves[i] = log2((double)(sizes[i] > 0 ? sizes[i] : 1));
}

static void clear(list *l) {
  rgt__free(l->items);
  rgt__load_arena_free(&l->texts);
  *l = (list){0};
}

static int is_of(const list *l, const rgt__tunedb_signature *sig, const rgt__memo_stamp *stamp) {
  return stamp->known && l->op_class && l->stamp.known && l->bucket == sig->bucket &&
         memcmp(l->stamp.words, stamp->words, sizeof stamp->words) == 0 && strcmp(l->op_class, sig->op_class) == 0 &&
         strcmp(l->form, sig->form) == 0 && strcmp(l->order, sig->order) == 0;
}

static rgt_status bind(rgt__tunedb *db, const rgt__tunedb_signature *sig, sqlite3_stmt **s, rgt__error *err) {
  rgt_status status = rgt__statement_get(db, RGT_SQL_NEAR, s, err);
  if (status) return status;
  rgt__binder b = {.s = *s};
  rgt__bind_text(&b, sig->op_class);
  rgt__bind_int(&b, sig->bucket);
  rgt__bind_text(&b, sig->form);
  rgt__bind_text(&b, sig->order);
  return rgt__bind_end(db, &b, err);
}

static rgt_status read_list(rgt__tunedb *db, const rgt__tunedb_signature *sig, list *l, rgt__error *err) {
  sqlite3_stmt *s = NULL;
  int has_row;
  rgt_status status = bind(db, sig, &s, err);
  while (!status) {
    status = rgt__statement_step(db, s, &has_row, err);
    if (status || !has_row) break;
    status = rgt__load_grow((void **)&l->items, l->n, &l->capacity, sizeof *l->items, err);
    if (status) break;
    rgt__reader r = {.s = s};
    rgt__tunedb_signature stored;
    rgt__shape *shape = &l->items[l->n++];
    rgt__load_signature_row(&r, NULL, &shape->scene.signature, &stored);
    shape->scene.text = rgt__load_copy(&l->texts, stored.text);
    shape->scene.skew = rgt__load_copy(&l->texts, stored.skew);
    shape->op_text = rgt__load_copy(&l->texts, stored.op_text);
    shape->align_bytes = stored.align_bytes;
    rgt__shapes_octaves(&stored, shape->octaves);
    status = rgt__read_end(db, &r, "signature", err);
  }
  if (s) sqlite3_reset(s);
  l->op_class = rgt__load_copy(&l->texts, sig->op_class);
  l->form = rgt__load_copy(&l->texts, sig->form);
  l->order = rgt__load_copy(&l->texts, sig->order);
  l->bucket = sig->bucket;
  return !status && l->texts.failed ? rgt__error_nomem(err, 0) : status;
}

rgt_status rgt__shapes_get(rgt__tunedb *db, const rgt__tunedb_signature *sig, const rgt__memo_stamp *stamp,
                           const rgt__shape **out, int *n, rgt__error *err) {
  if (!db->shapes && !(db->shapes = rgt__alloc_zero(1, sizeof *db->shapes))) return rgt__error_nomem(err, sizeof *db->shapes);
  list *l = NULL;
  for (int i = 0; i < LISTS && !l; i++)
    if (is_of(&db->shapes->lists[i], sig, stamp)) l = &db->shapes->lists[i];
  if (!l) {
    l = &db->shapes->lists[db->shapes->next++ % LISTS];
    clear(l);
    rgt_status status = read_list(db, sig, l, err);
    if (status) {
      clear(l);
      return status;
    }
    l->stamp = *stamp;
  }
  *out = l->items;
  *n = l->n;
  return RGT_OK;
}

void rgt__shapes_drop(rgt__tunedb *db) {
  if (!db->shapes) return;
  for (int i = 0; i < LISTS; i++) clear(&db->shapes->lists[i]);
  rgt__free(db->shapes);
  db->shapes = NULL;
}
