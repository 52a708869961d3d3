/* verify_data.h -- a problem in device memory, poisoned and fenced, and calls on some of its rows. */
#ifndef RGT_RUNTIME_VERIFY_DATA_H
#define RGT_RUNTIME_VERIFY_DATA_H

#include "runtime/verify.h"

enum { RGT_VERIFY_W1, RGT_VERIFY_B1, RGT_VERIFY_W2, RGT_VERIFY_B2, RGT_VERIFY_PTRS, RGT_VERIFY_BUFFERS = RGT_VERIFY_PTRS + 4 };
enum { RGT_VERIFY_X = RGT_VERIFY_BUFFERS, RGT_VERIFY_Y }; /* of a call: in rgt__verify_layout.wide */

/* How the arrays lie.
 *   padded  leading dimensions and strides larger than they need be, NaN in every gap, fences on both sides
 *   tight   as small as align_bytes allows, each input, and a y that is added to, ending where its allocation ends, so that a
 *           device with an unreadable page or a bound behind it sees a read too far
 * Bases are multiples of align_bytes and of no larger power of two than 32. */
typedef struct rgt__verify_layout {
  int padded;
  int bias_pointers; /* biases by pointer (either weight form); unused groups NULL */
  int align_bytes;
  int fill;      /* 0 or 1: which NaN y holds before the call */
  unsigned wide; /* arrays (bits RGT_VERIFY_W1 .. B2, X, Y) whose base, ld and strides are multiples of 16 bytes all the same */
} rgt__verify_layout;

typedef struct rgt__verify_buffer {
  const char *name;
  void *device;              /* allocation */
  size_t bytes, front, body; /* front fence, then the array; what follows is the fence behind */
  unsigned char fence;       /* the byte of fences and gaps */
  unsigned char *image;      /* what was written; NULL: too big to keep, only the fences are compared */
} rgt__verify_buffer;

typedef struct rgt__verify_data { /* the weights; x, index and y belong to each call */
  rgt__device *device;
  const rgt__problem *problem; /* borrowed */
  rgt__verify_layout layout;
  rgt__verify_buffer buffers[RGT_VERIFY_BUFFERS];
  rgt_kargs kargs; /* weights filled in */
} rgt__verify_data;

typedef struct rgt__verify_call {
  int64_t rows;
  const int64_t *from;    /* the problem's row of each row; -1: a masked one that the problem lacks. NULL: all rows in order */
  const int64_t *index;   /* NULL: the problem's; else each row's, of the op's index type */
  int64_t nan_row;        /* row whose x gets a NaN; -1: none */
  int64_t groups;         /* 0: the problem's */
  int shares_x;           /* x_div is the problem's, else 1; from and index are NULL then */
  int adds;               /* y_mode is add: rows with a group hold rgt__verify_data_old before */
  const int64_t *offsets; /* NULL, or offsets that may hold anything: y is not looked at then */
  int nulls;              /* rows is 0 and every pointer NULL */
} rgt__verify_call;

typedef struct rgt__verify_output {
  unsigned char *y;              /* [rows, n_out] packed; owned by the caller, who allocates it */
  int64_t n_errors, first_error; /* as the kernel counted them: from 0, from INT64_MAX */
  int damaged;                   /* a byte outside y's elements was written */
  int64_t row, column;           /* where, if it lies in a gap of y; else -1 */
  char what[128];
} rgt__verify_output;

rgt_status rgt__verify_data_open(rgt__device *device, const rgt__problem *p, const rgt__verify_layout *layout,
                                 rgt__verify_data *out, rgt__error *err);
void rgt__verify_data_close(rgt__verify_data *d);
/* rgt__verify_data_run -- one call. RGT_OK: output says what came out. Else the call could not be made. */
rgt_status rgt__verify_data_run(rgt__verify_data *d, const rgt__callable *c, const rgt__verify_call *call,
                                rgt__verify_output *out, rgt__error *err);
/* rgt__verify_data_group -- the index of a row of a call; any value where it is out of range. */
int64_t rgt__verify_data_group(const rgt__problem *p, const rgt__verify_call *call, int64_t row);
int rgt__verify_data_is_live(const rgt__problem *p, const rgt__verify_call *call, int64_t row); /* has it a group? */
uint32_t rgt__verify_data_fill(rgt_dtype dtype, int fill); /* the bits that y's elements hold before a call */
/* rgt__verify_data_old -- what is added to: multiples of 1/4 below 4, never 0, so that a sum that was exact stays exact. */
double rgt__verify_data_old(int64_t row, int64_t column);

#endif
