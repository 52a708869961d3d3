/* main.c -- a tool of the build: `ragtune_manual page|bash|zsh|fish FILE` writes one file of the manual. */
#include "manual/manual.h"

#include <errno.h>
#include <string.h>

int main(int argc, char **argv) {
  static const struct {
    const char *word;
    void (*print)(FILE *out);
  } kinds[] = {{"page", rgt__manual_page}, {"bash", rgt__manual_bash}, {"zsh", rgt__manual_zsh}, {"fish", rgt__manual_fish}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds && argc == 3; i++) {
    if (strcmp(argv[1], kinds[i].word) != 0) continue;
    FILE *out = fopen(argv[2], "we");
    if (out) kinds[i].print(out);
    if (out && !ferror(out) && fclose(out) == 0) return 0;
    fprintf(stderr, "ragtune_manual: %s: %s\n", argv[2], strerror(errno));
    return 3;
  }
  fputs("usage: ragtune_manual page|bash|zsh|fish FILE\n", stderr);
  return 2;
}
