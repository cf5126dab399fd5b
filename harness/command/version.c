/* SPDX-License-Identifier: MIT
 * What this program was built from. The Makefile passes it as macros; a build without them is of no
 * known commit. */
#include "version.h"

#include <stddef.h>

#ifndef CBANK_VERSION
#define CBANK_VERSION "0.1.0"
#endif
#ifndef CBANK_GIT_COMMIT
#define CBANK_GIT_COMMIT "unknown"
#endif
#ifndef CBANK_GIT_DIRTY
#define CBANK_GIT_DIRTY 0
#endif
#ifndef CBANK_CUDA_TOOLKIT
#define CBANK_CUDA_TOOLKIT ""
#endif
#ifndef CBANK_ARCHITECTURES
#define CBANK_ARCHITECTURES ""
#endif

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

/* 'u' is the first letter of "unknown" and of no commit, which is hexadecimal. */
const struct tool tool = {
    .name = "cbank",
    .version = CBANK_VERSION,
    .git_commit = CBANK_GIT_COMMIT[0] == 'u' ? NULL : CBANK_GIT_COMMIT,
    .git_dirty = CBANK_GIT_DIRTY,
    .compiler = COMPILER,
    .cuda_toolkit = sizeof(CBANK_CUDA_TOOLKIT) > 1 ? CBANK_CUDA_TOOLKIT : NULL,
    .architectures = CBANK_ARCHITECTURES,
};
