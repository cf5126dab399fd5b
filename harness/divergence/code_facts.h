/* SPDX-License-Identifier: MIT
 * Facts that a cubin has about a kernel, besides its code. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "status.h"

/* Where a pointer comes from. */
enum {
    ORIGIN_NONE,
    ORIGIN_STACK,
    ORIGIN_MIXED, /* several */
    ORIGIN_SHARED, /* the high word of addresses in shared memory */
    ORIGIN_CONSTANT, /* the same in constant memory: the low word */
    ORIGIN_PARAMETER, /* and its number from 0 */
    ORIGIN_SYMBOL = 0x4000, /* and its number */
};

/* A number that belongs to a place: see code_facts. */
struct code_fact {
    uint32_t place, value;
};

struct code_fact_list {
    struct code_fact *facts; /* sorted by `place` */
    size_t count;
};

/* Adds a fact at the end. STATUS_ENVIRONMENT, logged, when out of memory. */
enum status code_fact_add(struct code_fact_list *list, uint32_t place, uint32_t value);

void code_facts_sort(struct code_fact_list *list);

/* Releases; accepts a zeroed struct. */
void code_facts_close(struct code_fact_list *list);

/* The last fact at or before a place; NULL: there is none. */
const struct code_fact *code_fact_before(const struct code_fact_list *list, uint32_t place);

enum { BLOCK_THREADS_MAX = 1024, BLOCK_DEPTH_MAX = 64 }; /* the latter along z */

/* Facts about a kernel, besides its code. */
struct code_facts {
    struct code_fact_list parameters; /* offset in bank 0: number of a pointer */
    struct code_fact_list addresses; /* of the cubin, not owned. Offset in bank 4: symbol */
    /* byte offset in the code: symbol whose address is the immediate */
    struct code_fact_list relocated;
    const unsigned char *literals; /* of bank 2, in place; NULL: none, or relocated */
    size_t literal_bytes;
    uint32_t block[3]; /* the shape of a block, of 1024 threads at most; 0: any */
    const char *doubt; /* why nothing is proven of this code; NULL: nothing speaks against it */
};
