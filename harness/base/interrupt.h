/* SPDX-License-Identifier: MIT
 * SIGINT, SIGTERM and SIGHUP: the first asks the program to end, the second ends it. */
#ifndef CBANK_INTERRUPT_H
#define CBANK_INTERRUPT_H

#include <stdbool.h>

/* From now on the first signal is only recorded. */
void interrupt_catch(void);

/* Whether a signal was received. */
bool interrupted(void);

/* Ends the process by the received signal; call it after saving everything. Returns if there was none. */
void interrupt_end(void);

#endif
