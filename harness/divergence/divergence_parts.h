/* SPDX-License-Identifier: MIT
 * The state of a divergence analysis, which divergence.c, joins.c and loads.c share. */
#pragma once

#include "divergence.h"
#include "machine.h"

enum { VISITS_MAX = 48, STACK_POINTER = 1 };

/* In `from` of a value: the block where paths joined, as a phi of SSA form. */
#define PHI 0x80000000u

/* The same, of what a call brings back: two calls of one function bring two values. */
#define RESULT (PHI | 0x40000000u)

/* Some of the values. */
typedef bool value_set[VALUES];

/* How the threads that reach a branch diverge there. */
struct divergence {
    uint8_t level; /* threads diverge beyond it; LEVEL_CONSTANT, LEVEL_GRID: all go together */
    uint8_t why; /* if each thread goes its own way; WHY_NONE: warps stay together */
    uint8_t flags; /* FLAG_RELIED and FLAG_DATA of the condition */
};

struct block_state {
    struct value *out; /* those that are used, at its end; NULL: not yet visited */
    struct value condition; /* of a call at its end that is conditional */
    value_set phis; /* values that differed at its begin once: they stay its own */
    struct divergence join; /* of the branches whose disjoint paths join here */
    struct divergence branch; /* of its own branch, as far as joins were marked for it */
    uint32_t search, label; /* the last search for joins that came here; by which successor */
    uint16_t visits;
    bool dirty; /* it is to be visited */
    bool splits; /* threads of a warp go apart at its end, or some of them end there */
    bool exchanges; /* lanes exchange values in it */
    bool waits; /* threads of a warp wait for each other in it */
    bool pending; /* in that search */
};

struct loop_state {
    struct divergence exits; /* of the branches that leave it */
    value_set written;
};

struct analysis {
    const struct flow *flow;
    struct machine machine;
    struct block_state *blocks; /* owned, as all arrays */
    struct loop_state *loops;
    value_set *functions; /* what each writes */
    bool *meets; /* of each: threads of a warp wait for each other in it, or in what it calls */
    uint32_t *returns, *calls; /* the blocks that end so */
    uint32_t *waiting; /* room for all blocks */
    struct instruction *instructions; /* by number: those of blocks that are reached */
    uint32_t *deciding; /* of each instruction: the one that made what decided its operands */
    size_t return_count, call_count;
    uint32_t searches;
    bool irreducible; /* a loop is entered by several blocks */
    /* values that some instruction writes: all others stay as they are at the begin */
    uint16_t used[VALUES];
    size_t used_count;
    struct value in[VALUES]; /* at the instruction that is looked at */
};

/* -- joins.c ----------------------------------------------------------------------------------- */

/* Adds one divergence to another. Whether that says more now. */
bool divergence_add(struct divergence *to, struct divergence with);

/* Marks where threads that diverge at the branch of a block join again, and the loops that they
 * leave in different rounds. */
void joins_mark(struct analysis *analysis, uint32_t branch, struct divergence divergence);

/* -- convergence.c ----------------------------------------------------------------------------- */

/* Marks a block that splits warps. What relied on the contrary is to be visited again. */
void convergence_split(struct analysis *analysis, uint32_t block);

/* Whether all threads of a warp execute a block together, as far as is known; false of blocks in
 * which lanes exchange nothing. */
bool convergence_is_whole(struct analysis *analysis, uint32_t block);

/* Whether threads that come to the begin of a function by different ways may go on together: from
 * calls in both arms of a branch to where they wait for each other. */
bool convergence_of_callers(const struct analysis *analysis, uint32_t block);

/* At the begin of a block in which threads wait for each other: those that go around a loop past it
 * may meet others there that are in another round. */
void convergence_of_rounds(struct analysis *analysis, uint32_t block);

/* -- divergence.c ------------------------------------------------------------------------------ */

/* Makes analysis->in the state at the begin of a block. False: no path to it was visited. */
bool analysis_enter(struct analysis *analysis, uint32_t block);

/* -- loads.c ----------------------------------------------------------------------------------- */

/* Visits the loads of a block, at the fixed point. */
void loads_visit(struct analysis *analysis, uint32_t block, load_visit *visit, void *context);
