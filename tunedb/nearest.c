/* nearest.c -- the winner of the closest shape, and the buckets that are stored for one.
 *
 * Signatures of one class, bucket, form, order and a fitting alignment come through an index; distances are computed here, and
 * the closest one that has an admitted winner is taken. Distances are rounded to millionths of an octave, so that two ways of
 * adding up the same sum cannot order two shapes differently.
 */
#include "tunedb/find.h"

#include "runtime/base/alloc.h"
#include "tunedb/keys.h"
#include "tunedb/memo.h"
#include "tunedb/shapes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct near_shape {
  rgt__find_scene scene;
  int64_t distance;
  int other_skew;      /* than the one that is asked for */
  const char *op_text; /* where any skew will do: shapes that differ in it alone are looked at together; else "" and 0 */
  int align_bytes;
} near_shape;

/* In millionths of an octave. */
static int64_t distance_of(const double a[4], const double b[4]) {
  double sum = fabs(a[0] - b[0]) + fabs(a[1] - b[1]) + fabs(a[2] - b[2]) + fabs(a[3] - b[3]);
  return llround(sum * 1e6);
}

static int compare_shapes(const void *pa, const void *pb) {
  const near_shape *a = pa, *b = pb;
  if (a->distance != b->distance) return a->distance < b->distance ? -1 : 1;
  if (a->other_skew != b->other_skew) return a->other_skew - b->other_skew;
  int c = strcmp(a->op_text, b->op_text);
  if (c == 0) c = (a->align_bytes < b->align_bytes) - (a->align_bytes > b->align_bytes); /* the better fit */
  return c ? c : strcmp(a->scene.text, b->scene.text);
}

/* Of one shape, the scenes of all its skews; at most max of them. */
static int gather_skews(const near_shape *shapes, int n, rgt__find_scene *scenes, int max) {
  int count = 0;
  while (count < n && count < max && shapes[count].align_bytes == shapes[0].align_bytes &&
         strcmp(shapes[count].op_text, shapes[0].op_text) == 0) {
    scenes[count] = shapes[count].scene;
    count++;
  }
  return count;
}

/* The stored shapes whose alignment sig's calls have too, the nearest first; *items is the caller's to free. */
static rgt_status order_shapes(rgt__tunedb *db, const rgt__tunedb_signature *sig, const rgt__memo_stamp *stamp,
                               near_shape **items, int *n, rgt__error *err) {
  const rgt__shape *stored = NULL;
  int n_stored = 0, any_skew = rgt__find_any_skew(sig);
  double octaves[4];
  rgt_status status = rgt__shapes_get(db, sig, stamp, &stored, &n_stored, err);
  if (status || n_stored == 0) return status;
  *items = rgt__alloc((size_t)n_stored * sizeof **items);
  if (!*items) return rgt__error_nomem(err, (size_t)n_stored * sizeof **items);
  rgt__shapes_octaves(sig, octaves);
  for (int i = 0; i < n_stored; i++) {
    const rgt__shape *from = &stored[i];
    if (from->align_bytes > sig->align_bytes) continue;
    (*items)[(*n)++] = (near_shape){.scene = from->scene,
                                    .distance = distance_of(octaves, from->octaves),
                                    .other_skew = !any_skew && strcmp(from->scene.skew, sig->skew) != 0,
                                    .op_text = any_skew ? from->op_text : "",
                                    .align_bytes = any_skew ? from->align_bytes : 0};
  }
  qsort(*items, (size_t)*n, sizeof **items, compare_shapes);
  return RGT_OK;
}

static rgt_status nearest_once(rgt__tunedb *db, const rgt__tunedb_signature *sig, const rgt__tunedb_place *place,
                               const rgt__tunedb_limits *limits, rgt__tunedb_winner *out, rgt__error *err) {
  near_shape *items = NULL;
  int n_items = 0;
  rgt__memo_stamp stamp;
  rgt__find_scene scenes[RGT_FIND_SKEWS_MAX];
  *out = (rgt__tunedb_winner){0};
  rgt__digest place_key;
  rgt__keys_place(place, RGT_CLOCK_MEASURED, &place_key);
  rgt__memo_look(db, &stamp);
  rgt_status status = rgt__statement_begin(db, RGT_SQL_BEGIN, err);
  if (status) return status;
  status = order_shapes(db, sig, &stamp, &items, &n_items, err);
  if (!status) {
    status = RGT_EMISS;
    for (int i = 0, n; i < n_items && status == RGT_EMISS; i += n) {
      n = rgt__find_any_skew(sig) ? gather_skews(items + i, n_items - i, scenes, RGT_FIND_SKEWS_MAX) : 1;
      if (n == 1) scenes[0] = items[i].scene;
      status = rgt__find_best(db, scenes, n, &place_key, limits, out, err);
      out->distance = (double)items[i].distance / 1e6;
    }
  }
  status = rgt__statement_end(db, status, err);
  rgt__free(items);
  return status;
}

