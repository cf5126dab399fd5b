/* SPDX-License-Identifier: MIT
 * The control flow of a section of code: blocks, their edges, the functions that are called within,
 * loops. */
#pragma once

#include "status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FLOW_NONE UINT32_MAX /* no block, no loop */

/* How a block ends. */
enum flow_end {
    FLOW_ON, /* into the next, or by a branch: `branch` says under which condition */
    FLOW_CALL, /* calls block `called`, and goes on behind it */
    FLOW_CALL_OUT, /* calls code that is not here */
    FLOW_RETURN,
    FLOW_LOST, /* jumps to where nobody knows */
};

struct flow_block {
    uint32_t first, last; /* instructions */
    uint32_t edge, edges; /* edges that leave it */
    uint32_t entry, entries; /* edges that reach it, as indices in `entering` */
    uint32_t called, function, loop, order; /* FLOW_NONE: none. `order`: position in `sequence` */
    enum flow_end end;
    bool conditional; /* it leaves by its last instruction under a condition */
    bool is_called, returning; /* a call leads here; a RET can be reached */
    bool named; /* its address is a number in the code */
};

struct flow_edge {
    uint32_t from, to;
};

struct flow_loop {
    uint32_t header, outer; /* blocks; FLOW_NONE: the outermost */
    uint32_t depth; /* from 1 */
    bool entered_twice; /* by several blocks: it has no one header */
};

struct flow {
    const unsigned char *code;
    size_t instructions;
    uint32_t architecture;
    struct flow_block *blocks; /* owned, as all arrays */
    struct flow_edge *edges;
    uint32_t *entering; /* edges, sorted by the block that they reach */
    /* blocks that can be reached, by function, in reverse post-order; the next two lie behind */
    uint32_t *sequence;
    uint32_t *functions; /* entry blocks; the first is the kernel's */
    uint32_t *function_depths; /* loops around the calls of a function */
    struct flow_loop *loops;
    size_t block_count, edge_count, reached, function_count, loop_count;
    bool lost, calls_out; /* somewhere */
};

/* Jumps by a register, and calls of other sections, whose targets are known: the byte offset of the
 * instruction, the number of targets, and these. */
struct flow_jump {
    uint32_t offset, count;
    uint32_t base; /* bytes: it is added to the targets */
    const unsigned char *targets; /* uint32_t, not aligned; NULL: the one target is the base */
};

/* Reads code of an architecture that architecture_known accepts. `entry` is the byte offset at
 * which it begins. STATUS_ENVIRONMENT, logged, when out of memory. On success the caller closes
 * *out. */
enum status flow_open(const void *code, size_t bytes, uint32_t architecture,
                      const struct flow_jump *jumps, size_t jump_count, struct flow *out);

/* Loops around a block, with those around the calls of its function. */
uint32_t flow_depth(const struct flow *flow, uint32_t block);

/* Whether a loop is another one or lies within it. */
bool flow_within(const struct flow *flow, uint32_t loop, uint32_t outer);

/* Releases; accepts a zeroed struct. */
void flow_close(struct flow *flow);
