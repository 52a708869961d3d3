/* test_cli_shard.c -- ragtune tune --config --shard: eight processes on the CPU, two of them killed and begun again, one merge.
 */
#include "child.h"

#include <time.h>

enum { SHARDS = 8, OPS = 2, ROWS = 3, SKEWS = 2, SIGNATURES = OPS * ROWS * SKEWS, KILLED = 2 };

/* one variant, which all shards compile from one cache */
#define SPACE "return { group_tiles = false, row_gather = { fused = { 0 }, lanes = { 8 }, vectors = { 4 } } }\n"
#define CONFIG                                                                            \
  "return { ops = { { n_in = 4, n_out = 8, groups = { 2, 3 } } }, rows = { 4, 8, 16 },\n" \
  "         skew = { 'uniform', 'one' }, device = 'cpu', budget_s = 600 }\n"

static char config[128], space[128];

static int make_files(void **state) {
  if (make_home(state) != 0) return -1;
  snprintf(config, sizeof config, "%s", at("c.lua"));
  snprintf(space, sizeof space, "%s", at("s.lua"));
  put_text(config, CONFIG);
  put_text(space, SPACE);
  return 0;
}

static long long number_at(const json_t *object, const char *key) {
  if (!json_is_integer(json_object_get(object, key))) fail_msg("no number %s in\n%s", key, text_out);
  return json_integer_value(json_object_get(object, key));
}

static const char *shard_database(int shard) {
  char name[32];
  snprintf(name, sizeof name, "shard-%d.db", shard);
  return at(name);
}

static child start_shard(int shard) {
  char line[600];
  snprintf(line, sizeof line, "tune --config %s --space %s --shard %d/%d --db %s --json --quiet", config, space, shard, SHARDS,
           shard_database(shard));
  return start(line, NULL, NULL);
}

/* What ends in its time has told how many signatures are its own; the others' number is -1. */
static int finish_shard(child c, int shard, int may_be_killed) {
  int mine = -1;
  text_out[0] = text_err[0] = 0;
  int status = finish(c);
  if (may_be_killed && status == 128 + SIGKILL) return mine;
  expect(status, 0);
  json_t *o = expect_json("tune", (const char *const[]){"shard", "signatures", "signatures_listed", NULL});
  char text[16];
  snprintf(text, sizeof text, "%d/%d", shard, SHARDS);
  assert_string_equal(json_string_value(json_object_get(o, "shard")), text);
  assert_int_equal(number_at(o, "signatures_listed"), SIGNATURES);
  mine = (int)number_at(o, "signatures");
  assert_int_equal(number_at(o, "buckets_tuned") + number_at(o, "buckets_hit"), mine);
  json_decref(o);
  return mine;
}

/* Adds the signatures of a database to the set; each must be new to it. Returns how many. */
static int add_signatures(const char *database, json_t *set) {
  size_t i;
  json_t *one;
  expect(run("db list --db %s --json", database), 0);
  json_t *o = expect_json("db", (const char *const[]){"winners", NULL});
  json_array_foreach(json_object_get(o, "winners"), i, one) {
    const char *signature = json_string_value(json_object_get(one, "signature"));
    assert_non_null(signature);
    if (json_object_get(set, signature)) fail_msg("%s is tuned twice", signature);
    json_object_set_new(set, signature, json_true());
  }
  int n = (int)i;
  json_decref(o);
  return n;
}

