/* interrupt.c -- Ctrl-C, SIGTERM, a closed terminal: the first one asks for an end, the second one kills. */
#include "interrupt.h"

#include <string.h>

volatile sig_atomic_t rgt__interrupt_flag;

/* After the first signal both are as the system has them, so that the next one ends the program. */
static void on_signal(int number) {
  (void)number;
  rgt__interrupt_flag = 1;
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  signal(SIGHUP, SIG_DFL);
}

void rgt__interrupt_catch(void) {
  struct sigaction action, before;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, NULL); /* nohup */
}
