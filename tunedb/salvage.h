/* salvage.h -- a damaged file goes aside, and what can be read of it into a new one. */
#ifndef RGT_TUNEDB_SALVAGE_H
#define RGT_TUNEDB_SALVAGE_H

#include "tunedb/handle.h"

/* rgt__salvage -- db is closed, its file damaged, the folder locked (rgt__path_lock): leaves db open on a good file, with a
 * notice; or RGT_EDB, db closed. */
rgt_status rgt__salvage(rgt__tunedb *db, rgt__error *err);

#endif