rgt_status rgt__tunedb_nearest(rgt__tunedb *db, const rgt__tunedb_signature *sig, const rgt__tunedb_place *place,
                               const rgt__tunedb_limits *limits, rgt__tunedb_winner *out, rgt__error *err) {
  rgt_status status = rgt__find_accept(db, sig, place, err);
  if (!status && !out) status = rgt__error_set(err, RGT_EINVAL, "tuned database: nowhere to put the winner");
  if (status) return status;
  rgt__tunedb_winner found;
  status = nearest_once(db, sig, place, limits, &found, err);
  for (int tries = 0; status && rgt__open_again(db, tries, err); tries++)
    status = nearest_once(db, sig, place, limits, &found, err);
  if (status == RGT_EMISS)
    return rgt__error_set(err, RGT_EMISS, "%s: nothing that the limits admit is stored near %s on %s, %s", db->path, sig->text,
                          place->device_class, place->policy);
  if (status) return status;
  snprintf(found.device_class, sizeof found.device_class, "%s", place->device_class);
  snprintf(found.policy, sizeof found.policy, "%s", place->policy);
  *out = found;
  return RGT_OK;
}

static rgt_status buckets_once(rgt__tunedb *db, const rgt__tunedb_signature *sig, const rgt__tunedb_place *place,
                               int64_t *buckets, int max, int *n, rgt__error *err) {
  sqlite3_stmt *s = NULL;
  rgt__digest place_key;
  int has_row, count = 0;
  rgt__keys_place(place, RGT_CLOCK_MEASURED, &place_key);
  rgt_status status = rgt__statement_get(db, RGT_SQL_BUCKETS, &s, err);
  if (status) return status;
  rgt__binder b = {.s = s};
  rgt__bind_text(&b, sig->op_text);
  rgt__bind_text(&b, sig->form);
  rgt__bind_text(&b, sig->order);
  rgt__bind_int(&b, sig->align_bytes);
  rgt__bind_text(&b, sig->skew);
  rgt__bind_digest(&b, &place_key);
  status = rgt__bind_end(db, &b, err);
  while (!status && count < max) {
    status = rgt__statement_step(db, s, &has_row, err);
    if (status || !has_row) break;
    rgt__reader r = {.s = s};
    buckets[count] = rgt__read_int(&r);
    status = rgt__read_end(db, &r, "signature", err);
    count++;
  }
  sqlite3_reset(s);
  if (!status) *n = count;
  return status;
}

rgt_status rgt__tunedb_buckets(rgt__tunedb *db, const rgt__tunedb_signature *sig, const rgt__tunedb_place *place,
                               int64_t *buckets, int max, int *n, rgt__error *err) {
  rgt_status status = rgt__find_accept(db, sig, place, err);
  if (!status && (!n || max < 0 || (max > 0 && !buckets)))
    status = rgt__error_set(err, RGT_EINVAL, "tuned database: room for %d buckets at %s, count at %s", max,
                            buckets ? "an address" : "NULL", n ? "an address" : "NULL");
  if (status) return status;
  status = buckets_once(db, sig, place, buckets, max, n, err);
  for (int tries = 0; status && rgt__open_again(db, tries, err); tries++)
    status = buckets_once(db, sig, place, buckets, max, n, err);
  return status;
}

static rgt_status policies_once(rgt__tunedb *db, const rgt__tunedb_signature *sig, const rgt__tunedb_place *place,
                                rgt__tunedb_policy *policies, int max, int *n, rgt__error *err) {
  sqlite3_stmt *s;
  int has_row, count = 0;
  rgt_status status = rgt__statement_get(db, RGT_SQL_POLICIES, &s, err);
  if (status) return status;
  status = rgt__bind_shape(db, s, sig, place, err);
  while (!status && count < max) {
    status = rgt__statement_step(db, s, &has_row, err);
    if (status || !has_row) break;
    rgt__reader r = {.s = s};
    snprintf(policies[count], sizeof policies[count], "%s", rgt__read_text(&r));
    status = rgt__read_end(db, &r, "place", err);
    count++;
  }
  sqlite3_reset(s);
  if (!status) *n = count;
  return status;
}

rgt_status rgt__tunedb_policies(rgt__tunedb *db, const rgt__tunedb_signature *sig, const rgt__tunedb_place *place,
                                rgt__tunedb_policy *policies, int max, int *n, rgt__error *err) {
  rgt_status status = rgt__find_accept(db, sig, place, err);
  if (!status && (!n || max < 0 || (max > 0 && !policies)))
    status = rgt__error_set(err, RGT_EINVAL, "tuned database: room for %d policies at %s, count at %s", max,
                            policies ? "an address" : "NULL", n ? "an address" : "NULL");
  if (status) return status;
  status = policies_once(db, sig, place, policies, max, n, err);
  for (int tries = 0; status && rgt__open_again(db, tries, err); tries++)
    status = policies_once(db, sig, place, policies, max, n, err);
  return status;
}
