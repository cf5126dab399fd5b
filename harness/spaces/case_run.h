/* SPDX-License-Identifier: MIT
 * A kernel file's case on the processor: what it launches, and whether its check can fail. */
#pragma once

#include "kernel_file.h"
#include "option.h"

/* What the case says for the first of its sizes. False: the processor cannot tell. */
bool case_described(const struct kernel_file *file, struct cbank_case_report *out);

/* Prints what the case launches for these sizes (none: those of the file), and runs its check for
 * the smallest of them. *worst becomes STATUS_FINDING, logged, where the launch is one that no GPU
 * has, where the case crashes, or where a kernel that writes nothing would pass the check.
 * STATUS_USAGE, logged, for a .npy file that does not fit. */
enum status case_run(const struct kernel_file *file, const struct integers *sizes,
                     enum status *worst);
