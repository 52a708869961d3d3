/* data_files.h -- a problem's arrays from .npy files, checked against its op. */
#ifndef RGT_CLI_DATA_FILES_H
#define RGT_CLI_DATA_FILES_H

#include "npy.h"
#include "options.h"

typedef struct rgt__data {
  rgt_op_desc desc;
  int64_t rows;
  rgt__npy x, index, w1, b1, w2, b2; /* in the op's storage type */
  rgt__npy y;                        /* float64, of a case; data NULL where there is none */
  int exact;                         /* of a case */
  int64_t *from;                     /* of a case whose rows were put in order: the file's row of each; else NULL. Owned */
} rgt__data;

/* rgt__data_files_case -- the folder o->case_dir, its rows put in o->order. The op is the folder's own; --dtype rounds its
 * inputs; an op that the options spell out (desc, else NULL) must agree with it. with_y: y.npy is read too where it is there.
 * RGT_EIO (a file is missing), RGT_EINVAL (a shape or type is wrong), RGT_EINDEX (index out of range), RGT_ENOMEM. */
rgt_status rgt__data_files_case(const rgt__options *o, const rgt_op_desc *desc, int with_y, rgt__data *d, rgt__message *m);
/* rgt__data_files_single -- --x, --index (offsets where o->order says so), --w1 and so on, for the op desc. The same returns.
 */
rgt_status rgt__data_files_single(const rgt__options *o, const rgt_op_desc *desc, rgt__data *d, rgt__message *m);
/* rgt__data_files_index -- one index file for the op desc. The same returns. */
rgt_status rgt__data_files_index(const char *path, const rgt_op_desc *desc, rgt__npy *index, rgt__message *m);
void rgt__data_files_free(rgt__data *d);

#endif
