/* SPDX-License-Identifier: MIT
 * Cubins: the functions of an ELF file that ptxas wrote. */
#ifndef CBANK_CUBIN_H
#define CBANK_CUBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A function, in place. */
struct cubin_function {
    const char *symbol; /* mangled name */
    const void *code;
    size_t bytes;
    uint32_t architecture; /* 90 for sm_90 */
};

/* Finds the first function whose symbol begins with `prefix` in a file in memory, which need not be aligned and may be
 * damaged. False when it is not there or the file is no ELF file of 64 bits. */
bool cubin_find(const void *data, size_t bytes, const char *prefix, struct cubin_function *out);

#endif
