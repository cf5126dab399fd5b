/* SPDX-License-Identifier: MIT
 * The PTX that a cubin keeps beside lines of the source (-lineinfo, -G): it has the names of
 * tables.
 *
 *     mov.u64       %rd8, lbase;
 *     add.s64       %rd9, %rd8, %rd7;
 *     ld.const.u16  %r4, [%rd9+-514];     reads lbase */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "status.h"

/* The first line of a function. */
struct ptx_function {
    size_t offset; /* bytes in the text */
    uint32_t line; /* counted from 1 */
};

/* Lines of PTX, each with a zero behind it. */
struct ptx {
    const char *text; /* not owned; NULL: there is none */
    size_t bytes;
    struct ptx_function *functions; /* owned: in the order of the text */
    size_t count;
};

/* Finds the functions of a text, which may be NULL. STATUS_ENVIRONMENT, logged, when out of memory.
 * On success the caller closes *out. */
enum status ptx_open(const char *text, size_t bytes, struct ptx *out);

/* Releases; accepts a zeroed struct. */
void ptx_close(struct ptx *ptx);

/* The symbol that the address of the load from constant memory in a line, counted from 1, is made
 * of. False: it is no such load, or its address may be made of several, or of none. */
bool ptx_constant_of(const struct ptx *ptx, uint32_t line, char *symbol, size_t room);
