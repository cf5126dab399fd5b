/* SPDX-License-Identifier: MIT
 * Vendor libraries opened at run time: the program starts on machines that lack them. */
#ifndef CBANK_LIBRARY_H
#define CBANK_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/* One function of a library, and where its address goes. */
struct library_symbol {
    const char *name;
    size_t offset; /* of a function pointer in the struct of the library's functions */
};

/* Looks up symbols[0 .. count - 1] of an open library and stores them into *functions. False, with *missing
 * the first that is not there. */
bool library_bind(void *handle, const struct library_symbol *symbols, size_t count, void *functions,
                  const char **missing);

#endif
