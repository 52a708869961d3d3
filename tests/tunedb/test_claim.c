/* test_claim.c -- one holder at a time; leases end with their process or their time, whichever can be seen first. */
#include "child.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>

#include "tests/faults/tally.h"

static char *folder;
static char path[256];

static int set_up(void **state) {
  (void)state;
  folder = make_folder();
  snprintf(path, sizeof path, "%s/tuned.db", folder);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  remove_folder(folder);
  return 0;
}

static rgt__tunedb *open_file(void) {
  rgt__tunedb *db = NULL;
  OK(rgt__tunedb_open(path, 0, &db, NULL));
  return db;
}

static rgt_status claim_n(rgt__tunedb *db, const rgt__tunedb_signature *sigs, int n, unsigned who, int lease_s,
                          rgt__tunedb_claimed *other) {
  const rgt__tunedb_signature *list[4];
  rgt__digest holder = make_digest(who);
  for (int i = 0; i < n; i++) list[i] = &sigs[i];
  return rgt__tunedb_claim(db, list, n, &cpu_place, &holder, lease_s, other, NULL);
}

static rgt_status claim(rgt__tunedb *db, unsigned who, rgt__tunedb_claimed *other) {
  rgt__tunedb_signature sig = make_signature();
  return claim_n(db, &sig, 1, who, 60, other);
}

static void test_one_has_it(void **state) {
  (void)state;
  rgt__tunedb *a = open_file(), *b = open_file();
  rgt__tunedb_claimed other = {0};
  rgt__digest first = make_digest(1);
  OK(claim(a, 1, &other));
  assert_int_equal(claim(b, 2, &other), RGT_EMISS);
  assert_int_equal(other.pid, getpid());
  assert_true(other.left_s >= 58 && other.left_s <= 60);
  assert_int_equal(other.elsewhere, 0);
  OK(claim(a, 1, &other)); /* renewed */
  rgt__tunedb_unclaim(b, &(rgt__digest){{9}});
  assert_int_equal(claim(b, 2, &other), RGT_EMISS);
  rgt__tunedb_unclaim(a, &first);
  OK(claim(b, 2, &other));
  assert_int_equal(claim(a, 1, &other), RGT_EMISS);
  OK(rgt__tunedb_check(a, NULL));
  rgt__tunedb_close(a);
  rgt__tunedb_close(b);
}

static void test_all_or_none(void **state) {
  (void)state;
  rgt__tunedb *db = open_file();
  rgt__tunedb_claimed other = {0};
  rgt__tunedb_signature sigs[3] = {make_signature(), make_signature(), make_signature()};
  sigs[1].text = "second";
  sigs[2].text = "third";
  OK(claim_n(db, &sigs[2], 1, 1, 60, &other));
  assert_int_equal(claim_n(db, sigs, 3, 2, 60, &other), RGT_EMISS);
  assert_int_equal(ask(db, "SELECT count(*) FROM claim"), 1);
  OK(claim_n(db, sigs, 2, 2, 60, &other)); /* nobody has these */
  assert_int_equal(claim_n(db, sigs, 3, 1, 60, &other), RGT_EMISS);
  rgt__tunedb_close(db);
}

static void test_ran_out(void **state) {
  (void)state;
  rgt__tunedb *db = open_file();
  rgt__tunedb_claimed other = {0};
  OK(claim(db, 1, &other));
  tell(db, "UPDATE claim SET expires_utc_s = unixepoch() - 1");
  OK(claim(db, 2, &other));
  tell(db, "UPDATE claim SET expires_utc_s = unixepoch() + 1000000"); /* no lease is that long: a clock was wrong */
  OK(claim(db, 3, &other));
  tell(db, "UPDATE claim SET expires_utc_s = unixepoch() - 1");
  rgt__tunedb_unclaim(db, &(rgt__digest){{9}}); /* takes along what ran out */
  assert_int_equal(ask(db, "SELECT count(*) FROM claim"), 0);
  rgt__tunedb_close(db);
}

/* Whoever holds it on another machine cannot be looked at: his lease is waited for. */
static void test_elsewhere(void **state) {
  (void)state;
  rgt__tunedb *db = open_file();
  rgt__tunedb_claimed other = {0};
  OK(claim(db, 1, &other));
  tell(db, "UPDATE claim SET host_boot = 'another', pid = 999999999");
  assert_int_equal(claim(db, 2, &other), RGT_EMISS);
  assert_int_equal(other.elsewhere, 1);
  tell(db, "UPDATE claim SET host_boot = '', pid = -1"); /* it did not know its own */
  assert_int_equal(claim(db, 2, &other), RGT_EMISS);
  tell(db, "UPDATE claim SET expires_utc_s = unixepoch() - 1");
  OK(claim(db, 2, &other));
  tell(db, "UPDATE claim SET pid = -1"); /* here, and no process */
  OK(claim(db, 1, &other));
  rgt__tunedb_close(db);
}

