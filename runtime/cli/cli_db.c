/* cli_db.c -- ragtune db: the table of its verbs, and what is common to them. */
#include "cli_db.h"
#include "cli.h"
#include "nearest.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

typedef struct db_verb {
  const char *name;
  const char *words; /* what follows it, for messages; NULL: nothing */
  int least, most;   /* how many words follow */
  int makes;         /* --db may name a file that is not there yet */
  rgt_status (*run)(rgt__db_work *w, rgt__message *m);
  int takes; /* what of the options beside --db, --json and --help */
} db_verb;

enum { TAKES_NOTHING, TAKES_VARIANT, TAKES_OP };

static const db_verb verbs[] = {
    {"list", NULL, 0, 0, 0, rgt__db_list, TAKES_NOTHING},
    {"misses", NULL, 0, 0, 0, rgt__db_misses, TAKES_NOTHING},
    {"check", NULL, 0, 0, 0, rgt__db_check, TAKES_NOTHING},
    {"rebuild", NULL, 0, 0, 0, rgt__db_rebuild, TAKES_NOTHING},
    {"export", "one file", 1, 1, 0, rgt__db_export, TAKES_NOTHING},
    {"import", "one file", 1, 1, 1, rgt__db_merge, TAKES_NOTHING},
    {"merge", "one or more files", 1, INT32_MAX, 1, rgt__db_merge, TAKES_NOTHING},
    {"gc", NULL, 0, 0, 0, rgt__db_gc, TAKES_NOTHING},
    {"pin", NULL, 0, 0, 1, rgt__db_pin, TAKES_OP},
    {"ban", NULL, 0, 0, 1, rgt__db_ban, TAKES_VARIANT},
};
enum { N_VERBS = sizeof verbs / sizeof *verbs };

/* The library goes on in memory where a file cannot be used, after a warning; here the file is what was asked for. */
rgt_status rgt__db_is_used(const rgt__db_work *w, rgt__message *m) {
  if (strcmp(rgt_db_path(w->session.ctx), w->path) == 0) return RGT_OK;
  return rgt__message_set(m, RGT_EDB, "%s could not be used", w->path);
}

void rgt__db_begin_rows(rgt__db_work *w, const char *name, const char *columns, const char *const heads[]) {
  if (w->object) {
    w->list = rgt__json_array(w->object, name);
    return;
  }
  rgt__table_open(&w->table, columns);
  for (size_t i = 0; i < strlen(columns); i++) rgt__table_cell(&w->table, "%s", heads[i]);
}

rgt_status rgt__db_end_rows(rgt__db_work *w, const char *noun, const char *plural, rgt__message *m) {
  rgt_status s = rgt__db_is_used(w, m);
  if (s != RGT_OK || w->object) return s;
  if (w->n && rgt__table_print(&w->table, stdout) != RGT_OK)
    return rgt__message_set(m, RGT_ENOMEM, "out of memory while printing");
  printf("%d %s%s in %s\n", w->n, noun, w->n == 1 ? "" : plural, rgt_db_path(w->session.ctx));
  return RGT_OK;
}

/* "list, misses, check or rebuild" */
static void name_verbs(char *text, size_t size) {
  size_t n = 0;
  text[0] = 0;
  for (int i = 0; i < N_VERBS && n < size; i++)
    n += (size_t)snprintf(text + n, size - n, "%s%s", i == 0 ? "" : i + 1 < N_VERBS ? ", " : " or ", verbs[i].name);
}

static rgt_status check_words(const rgt__options *o, const db_verb *v, rgt__message *m) {
  int n = o->n_words - 1;
  if (!v->words && n > 0) return rgt__message_set(m, RGT_EINVAL, "db %s takes no words, '%s' is given", v->name, o->words[1]);
  if (n < v->least) return rgt__message_set(m, RGT_EINVAL, "db %s needs %s", v->name, v->words);
  if (n > v->most)
    return rgt__message_set(m, RGT_EINVAL, "db %s takes %s, '%s' is given too", v->name, v->words, o->words[1 + v->most]);
  return RGT_OK;
}

