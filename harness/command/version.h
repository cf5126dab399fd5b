/* SPDX-License-Identifier: MIT
 * What this program was built from. The build defines the macros for version.c alone, so that a commit
 * recompiles one file. */
#ifndef CBANK_VERSION_H
#define CBANK_VERSION_H

#include <stdbool.h>

#include "field.h"

struct tool {
    const char *name;
    const char *version;
    const char *git_commit;   /* NULL when not known */
    bool git_dirty;           /* the sources had changes that were not committed */
    const char *compiler;
    const char *cuda_toolkit; /* NULL in a build without CUDA */
};

extern const struct tool tool;

/* Kind of a field that writes this object: which cbank wrote a document. Its member is a char array, the command line,
 * written as argv and read again; with bytes 0 there is none. What else it says is for people and is not read. */
extern const struct field_kind field_tool;

#endif
