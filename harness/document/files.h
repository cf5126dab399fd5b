/* SPDX-License-Identifier: MIT
 * Files: what a path stands for, reading one, and replacing one as a whole. */
#ifndef CBANK_FILES_H
#define CBANK_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "status.h"

struct file_list {
    char **paths; /* owned, and so are the strings */
    size_t count;
};

/* Adds what `path` stands for: the file itself, or every *.json file of a folder in the order of their names.
 * STATUS_USAGE for what is not there and for a folder without such files. */
enum status files_add(struct file_list *list, const char *path);

/* Releases; accepts a zeroed struct. */
void files_close(struct file_list *list);

/* Reads all of a file or pipe, at most bytes_max, and adds a NUL that *bytes does not count. STATUS_USAGE for what
 * cannot be read or is larger. On success *text is the caller's to free. */
enum status file_read(const char *path, size_t bytes_max, char **text, size_t *bytes);

/* Writes what a file is to hold. Failed writes show in the stream's error flag. */
typedef enum status file_writer(FILE *stream, const void *context);

/* Writes by `writer` to a file, or with "-" to stdout. A file is replaced as a whole: a temporary one in the same
 * folder, with its mode, is written, synced and renamed, and the folder is synced. A reader sees the old file or the
 * new one and never a part. Temporary files that dead processes left there are removed. A link stays a link: what it
 * points to is replaced, or made where it dangles. A device or pipe is written in place. STATUS_USAGE when it cannot
 * be written; else what the writer returns, and without success the old file is as it was. */
enum status file_write(const char *path, file_writer *writer, const void *context);

/* Makes a folder and those above it. Whether it is there then, or something else of that name; else errno says why
 * not. */
bool file_make_folders(const char *path);

#endif
