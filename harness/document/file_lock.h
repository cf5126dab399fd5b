/* SPDX-License-Identifier: MIT
 * Locks of files: one process at a time writes a file, and leftovers of dead processes are removed. A lock is one of
 * flock: it ends with its process in every case. Temporary files next to a file that is being written have names that
 * end in ".cbank-*.tmp":
 *   FILE.cbank-lock.tmp       locked by the process that measures into FILE; names that process
 *   FILE.cbank-PID-N.tmp      the replacement of FILE
 * An unlocked one belongs to nobody. */
#ifndef CBANK_FILE_LOCK_H
#define CBANK_FILE_LOCK_H

#include <stdbool.h>

#include "status.h"

/* The right to write a file. Zeroed: none. */
struct file_lock {
    char *path; /* owned: path of the lock's own file; NULL: no lock is needed */
    int descriptor;
};

/* Takes the lock of the file at path, through links, whether the file exists or not; "-", devices and pipes need none.
 * Cleans the folder. Returns 0; EWOULDBLOCK if another process has it; or another errno if the folder cannot be
 * written. */
int file_lock_try(const char *path, struct file_lock *out);

/* Like file_lock_try, and logs errors: STATUS_USAGE, with the owner of the lock; STATUS_ENVIRONMENT when out of
 * memory. */
enum status file_lock_take(const char *path, struct file_lock *out);

/* Releases the lock; accepts a zeroed struct. */
void file_lock_release(struct file_lock *lock);

/* The status for the errno of a file operation: STATUS_ENVIRONMENT for ENOMEM, else STATUS_USAGE. */
enum status file_failed(int error);

/* The file at a path, through links, even if a link's target does not exist yet. The caller frees it; NULL with errno
 * on failure. */
char *file_target(const char *path);

/* Locks a temporary file that was just made, until its descriptor is closed. False if another process has removed it
 * meanwhile. */
bool file_lock_own(int descriptor);

/* Removes leftovers of dead processes in the folder of `path`, with names that fit the pattern (fnmatch's). Files that
 * cannot be removed are ignored. */
void file_clean(const char *path, const char *pattern);

#define FILE_LEFT_OVER           "*.cbank-*.tmp"
#define FILE_LEFT_OVER_TEMPORARY "*.cbank-[0-9]*-[0-9]*.tmp"

#endif
