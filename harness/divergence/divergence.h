/* SPDX-License-Identifier: MIT
 * How the address of each load differs among threads: a divergence analysis of the machine code.
 *
 * It is an abstract interpretation. Each register has an abstract value (value.h), and transfer
 * functions (machine.h) say what instructions make of values. At a join, values of several paths
 * become one that covers them all, until a fixed point is reached. Threads that diverge at a branch
 * come to a join with different values, though each path alone has a uniform one:
 *
 *            branch on threadIdx.x                     loop: threads leave in different rounds
 *              |             |                           |
 *          R2 = 3         R2 = 200                     i = i + 1    uniform in each round
 *              |             |                           |
 *              +--- join ----+                           +--- leaves: i differs by thread
 *           R2 differs by thread
 *           (control dependence)                       (temporal divergence)
 *
 * So a divergent branch marks the joins of its disjoint paths, and a divergent exit of a loop the
 * values that leave it. Without a proof a value is not known, with a reason.
 *
 * B. Coutinho, D. Sampaio, F. Pereira, W. Meira: Divergence Analysis and Optimizations. PACT 2011.
 * D. Sampaio, R. de Souza, S. Collange, F. Pereira: Divergence Analysis. TOPLAS 35 (2013): values
 * that are affine in the number of the thread.
 * J. Rosemann, S. Moll, S. Hack: An Abstract Interpretation for SPMD Divergence on Reducible
 * Control Flow Graphs. POPL 2021. LLVM, Convergence and Uniformity: joins by labels on paths, and
 * loops with several entries. */
#pragma once

#include "code_facts.h"
#include "flow.h"
#include "value_range.h"

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

/* What the analysis says of one load. */
struct analysed_load {
    uint32_t instruction, block; /* indices in the flow */
    enum variation variation;
    int64_t stride_bytes; /* of VARIATION_AFFINE */
    uint32_t addresses; /* of a warp; 0: not known */
    uint32_t lanes[32]; /* bytes that each thread adds, if `addresses` is known */
    /* of lanes that lie on a ring (value_ring.h): their addresses, 0: not known; what each adds,
     * but for a turn that is the same for all; whether each turn of words leads to the same banks;
     * and whether they lie in a row of all banks, so that no two meet in one */
    uint32_t ring_addresses, ring[32];
    bool ring_keeps_banks, ring_in_row;
    uint32_t begin, begin_bits; /* the low bits of what all threads of a warp add, if known */
    bool banks_apart; /* each thread of a warp reads in a bank of its own, whatever decides the row
                       */
    const char *name; /* of the instruction */
    bool image; /* a texture of several dimensions, or filtered: its coordinates are not followed */
    uint32_t bank; /* of constant memory */
    uint32_t origin; /* of the pointer */
    int64_t offset; /* bytes: the part of the address that is known in the code */
    bool several; /* that part is different on paths that lead to the load */
    struct range range; /* of constant memory: where the address lies in its bank */
    const char *reason; /* why it is not known; NULL: none */
    const char *condition; /* under which all this holds; NULL: none */
    /* and in blocks of one dimension: the kernel reads no other number of a thread, and nothing
     * says the shape of a block */
    bool one_dimension;
    /* instructions: the load, then each that made what decided the one before */
    uint32_t evidence[EVIDENCE_MAX];
    uint32_t evidence_count;
};

typedef void load_visit(const struct analysed_load *load, void *context);

/* Visits the loads that can be reached, in the order of their addresses. STATUS_ENVIRONMENT,
 * logged, when out of memory. */
enum status divergence_visit_loads(const struct flow *flow, const struct code_facts *facts,
                                   load_visit *visit, void *context);
