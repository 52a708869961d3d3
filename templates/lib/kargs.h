/* kargs.h -- what every kernel of every device is given. Frozen: a change raises RGT_KARGS_VERSION, which is in the code key.
 * Used by the runtime and, as text, by every generated source; so no headers, and every field is 8 bytes wide.
 * Leading dimensions and group strides are in elements. Never 0 = packed here: the runtime fills them in. */
#ifndef RGT_KARGS_H
#define RGT_KARGS_H

#define RGT_KARGS_VERSION 1

typedef long long rgt_int64; /* 64 bits on every target that we compile for */

/* bits of flags */
#define RGT_KARGS_B1_POINTERS 1 /* b1 is an array of `groups` pointers */
#define RGT_KARGS_B2_POINTERS 2

typedef struct rgt_kargs {
  const void *x;          /* [rows, n_in] */
  const void *index;      /* [rows]; or the groups + 1 offsets */
  const void *w1;         /* stacked base, or array of `groups` pointers: the weight form is in the code key */
  const void *b1;         /* stacked base, or array of pointers (flags); NULL: no bias */
  const void *w2;
  const void *b2;
  void *y;                /* [rows, n_out] */
  const void *w3;         /* reserved: gated MLP */
  const void *row_scale;  /* reserved: router weights */
  rgt_int64 ld_x, ld_w1, ld_w2, ld_w3, ld_y;
  rgt_int64 stride_w1, stride_b1, stride_w2, stride_b2, stride_w3; /* between groups */
  rgt_int64 rows, groups;
  rgt_int64 x_div;        /* row r reads x[r / x_div] */
  rgt_int64 y_mode;       /* 0 set, 1 add */
  rgt_int64 order;        /* 0 raw, 1 sorted, 2 offsets */
  rgt_int64 flags;
  rgt_int64 *n_index_errors;    /* counts rows whose index lies outside [-1, groups): added to atomically */
  rgt_int64 *first_index_error; /* smallest such row: atomic minimum; the runtime sets it to the largest value first */
} rgt_kargs;

#endif
