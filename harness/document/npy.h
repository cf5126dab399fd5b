/* SPDX-License-Identifier: MIT
 * Arrays of numbers in files of NumPy's format .npy, versions 1 to 3: mapped, not copied. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "status.h"

/* An array in memory, which the struct does not own. */
struct npy {
    const void *values; /* little-endian, in C order; need not be aligned */
    uint32_t bytes;     /* of one value: 1, 2, 4 or 8 */
    bool is_signed, is_float;
    uint32_t dimensions; /* 1 or 2 */
    uint64_t shape[2];   /* each 1 or more; the second is 1 in arrays of one dimension */
    uint64_t count;      /* number of values: the product of the shape */
};

/* Reads a header and exactly the values of its shape from `bytes` bytes. Anything else is
 * STATUS_USAGE, logged with the found and the expected property. This includes truncated, too long
 * and empty files, big-endian and Fortran order, and more than two dimensions, and floats unless
 * `floats` allows them. Messages use `name`. */
enum status npy_parse(const char *name, const void *data, size_t bytes, bool floats,
                      struct npy *out);

/* A file in memory. */
struct npy_file {
    struct npy array;
    void *mapping; /* owned; its length is `bytes` */
    size_t bytes;
};

/* Maps a file and reads it like npy_parse. STATUS_USAGE, logged, on failure; the caller closes *out
 * only on success. */
enum status npy_open(const char *path, bool floats, struct npy_file *out);

/* Releases; accepts a zeroed struct. */
void npy_close(struct npy_file *file);
