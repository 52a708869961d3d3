/* connect.h -- from a path to a connection whose file is known to be ours. */
#ifndef RGT_TUNEDB_CONNECT_H
#define RGT_TUNEDB_CONNECT_H

#include "tunedb/handle.h"

/* rgt__connect_file -- opens db->path in db, making, migrating or repairing the file as tunedb.h says; sets read_only and
 * notice. */
rgt_status rgt__connect_file(rgt__tunedb *db, rgt__error *err);
rgt_status rgt__connect_memory(rgt__tunedb *db, rgt__error *err);
/* rgt__connect_raw -- a connection with our settings, its content unseen. */
rgt_status rgt__connect_raw(rgt__tunedb *db, const char *name, int sqlite_flags, rgt__error *err);
/* rgt__connect_attach -- opens the file that is there; db->damaged says whether repair would help. */
rgt_status rgt__connect_attach(rgt__tunedb *db, int writable, rgt__error *err);
void rgt__connect_close(rgt__tunedb *db);
void rgt__connect_notice(rgt__tunedb *db, const char *format, ...)
    __attribute__((format(printf, 2, 3))); /* adds to the notice */

#endif
