/* file.h -- whole files: read, write in one step, make folders, look for programs. */
#ifndef RGT_BASE_FILE_H
#define RGT_BASE_FILE_H

#include "runtime/base/buffer.h"
#include "runtime/base/error.h"

/* Temporary folders: "<TMPDIR>/ragtune-scratch-<pid>-XXXXXX", so that those of processes that ended can be told. */
#define RGT_SCRATCH_NAME "ragtune-scratch-"

/* rgt__file_read -- appends the whole file to b. RGT_EIO (also when over max_bytes or no regular file), RGT_ENOMEM. */
rgt_status rgt__file_read(const char *path, size_t max_bytes, rgt__buffer *b, rgt__error *err);
/* rgt__file_write -- temp file in the same folder, fsync, rename, fsync of the folder: readers see the old or the new whole.
 * mode e.g. 0600. */
rgt_status rgt__file_write(const char *path, const void *data, size_t n, unsigned mode, rgt__error *err);
/* rgt__file_make_folder -- with its parents, each 0700 where it is new. RGT_EIO. */
rgt_status rgt__file_make_folder(const char *path, rgt__error *err);
/* rgt__file_private -- RGT_OK if path (a folder) belongs to this user and nobody else can write it; else RGT_EIO, saying why.
 */
rgt_status rgt__file_private(const char *path, rgt__error *err);
/* rgt__file_remove_tree -- a folder with everything in it, following no link; best effort. For folders that we made ourselves.
 */
void rgt__file_remove_tree(const char *path);
/* rgt__file_find_program -- `name` itself if it holds a '/', else searched in search_path (PATH's form); the path in out. 1 if
 * found. */
int rgt__file_find_program(const char *name, const char *search_path, char *out, size_t out_size);
/* rgt__file_join -- "folder/name" into out. RGT_EINVAL when it does not fit. */
rgt_status rgt__file_join(char *out, size_t out_size, const char *folder, const char *name, rgt__error *err);
/* rgt__file_stamp -- size and mtime (ns). 1 if the file is there. */
int rgt__file_stamp(const char *path, int64_t *size, int64_t *mtime_ns);

#endif
