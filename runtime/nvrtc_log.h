/* nvrtc_log.h -- what NVRTC's log says: the resources that ptxas -v reports, and the first error. */
#ifndef RGT_RUNTIME_NVRTC_LOG_H
#define RGT_RUNTIME_NVRTC_LOG_H

#include "runtime/device.h"

/* rgt__nvrtc_log_resources -- registers, shared, spill and stack bytes of `out`: the largest over the functions of the log.
 * 1 if the log reports registers of at least one; `out` is untouched otherwise. */
int rgt__nvrtc_log_resources(const char *log, rgt__compiled *out);
/* rgt__nvrtc_log_first_error -- the first line that states an error, without the log's line break; where there is none, what
 * can be said of a log without one. */
void rgt__nvrtc_log_first_error(const char *log, char *line, size_t line_size);

#endif
