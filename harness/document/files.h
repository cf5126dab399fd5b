/* SPDX-License-Identifier: MIT
 * Files: listing the files of a path, reading a file, and replacing one as a whole. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "status.h"
#include "texts.h"

/* Adds the files of `path`: the file itself, or every one of a folder that has this ending, in the
 * order of their names. STATUS_USAGE, logged, if it does not exist or is a folder without such
 * files. */
enum status files_add(struct texts *list, const char *path, const char *ending);

/* Adds the files of a folder as files_add does, which may be none. False with errno if there is no
 * such folder, or it cannot be read; ENOMEM when out of memory. */
bool files_add_folder(struct texts *list, const char *path, const char *ending);

/* The name of the file of one of several devices: "out-device1.json". NULL when out of memory. The
 * caller frees it. */
char *file_of_device(const char *path, unsigned device);

/* Opens a regular file to read: every reader of a named file begins here. It never waits: a pipe, a
 * socket, a device and a folder are refused. Returns the descriptor; -1, with errno (EISDIR for a
 * folder, EINVAL for the others), and with *why, the reason for a message. */
int file_open(const char *path, struct stat *about, const char **why);

/* Reads from a descriptor until there are so many bytes, or the end. Returns how many; -1 with
 * errno. */
ssize_t file_read_bytes(int descriptor, void *to, size_t bytes);

/* Reads all of a regular file, at most bytes_max, and adds a NUL that *bytes does not count.
 * STATUS_USAGE, logged, if it cannot be read or is larger. On success the caller frees *text. */
enum status file_read(const char *path, size_t bytes_max, char **text, size_t *bytes);

/* Logs that a file cannot be written, for this errno; returns its status. */
enum status file_cannot_write(const char *path, int error);

/* Writes the content of a file. Failed writes show in the stream's error flag. */
typedef enum status file_writer(FILE *stream, const void *context);

/* Writes a file with `writer`, or to stdout for "-". A file is replaced as a whole: a temporary one
 * in the same folder, with its mode, is written, synced and renamed, and the folder is synced. A
 * reader sees the old file or the new one and never a part. A link to a file stays a link. A device
 * or pipe is written in place, and a pipe that nobody reads is refused; while the reader of a pipe
 * takes its time, a signal ends this process. STATUS_USAGE, logged, if it cannot be written; else
 * the writer's status. Without success, the old file is unchanged. */
enum status file_write(const char *path, file_writer *writer, const void *context);
