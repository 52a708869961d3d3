/* shim.h -- file operations below one folder that fail on request. Linked into a test, or preloaded into a program whose
 * environment has FAULT_PREFIX, FAULT_AT, FAULT_ERROR (a shim_error's word) and FAULT_ON (1: and all after it); FAULT_MALLOC=N
 * there fails the N-th allocation of the program. FAULT_NETWORK=1 there: what lies below FAULT_PREFIX is on a network. */
#ifndef RGT_TESTS_SHIM_H
#define RGT_TESTS_SHIM_H

#define SHIM_ERROR_LIST(X) \
  X(SHIM_EIO, "EIO")       \
  X(SHIM_ENOSPC, "ENOSPC") \
  X(SHIM_EROFS, "EROFS")   \
  X(SHIM_EMFILE, "EMFILE") \
  X(SHIM_EINTR, "EINTR")   \
  X(SHIM_SHORT, "short") /* half of what was asked for is read or written */

typedef enum shim_error {
#define SHIM_ENUM(name, word) name,
  SHIM_ERROR_LIST(SHIM_ENUM)
#undef SHIM_ENUM
      SHIM_N_ERRORS
} shim_error;

/* shim_arm -- from now on operation number `at` (from 0; -1: none) on files below prefix fails, if that error can come from it;
 * on: and every later one. */
void shim_arm(const char *prefix, long at, shim_error error, int on);
void shim_disarm(void);
void shim_break_locks(int broken); /* every lock of a file fails, until 0 is said */
void shim_network(int yes);        /* statfs calls what lies below prefix a network file system, until 0 is said */
long shim_count(void);             /* operations since shim_arm */
int shim_fired(void);              /* of these, how many failed */
const char *shim_what(void);       /* the first that failed: "fsync", "" if none */
const char *shim_word(shim_error error);

#endif