/* A lease that could not be given back is no other tuner's. */
static void test_not_given_back(void **state) {
  (void)state;
  rgt__tunedb *db = open_file(), *reader = NULL;
  rgt__tunedb_claimed other = {0};
  rgt__digest first = make_digest(1);
  OK(claim(db, 1, &other));
  assert_int_equal(claim(db, 2, &other), RGT_EMISS);
  OK(rgt__tunedb_open(path, RGT_TUNEDB_READ_ONLY, &reader, NULL));
  rgt__tunedb_unclaim(reader, &first); /* cannot write */
  assert_int_equal(ask(db, "SELECT count(*) FROM claim"), 1);
  OK(claim(db, 2, &other));
  rgt__tunedb_close(reader);
  rgt__tunedb_close(db);
}

static void test_in_memory_and_read_only(void **state) {
  (void)state;
  rgt__tunedb *db = open_memory();
  rgt__tunedb_claimed other = {0};
  OK(claim(db, 1, &other));
  OK(claim(db, 2, &other));
  rgt__tunedb_unclaim(db, &(rgt__digest){{1}});
  rgt__tunedb_close(db);
  rgt__tunedb_close(open_file());
  OK(rgt__tunedb_open(path, RGT_TUNEDB_READ_ONLY, &db, NULL));
  OK(claim(db, 1, &other));
  OK(claim(db, 2, &other));
  rgt__tunedb_close(db);
}

static void test_arguments(void **state) {
  (void)state;
  rgt__tunedb *db = open_file();
  rgt__tunedb_claimed other = {0};
  rgt__tunedb_signature sig = make_signature(), wrong = make_signature();
  wrong.text = NULL;
  assert_int_equal(claim_n(db, &sig, 1, 1, 0, &other), RGT_EINVAL);
  assert_int_equal(claim_n(db, &sig, 1, 1, RGT_TUNEDB_LEASE_MAX_S + 1, &other), RGT_EINVAL);
  assert_int_equal(claim_n(db, &wrong, 1, 1, 60, &other), RGT_EINVAL);
  assert_int_equal(claim_n(NULL, &sig, 1, 1, 60, &other), RGT_EINVAL);
  OK(claim_n(db, &sig, 0, 1, 60, &other)); /* nothing to claim */
  rgt__tunedb_close(db);
}

/* ---- processes ---- */

typedef struct shared {
  atomic_int inside, most, turns;
} shared;

static shared *all;

static void take_turns(void *user) {
  unsigned who = *(const unsigned *)user;
  rgt__tunedb_claimed other;
  rgt__digest holder = make_digest(who);
  rgt__tunedb *db = NULL;
  CHECK(rgt__tunedb_open(path, 0, &db, NULL) == RGT_OK);
  for (int turn = 0; turn < 10;) {
    rgt_status status = claim(db, who, &other);
    CHECK(status == RGT_OK || status == RGT_EMISS);
    if (status == RGT_OK) {
      int now = atomic_fetch_add(&all->inside, 1) + 1;
      if (now > atomic_load(&all->most)) atomic_store(&all->most, now);
      usleep(500);
      atomic_fetch_sub(&all->inside, 1);
      atomic_fetch_add(&all->turns, 1);
      rgt__tunedb_unclaim(db, &holder);
      turn++;
    }
    usleep(300 + 50 * who);
  }
  rgt__tunedb_close(db);
}

static void test_processes_take_turns(void **state) {
  (void)state;
  pid_t pids[4];
  unsigned who[4];
  all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(all != MAP_FAILED);
  for (unsigned i = 0; i < 4; i++) {
    who[i] = i + 1;
    pids[i] = start_child(take_turns, &who[i]);
  }
  for (int i = 0; i < 4; i++) assert_int_equal(end_child(pids[i]), 0);
  assert_int_equal(all->turns, 40);
  assert_int_equal(all->most, 1);
  munmap(all, sizeof *all);
}

static void hold_until_killed(void *user) {
  rgt__tunedb_claimed other;
  rgt__tunedb *db = NULL;
  CHECK(rgt__tunedb_open(path, 0, &db, NULL) == RGT_OK);
  CHECK(claim(db, 1, &other) == RGT_OK);
  CHECK(write(*(const int *)user, "x", 1) == 1);
  pause();
}

static void test_killed_holder(void **state) {
  (void)state;
  enum { ROUNDS = 10 };
  rgt__tunedb *db = open_file();
  for (int round = 0; round < ROUNDS; round++) {
    rgt__tunedb_claimed other = {0};
    rgt__digest second = make_digest(2);
    int ends[2];
    char c;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = start_child(hold_until_killed, &ends[1]);
    assert_int_equal(read(ends[0], &c, 1), 1);
    assert_int_equal(claim(db, 2, &other), RGT_EMISS);
    assert_int_equal(other.pid, pid);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(end_child(pid), 1000 + SIGKILL);
    OK(claim(db, 2, &other)); /* at once: its lease had 60 s to go */
    rgt__tunedb_unclaim(db, &second);
    close(ends[0]);
    close(ends[1]);
  }
  rgt__tunedb_close(db);
  tally("kill -9 of the holder of a lease\t%d\ttaken over at once", ROUNDS);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_one_has_it), TEST(test_all_or_none),          TEST(test_ran_out),
      TEST(test_elsewhere),  TEST(test_not_given_back),       TEST(test_in_memory_and_read_only),
      TEST(test_arguments),  TEST(test_processes_take_turns), TEST(test_killed_holder),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
