/* SPDX-License-Identifier: MIT
 * The loads of the machine code of any kernel, and those of them in loops. This needs no
 * disassembler and no CUDA toolkit. */
#pragma once

#include "flow.h"
#include "instruction.h"

/* Kinds of loads: the classes of enum sass_class, and kinds that no path uses. Here ULDC has an
 * index in a register, as LDC has. */
enum {
    /* from the user bank, at an offset that the compiler knows: LDC; ULDC and LDCU */
    LOAD_FIXED = SASS_CLASS_COUNT,
    LOAD_FIXED_UNIFORM,
    LOAD_ARGUMENT_UNIFORM, /* ULDC, LDCU from the parameter bank, with an index in a register */
    /* from the parameter bank, at an offset that the compiler knows, also as operands */
    LOAD_ARGUMENT,
    LOAD_COMPILER, /* from the banks that the compiler fills: literals, addresses of variables */
    LOAD_COPY, /* LDGSTS: from global into shared memory */
    LOAD_GENERIC, /* LD: the compiler does not know from which memory */
    LOAD_LOCAL, /* LDL: the thread's own memory */
    LOAD_KIND_COUNT
};

/* A kind for people: the instruction up to its width, what stands behind that, and a sentence. */
struct load_row {
    unsigned kind;
    const char *before, *behind, *means;
};

enum { LOAD_ROWS = 18 };
extern const struct load_row load_rows[LOAD_ROWS]; /* in the order of tables and documents */

typedef uint32_t load_counts[LOAD_KIND_COUNT][SASS_WIDTH_COUNT];

struct kernel_loads {
    load_counts all; /* instructions, without those that are never executed */
    load_counts in_loops; /* those of them in loops, where loops_known */
    bool loops_known; /* the target of every jump is known */
    /* it calls functions by pointers or in other sections; their loads are not counted */
    bool calls_out;
};

/* Counts the loads of code. */
void kernel_loads_read(const struct flow *flow, struct kernel_loads *out);