static void sleep_below(long most_ms) {
  long ms = random() % most_ms;
  nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* Two of those with work, at any time from their start on. */
static void kill_two(const child *children, const int *mine, int *killed) {
  for (int n = 0; n < KILLED;) {
    int shard = (int)(random() % SHARDS) + 1;
    if (!mine[shard] || (n && killed[0] == shard)) continue;
    sleep_below(700);
    assert_int_equal(kill(children[shard].pid, SIGKILL), 0);
    killed[n++] = shard;
  }
}

static void merge_all(void) {
  char line[2048];
  size_t n = (size_t)snprintf(line, sizeof line, "db merge");
  for (int shard = 1; shard <= SHARDS; shard++) n += (size_t)snprintf(line + n, sizeof line - n, " %s", shard_database(shard));
  expect(run("%s --db %s", line, at("merged.db")), 0);
}

/* What each shard would do, without doing it: a budget that is spent at once. */
static void ask_shares(int *mine) {
  int sum = 0;
  for (int shard = 1; shard <= SHARDS; shard++) {
    int status = run("--config %s --space %s --shard %d/%d --db :memory: --budget 0.0000000001 --json --quiet", config, space,
                     shard, SHARDS);
    json_t *o = expect_json("tune", (const char *const[]){"signatures", NULL});
    mine[shard] = (int)number_at(o, "signatures");
    expect(status, mine[shard] ? 1 : 0); /* not begun; with nothing to do all is done */
    sum += mine[shard];
    json_decref(o);
  }
  assert_int_equal(sum, SIGNATURES);
}

static void eight_shards_two_killed(void **unused) {
  child children[SHARDS + 1];
  int mine[SHARDS + 1], killed[KILLED];
  unsigned seed = (unsigned)time(NULL) ^ (unsigned)getpid();
  json_t *alone = json_object(), *parts = json_object(), *merged = json_object();
  (void)unused;
  srandom(seed);
  print_message("kills at random: seed %u\n", seed);
  expect(run("--config %s --space %s --db %s --quiet", config, space, at("alone.db")), 0);
  assert_int_equal(add_signatures(at("alone.db"), alone), SIGNATURES);

  ask_shares(mine);
  for (int shard = 1; shard <= SHARDS; shard++) children[shard] = start_shard(shard);
  kill_two(children, mine, killed);
  for (int shard = 1; shard <= SHARDS; shard++) {
    int may_be_killed = shard == killed[0] || shard == killed[1];
    int n = finish_shard(children[shard], shard, may_be_killed);
    if (n >= 0) assert_int_equal(n, mine[shard]);
  }
  for (int i = 0; i < KILLED; i++) assert_int_equal(finish_shard(start_shard(killed[i]), killed[i], 0), mine[killed[i]]);

  for (int shard = 1; shard <= SHARDS; shard++)
    assert_int_equal(add_signatures(shard_database(shard), parts), mine[shard]); /* none twice */
  merge_all();
  assert_int_equal(add_signatures(at("merged.db"), merged), SIGNATURES);
  assert_true(json_equal(alone, parts)); /* none missing */
  assert_true(json_equal(alone, merged));

  expect(run("--config %s --space %s --db %s --json --quiet", config, space, at("merged.db")), 0);
  json_t *o = expect_json("tune", (const char *const[]){"shard", "signatures", NULL});
  assert_true(json_is_null(json_object_get(o, "shard")));
  assert_int_equal(number_at(o, "buckets_hit"), SIGNATURES); /* each search came to its end */
  assert_int_equal(number_at(o, "buckets_tuned"), 0);
  json_decref(o);
  json_decref(alone);
  json_decref(parts);
  json_decref(merged);
}

static void text_of_a_shard(void **unused) {
  (void)unused;
  expect(run("--config %s --space %s --shard 1/1 --db %s", config, space, at("alone.db")), 0);
  char wanted[80];
  snprintf(wanted, sizeof wanted, "\nshard      1/1: %d of %d signatures\n", SIGNATURES, SIGNATURES);
  if (!strstr(text_out, wanted)) fail_msg("no '%s' in\n%s", wanted, text_out);
  snprintf(wanted, sizeof wanted, "\n4 of 4 searches (shard 1/1, %d signatures) in ", SIGNATURES);
  if (!strstr(text_out, wanted)) fail_msg("no '%s' in\n%s", wanted, text_out);
}

static void a_part_without_signatures(void **unused) {
  (void)unused;
  put_text(at("one.lua"), "return { ops = { 'linear:4-8:g2:f32:none:b1:nk:i64' }, rows = 4, device = 'cpu' }");
  int n = 0;
  for (int shard = 1; shard <= 2; shard++) {
    const char *database = shard == 1 ? at("alone.db") : at("none.db"); /* one with rows, and one to be made */
    for (int of = 2; of <= 40 && n < shard; of++) {
      int status = run("--config %s --space %s --shard 1/%d --db %s --budget 0.0000000001", at("one.lua"), space, of, database);
      if (!strstr(text_out, ": 0 of 1 signatures\n")) continue;
      expect(status, 0);
      n++;
    }
    expect(run("db list --db %s", database), 0);
  }
  assert_int_equal(n, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(eight_shards_two_killed), cmocka_unit_test(text_of_a_shard),
                                     cmocka_unit_test(a_part_without_signatures)};
  return cmocka_run_group_tests(tests, make_files, remove_home);
}
