/* fresh.h -- is a stored time still one of this machine's toolchain, driver and templates? Without starting a compiler. */
#ifndef RGT_RUNTIME_FRESH_H
#define RGT_RUNTIME_FRESH_H

#include "runtime/prepare.h"

/* rgt__fresh_remember -- which toolchain the compiler's stamp stands for, in the code cache: asking a compiler starts it. */
void rgt__fresh_remember(rgt__code_cache *cache, rgt__device *device, const char *toolchain);
/* rgt__fresh_toolchain -- the digest of this machine's toolchain; 0 where nobody asked the compiler yet. */
int rgt__fresh_toolchain(rgt_ctx *ctx, rgt__digest *out);
void rgt__fresh_digest(const char *toolchain, rgt__digest *out);

enum { RGT_OUTDATED_MAX = 64 };

/* rgt__fresh_outdated -- what is another one now than in every run that timed the choice's winner: "toolchain, template"; ""
 * where nothing is, and where that says nothing: of another shape, device or number of threads, of a bundle, of a pin that was
 * never timed. RGT_EDB, RGT_ENOMEM. */
rgt_status rgt__fresh_outdated(rgt_op *op, const rgt__choice *choice, char text[RGT_OUTDATED_MAX]);

#endif
