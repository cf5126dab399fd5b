/* SPDX-License-Identifier: MIT
 * Control dependence: where the paths of a branch join, and which loops they leave.
 *
 * Each successor of the branch gives its label to the blocks that only it reaches. A block that two
 * labels reach is a join, and goes on with a label of its own:
 *
 *       branch            A, B     labels by successor
 *       |     |           D        A and B reach it: a join, labelled D
 *       A     B           C        B alone reaches it: no join
 *       |    / \          E        D and B reach it: a join
 *       +-> D   C
 *            \ /
 *             E
 *
 * Blocks are taken in reverse post-order, so that in a reducible graph each has its label before it
 * passes it on. */
#include "divergence_parts.h"

bool divergence_add(struct divergence *to, struct divergence with)
{
    const struct divergence before = *to;

    to->level = with.level > to->level ? with.level : to->level;
    to->why = to->why == WHY_DATA || with.why == WHY_NONE ? to->why : with.why;
    to->flags |= with.flags;
    return to->level != before.level || to->why != before.why || to->flags != before.flags;
}

/* One search. */
struct search {
    uint32_t branch, number;
    struct divergence divergence;
    size_t pending; /* blocks that have a label and have not passed it on */
    size_t cursor; /* in the flow's sequence: none is pending before it */
};

/* The loops that an edge leaves, and that the branch is in: threads leave them in different
 * rounds. */
static void mark_exits(struct analysis *analysis, const struct search *search, uint32_t from,
                       uint32_t to)
{
    const struct flow *flow = analysis->flow;

    for (uint32_t loop = flow->blocks[from].loop;
         loop != FLOW_NONE && !flow_within(flow, flow->blocks[to].loop, loop);
         loop = flow->loops[loop].outer) {
        if (!flow_within(flow, flow->blocks[search->branch].loop, loop) ||
            !divergence_add(&analysis->loops[loop].exits, search->divergence))
            continue;
        for (size_t k = 0; k < flow->reached; k++)
            analysis->blocks[flow->sequence[k]].dirty = true;
    }
}

/* Gives a block the label of a path. Whether its label is a new one, which it passes on. */
static bool give_label(struct block_state *state, const struct search *search, uint32_t block,
                       uint32_t label)
{
    if (state->search != search->number) {
        state->search = search->number;
        state->label = label;
        return block != search->branch;
    }
    if (state->label == label || state->label == (PHI | block))
        return false;
    state->label = PHI | block;
    state->dirty |= divergence_add(&state->join, search->divergence);
    return block != search->branch;
}

/* Passes the label of a block on to its successors. */
static void pass_label(struct analysis *analysis, struct search *search, uint32_t from)
{
    const struct flow *flow = analysis->flow;
    const struct flow_block *block = &flow->blocks[from];

    for (uint32_t e = block->edge; e < block->edge + block->edges; e++) {
        const uint32_t to = flow->edges[e].to;
        struct block_state *state = &analysis->blocks[to];

        mark_exits(analysis, search, from, to);
        if (!give_label(state, search, to,
                        from == search->branch ? to : analysis->blocks[from].label))
            continue;
        search->pending += !state->pending;
        state->pending = true;
        if (flow->blocks[to].order < search->cursor)
            search->cursor = flow->blocks[to].order;
    }
}

/* The next pending block in the sequence, which is pending no more. */
static uint32_t take_pending(struct analysis *analysis, struct search *search)
{
    while (!analysis->blocks[analysis->flow->sequence[search->cursor]].pending)
        search->cursor++;
    search->pending--;
    analysis->blocks[analysis->flow->sequence[search->cursor]].pending = false;
    return analysis->flow->sequence[search->cursor];
}

/* In a loop that is entered beside its header, threads of one round catch up with those of another:
 * each of its joins is one of this branch. */
static void mark_irreducible(struct analysis *analysis, const struct search *search)
{
    const struct flow *flow = analysis->flow;

    for (uint32_t loop = flow->blocks[search->branch].loop; loop != FLOW_NONE;
         loop = flow->loops[loop].outer)
        for (size_t k = 0; flow->loops[loop].entered_twice && k < flow->reached; k++) {
            const struct flow_block *inside = &flow->blocks[flow->sequence[k]];
            struct block_state *state = &analysis->blocks[flow->sequence[k]];

            if (inside->entries > 1 && flow_within(flow, inside->loop, loop))
                state->dirty |= divergence_add(&state->join, search->divergence);
        }
}

void joins_mark(struct analysis *analysis, uint32_t branch, struct divergence divergence)
{
    struct search search = {.branch = branch,
                            .number = ++analysis->searches,
                            .divergence = divergence,
                            .cursor = analysis->flow->reached};

    pass_label(analysis, &search, branch);
    /* One path that is left joins no other, unless it leads back into a loop beside its header. */
    while (search.pending > (analysis->irreducible ? 0 : 1))
        pass_label(analysis, &search, take_pending(analysis, &search));
    while (search.pending > 0)
        take_pending(analysis, &search);
    if (analysis->irreducible)
        mark_irreducible(analysis, &search);
}
