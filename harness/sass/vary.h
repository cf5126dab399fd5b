/* SPDX-License-Identifier: MIT
 * How the address of each load varies, by a data-flow analysis of the machine code.
 *
 * A value is the sum of a part that all threads of a warp share and one that each lane adds. The shared part has a level,
 * from a known number to the same in a warp alone. The lanes' part is a table of 32 numbers, or not known. Where ways
 * meet that different threads take, a value is not known. Without a proof it is not known, with a reason. */
#ifndef CBANK_VARY_H
#define CBANK_VARY_H

#include "flow.h"

/* From the one that says most about the addresses of a warp. */
enum variation {
    VARIATION_CONSTANT, /* one address, known in the code */
    VARIATION_GRID, /* the same in all threads of the grid */
    VARIATION_BLOCK,
    VARIATION_WARP,
    VARIATION_AFFINE, /* a stride from each thread to the next */
    VARIATION_UNEVEN, /* the distances of a warp's threads are known, and are no stride */
    VARIATION_DATA, /* the index comes from memory */
    VARIATION_UNKNOWN,
    VARIATION_COUNT
};

/* Where a pointer comes from. */
enum {
    ORIGIN_NONE,
    ORIGIN_STACK,
    ORIGIN_MIXED, /* several */
    ORIGIN_PARAMETER, /* and its number from 0 */
    ORIGIN_SYMBOL = 0x4000, /* and its number */
};

/* A number that belongs to a place: see code_facts. */
struct code_fact {
    uint32_t at, value;
};

struct code_fact_list {
    struct code_fact *facts; /* sorted by `at` */
    size_t count;
};

enum { BLOCK_THREADS_MAX = 1024 };

/* Facts about a kernel, besides its code. */
struct code_facts {
    struct code_fact_list parameters; /* offset in bank 0: number of a pointer */
    struct code_fact_list addresses; /* offset in bank 4: symbol */
    struct code_fact_list relocated; /* byte offset in the code: symbol whose address is the immediate */
    const unsigned char *literals; /* of bank 2, in place; NULL: none, or relocated */
    size_t literal_bytes;
    uint32_t block[3]; /* the shape of a block, of 1024 threads at most; 0: any */
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
    uint32_t evidence[EVIDENCE_MAX]; /* instructions: the load, then what decided its address, backwards */
    uint32_t evidence_count;
};

typedef void vary_visit(const struct varying_load *load, void *context);

/* Visits the loads that can be reached, in the order of their addresses. STATUS_ENVIRONMENT, logged, when out of
 * memory. */
enum status vary_loads(const struct flow *flow, const struct code_facts *facts, vary_visit *visit, void *context);

#endif
