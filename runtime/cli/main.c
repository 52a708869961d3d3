/* main.c -- the program `ragtune`: parses the command line and runs one verb. */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int (*const verbs[RGT_N_VERBS])(const rgt__options *) = {
    [RGT_VERB_TUNE] = rgt__cli_tune,       [RGT_VERB_RUN] = rgt__cli_run,   [RGT_VERB_VERIFY] = rgt__cli_verify,
    [RGT_VERB_COMPILE] = rgt__cli_compile, [RGT_VERB_SHOW] = rgt__cli_show, [RGT_VERB_WHY] = rgt__cli_why,
    [RGT_VERB_DB] = rgt__cli_db,           [RGT_VERB_ENV] = rgt__cli_env,
};

/* Results that did not reach their reader are a failure, whatever the verb said. */
static int finish(int status) {
  rgt__message m;
  int why;
  errno = 0;
  if (fflush(stdout) == 0 && !ferror(stdout)) return status;
  why = errno;
  rgt__message_set(&m, RGT_EIO, "standard output could not be written: %s", strerror(why ? why : EIO));
  return rgt__message_print(&m);
}

int main(int argc, char **argv) {
  rgt__options options;
  rgt__message m;
  const char **words = calloc((size_t)argc + 1, sizeof *words);
  int status;
  if (!words) {
    rgt__message_set(&m, RGT_ENOMEM, "out of memory");
    return rgt__message_print(&m);
  }
  if (rgt__options_parse(argc, argv, words, &options, &m) != RGT_OK) {
    status = rgt__message_print(&m);
  } else if (options.help) {
    rgt__options_help(options.verb, stdout);
    status = RGT_EXIT_DONE;
  } else if (options.version) {
    puts("ragtune " RGT_VERSION);
    status = RGT_EXIT_DONE;
  } else {
    status = verbs[options.verb](&options);
  }
  free(words);
  return finish(status);
}
