/* message.h -- one line about what went wrong, and the exit status that goes with it. */
#ifndef RGT_CLI_MESSAGE_H
#define RGT_CLI_MESSAGE_H

#include "ragtune.h"

/* exit statuses of the program */
enum { RGT_EXIT_DONE = 0, RGT_EXIT_NO = 1, RGT_EXIT_USAGE = 2, RGT_EXIT_SURROUNDINGS = 3 };

typedef struct rgt__message {
  rgt_status status;
  char text[1024];
} rgt__message;

/* rgt__message_set -- keeps status and text (line breaks become blanks); returns status, so that callers can return it. */
rgt_status rgt__message_set(rgt__message *m, rgt_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* rgt__message_from -- the library's own text about its last failure on ctx; returns status. */
rgt_status rgt__message_from(rgt__message *m, rgt_status status, const rgt_ctx *ctx);
/* rgt__message_exit -- the exit status that stands for a status. */
int rgt__message_exit(rgt_status status);
/* rgt__message_print -- "ragtune: text" on stderr; returns the exit status. */
int rgt__message_print(const rgt__message *m);
/* rgt__message_note -- a remark on stderr that is no failure. */
void rgt__message_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* rgt__message_log -- rgt_options.log: warnings of the library on stderr. user: an int that counts them, or NULL. */
void rgt__message_log(void *user, rgt_log_level level, const char *line);

#endif
