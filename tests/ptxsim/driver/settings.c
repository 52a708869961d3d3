/* settings.c -- the PTXSIM_ variables. */
#include "settings.h"

#include "profiles.h"
#include "report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sim_settings settings;
static int state; /* 0: not read, 1: right, -1: something was not understood */
static char wrong[256];

static void not_understood(const char *name, const char *value, const char *wanted) {
  if (state < 0) return;
  state = -1;
  snprintf(wrong, sizeof wrong, "%s=%s is not understood: %s", name, value, wanted);
}

static uint64_t number(const char *name, uint64_t otherwise, uint64_t most) {
  const char *text = getenv(name);
  if (text == NULL || text[0] == '\0') return otherwise;
  char *end, wanted[64];
  errno = 0;
  unsigned long long value = strtoull(text, &end, 0);
  snprintf(wanted, sizeof wanted, "a whole number from 0 to %llu", (unsigned long long)most);
  if (errno == 0 && *end == '\0' && text[0] != '-' && value <= most) return value;
  not_understood(name, text, wanted);
  return otherwise;
}

static const struct {
  const char *name;
  unsigned mask;
} check_names[] = {
    {"all", SIM_CHECK_ALL},         {"none", 0},
    {"defined", SIM_CHECK_DEFINED}, {"global", SIM_CHECK_GLOBAL},
    {"shared", SIM_CHECK_SHARED},   {"async", SIM_CHECK_ASYNC},
    {"cache", SIM_COUNT_CACHE},     {"banks", SIM_COUNT_BANKS},
};

static int add_check(const char *word, size_t length, unsigned *mask) {
  for (size_t i = 0; i < sizeof check_names / sizeof check_names[0]; i++)
    if (strlen(check_names[i].name) == length && memcmp(check_names[i].name, word, length) == 0) {
      *mask |= check_names[i].mask;
      return 1;
    }
  return 0;
}

static unsigned checks(void) {
  const char *text = getenv("PTXSIM_CHECKS");
  unsigned mask = 0;
  if (text == NULL || text[0] == '\0') return SIM_CHECK_ALL;
  for (const char *word = text;;) {
    size_t length = strcspn(word, ",");
    if (!add_check(word, length, &mask)) {
      not_understood("PTXSIM_CHECKS", text, "a list of all, none, defined, global, shared, async, cache, banks");
      return SIM_CHECK_ALL;
    }
    if (word[length] == '\0') return mask;
    word += length + 1;
  }
}

static void read_all(void) {
  const char *profile = getenv("PTXSIM_PROFILE"), *log = getenv("PTXSIM_LOG");
  state = 1;
  snprintf(settings.profile, sizeof settings.profile, "sm_90");
  if (profile != NULL && profile[0] != '\0') {
    if (sim_model_find(profile) == NULL)
      not_understood("PTXSIM_PROFILE", profile, "sm_80, sm_90 or sm_120");
    else
      snprintf(settings.profile, sizeof settings.profile, "%s", profile);
  }
  settings.n_devices = (int)number("PTXSIM_DEVICES", 1, 8);
  settings.seed = number("PTXSIM_SEED", 0, UINT64_MAX);
  settings.checks = checks();
  settings.instruction_limit = number("PTXSIM_INSTRUCTION_LIMIT", 0, UINT64_MAX);
  settings.memory_bytes = number("PTXSIM_MEMORY_MB", 0, 1 << 24) << 20;
  settings.report = (int)number("PTXSIM_REPORT", 0, 2);
  settings.log = log != NULL && log[0] != '\0' ? log : NULL;
  if (settings.log != NULL) settings.log = strdup(settings.log); /* the program may change its environment */
}

const sim_settings *sim_settings_get(void) {
  if (state == 0) read_all();
  return &settings;
}

int sim_settings_are_right(void) {
  sim_settings_get();
  if (state > 0) return 1;
  sim_report_misuse("%s", wrong);
  return 0;
}
