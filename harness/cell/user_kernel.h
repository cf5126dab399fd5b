/* SPDX-License-Identifier: MIT
 * A user's kernel, as cells name it. The program compiles it from a kernel file: see
 * kernel_file.h. */
#pragma once

#include <stdint.h>

enum { USER_KERNEL_NAME_BYTES = 64, USER_KERNEL_SPACES_BYTES = 128 };

/* The part of a cell's identity that a kernel file determines. */
struct user_kernel {
    /* of its case; "": the cell has a workload of this program */
    char name[USER_KERNEL_NAME_BYTES];
    char spaces
        /* memory spaces of its tables: "shared" for all, or "grid=shared+signs=constant" */
        [USER_KERNEL_SPACES_BYTES];
    /* The first 64 bits of the hash of the source, of what it includes, and of the compiler's
     * options; 0: any. */
    uint64_t hash;
};
