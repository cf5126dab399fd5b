/* SPDX-License-Identifier: MIT
 * Several GPUs of a host at the same time: a process of this program for each. */
#ifndef CBANK_BESIDE_H
#define CBANK_BESIDE_H

#include "command.h"
#include "run.h"

/* Measures the plan of the command line on the devices devices[0 .. count - 1]. What each process prints comes when it
 * has ended, in the order of the devices. Returns the worst of what they end with. */
enum status run_beside(const struct run_options *options, const struct invocation *invocation, const uint32_t *devices,
                       size_t count);

#endif
