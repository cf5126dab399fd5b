/* SPDX-License-Identifier: MIT
 * Several GPUs of a host in parallel: one process of this program for each. */
#ifndef CBANK_BESIDE_H
#define CBANK_BESIDE_H

#include "command.h"
#include "run.h"

/* Measures the plan of the command line on `count` devices. The output of each process is printed when it has ended, in
 * the order of the devices. Returns the worst exit code. */
enum status run_beside(const struct run_options *options, const struct invocation *invocation, const uint32_t *devices,
                       size_t count);

#endif
