/* child.h -- the program as a child with homes of its own: its exit status, what it prints, files in its home. */
#ifndef RGT_TESTS_CLI_CHILD_H
#define RGT_TESTS_CLI_CHILD_H

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/ragtune.h"

#define ARGS_MAX 40
#define CHILD_UNUSED __attribute__((unused))

static char home[] = "/tmp/ragtune-cli-XXXXXX";
static char text_out[1 << 20], text_err[1 << 16];

/* ---- the child --------------------------------------------------------------------------------------------- */

typedef struct child {
  pid_t pid;
  int out, err;
} child;

static CHILD_UNUSED void set_environment(const char *setting) {
  static const char *const unset[] = {"RAGTUNE_DEVICE", "RAGTUNE_DB",  "RAGTUNE_CACHE",     "RAGTUNE_MODE",   "RAGTUNE_THREADS",
                                      "RAGTUNE_CC",     "RAGTUNE_CPU", "RAGTUNE_TEMPLATES", "RAGTUNE_WORKER", "RAGTUNE_BUNDLE"};
  for (size_t i = 0; i < sizeof unset / sizeof *unset; i++) unsetenv(unset[i]);
  setenv("HOME", home, 1);
  setenv("XDG_DATA_HOME", home, 1);
  setenv("XDG_CACHE_HOME", home, 1);
  setenv("RAGTUNE_LIBCUDA", "/nonexistent/libcuda.so.1", 1); /* no device but the CPU, whatever machine this is */
  if (setting) putenv((char *)(uintptr_t)setting);
}

/* `line` is split at blanks; setting: one more NAME=value; out_path: where stdout goes instead of a pipe */
static CHILD_UNUSED child start(const char *line, const char *setting, const char *out_path) {
  static char text[4096];
  char *argv[ARGS_MAX + 2] = {(char *)(uintptr_t)RGT_CLI}, *rest = NULL, *item;
  int argc = 1, out[2], err[2];
  child c;
  snprintf(text, sizeof text, "%s", line);
  for (item = strtok_r(text, " ", &rest); item && argc <= ARGS_MAX; item = strtok_r(NULL, " ", &rest)) argv[argc++] = item;
  assert_int_equal(pipe2(out, O_CLOEXEC), 0);
  assert_int_equal(pipe2(err, O_CLOEXEC), 0);
  c.pid = fork();
  assert_true(c.pid >= 0);
  if (c.pid == 0) {
    int fd = out_path ? open(out_path, O_WRONLY | O_CLOEXEC) : out[1];
    set_environment(setting);
    dup2(fd, STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    execv(RGT_CLI, argv);
    _exit(127);
  }
  close(out[1]);
  close(err[1]);
  c.out = out[0];
  c.err = err[0];
  return c;
}

/* one read of fd behind what text holds; 0 at its end */
static CHILD_UNUSED int drain(int fd, char *text, size_t size) {
  size_t n = strlen(text);
  ssize_t k = read(fd, text + n, size - 1 - n);
  if (k > 0) text[n + (size_t)k] = 0;
  return k > 0;
}

static CHILD_UNUSED int finish(child c) {
  struct pollfd fds[2] = {{c.out, POLLIN, 0}, {c.err, POLLIN, 0}};
  int open_ends = 2, status;
  while (open_ends > 0 && poll(fds, 2, -1) > 0)
    for (int i = 0; i < 2; i++)
      if (fds[i].revents && !(i ? drain(c.err, text_err, sizeof text_err) : drain(c.out, text_out, sizeof text_out))) {
        fds[i].fd = -1;
        open_ends--;
      }
  close(c.out);
  close(c.err);
  assert_int_equal(waitpid(c.pid, &status, 0), c.pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static CHILD_UNUSED int run_with(const char *setting, const char *format, ...) __attribute__((format(printf, 2, 3)));
static CHILD_UNUSED int run_with(const char *setting, const char *format, ...) {
  char line[4096];
  va_list list;
  va_start(list, format);
  vsnprintf(line, sizeof line, format, list);
  va_end(list);
  text_out[0] = text_err[0] = 0;
  return finish(start(line, setting, NULL));
}
#define run(...) run_with(NULL, __VA_ARGS__)

static CHILD_UNUSED void expect(int status, int wanted) {
  if (status != wanted) fail_msg("exit %d, wanted %d\nstdout: %s\nstderr: %s", status, wanted, text_out, text_err);
}

/* one line on stderr that holds `words`, nothing on stdout */
static CHILD_UNUSED void expect_refusal(int status, int wanted, const char *words) {
  char *end = strchr(text_err, '\n');
  expect(status, wanted);
  assert_string_equal(text_out, "");
  if (!end || end[1] || strncmp(text_err, "ragtune: ", 9) != 0 || !strstr(text_err, words)) fail_msg("stderr: %s", text_err);
}

static CHILD_UNUSED json_t *expect_json(const char *verb, const char *const *keys) {
  json_error_t why;
  json_t *o = json_loads(text_out, 0, &why);
  if (!o) fail_msg("%s: %s\n%s", verb, why.text, text_out);
  assert_string_equal(json_string_value(json_object_get(o, "verb")), verb);
  assert_string_equal(json_string_value(json_object_get(o, "version")), RGT_VERSION);
  for (; *keys; keys++)
    if (!json_object_get(o, *keys)) fail_msg("%s: no %s in\n%s", verb, *keys, text_out);
  return o;
}

static CHILD_UNUSED void expect_members(const json_t *list, const char *const *keys) {
  size_t i;
  json_t *one;
  assert_true(json_is_array(list) && json_array_size(list) > 0);
  json_array_foreach(list, i, one) for (const char *const *k = keys; *k; k++) if (!json_object_get(one, *k))
      fail_msg("no %s in\n%s", *k, text_out);
}

/* ---- folders ----------------------------------------------------------------------------------------------- */

static CHILD_UNUSED int make_home(void **unused) {
  (void)unused;
  return mkdtemp(home) ? 0 : -1;
}

static CHILD_UNUSED int remove_one(const char *path, const struct stat *info, int type, struct FTW *walk) {
  (void)info, (void)type, (void)walk;
  return remove(path);
}

static CHILD_UNUSED int remove_home(void **unused) {
  (void)unused;
  return nftw(home, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static CHILD_UNUSED const char *at(const char *name) {
  static char path[4][128];
  static int next_path;
  char *p = path[next_path++ % 4];
  snprintf(p, sizeof *path, "%s/%s", home, name);
  return p;
}

static CHILD_UNUSED int files_like(const char *prefix) {
  DIR *dir = opendir(home);
  struct dirent *entry;
  int n = 0;
  while (dir && (entry = readdir(dir))) n += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
  if (dir) closedir(dir);
  return n;
}

static CHILD_UNUSED void put_text(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

#endif
