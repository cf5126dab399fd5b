/* SPDX-License-Identifier: MIT
 * Files: listing the files of a path, reading a file, and replacing one as a whole. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "status.h"
#include "texts.h"

/* Adds the files of `path`: the file itself, or every one of a folder that has this ending, in the
 * order of their names. STATUS_USAGE, logged, if it does not exist or is a folder without such
 * files. */
enum status files_add(struct texts *list, const char *path, const char *ending);

/* Reads all of a file or pipe, at most bytes_max, and adds a NUL that *bytes does not count.
 * STATUS_USAGE, logged, if it cannot be read or is larger. On success the caller frees *text. */
enum status file_read(const char *path, size_t bytes_max, char **text, size_t *bytes);

/* Writes the content of a file. Failed writes show in the stream's error flag. */
typedef enum status file_writer(FILE *stream, const void *context);

/* Writes a file with `writer`, or to stdout for "-". A file is replaced as a whole: a temporary one
 * in the same folder, with its mode, is written, synced and renamed, and the folder is synced. A
 * reader sees the old file or the new one and never a part. A link to a file stays a link. A device
 * or pipe is written in place. STATUS_USAGE, logged, if it cannot be written; else the writer's
 * status. Without success, the old file is unchanged. */
enum status file_write(const char *path, file_writer *writer, const void *context);
