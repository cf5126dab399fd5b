/* SPDX-License-Identifier: MIT
 * A folder for temporary files. It is gone with its process: what one that was killed leaves, the
 * next process removes. */
#pragma once

#include "status.h"

enum { SCRATCH_BYTES = 128 };

/* A folder of this process. Zeroed: none. */
struct scratch {
    char path[SCRATCH_BYTES]; /* without characters that a shell knows */
    int lock; /* descriptor of its file `lock` */
};

/* Makes a folder in TMPDIR, or in /tmp where that is not set or is no plain absolute path, and
 * removes those of processes that were killed. STATUS_ENVIRONMENT, logged, if it cannot be made. */
enum status scratch_open(struct scratch *out);

/* Leaves the folder where it is: nobody removes it. */
void scratch_keep(struct scratch *scratch);

/* Removes the folder with all that is in it; accepts a zeroed struct. */
void scratch_close(struct scratch *scratch);
