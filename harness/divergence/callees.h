/* SPDX-License-Identifier: MIT
 * The code of a kernel, with the functions that it calls in other sections of the cubin behind it:
 * code for a debugger (-G), relocatable code (-rdc=true). */
#pragma once

#include "cubin.h"
#include "flow.h"

/* A section of the code. The first is the kernel's. */
struct callee {
    const char *symbol; /* of its section */
    const void *code;
    uint32_t begin, bytes; /* where it lies in the code of all */
};

struct callees {
    const unsigned char *code; /* of all; it lives as long as the cubin, or is `owned` */
    unsigned char *owned;
    uint32_t bytes;
    struct callee *all; /* owned */
    size_t count;
    struct flow_jump *calls; /* owned: from one section to another */
    size_t call_count;
};

/* Finds the functions that a kernel calls, and those that they call. Calls of functions that the
 * cubin does not define are left out. STATUS_ENVIRONMENT, logged, when out of memory. On success
 * the caller closes *out. */
enum status callees_find(const struct cubin *cubin, const struct cubin_function *kernel,
                         struct callees *out);

/* The section that has a place in the code of all. */
const struct callee *callees_at(const struct callees *callees, uint32_t place);

/* Releases; accepts a zeroed struct. */
void callees_close(struct callees *callees);
