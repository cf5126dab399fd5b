/* SPDX-License-Identifier: MIT
 * What a kernel file says of itself, and the choices of memory spaces for its tables. */
#ifndef CBANK_KERNEL_INFO_H
#define CBANK_KERNEL_INFO_H

#include "kernel_file.h"

/* Reads the case and the tables from a cubin of the file into *out, whose path is set. Tables are in the order of their
 * lines. STATUS_USAGE, logged with file and line, if there is no case or no table, or if the file was compiled with
 * a cbank.cuh of another version. */
enum status kernel_info_read(const void *cubin, size_t bytes, struct kernel_file *out);

/* Allocates the builds of a file, whose tables are known, from the text of struct kernel_request: each choice once.
 * Their memory spaces, names and as_written are set. STATUS_USAGE, logged, for a table or a space that is unknown. */
enum status kernel_choices_read(const char *spaces, struct kernel_file *file);

#endif
