/* problem_text.h -- the first line of a case's problem.txt. */
#ifndef RGT_CLI_PROBLEM_TEXT_H
#define RGT_CLI_PROBLEM_TEXT_H

#include "message.h"

typedef struct rgt__problem_text {
  rgt_op_desc desc; /* f32; bias: all the op can have, or none */
  int64_t rows;
  int exact; /* y is exact, not rounded */
} rgt__problem_text;

/* rgt__problem_text_parse -- "in=10 hidden=20 out=5 groups=3 rows=8 act=relu bias=1 layout=nk index=int64 exact=1": each word
 * once, in any order; the rest of the text is a remark. name is what messages call it. RGT_EINVAL. */
rgt_status rgt__problem_text_parse(const char *text, const char *name, rgt__problem_text *p, rgt__message *m);
/* rgt__problem_text_read -- from a file. RGT_EIO too. */
rgt_status rgt__problem_text_read(const char *path, rgt__problem_text *p, rgt__message *m);

#endif
