/* cli_db.h -- what the verbs of `ragtune db` share: cli_db.c has the table of them, each cli_db_*.c one or two. */
#ifndef RGT_CLI_CLI_DB_H
#define RGT_CLI_CLI_DB_H

#include "json_out.h"
#include "session.h"
#include "table.h"

typedef struct rgt__db_work {
  const rgt__options *o; /* o->words[0] is the verb, its words follow */
  rgt__session session;
  json_t *object, *list; /* with --json */
  rgt__table table;
  int n;
  char path[4096]; /* the database that was asked for */
} rgt__db_work;

/* rgt__db_is_used -- RGT_EDB where the library works in memory because the file that was asked for cannot be used. */
rgt_status rgt__db_is_used(const rgt__db_work *w, rgt__message *m);
/* rgt__db_begin_rows -- rows, as an array of the object or as a table with one head for each column. */
void rgt__db_begin_rows(rgt__db_work *w, const char *name, const char *columns, const char *const heads[]);
rgt_status rgt__db_end_rows(rgt__db_work *w, const char *noun, const char *plural, rgt__message *m);

/* The verbs: called with the database open and, with --json, the object begun. */
rgt_status rgt__db_list(rgt__db_work *w, rgt__message *m);
rgt_status rgt__db_misses(rgt__db_work *w, rgt__message *m);
rgt_status rgt__db_check(rgt__db_work *w, rgt__message *m);
rgt_status rgt__db_rebuild(rgt__db_work *w, rgt__message *m);
rgt_status rgt__db_export(rgt__db_work *w, rgt__message *m);
rgt_status rgt__db_merge(rgt__db_work *w, rgt__message *m); /* import is a merge of one */
rgt_status rgt__db_gc(rgt__db_work *w, rgt__message *m);
rgt_status rgt__db_pin(rgt__db_work *w, rgt__message *m);
rgt_status rgt__db_ban(rgt__db_work *w, rgt__message *m);

#endif
