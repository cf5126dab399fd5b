/* SPDX-License-Identifier: MIT
 * A kernel file without a GPU: what compilers make of it in every memory space, and what its case
 * says on the processor. */
#pragma once

#include "kernel_file.h"
#include "output_options.h"
#include "plan_options.h"

/* Compiles a kernel file for each of these architectures and prints what comes of it.
 * STATUS_FINDING, logged, if a memory space does not compile for another reason than the table's
 * size, if the code stores nothing or reads a table that it never staged, or if the check of the
 * case cannot fail. STATUS_USAGE and STATUS_ENVIRONMENT, logged, as kernel_file_open. */
enum status spaces_check(const char *path, const struct kernel_options *options,
                         const struct integers *architectures, const char *card_path,
                         const struct print_style *look);
