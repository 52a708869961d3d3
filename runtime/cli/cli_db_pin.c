/* cli_db_pin.c -- ragtune db pin, ban: this variant for that call, or never this variant, whatever was measured. */
#include "cli_db.h"
#include "op_args.h"

#include <inttypes.h>

/* ---- lists ---- */

static int on_wish(void *user, const rgt_db_wish *w) {
  rgt__db_work *work = user;
  int is_pin = w->signature[0] != 0;
  work->n++;
  if (work->list) {
    json_t *o = json_object();
    if (is_pin) rgt__json_text(o, "signature", w->signature);
    rgt__json_text(o, "variant", w->variant);
    rgt__json_text(o, "device_class", w->device_class);
    rgt__json_text(o, "reason", w->reason[0] ? w->reason : NULL);
    rgt__json_int(o, "made_utc_s", w->made_utc_s);
    rgt__json_append(work->list, o);
    return 0;
  }
  if (is_pin) rgt__table_cell(&work->table, "%s", w->signature);
  rgt__table_cell(&work->table, "%s", w->variant);
  rgt__table_cell(&work->table, "%s", w->reason);
  rgt__table_cell(&work->table, "%s", w->device_class);
  return 0;
}

static rgt_status list(rgt__db_work *w, int pins, rgt__message *m) {
  static const char *const pin_heads[] = {"signature", "variant", "reason", "device class"};
  rgt__db_begin_rows(w, pins ? "pins" : "bans", pins ? "llll" : "lll", pins ? pin_heads : pin_heads + 1);
  rgt_status s = pins ? rgt_db_pins(w->session.ctx, on_wish, w) : rgt_db_bans(w->session.ctx, on_wish, w);
  if (s != RGT_OK) return rgt__message_from(m, s, w->session.ctx);
  return rgt__db_end_rows(w, pins ? "pin" : "ban", "s", m);
}

/* ---- what the words may go with ---- */

static rgt_status check_list(const rgt__options *o, const char *verb, rgt__message *m) {
  if (!o->list) return RGT_OK;
  if (o->remove || o->variant || o->reason)
    return rgt__message_set(m, RGT_EINVAL, "db %s: --list stands alone, %s is given too", verb,
                            o->remove    ? "--remove"
                            : o->variant ? "--variant"
                                         : "--reason");
  return RGT_OK;
}

static rgt_status check_variant(const rgt__options *o, const char *verb, int needed, rgt__message *m) {
  if (needed && !o->variant)
    return rgt__message_set(m, RGT_EINVAL, "db %s needs --variant TEXT (family:param=value,...), or --list", verb);
  if (o->remove && o->reason) return rgt__message_set(m, RGT_EINVAL, "db %s: --remove takes no --reason", verb);
  return RGT_OK;
}

static void done(rgt__db_work *w, const char *what) {
  if (w->object) {
    rgt__json_bool(w->object, what, 1);
    if (w->o->variant) rgt__json_text(w->object, "variant", w->o->variant);
    if (w->session.op) rgt__json_text(w->object, "op", w->session.text);
    if (w->session.op) rgt__json_int(w->object, "rows", w->o->rows);
  } else if (w->session.op) {
    printf("%s for calls of %" PRId64 " rows of %s: %s; in %s\n", what, w->o->rows, w->session.text,
           w->o->variant ? w->o->variant : "what was measured answers", rgt_db_path(w->session.ctx));
  } else {
    printf("%s: %s; in %s\n", what, w->o->variant, rgt_db_path(w->session.ctx));
  }
}

/* ---- the verbs ---- */

rgt_status rgt__db_pin(rgt__db_work *w, rgt__message *m) {
  const rgt__options *o = w->o;
  rgt_status s = check_list(o, "pin", m);
  if (s == RGT_OK && o->list) return list(w, 1, m);
  if (s == RGT_OK) s = check_variant(o, "pin", !o->remove, m);
  if (s == RGT_OK && o->remove && o->variant)
    s = rgt__message_set(m, RGT_EINVAL, "db pin --remove takes the op and --rows, no --variant: one variant is pinned there");
  if (s == RGT_OK && o->rows < 0)
    s = rgt__message_set(m, RGT_EINVAL, "db pin needs --rows N: a variant is pinned for calls of so many rows");
  if (s == RGT_OK) s = rgt__op_args_make(o, w->session.ctx, &w->session.desc, &w->session.out_from_in, m);
  if (s == RGT_OK) s = rgt__session_op(&w->session, o, m);
  if (s != RGT_OK) return s;
  s = o->remove ? rgt_db_unpin(w->session.op, o->rows) : rgt_db_pin(w->session.op, o->rows, o->variant, o->reason);
  if (s != RGT_OK) return rgt__message_from(m, s, w->session.ctx);
  if ((s = rgt__db_is_used(w, m)) == RGT_OK) done(w, o->remove ? "unpinned" : "pinned");
  return s;
}

rgt_status rgt__db_ban(rgt__db_work *w, rgt__message *m) {
  const rgt__options *o = w->o;
  rgt_status s = check_list(o, "ban", m);
  if (s == RGT_OK && o->list) return list(w, 0, m);
  if (s == RGT_OK) s = check_variant(o, "ban", 1, m);
  if (s != RGT_OK) return s;
  s = o->remove ? rgt_db_unban(w->session.ctx, o->variant) : rgt_db_ban(w->session.ctx, o->variant, o->reason);
  if (s != RGT_OK) return rgt__message_from(m, s, w->session.ctx);
  if ((s = rgt__db_is_used(w, m)) == RGT_OK) done(w, o->remove ? "allowed again" : "banned");
  return s;
}
