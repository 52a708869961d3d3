/* test_memory.c -- every allocation is made to fail once: RGT_ENOMEM, nothing leaked, nothing half stored, and the next try
 * works. */
#include "fixture.h"

static int64_t n_allowed; /* allocations until one fails; negative: none does */
static int64_t n_live;    /* blocks not freed yet */
static int failed_one;

static void *counted(void *user, void *p, size_t bytes) {
  (void)user;
  if (bytes == 0) {
    n_live -= p != NULL;
    free(p);
    return NULL;
  }
  if (n_allowed == 0) {
    n_allowed = -1;
    failed_one = 1;
    return NULL;
  }
  if (n_allowed > 0) n_allowed--;
  void *q = realloc(p, bytes);
  n_live += q && !p;
  return q;
}

static int ignore_trial(void *user, const rgt__tunedb_run *run, const rgt__tunedb_trial *t) {
  (void)user, (void)run, (void)t;
  return 0;
}

static int ignore_winner(void *user, const rgt__tunedb_winner *w) {
  (void)user, (void)w;
  return 0;
}

static rgt_status put_forty(rgt__tunedb *db) {
  rgt__tunedb_signature sig = make_signature();
  rgt__tunedb_run run = make_run(1);
  char params[40][16];
  rgt__tunedb_trial t[40];
  t[0] = make_default();
  for (int i = 1; i < 40; i++) {
    snprintf(params[i], sizeof params[i], "n=%d", i);
    t[i] = make_trial("tiles", params[i], 500000 + i);
  }
  return rgt__tunedb_put(db, &run, &sig, &cpu_place, t, 40, NULL);
}

/* Everything that the header offers, in turn; the first failure ends it. */
static rgt_status do_all(const char *path, rgt__tunedb **db) {
  rgt__tunedb_signature sig = make_signature(), near = sig, any = sig;
  rgt__tunedb_winner w;
  int64_t buckets[4];
  int n;
  near.n_in = 20;
  near.op_text = near.text = "near";
  any.skew = "unknown";
  rgt_status status = rgt__tunedb_open(path, 0, db, NULL);
  if (status) return status;
  status = put_forty(*db);
  if (!status) status = rgt__tunedb_find(*db, &sig, &cpu_place, NULL, &w, NULL);
  if (!status) status = rgt__tunedb_find(*db, &any, &cpu_place, NULL, &w, NULL);
  if (!status) status = rgt__tunedb_nearest(*db, &near, &cpu_place, NULL, &w, NULL);
  if (!status) status = rgt__tunedb_buckets(*db, &sig, &cpu_place, buckets, 4, &n, NULL);
  if (!status) status = rgt__tunedb_miss(*db, &near, &cpu_place, NULL);
  if (!status) status = rgt__tunedb_trials(*db, &sig, &cpu_place, ignore_trial, NULL, NULL);
  if (!status) status = rgt__tunedb_list(*db, ignore_winner, NULL, NULL);
  if (!status) status = rgt__tunedb_check(*db, NULL);
  if (!status) status = rgt__tunedb_rebuild(*db, NULL);
  return status;
}

static void fail_each(const char *path, int is_spoiled) {
  int n_failures = 0, done = 0;
  for (int64_t i = 0; !done; i++) {
    rgt__tunedb *db = NULL;
    if (is_spoiled) { /* a damaged file: salvage, too */
      FILE *f = fopen(path, "w");
      assert_non_null(f);
      fputs("CREATE TABLE it says, as a first page would, and yet it is no database", f);
      fclose(f);
    }
    failed_one = 0;
    n_allowed = i;
    rgt_status status = do_all(path, &db);
    n_allowed = -1;
    done = !failed_one;
    if (done) assert_int_equal(status, RGT_OK);
    if (status && db) { /* still of use: the same again */
      OK(put_forty(db));
      OK(rgt__tunedb_check(db, NULL));
    }
    if (status) n_failures++;
    if (status && status != RGT_ENOMEM && !is_spoiled)
      fail_msg("allocation %lld: status %s", (long long)i, rgt_status_name(status));
    rgt__tunedb_close(db);
    assert_int_equal(n_live, 0);
    assert_true(i < 2000);
  }
  assert_true(n_failures > 5);
}

static void test_in_memory(void **state) {
  (void)state;
  fail_each(NULL, 0);
}

static void test_in_a_file(void **state) {
  (void)state;
  char *folder = make_folder(), path[256];
  snprintf(path, sizeof path, "%s/tuned.db", folder);
  fail_each(path, 0);
  remove_folder(folder);
}

static void test_in_a_damaged_file(void **state) {
  (void)state;
  char *folder = make_folder(), path[256];
  snprintf(path, sizeof path, "%s/tuned.db", folder);
  fail_each(path, 1);
  remove_folder(folder);
}

/* Merge and export, with one file in and one out: what failed changed nothing and left nothing behind. */
static void test_from_file_to_file(void **state) {
  (void)state;
  char *folder = make_folder(), from[256], to[256], command[300];
  int n_failures = 0, done = 0;
  snprintf(from, sizeof from, "%s/from.db", folder);
  snprintf(to, sizeof to, "%s/to.db", folder);
  rgt__tunedb *source = NULL;
  OK(rgt__tunedb_open(from, 0, &source, NULL));
  OK(put_forty(source));
  rgt__tunedb_close(source);
  for (int64_t i = 0; !done; i++) {
    rgt__tunedb *db = open_memory();
    const char *const paths[] = {from, from};
    failed_one = 0;
    n_allowed = i;
    rgt_status status = rgt__tunedb_merge(db, paths, 2, NULL, NULL);
    if (!status) status = rgt__tunedb_export(db, to, NULL, NULL);
    n_allowed = -1;
    done = !failed_one;
    if (status) {
      n_failures++;
      assert_int_equal(status, RGT_ENOMEM);
      assert_int_equal(access(to, F_OK), -1);
      int64_t n = ask(db, "SELECT count(*) FROM trial");
      assert_true(n == 0 || n == 40);
      OK(rgt__tunedb_merge(db, paths, 2, NULL, NULL));
      OK(rgt__tunedb_export(db, to, NULL, NULL));
    }
    assert_int_equal(ask(db, "SELECT count(*) FROM trial"), 40);
    OK(rgt__tunedb_check(db, NULL));
    rgt__tunedb_close(db);
    unlink(to);
    assert_int_equal(n_live, 0);
    assert_true(i < 2000);
  }
  assert_true(n_failures > 10);
  snprintf(command, sizeof command, "test $(ls '%s' | wc -l) = 1", folder); /* no work left */
  assert_int_equal(system(command), 0);
  remove_folder(folder);
}

static int hook(void **state) {
  (void)state;
  n_allowed = -1;
  rgt_set_alloc(counted, NULL);
  return 0;
}

static int unhook(void **state) {
  (void)state;
  rgt_set_alloc(NULL, NULL);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_in_memory),
      cmocka_unit_test(test_in_a_file),
      cmocka_unit_test(test_in_a_damaged_file),
      cmocka_unit_test(test_from_file_to_file),
  };
  return cmocka_run_group_tests(tests, hook, unhook);
}
