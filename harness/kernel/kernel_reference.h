/* SPDX-License-Identifier: MIT
 * A kernel file's case on the processors of this machine: what it says of its launch, the contents
 * of its buffers, and what they should hold. It is the user's code: it runs in a child process,
 * which may crash. The file has such a build. */
#pragma once

#include "kernel_file.h"

/* Runs a call of the case for a buffer or a table of so many elements, and writes the `bytes` of
 * these to `out`: contents (CBANK_CALL_FILL, CBANK_CALL_ENTRIES) or what they should be
 * (CBANK_CALL_EXPECT). Addresses in the request are of this process, in memory that was not
 * allocated by CUDA. False, with the reason, if the code crashes or takes more than half a
 * minute. */
bool kernel_reference_run(const struct kernel_file *file, const struct cbank_request *request,
                          uint64_t elements, void *out, size_t bytes,
                          char reason[KERNEL_REASON_BYTES]);

/* Asks what the case says of its launch for a size, with the tables as the file has them. False,
 * with the reason, as above. */
bool kernel_reference_describe(const struct kernel_file *file, uint64_t size,
                               struct cbank_case_report *out, char reason[KERNEL_REASON_BYTES]);

/* The name of the function that a described case launches, mangled, in the build of the file; NULL
 * if that does not say it. */
const char *kernel_reference_symbol(const struct kernel_file *file,
                                    const struct cbank_case_report *report);
