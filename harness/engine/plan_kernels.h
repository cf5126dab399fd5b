/* SPDX-License-Identifier: MIT
 * Cells of users' kernels: kernel files are compiled for a device, and their builds become
 * cells. */
#pragma once

#include "kernel_file.h"
#include "plan.h"
#include "result.h"

struct kernel_files {
    char *paths; /* owned */
    struct kernel_file *files; /* owned */
    size_t count;
};

/* STATUS_USAGE, logged, if a file of --kernel or --against cannot be read: with a GPU, and
 * without. */
enum status plan_check_kernels(const struct kernel_options *options);

/* Compiles the files of --kernel for an architecture (90 for sm_90), and adds the cells to *out:
 * for each file its sizes, by cache states, by memory spaces. STATUS_USAGE, logged, as
 * kernel_file_open, and for two files whose cells have the same names. The caller closes both, also
 * after an error. Cells point into *files. */
enum status plan_open_kernels(const struct plan_options *options, uint32_t architecture,
                              struct kernel_files *files, struct plan *out);

/* Compiles again what the pending cells of a result need, and gives it to them. `options` names the
 * files: a result may be another's, and what it names is not compiled. STATUS_USAGE, logged, if a
 * file is not named or has changed, or if the result has options for the compiler that only a user
 * may give. The caller closes *files, also after an error, and after the result. */
enum status result_give_kernels(struct result *result, const struct kernel_options *options,
                                uint32_t architecture, struct kernel_files *files);

/* Records the files in a new result, and skips the cells whose tables cannot live where they
 * should. STATUS_ENVIRONMENT, logged, when out of memory. The result is closed before the files. */
enum status result_set_kernels(struct result *result, const struct kernel_options *options,
                               const struct kernel_files *files);

/* Releases; accepts a zeroed struct. */
void kernel_files_close(struct kernel_files *files);

/* For options and arguments that name kernel files, with commas between: the files, and what their
 * compiles may read. */
option_reads kernels_read;
