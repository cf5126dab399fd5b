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

/* Lines of PTX, each with a zero behind it. */
struct ptx {
    const char *text; /* NULL: there is none */
    size_t bytes;
};

/* The symbol that the address of the load from constant memory in a line, counted from 1, is made
 * of. False: it is no such load, or its address may be made of several, or of none. */
bool ptx_constant_of(const struct ptx *ptx, uint32_t line, char *symbol, size_t room);
