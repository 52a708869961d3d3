/* path.h -- the database's file as the file system sees it. */
#ifndef RGT_TUNEDB_PATH_H
#define RGT_TUNEDB_PATH_H

#include "runtime/base/error.h"

/* rgt__path_look -- *exists: a regular file is there (through links) and so are no odd files under the names of its journals.
 * RGT_EDB for folders, FIFOs, devices, loops of links, folders that may not be searched. */
rgt_status rgt__path_look(const char *path, int *exists, rgt__error *err);
/* rgt__path_create -- an empty file of mode 0600, its folder 0700 where that is new. RGT_OK too if somebody else was faster. */
rgt_status rgt__path_create(const char *path, rgt__error *err);
/* rgt__path_holds_database -- the file is empty, or shows some sign of an SQLite database: its first bytes, our application id,
 * or the text of a schema in its first page. 0 for anything else, also when it cannot be read; damage to one sign leaves the
 * others. */
int rgt__path_holds_database(const char *path);
/* rgt__path_is_resting -- its journal mode is WAL, and there is no journal: nobody writes to it just now, and reading it the
 * usual way would make journals beside it. */
int rgt__path_is_resting(const char *path);
int rgt__path_has_wal(const char *path); /* there is one, or memory ran out while looking */
/* rgt__path_in_use -- *journal: the ending, "-wal" or "-journal", of one that holds something: the file alone is not the whole
 * database. NULL: there is none. RGT_ENOMEM. */
rgt_status rgt__path_in_use(const char *path, const char **journal, rgt__error *err);
/* rgt__path_writable -- file and folder: journals are made beside the file. 1, 0; -1 when out of memory. */
int rgt__path_writable(const char *path);
char *rgt__path_folder(const char *path); /* rgt__free; NULL when out of memory */
/* rgt__path_lock -- holds the folder against other processes that move files in it; rgt__path_unlock takes -1 (no lock to be
 * had). */
int rgt__path_lock(const char *path);
void rgt__path_unlock(int lock);
/* rgt__path_aside -- moves the file and its journals to "<path>.corrupt-<UTC time>"; the name in *aside (rgt__free). */
rgt_status rgt__path_aside(const char *path, char **aside, rgt__error *err);
void rgt__path_stamp(char text[32]);            /* "20240131T235959Z" */
int rgt__path_on_network(const char *path);     /* by statfs of the folder; -1 when out of memory */
int rgt__path_network_kind(unsigned long type); /* is this f_type a network's? */
/* rgt__path_uri -- "file:/absolute/path?immutable=1", escaped (rgt__free); NULL when out of memory or not there. */
char *rgt__path_uri(const char *path);

#endif
