/* SPDX-License-Identifier: MIT
 * Who writes a file: one process at a time, and what dead ones left is cleaned. A lock is flock's, so that it ends with
 * its process, however that ends. Names of what lies beside a file while it is written end in ".cbank-*.tmp":
 *   FILE.cbank-lock.tmp       held by the process that measures into FILE, and says which that is
 *   FILE.cbank-PID-N.tmp      what FILE is replaced by
 * One that nobody has locked belongs to nobody. */
#ifndef CBANK_FILE_LOCK_H
#define CBANK_FILE_LOCK_H

#include <stdbool.h>

#include "status.h"

/* The right to write a file. Zeroed: none. */
struct file_lock {
    char *path; /* owned: of the lock's own file; NULL: what is written needs none */
    int descriptor;
};

/* Takes the lock of the file at path, through links, whether or not there is a file yet; "-", devices and pipes need
 * none. Returns 0; EWOULDBLOCK where another process has it; or what else errno says of a folder that cannot be written
 * to. Cleans the folder. */
int file_lock_try(const char *path, struct file_lock *out);

/* As file_lock_try, and logs: STATUS_USAGE, with who has it; STATUS_ENVIRONMENT out of memory. */
enum status file_lock_take(const char *path, struct file_lock *out);

/* Gives it back. Accepts a zeroed struct. */
void file_lock_release(struct file_lock *lock);

/* The status for errno of a call on a file: STATUS_ENVIRONMENT for ENOMEM, else STATUS_USAGE. */
enum status file_failed(int error);

/* The file that a path stands for, through links, also where a link's end is not there yet. The caller's, to free; NULL
 * with errno. */
char *file_target(const char *path);

/* Locks a temporary file that was just made, until its descriptor is closed. False where it was cleaned meanwhile. */
bool file_lock_own(int descriptor);

/* Removes what dead processes left in the folder of `path`, of names that fit the pattern (fnmatch's). Says nothing of
 * what it cannot remove. */
void file_clean(const char *path, const char *pattern);

#define FILE_LEFT_OVER           "*.cbank-*.tmp"
#define FILE_LEFT_OVER_TEMPORARY "*.cbank-[0-9]*-[0-9]*.tmp"

#endif
