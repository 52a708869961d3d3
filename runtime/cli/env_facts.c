/* env_facts.c -- device class and toolchain in a few words, from rgt_why and rgt_env. */
#include "env_facts.h"

#include <stdio.h>
#include <string.h>

/* The first line of the compilers' section that names a version of a C compiler. */
static void find_toolchain(void *user, const char *section, const char *name, const char *value) {
  rgt__env_facts *facts = user;
  if (facts->toolchain[0] || !value || !*value) return;
  if (strstr(section, "compiler") || strstr(section, "toolchain") || strcmp(name, "toolchain") == 0)
    snprintf(facts->toolchain, sizeof facts->toolchain, "%s", value);
}

void rgt__env_facts_get(rgt_ctx *ctx, rgt_op *op, rgt__env_facts *facts) {
  rgt_why_info info;
  memset(facts, 0, sizeof *facts);
  if (rgt_why(op, 1, &info) == RGT_OK) snprintf(facts->device_class, sizeof facts->device_class, "%s", info.device_class);
  (void)!rgt_env(ctx, find_toolchain, facts);
  if (!facts->device_class[0]) strcpy(facts->device_class, "unknown");
  if (!facts->toolchain[0]) strcpy(facts->toolchain, "unknown");
}
