/* SPDX-License-Identifier: MIT
 * Convergence: which blocks all threads of a warp execute together. Where a branch splits a warp,
 * or some threads exit, a block behind it is executed by all only if no path of the branch leads
 * past it: if it postdominates the branch. */
#include <string.h>

#include "divergence_parts.h"

/* A block by whose end threads end. A return leads on behind the call. */
static bool ends_threads(const struct analysis *analysis, uint32_t block)
{
    const struct flow_block *row = &analysis->flow->blocks[block];
    const unsigned opcode =
        code_field(analysis->flow->code, (size_t)row->last * INSTRUCTION_BYTES, FIELD_OPCODE);

    return opcode == OPCODE_EXIT || (row->edges == 0 && row->end != FLOW_RETURN) ||
           (row->end == FLOW_RETURN && row->function == 0);
}

void convergence_split(struct analysis *analysis, uint32_t block)
{
    if (analysis->blocks[block].splits)
        return;
    analysis->blocks[block].splits = true;
    for (size_t k = 0; k < analysis->flow->reached; k++) {
        struct block_state *state = &analysis->blocks[analysis->flow->sequence[k]];

        state->dirty |= state->exchanges || state->waits;
    }
}

/* What paths from a block lead to. */
struct paths {
    bool reached; /* the block that is looked for */
    bool ended;   /* the end of threads */
};

/* Follows all paths from a block, inside of a loop (FLOW_NONE: anywhere), until they come to `to`
 * or to `without`. */
static struct paths follow_paths(struct analysis *analysis, uint32_t loop, uint32_t from,
                                 uint32_t to, uint32_t without)
{
    const struct flow *flow = analysis->flow;
    uint32_t *const waiting = analysis->waiting;
    struct paths found = {false, false};
    size_t depth = 0;

    for (size_t k = 0; k < flow->reached; k++)
        analysis->blocks[flow->sequence[k]].pending = false;
    waiting[depth++] = from;
    while (depth > 0) {
        const uint32_t block = waiting[--depth];
        const struct flow_block *row = &flow->blocks[block];

        found.ended |= ends_threads(analysis, block);
        for (uint32_t e = row->edge; e < row->edge + row->edges; e++) {
            const uint32_t next = flow->edges[e].to;

            found.reached |= next == to;
            if (next == to || next == without || analysis->blocks[next].pending ||
                !flow_within(flow, flow->blocks[next].loop, loop))
                continue;
            analysis->blocks[next].pending = true;
            waiting[depth++] = next;
        }
    }
    for (size_t k = 0; k < flow->reached; k++)
        analysis->blocks[flow->sequence[k]].pending = false;
    return found;
}

/* Whether a path from a branch leads to the end of threads past a block, and another to it. */
static bool leads_past(struct analysis *analysis, uint32_t branch, uint32_t block)
{
    const struct paths found = follow_paths(analysis, FLOW_NONE, branch, block, FLOW_NONE);

    return found.reached && found.ended;
}

bool convergence_is_whole(struct analysis *analysis, uint32_t block)
{
    const struct flow *flow = analysis->flow;

    if (!analysis->blocks[block].exchanges || flow->blocks[block].function != 0 || flow->lost ||
        flow->calls_out)
        return false;
    for (size_t k = 0; k < flow->reached; k++) {
        const uint32_t split = flow->sequence[k];

        if (flow->blocks[split].function != 0
                ? ends_threads(analysis, split)
                : analysis->blocks[split].splits && leads_past(analysis, split, block))
            return false;
    }
    return true;
}

bool convergence_of_callers(const struct analysis *analysis, uint32_t block)
{
    const struct flow_block *row = &analysis->flow->blocks[block];

    return block == 0 || row->entries > 0 ||
           (analysis->machine.diverged && analysis->meets[row->function]);
}

/* Whether some threads of a warp may go around a loop past a block to which others go. */
static bool some_go_past(struct analysis *analysis, uint32_t loop, uint32_t block)
{
    const struct flow *flow = analysis->flow;
    const uint32_t header = flow->loops[loop].header;

    for (size_t k = 0; k < flow->reached && block != header; k++) {
        const uint32_t split = flow->sequence[k];

        if (analysis->blocks[split].splits && split != block &&
            flow_within(flow, flow->blocks[split].loop, loop) &&
            follow_paths(analysis, loop, split, block, header).reached &&
            follow_paths(analysis, loop, split, header, block).reached)
            return true;
    }
    return false;
}

void convergence_of_rounds(struct analysis *analysis, uint32_t block)
{
    const struct flow *flow = analysis->flow;

    for (uint32_t loop = flow->blocks[block].loop; loop != FLOW_NONE;
         loop = flow->loops[loop].outer) {
        if (!some_go_past(analysis, loop, block))
            continue;
        for (unsigned u = 0; u < analysis->used_count; u++) {
            struct value *value = &analysis->in[analysis->used[u]];

            if (!analysis->loops[loop].written[analysis->used[u]] || value_is_known(value))
                continue;
            *value = value_join(&analysis->machine.lanes, *value, *value, LEVEL_WARP, WHY_LOOP,
                                FLAG_DATA);
            value->from = PHI | block;
        }
    }
}
