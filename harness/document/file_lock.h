/* SPDX-License-Identifier: MIT
 * Locks of files: one process at a time writes a file. A lock is one of flock: it ends with its
 * process in every case. Two temporary files may lie next to a file that is being written. The next
 * process that writes the file takes those of a dead one:
 *   FILE.cbank-lock.tmp  locked by the process that measures into FILE
 *   FILE.cbank.tmp       locked while it is written; the replacement of FILE */
#pragma once

#include <stdbool.h>

#include <sys/types.h>

#include "status.h"

/* Endings of the temporary files beside a file that is written. */
enum { FILES_BESIDE = 2 };
extern const char *const file_beside[FILES_BESIDE];

/* The right to write a file. Zeroed: none. */
struct file_lock {
    char *path; /* owned: path of the lock's own file; NULL: no lock is needed */
    int descriptor;
};

/* Takes the lock of the file at path, through links, whether the file exists or not; "-", devices
 * and pipes need none. Returns 0; EWOULDBLOCK if another process has it; or another errno if the
 * folder cannot be written. */
int file_lock_try(const char *path, struct file_lock *out);

/* Like file_lock_try, and logs errors: STATUS_USAGE; STATUS_ENVIRONMENT when out of memory. */
enum status file_lock_take(const char *path, struct file_lock *out);

/* Releases the lock; accepts a zeroed struct. */
void file_lock_release(struct file_lock *lock);

/* Opens a temporary file, which it makes if needed, and locks it until the descriptor is closed.
 * `wait`: until another process closes it. -1 with errno on failure. */
int file_open_locked(const char *path, mode_t mode, bool wait);

/* The status for the errno of a file operation: STATUS_ENVIRONMENT for ENOMEM, else
 * STATUS_USAGE. */
enum status file_failed(int error);

/* The file at a path, through links, or the path itself if there is no file yet. The caller frees
 * it; NULL with errno on failure. */
char *file_target(const char *path);

/* Removes a file and what a dead process left next to it. */
void file_discard(const char *path);
