/* env_facts.h -- device class and toolchain in a few words. */
#ifndef RGT_CLI_ENV_FACTS_H
#define RGT_CLI_ENV_FACTS_H

#include "ragtune.h"

typedef struct rgt__env_facts {
  char device_class[256], toolchain[256]; /* "unknown" where nobody says */
} rgt__env_facts;

void rgt__env_facts_get(rgt_ctx *ctx, rgt__env_facts *facts);

#endif
