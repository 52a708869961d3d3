/* environment.h -- the one table of environment variables, read once for a context. */
#ifndef RGT_BASE_ENVIRONMENT_H
#define RGT_BASE_ENVIRONMENT_H

#include "runtime/base/error.h"

/* name, what it is for */
#define RGT_ENVIRONMENT_LIST(X)                                                                        \
  X(RAGTUNE_DEVICE, "device when none is named: auto, cpu, cuda, cuda:N")                              \
  X(RAGTUNE_DB, "file of the tuned database; :memory: for none")                                       \
  X(RAGTUNE_SITE_DBS, "files of tuned databases to read after the own one, separated by colons")       \
  X(RAGTUNE_CACHE, "folder of compiled code")                                                          \
  X(RAGTUNE_CACHE_QUOTA_MIB, "size of that folder, 1024; 0: no limit")                                 \
  X(RAGTUNE_BUNDLE, "folder of code made by compile -o, used where the cache has none")                \
  X(RAGTUNE_MODE, "cache, tune, replay or off")                                                        \
  X(RAGTUNE_THREADS, "CPU threads a call may use")                                                     \
  X(RAGTUNE_CC, "C compiler for the CPU device, one program name or path; none: no compiler")          \
  X(RAGTUNE_TEMPLATES, "folder of templates instead of the built-in ones")                             \
  X(RAGTUNE_CPU, "limits the CPU features used: plain, avx2, avx512")                                  \
  X(RAGTUNE_LIBNVRTC, "path of libnvrtc.so")                                                           \
  X(RAGTUNE_LIBCUDA, "path of libcuda.so.1")                                                           \
  X(RAGTUNE_WORKER, "path of ragtune-worker; none: no worker; inside: candidates run in this process") \
  X(RAGTUNE_RUN_LIMIT_S, "seconds that a candidate may run in a worker, 10")                           \
  X(RAGTUNE_COMPILE_LIMIT_S, "seconds that a candidate may take to compile, 60")                       \
  X(RAGTUNE_MEMORY_LIMIT_MIB, "memory that a candidate or a compiler may take, 2048")                  \
  X(RAGTUNE_WAIT_LIMIT_S, "seconds to wait for a process that makes or tunes the same")                \
  X(HOME, "the user's home")                                                                           \
  X(XDG_DATA_HOME, "folder of the database's folder, else HOME/.local/share")                          \
  X(XDG_CACHE_HOME, "folder of the code cache's folder, else HOME/.cache")                             \
  X(PATH, "where compilers are looked for")                                                            \
  X(TMPDIR, "scratch files, else /tmp")

typedef enum rgt__environment_name {
#define RGT_ENVIRONMENT_ENUM(name, about) RGT_ENV_##name,
  RGT_ENVIRONMENT_LIST(RGT_ENVIRONMENT_ENUM)
#undef RGT_ENVIRONMENT_ENUM
      RGT_N_ENVIRONMENT
} rgt__environment_name;

typedef struct rgt__environment {
  char *values[RGT_N_ENVIRONMENT]; /* owned; NULL: unset or empty */
} rgt__environment;

rgt_status rgt__environment_read(rgt__environment *env, rgt__error *err); /* RGT_ENOMEM */
void rgt__environment_free(rgt__environment *env);
const char *rgt__environment_get(const rgt__environment *env, rgt__environment_name name); /* NULL if unset */
/* rgt__environment_number -- a number from 0 to most; *out stays where the variable is unset. RGT_EINVAL names it. */
rgt_status rgt__environment_number(const rgt__environment *env, rgt__environment_name name, double most, double *out,
                                   rgt__error *err);
const char *rgt__environment_label(rgt__environment_name name);
const char *rgt__environment_about(rgt__environment_name name);

#endif
