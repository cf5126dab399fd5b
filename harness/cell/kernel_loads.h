/* SPDX-License-Identifier: MIT
 * What the machine code of any kernel loads, and what of it in loops. Needs no disassembler and no CUDA toolkit. */
#ifndef CBANK_KERNEL_LOADS_H
#define CBANK_KERNEL_LOADS_H

#include "sass.h"
#include "status.h"

/* Kinds of loads: the classes of enum sass_class, and what no path is made of. ULDC has an index in a register here, as
 * LDC has. */
enum {
    LOAD_FIXED = SASS_CLASS_COUNT, /* LDC, ULDC, LDCU of the user bank, at a place that the compiler knows */
    LOAD_ARGUMENT_UNIFORM, /* ULDC, LDCU of the parameter bank, with an index in a register */
    LOAD_ARGUMENT, /* of the parameter bank, at a place that the compiler knows, as operands, too */
    LOAD_COMPILER, /* of the banks that the compiler fills: literals, addresses of variables */
    LOAD_COPY, /* LDGSTS: from global into shared memory */
    LOAD_GENERIC, /* LD: the compiler does not know from which memory */
    LOAD_LOCAL, /* LDL: the thread's own memory */
    LOAD_KIND_COUNT
};

typedef uint32_t load_counts[LOAD_KIND_COUNT][SASS_WIDTH_COUNT];

struct kernel_loads {
    load_counts all; /* instructions; those that are never executed are left out */
    load_counts in_loops; /* of them, where loops_known */
    bool loops_known; /* every jump says where it leads */
    bool calls_out; /* it calls functions by pointers, or of other sections: what those load is not here */
};

/* Whether code of the architecture can be read: from sm_35 on. Of code before sm_70 neither loops nor calls are known. */
bool kernel_loads_known(uint32_t architecture);

/* Reads code of an architecture that can be read. STATUS_ENVIRONMENT, logged, when out of memory. */
enum status kernel_loads_read(const void *code, size_t bytes, uint32_t architecture, struct kernel_loads *out);

#endif
