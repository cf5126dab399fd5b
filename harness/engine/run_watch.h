/* SPDX-License-Identifier: MIT
 * Who ends the command when a call of an engine does not come back: with all that was measured. */
#ifndef CBANK_RUN_WATCH_H
#define CBANK_RUN_WATCH_H

#include "engine.h"
#include "watchdog.h"

struct run;

struct run_watch {
    struct watchdog watchdog;
    double patience; /* of --patience; 0: not given */
    struct run *run; /* that is under way; NULL: none */
};

/* Begins to watch; the struct stays where it is until run_watch_close. */
void run_watch_open(struct run_watch *watch, double patience);
void run_watch_close(struct run_watch *watch);

/* Asks an engine how many devices there are, or what one of them is, watched. */
uint32_t run_device_count(struct run_watch *watch, const struct engine *engine, const char **reason);
enum status run_describe(const struct run *run, uint32_t device, struct device_info *out);

#endif
