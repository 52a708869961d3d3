/* env_facts.c -- device class and toolchain in a few words, from rgt_env's lines. */
#include "env_facts.h"

#include <stdio.h>
#include <string.h>

static void keep(void *user, const char *section, const char *name, const char *value) {
  rgt__env_facts *facts = user;
  if (strcmp(section, "device") == 0 && strcmp(name, "class") == 0)
    snprintf(facts->device_class, sizeof facts->device_class, "%s", value);
  if (strcmp(section, "compiler") == 0 && strcmp(name, "toolchain") == 0)
    snprintf(facts->toolchain, sizeof facts->toolchain, "%s", value);
}

void rgt__env_facts_get(rgt_ctx *ctx, rgt__env_facts *facts) {
  strcpy(facts->device_class, "unknown");
  strcpy(facts->toolchain, "unknown");
  (void)!rgt_env(ctx, "device", keep, facts);
  (void)!rgt_env(ctx, "compiler", keep, facts);
}