/* Options that the verb does not look at are refused, not ignored. */
static rgt_status check_options(const rgt__options *o, const db_verb *v, rgt__message *m) {
  const struct {
    const char *name;
    int given, takes;
  } options[] = {
      {"--variant", o->variant != NULL, TAKES_VARIANT},
      {"--reason", o->reason != NULL, TAKES_VARIANT},
      {"--list", o->list, TAKES_VARIANT},
      {"--remove", o->remove, TAKES_VARIANT},
      {"--device", o->device != NULL, TAKES_VARIANT},
      {"--op", o->op != NULL, TAKES_OP},
      {"--in", o->n_in >= 0, TAKES_OP},
      {"--hidden", o->n_hidden >= 0, TAKES_OP},
      {"--out", o->n_out >= 0, TAKES_OP},
      {"--groups", o->groups >= 0, TAKES_OP},
      {"--dtype", o->dtype >= 0, TAKES_OP},
      {"--act", o->act >= 0, TAKES_OP},
      {"--bias", o->bias >= 0, TAKES_OP},
      {"--layout", o->layout >= 0, TAKES_OP},
      {"--index-type", o->index_type >= 0, TAKES_OP},
      {"--rows", o->rows >= 0, TAKES_OP},
      {"--skew", o->skew >= 0, TAKES_OP},
      {"--weights", o->weights >= 0, TAKES_OP},
      {"--align", o->align >= 0, TAKES_OP},
      {"--order", o->order >= 0, TAKES_OP},
      {"--max-error", o->max_error >= 0, TAKES_OP},
      {"--batch-invariant", o->batch_invariant, TAKES_OP},
  };
  for (size_t i = 0; i < sizeof options / sizeof *options; i++)
    if (options[i].given && options[i].takes > v->takes)
      return rgt__message_set(m, RGT_EINVAL, "db %s takes no %s", v->name, options[i].name);
  return RGT_OK;
}

static rgt_status find_verb(const rgt__options *o, const db_verb **which, rgt__message *m) {
  const char *near = NULL;
  char names[256];
  int best = INT32_MAX;
  rgt_status s;
  name_verbs(names, sizeof names);
  if (!o->n_words) return rgt__message_set(m, RGT_EINVAL, "db needs an action: %s", names);
  for (int i = 0; i < N_VERBS; i++) {
    if (strcmp(o->words[0], verbs[i].name) == 0) {
      *which = &verbs[i];
      if (o->dry_run && verbs[i].run != rgt__db_gc)
        return rgt__message_set(m, RGT_EINVAL, "--dry-run goes with db gc alone, not with db %s", verbs[i].name);
      s = check_words(o, &verbs[i], m);
      return s == RGT_OK ? check_options(o, &verbs[i], m) : s;
    }
    rgt__nearest_try(o->words[0], strlen(o->words[0]), verbs[i].name, &best, &near);
  }
  if (near) return rgt__message_set(m, RGT_EINVAL, "unknown action 'db %s'; did you mean %s?", o->words[0], near);
  return rgt__message_set(m, RGT_EINVAL, "unknown action 'db %s'; want %s", o->words[0], names);
}

static rgt_status run(rgt__db_work *w, rgt__message *m) {
  const db_verb *verb = NULL;
  rgt_status s = find_verb(w->o, &verb, m);
  /* a database needs no other device; a pin or a ban is for one */
  if (s == RGT_OK) s = rgt__session_open(&w->session, w->o, verb->takes == TAKES_NOTHING ? "cpu" : NULL, NULL, m);
  if (s != RGT_OK) return s;
  snprintf(w->path, sizeof w->path, "%s", rgt_db_path(w->session.ctx));
  if (w->o->db && !verb->makes && strcmp(w->o->db, ":memory:") != 0 && access(w->o->db, F_OK) != 0)
    return rgt__message_set(m, RGT_EIO, "--db %s: %s", w->o->db, strerror(errno));
  if (w->o->json) {
    w->object = rgt__json_object("db");
    rgt__json_text(w->object, "action", verb->name);
    rgt__json_text(w->object, "database", rgt_db_path(w->session.ctx));
  }
  s = verb->run(w, m);
  if (s == RGT_OK && w->object) {
    s = rgt__json_print(w->object, m);
    w->object = NULL;
  }
  return s;
}

int rgt__cli_db(const rgt__options *o) {
  rgt__db_work w;
  rgt__message m;
  rgt_status s;
  memset(&w, 0, sizeof w);
  w.o = o;
  s = run(&w, &m);
  json_decref(w.object);
  rgt__table_free(&w.table);
  rgt__session_close(&w.session);
  return s == RGT_OK ? RGT_EXIT_DONE : rgt__message_print(&m);
}
