/* SPDX-License-Identifier: MIT
 * Archives, as ar(1) writes them: static libraries of objects, and the images of this program. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A file in memory, which may be damaged, and a place in it. */
struct archive {
    const char *data;
    size_t bytes;
    size_t place;
    const char *long_names; /* the member that has the names that no header holds; NULL: none yet */
    size_t long_names_bytes;
};

/* A member, in place. */
struct archive_member {
    const char *name; /* without a NUL behind it */
    size_t name_bytes;
    const void *data;
    size_t bytes;
};

enum archive_step { ARCHIVE_MEMBER, ARCHIVE_END, ARCHIVE_DAMAGED };

/* Whether a file is an archive. *thin: it has the names of its members alone. */
bool archive_open(const void *data, size_t bytes, struct archive *out, bool *thin);

/* Steps to the next member; tables of symbols and of names are none. */
enum archive_step archive_next(struct archive *archive, struct archive_member *out);
