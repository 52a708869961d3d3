/* interrupt.h -- Ctrl-C: the first one asks for an end, the second one kills. */
#ifndef RGT_CLI_INTERRUPT_H
#define RGT_CLI_INTERRUPT_H

#include <signal.h>

/* rgt__interrupt_flag -- set by SIGINT and SIGTERM once rgt__interrupt_catch was called. */
extern volatile sig_atomic_t rgt__interrupt_flag;
void rgt__interrupt_catch(void);

#endif
