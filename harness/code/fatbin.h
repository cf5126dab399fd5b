/* SPDX-License-Identifier: MIT
 * Machine code in the files that people have: cubins, fatbins, the programs, libraries and objects
 * that have fatbins in them, and archives of objects. Code that nvcc compressed is unpacked. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "status.h"

/* A cubin. */
struct cubin_image {
    const void *data; /* in the file, or in `unpacked` */
    size_t bytes;
    void *unpacked;        /* owned; NULL: it was not compressed */
};

/* Those of one architecture. */
struct cubin_images {
    const char *path; /* not owned */
    struct cubin_found *found; /* owned: of all architectures, in the order of the file */
    size_t count, next; /* next: the first in `found` that was not looked at yet */
    size_t taken; /* of those, that have kernels */
    uint64_t unpacked_bytes; /* of all that were */
    uint32_t architecture; /* 90 for sm_90 */
    char others[128]; /* "sm_75 sm_80": what the file has in addition; as many as fit */
};

/* Finds the cubins of an architecture in a file in memory, called `path`; `data` is used as long as
 * *out. Architecture 0 is the newest whose code can be read here, or the newest. A file that is a
 * cubin has itself. STATUS_USAGE, logged, if the file is damaged, of another kind, or has no code
 * of the architecture. STATUS_ENVIRONMENT, logged, when out of memory. On success the caller closes
 * *out. */
enum status cubin_images_open(const char *path, const void *data, size_t bytes,
                              uint32_t architecture, struct cubin_images *out);

/* Unpacks the next cubin of the architecture that has kernels; *end: there is none. The caller
 * frees out->unpacked. STATUS_USAGE, logged, if it is damaged, or where none had kernels.
 * STATUS_ENVIRONMENT, logged, if code is compressed and the library that unpacks it is not on the
 * machine, or when out of memory. */
enum status cubin_images_next(struct cubin_images *images, struct cubin_image *out, bool *end);

/* Releases; accepts a zeroed struct. */
void cubin_images_close(struct cubin_images *images);
