/* report.h -- what ptxsim has to say: one line each, to stderr or to the file that PTXSIM_LOG names. */
#ifndef SIM_DRIVER_REPORT_H
#define SIM_DRIVER_REPORT_H

#include <stdint.h>

#define SIM_PRINTF __attribute__((format(printf, 1, 2)))

void sim_report_misuse(const char *format, ...) SIM_PRINTF;  /* a call that the driver refuses; counted */
void sim_report_finding(const char *format, ...) SIM_PRINTF; /* what the driver would let pass and is wrong; counted */
void sim_report_fault(const char *text);                     /* a kernel's fault, several lines; counted */
void sim_report_say(const char *format, ...) SIM_PRINTF;     /* anything else: tables, notes */

typedef struct sim_report_counts {
  uint64_t misuses, findings, faults;
} sim_report_counts;
sim_report_counts sim_report_count(void);
void sim_report_reset(void);
const char *sim_report_last(void); /* the last misuse, finding or fault; "" if there was none */

#endif
