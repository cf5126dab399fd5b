/* SPDX-License-Identifier: MIT
 * Arrays of integers in files of NumPy's format .npy, versions 1 to 3: mapped, not copied. */
#ifndef CBANK_NPY_H
#define CBANK_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "status.h"

/* An array in memory. Nothing of it is owned. */
struct npy {
    const void *values; /* little-endian, in C order; need not be aligned */
    uint32_t bytes;     /* of one value: 1, 2, 4 or 8 */
    bool is_signed;
    uint32_t dimensions; /* 1 or 2 */
    uint64_t shape[2];   /* each 1 or more; the second is 1 where there is one dimension */
    uint64_t count;      /* of values: their product */
};

/* Reads what is in data[0 .. bytes - 1]: a header, and exactly as many values as its shape says. STATUS_USAGE,
 * logged with what was found and what is wanted, for anything else: no .npy, cut short, too long, empty, no
 * integers, big-endian, in Fortran order, or without one or two dimensions. `name` is what messages call it. */
enum status npy_parse(const char *name, const void *data, size_t bytes, struct npy *out);

/* A file in memory. */
struct npy_file {
    struct npy array;
    void *mapping; /* owned, with as many bytes */
    size_t bytes;
};

/* Maps a file and reads it as npy_parse does. STATUS_USAGE, logged, where it cannot be read; *out is the caller's to
 * close only on success. */
enum status npy_open(const char *path, struct npy_file *out);

/* Releases; accepts a zeroed struct. */
void npy_close(struct npy_file *file);

#endif
