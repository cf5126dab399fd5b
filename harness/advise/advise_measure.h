/* SPDX-License-Identifier: MIT
 * Measures the lookups that advice is about, in every memory space that can hold the table. */
#pragma once

#include "advise.h"
#include "run.h"

/* Measures a configuration: `lookups` has one value of each option, and the paths. Ranks the
 * memory spaces of the advice by it. STATUS_FINDING, logged, where an output is wrong; else as
 * run_plan ends. */
enum status advise_measure(const struct measure_options *measure,
                           const struct plan_options *lookups, const struct invocation *invocation,
                           struct advice *advice);
