/* SPDX-License-Identifier: MIT
 * SIGINT, SIGTERM and SIGHUP: the first asks the program to end well, the second ends it. */
#ifndef CBANK_INTERRUPT_H
#define CBANK_INTERRUPT_H

#include <stdbool.h>

/* From now on the first signal only asks. */
void interrupt_catch(void);

/* Whether one came. */
bool interrupted(void);

/* Ends the process as the signal would have ended it, after everything is saved. Returns when there was none. */
void interrupt_end(void);

#endif
