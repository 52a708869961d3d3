/* units.h -- numbers as people read them. Each function writes to out and returns it. */
#ifndef RGT_CLI_UNITS_H
#define RGT_CLI_UNITS_H

#include <stddef.h>
#include <stdint.h>

char *rgt__units_ps(int64_t ps, char *out, size_t size);        /* "987 ns", "12.3 us", "4.56 ms", "1.20 s"; "-" below 0 */
char *rgt__units_seconds(double s, char *out, size_t size);     /* "12 s", "3 min 5 s", "2 h 4 min" */
char *rgt__units_scaled(double v, char *out, size_t size);      /* "12.3M": three digits and k, M, G, T */
char *rgt__units_percent(double share, char *out, size_t size); /* "12.3 %"; "-" where it is 0 or unknown */
char *rgt__units_times(int64_t slow_ps, int64_t fast_ps, char *out, size_t size); /* "1.85x"; "-" where one is unknown */

#endif
