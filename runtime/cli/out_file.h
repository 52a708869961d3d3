/* out_file.h -- a file that is there whole or not at all. */
#ifndef RGT_CLI_OUT_FILE_H
#define RGT_CLI_OUT_FILE_H

#include "message.h"

typedef struct rgt__out_part {
  const void *data;
  size_t bytes;
} rgt__out_part;

/* rgt__out_file_write -- the parts one after the other into path, by a temporary file in the same folder, fsync and rename; a
 * link is followed. RGT_EIO: path is no regular file, or why it could not be written; nothing is left behind then. */
rgt_status rgt__out_file_write(const char *path, const rgt__out_part *parts, int n_parts, rgt__message *m);

#endif
