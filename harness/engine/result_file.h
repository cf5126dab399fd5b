/* SPDX-License-Identifier: MIT
 * The output file of a run. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "file_lock.h"
#include "result.h"
#include "status.h"

enum { RESULT_PATH_BYTES = 4096 };

/* The file of one device's result, which no other process writes meanwhile. Zeroed: none. */
struct result_file {
    /* a process that resumes a result in place takes the lock before reading the result */
    struct file_lock lock;
    /* the name is made up, and the file was created before anything was measured */
    bool reserved;
};

/* Finds the path of the result, and checks before measuring that it can be written. STATUS_USAGE,
 * logged, if it cannot. `given` is the file or folder that the user named, or "-"; NULL: the
 * current folder. A folder is created if needed. In it a new name is made up, and an incomplete
 * result is written at once. A file that another process is writing is refused. `several`: there
 * are several devices, and the device's number goes into the name of a given file. */
enum status result_file_open(struct result_file *file, const char *given,
                             const struct result *result, uint32_t device, bool several,
                             char path[RESULT_PATH_BYTES]);

/* Lets other processes write the file. A reserved file is removed if the run failed before it
 * measured anything. Accepts a zeroed struct. */
void result_file_close(struct result_file *file, const char *path, const struct result *result,
                       bool failed);
