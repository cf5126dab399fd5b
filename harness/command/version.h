/* SPDX-License-Identifier: MIT
 * The version and build of this program. The build defines the macros only for version.c, so that a
 * commit recompiles one file. */
#pragma once

#include <stdbool.h>

struct tool {
    const char *name;
    const char *version;
    const char *git_commit;   /* NULL when not known */
    bool git_dirty;           /* the sources had changes that were not committed */
    const char *compiler;
    const char *cuda_toolkit; /* NULL in a build without CUDA */
    const char *architectures; /* that it has kernels for: "sm_90 compute_90"; "": none */
};

extern const struct tool tool;
