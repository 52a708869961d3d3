/* foreign.h -- a database file that somebody else wrote: opened so that nothing in it can do harm, and looked at whole. */
#ifndef RGT_TUNEDB_FOREIGN_H
#define RGT_TUNEDB_FOREIGN_H

#include "tunedb/handle.h"

#include <sys/stat.h>

typedef struct rgt__foreign {
  rgt__tunedb db;
  struct stat before; /* of the file, when it was opened */
  int is_live;        /* a journal lies beside it: read through SQLite's locks; else as a file that nobody changes */
  int64_t steps_left; /* of SQLite's machine: more than a file of its size can need means that it leads in circles */
} rgt__foreign;

/* rgt__foreign_open -- read-only, with nothing of its schema trusted. Refuses: what is no regular file; another program's
 * database; one that is cut short; a newer version; any table, index, view or trigger that is not word for word the one that
 * this program makes for the file's version. check: rgt__foreign_check too. RGT_EDB (path: what is wrong), RGT_EINVAL (path is
 * NULL or ""), RGT_ENOMEM; foreign is then closed. */
rgt_status rgt__foreign_open(rgt__foreign *foreign, const char *path, int check, rgt__error *err);
/* rgt__foreign_check -- SQLite's check over every page. RGT_EDB. */
rgt_status rgt__foreign_check(rgt__foreign *foreign, rgt__error *err);
/* rgt__foreign_unchanged -- RGT_EDB where the file was changed or replaced since `before` was taken. */
rgt_status rgt__foreign_unchanged(const rgt__foreign *foreign, const struct stat *before, rgt__error *err);
void rgt__foreign_close(rgt__foreign *foreign);

#endif
