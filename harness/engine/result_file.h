/* SPDX-License-Identifier: MIT
 * Where the result of a run goes. */
#ifndef CBANK_RESULT_FILE_H
#define CBANK_RESULT_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "file_lock.h"
#include "result.h"
#include "status.h"

enum { RESULT_PATH_BYTES = 4096 };

/* Where the result of one device goes, which no other process writes meanwhile. Zeroed: nowhere. */
struct result_file {
    struct file_lock lock; /* who resumes a result in place takes it before reading that */
    bool reserved;         /* its name is made up, and it was there before anything was measured */
};

/* The name that one of several devices' results has where the user named a file; "" where a name is made up, or goes to
 * stdout. */
void result_file_name(const char *given, uint32_t device, char path[RESULT_PATH_BYTES]);

/* Finds the path of the result, and out before measuring that it could not be written: STATUS_USAGE, logged. `given` is
 * the file or folder that the user named, or "-"; NULL: the current folder. In a folder, which is made, a name is made
 * up that no file has, and an incomplete result is written at once. A file that another process is writing is refused.
 * `several`: it is one of several devices, whose number goes into the name of a given file. */
enum status result_file_open(struct result_file *file, const char *given, const struct result *result, uint32_t device,
                             bool several, char path[RESULT_PATH_BYTES]);

/* Lets other processes write it. A name that was reserved in vain, by a run that failed before it measured anything, is
 * given back. Accepts a zeroed struct. */
void result_file_close(struct result_file *file, const char *path, const struct result *result, bool failed);

#endif
