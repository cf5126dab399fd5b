/* SPDX-License-Identifier: MIT
 * How the address of each load varies, by a data-flow analysis of the machine code.
 *
 * A value is the sum of a part that all threads of a warp share and one that each lane adds. The
 * shared part has a level, from a known number to the same in a warp alone. The lanes' part is a
 * table of 32 numbers, or not known. Where ways meet that different threads take, a value is not
 * known. Without a proof it is not known, with a reason. */
#pragma once

#include "code_facts.h"
#include "flow.h"

/* From the one that says most about the addresses of a warp. */
enum variation {
    VARIATION_CONSTANT, /* one address, known in the code */
    VARIATION_GRID, /* the same in all threads of the grid */
    VARIATION_BLOCK,
    VARIATION_WARP,
    VARIATION_AFFINE, /* a stride from each thread to the next */
    VARIATION_UNEVEN, /* the distances of a warp's threads are known, and are no stride */
    /* the distances follow from thread, block, and what is the same in the grid: no data is in
     * them */
    VARIATION_THREAD,
    VARIATION_DATA, /* the index comes from memory */
    VARIATION_UNKNOWN,
    VARIATION_COUNT
};

enum { EVIDENCE_MAX = 12 };

struct varying_load {
    uint32_t instruction, block; /* indices in the flow */
    enum variation variation;
    int64_t stride_bytes; /* of VARIATION_AFFINE */
    uint32_t addresses; /* of a warp; 0: not known */
    uint32_t lanes[32]; /* bytes that each thread adds, if `addresses` is known */
    const char *name; /* of the instruction */
    bool image; /* a texture of several dimensions, or filtered: its coordinates are not followed */
    uint32_t bank; /* of constant memory */
    uint32_t origin; /* of the pointer */
    int64_t offset; /* bytes: the part of the address that is known in the code */
    const char *reason; /* why it is not known; NULL: none */
    const char *condition; /* under which all this holds; NULL: none */
    /* instructions: the load, then each that made what decided the one before */
    uint32_t evidence[EVIDENCE_MAX];
    uint32_t evidence_count;
};

typedef void vary_visit(const struct varying_load *load, void *context);

/* Visits the loads that can be reached, in the order of their addresses. STATUS_ENVIRONMENT,
 * logged, when out of memory. */
enum status vary_loads(const struct flow *flow, const struct code_facts *facts, vary_visit *visit,
                       void *context);
