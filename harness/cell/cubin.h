/* SPDX-License-Identifier: MIT
 * Cubins: the functions of an ELF file that ptxas wrote. */
#ifndef CBANK_CUBIN_H
#define CBANK_CUBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CUBIN_REASON_BYTES = 256 };

/* A table of an ELF file, known to lie inside of it. */
struct cubin_table {
    uint64_t offset, bytes;
};

/* A file in memory, which need not be aligned and may be damaged. */
struct cubin {
    const unsigned char *data;
    size_t bytes;
    uint32_t architecture; /* 90 for sm_90 */
    struct cubin_table sections, symbols, strings;
};

/* A function, in place. */
struct cubin_function {
    const char *symbol; /* mangled name */
    const void *code;   /* of its section, which has the functions that it alone calls, too */
    size_t bytes;
    uint32_t architecture;
    bool kernel; /* the host can launch it */
};

/* Reads what a file is. False, with what it is instead and the remedy, or with what is damaged. */
bool cubin_open(const void *data, size_t bytes, struct cubin *out, char reason[CUBIN_REASON_BYTES]);

/* Steps through the functions that are defined there: *at is 0 before the first. False behind the last. */
bool cubin_next(const struct cubin *cubin, uint64_t *at, struct cubin_function *out);

/* Finds the first function whose symbol begins with `prefix`. False when it is not there or the file is no cubin. */
bool cubin_find(const void *data, size_t bytes, const char *prefix, struct cubin_function *out);

#endif
