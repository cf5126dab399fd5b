/* SPDX-License-Identifier: MIT
 * Processes of this program or another that run one plan, one after the other, for calibrate and gate. */
#ifndef CBANK_PROCESSES_H
#define CBANK_PROCESSES_H

#include <stdint.h>

#include "command.h"
#include "plan_options.h"
#include "side.h"
#include "status.h"

/* Processes that measure the same. */
struct process_series {
    const struct invocation *invocation; /* each process gets its options of plan and measurement */
    const struct integers *devices;      /* of --device */
    const char *name;                    /* for messages */
    const char *program;                 /* as for child_run; NULL: this one */
    uint64_t most;                       /* number of processes wanted */
};

/* Runs process `index` and adds its result. STATUS_FINDING if a cell failed; the other cells count. STATUS_USAGE, logged,
 * for several devices. */
enum status process_run(const struct process_series *series, uint64_t index, struct sides *sides);

#endif
