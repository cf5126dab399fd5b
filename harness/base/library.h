/* SPDX-License-Identifier: MIT
 * Vendor libraries opened at run time: the program starts on machines that lack them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A function of a library, and the offset of its pointer. */
struct library_symbol {
    const char *name;
    size_t offset; /* of a function pointer in the struct of the library's functions */
};

/* Looks up `count` symbols of an open library and stores their addresses in *functions. False, with
 * the first missing symbol in *missing. */
bool library_bind(void *handle, const struct library_symbol *symbols, size_t count, void *functions,
                  const char **missing);
