/* row_order.h -- a problem's rows in the order that the op has. */
#ifndef RGT_CLI_ROW_ORDER_H
#define RGT_CLI_ROW_ORDER_H

#include "data_files.h"

/* rgt__row_order_sort -- a case's rows put by group, those of a group as they were, masked ones last: x, index and y, and from,
 * which says where each row was. Nothing for RGT_ORDER_RAW. RGT_ENOMEM. */
rgt_status rgt__row_order_sort(rgt_order order, rgt__data *d, rgt__message *m);
/* rgt__row_order_offsets -- index, in order, becomes the groups + 1 offsets that say the same. RGT_ENOMEM. */
rgt_status rgt__row_order_offsets(rgt__data *d, rgt__message *m);
/* rgt__row_order_undo -- n rows of y to the places that rgt__row_order_sort took them from. RGT_ENOMEM. */
rgt_status rgt__row_order_undo(const rgt__data *d, void *y, size_t row_bytes, rgt__message *m);

/* rgt__row_order_check_index, rgt__row_order_check_offsets -- is what a file holds in order? RGT_EINVAL names the first entry
 * that is not. */
rgt_status rgt__row_order_check_index(const char *path, const rgt__npy *index, int64_t groups, rgt__message *m);
rgt_status rgt__row_order_check_offsets(const char *path, const rgt__npy *offsets, int64_t rows, rgt__message *m);

#endif
