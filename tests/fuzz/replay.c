/* replay.c -- main of a fuzz target without libFuzzer: runs it over every file named, and every file of every folder named. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int n_files;

static int run_file(const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f) {
    perror(path);
    return 1;
  }
  uint8_t *data = NULL;
  size_t size = 0, n;
  do {
    uint8_t *larger = realloc(data, size + 65536);
    if (!larger) abort();
    data = larger;
    n = fread(data + size, 1, 65536, f);
    size += n;
  } while (n > 0);
  fclose(f);
  LLVMFuzzerTestOneInput(data, size); /* aborts where it finds something */
  free(data);
  n_files++;
  return 0;
}

static int run_folder(const char *path) {
  DIR *d = opendir(path);
  int failed = 0;
  if (!d) {
    perror(path);
    return 1;
  }
  for (struct dirent *e; (e = readdir(d));) {
    char name[4096];
    if (e->d_name[0] == '.') continue;
    snprintf(name, sizeof name, "%s/%s", path, e->d_name);
    failed |= run_file(name);
  }
  closedir(d);
  return failed;
}

int main(int argc, char **argv) {
  int failed = 0;
  for (int i = 1; i < argc; i++) {
    struct stat st;
    failed |= stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode) ? run_folder(argv[i]) : run_file(argv[i]);
  }
  printf("%d files\n", n_files);
  return failed || n_files == 0;
}
