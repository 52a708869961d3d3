/* worker_journal.c -- one page that a worker's child and its parent share. */
#include "runtime/worker_journal.h"

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

int64_t rgt__worker_journal_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec + 1;
}

void rgt__worker_journal_enter(rgt__worker_journal *j, int64_t candidate, rgt__worker_phase phase) {
  atomic_store(&j->candidate, candidate);
  atomic_store(&j->phase, phase);
  atomic_fetch_add(&j->turn, 1);
  atomic_store(&j->since_ns, rgt__worker_journal_now());
}

void rgt__worker_journal_leave(rgt__worker_journal *j) {
  atomic_store(&j->since_ns, 0);
}

void rgt__worker_journal_clear(rgt__worker_journal *j) {
  atomic_store(&j->since_ns, 0);
  atomic_store(&j->candidate, 0);
  atomic_store(&j->phase, RGT_WORKER_NOTHING);
}

const char *rgt__worker_phase_word(rgt__worker_phase phase) {
  switch (phase) {
  case RGT_WORKER_LOADING:
    return "loading";
  case RGT_WORKER_VERIFYING:
    return "verification";
  case RGT_WORKER_TIMING:
    return "timing";
  default:
    return "preparation";
  }
}

rgt__worker_journal *rgt__worker_journal_open(int fd) {
  void *page = mmap(NULL, sizeof(rgt__worker_journal), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return page == MAP_FAILED ? NULL : page;
}

rgt__worker_journal *rgt__worker_journal_make(int *fd) {
  int made = memfd_create("ragtune-journal", MFD_CLOEXEC);
  if (made < 0) return NULL;
  rgt__worker_journal *j = ftruncate(made, sizeof *j) == 0 ? rgt__worker_journal_open(made) : NULL;
  if (!j) {
    close(made);
    return NULL;
  }
  *fd = made;
  return j;
}

void rgt__worker_journal_close(rgt__worker_journal *j) {
  if (j) munmap(j, sizeof *j);
}
