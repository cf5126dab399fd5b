/* SPDX-License-Identifier: MIT
 * Processes of this program or another that run one plan, one after the other, for calibrate and
 * gate. */
#pragma once

#include <stdint.h>

#include "command.h"
#include "plan_options.h"
#include "side.h"
#include "status.h"

/* Runs a process with the command's options of plan and measurement and with `more` words, and adds
 * its result. `program` is as for child_run; messages call the process `what`. STATUS_FINDING if a
 * cell failed; the other cells count. STATUS_USAGE, logged, for several devices. */
enum status process_run(const struct invocation *invocation, const struct measure_options *measure,
                        const struct texts *more, const char *program, const char *what,
                        struct sides *sides);
