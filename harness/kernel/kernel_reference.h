/* SPDX-License-Identifier: MIT
 * The check of a kernel file's case on the processors of this machine. It is the user's code: it
 * runs in a child process, which may crash. */
#pragma once

#include "kernel_file.h"

/* Writes the expected elements of a buffer to `expected`, by the call CBANK_CALL_EXPECT. The file
 * has such a build. Addresses in the request are of this process, in memory that was not allocated
 * by CUDA. False, with the reason, if the code crashes or takes more than half a minute. */
bool kernel_reference_run(const struct kernel_file *file, const struct cbank_request *request,
                          uint64_t elements, void *expected, size_t bytes,
                          char reason[KERNEL_REASON_BYTES]);
