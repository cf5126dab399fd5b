/* SPDX-License-Identifier: MIT
 * The fixed point: blocks are visited in reverse post-order, as long as what reaches one changes.
 *
 *     enter    join what comes from predecessors, from callers, from behind calls
 *     execute  the transfer function of each instruction
 *     leave    if the end changed: successors are to be visited, and the joins of a divergent
 *              branch marked
 *
 * Values only rise in the lattice (value.h). A block that was visited VISITS_MAX times gets its
 * top, so that all ends. */
#include <stdlib.h>
#include <string.h>

#include "divergence_parts.h"
#include "log.h"

/* -- joins of values --------------------------------------------------------------------------- */

/* A value on its way from one block to another, behind loops that threads leave in different
 * rounds. */
static struct value temporal_divergence(const struct analysis *analysis, struct value value,
                                        unsigned i, uint32_t from, uint32_t to)
{
    const struct flow *flow = analysis->flow;

    for (uint32_t loop = flow->blocks[from].loop;
         loop != FLOW_NONE && !flow_within(flow, flow->blocks[to].loop, loop);
         loop = flow->loops[loop].outer) {
        const struct loop_state *state = &analysis->loops[loop];
        const enum why why = state->exits.why && state->exits.why != WHY_DATA
                                 ? WHY_LOOP
                                 : (enum why)state->exits.why;

        if (!state->written[i] || value_is_known(&value) || state->exits.level <= LEVEL_GRID)
            continue;
        value = value_join(&analysis->machine.lanes, value, value, (enum level)state->exits.level,
                           why, state->exits.flags);
        value.from = PHI | to;
    }
    return value;
}

/* Two values that come to a place, which is a PHI or a RESULT, by paths of a divergence. */
static struct value join_values(const struct lane_tables *tables, struct value a, struct value b,
                                uint32_t place, struct divergence divergence)
{
    const bool top = a.lanes == LANES_DIVERGENT && a.why == WHY_DATA && a.from == place;
    struct value out;

    if (a.from == b.from && value_equal(&a, &b))
        return a;
    /* Nothing less can be known than of data. */
    if (top && (a.origin == b.origin || a.origin == ORIGIN_MIXED) &&
        !((b.flags | divergence.flags) & ~a.flags)) {
        a.several |= b.several | (a.displacement != b.displacement);
        a.uniform_from = a.ring_zeros = a.turn_zeros = 0;
        a.ring = 0;
        a.range = range_joined(a.range, value_range(tables, &b));
        return a;
    }
    out = value_join(tables, a, b, (enum level)divergence.level, (enum why)divergence.why,
                     divergence.flags);
    out.from = place;
    return out;
}

/* Joins a value with what has already come to the block. */
static void join_into(struct analysis *analysis, unsigned i, const struct value *value,
                      uint32_t block, struct divergence divergence)
{
    if (memcmp(&analysis->in[i], value, sizeof(*value)) != 0)
        analysis->in[i] =
            join_values(&analysis->machine.lanes, analysis->in[i], *value, PHI | block, divergence);
}

/* -- calls ------------------------------------------------------------------------------------- */

static uint32_t function_called(const struct flow *flow, uint32_t caller)
{
    return flow->blocks[flow->blocks[caller].called].function;
}

/* A return of the function that a block calls, from number *k on; NULL: none that was visited. */
static const struct block_state *next_return(const struct analysis *analysis, uint32_t caller,
                                             size_t *k)
{
    while (*k < analysis->return_count) {
        const uint32_t block = analysis->returns[(*k)++];

        if (analysis->flow->blocks[block].function == function_called(analysis->flow, caller) &&
            analysis->blocks[block].out)
            return &analysis->blocks[block];
    }
    return NULL;
}

/* Value number `u` of those that are used, behind a call that comes back. */
static struct value value_behind_call(struct analysis *analysis, uint32_t caller, unsigned u)
{
    const struct divergence divergence = {LEVEL_WARP, WHY_BRANCH, FLAG_DATA};
    const struct block_state *const calling = &analysis->blocks[caller], *state;
    const struct flow *flow = analysis->flow;
    struct value out;
    size_t k = 0;

    if (!analysis->functions[function_called(flow, caller)][analysis->used[u]])
        return calling->out[u];
    state = next_return(analysis, caller, &k);
    out = state ? state->out[u] : calling->out[u];
    while ((state = next_return(analysis, caller, &k)))
        out =
            join_values(&analysis->machine.lanes, out, state->out[u], RESULT | caller, divergence);
    out.from = RESULT | caller;
    if (!flow->blocks[caller].conditional)
        return out;
    out = value_select(&analysis->machine.lanes, calling->condition, out, calling->out[u]);
    out.from = RESULT | caller;
    return out;
}

/* -- entering a block -------------------------------------------------------------------------- */

/* At the begin of a kernel, the pointer to the stack alone is known. */
static void enter_kernel(struct analysis *analysis)
{
    for (unsigned k = 0; k < analysis->used_count; k++)
        analysis->in[analysis->used[k]] = value_divergent(WHY_UNSET);
    analysis->in[STACK_POINTER] = machine_stack_pointer(&analysis->machine);
}

/* Joins what calls bring to the begin of a function. `found`: something has come there before;
 * returns the same. */
static bool join_callers(struct analysis *analysis, uint32_t block, bool found)
{
    const bool several = convergence_of_callers(analysis, block);
    const struct divergence divergence = {LEVEL_WARP, several ? WHY_BRANCH : WHY_NONE,
                                          several ? FLAG_DATA : 0};

    for (size_t k = 0; k < analysis->call_count; k++) {
        const uint32_t caller = analysis->calls[k];
        const struct value *const out = analysis->blocks[caller].out;

        if (analysis->flow->blocks[caller].called != block || !out)
            continue;
        for (unsigned u = 0; u < analysis->used_count; u++) {
            const unsigned i = analysis->used[u];

            struct value before = analysis->in[i];

            if (!found)
                analysis->in[i] = out[u];
            else
                join_into(analysis, i, &out[u], block, divergence);
            if (found && !range_equal(before.range, analysis->in[i].range))
                analysis->in[i].range = (struct range){0};
        }
        found = true;
    }
    return found;
}

/* A value at the begin of a loop: before it, and as a round leaves it. What a round adds is part of
 * an index, and no displacement. A range that a round makes larger may be any in the next. */
static void widen(struct analysis *analysis, unsigned i, const struct value *before,
                  const struct value *left)
{
    struct value *value = &analysis->in[i];

    value->displacement = before->displacement;
    value->several = before->several | left->several;
    if (!range_equal(value_range(&analysis->machine.lanes, before), value->range))
        value->range = (struct range){0};
}

/* Joins what the path from a predecessor brings. */
static bool join_path(struct analysis *analysis, uint32_t from, uint32_t block, bool found)
{
    const struct flow *flow = analysis->flow;
    const uint32_t loop = flow->blocks[block].loop, loop_before = flow->blocks[from].loop;
    const bool back = flow->blocks[from].order >= flow->blocks[block].order;
    const bool calls = flow->blocks[from].end == FLOW_CALL;
    const bool leaves = loop_before != FLOW_NONE && !flow_within(flow, loop, loop_before);
    /* What a loop does not write comes back to its header as it was. */
    const bool kept = back && found && loop != FLOW_NONE && flow->loops[loop].header == block &&
                      !flow->loops[loop].entered_twice && flow_within(flow, loop_before, loop);

    if (calls && !next_return(analysis, from, &(size_t){0}))
        return found;
    for (unsigned u = 0; u < analysis->used_count; u++) {
        const unsigned i = analysis->used[u];
        const struct value *value = &analysis->blocks[from].out[u], *left;
        struct value returned, outside;

        if (kept && !analysis->loops[loop].written[i])
            continue;
        if (calls) {
            returned = value_behind_call(analysis, from, u);
            value = &returned;
        }
        left = value;
        if (leaves) {
            outside = temporal_divergence(analysis, *value, i, from, block);
            left = &outside;
        }
        if (!found)
            analysis->in[i] = *left;
        else if (!back)
            join_into(analysis, i, left, block, analysis->blocks[block].join);
        else if (value->from != (PHI | block) || !value_equal(left, value)) {
            const struct value before = analysis->in[i];

            join_into(analysis, i, left, block, analysis->blocks[block].join);
            widen(analysis, i, &before, left);
        }
        /* else it comes back as it left */
    }
    return true;
}

/* Joins what comes by the paths that lead on, or by those that lead back. */
static bool join_paths(struct analysis *analysis, uint32_t block, bool back, bool found)
{
    const struct flow *flow = analysis->flow;
    const struct flow_block *row = &flow->blocks[block];

    for (uint32_t e = row->entry; e < row->entry + row->entries; e++) {
        const uint32_t from = flow->edges[flow->entering[e]].from;

        if (flow->blocks[from].order != FLOW_NONE && analysis->blocks[from].out &&
            back == (flow->blocks[from].order >= row->order))
            found = join_path(analysis, from, block, found);
    }
    return found;
}

/* A value that differed at the begin of this block once stays its own: loops within loops would
 * hand it to and fro without end. */
static void keep_phis(struct analysis *analysis, uint32_t block)
{
    bool *const phis = analysis->blocks[block].phis;

    for (unsigned u = 0; u < analysis->used_count; u++) {
        const unsigned i = analysis->used[u];

        if (analysis->in[i].from == (PHI | block))
            phis[i] = true;
        else if (phis[i])
            analysis->in[i].from = PHI | block;
    }
}

bool analysis_enter(struct analysis *analysis, uint32_t block)
{
    const struct flow_block *row = &analysis->flow->blocks[block];
    bool found = block == analysis->flow->functions[0];

    if (found)
        enter_kernel(analysis);
    if (row->is_called)
        found = join_callers(analysis, block, found);
    found = join_paths(analysis, block, false, found);
    found = join_paths(analysis, block, true, found);
    if (row->entries > 1 || row->is_called)
        keep_phis(analysis, block);
    if (found && analysis->blocks[block].waits)
        convergence_of_rounds(analysis, block);
    return found;
}

/* -- what is written --------------------------------------------------------------------------- */

/* Decodes a block, and marks what it writes. */
static void block_writes(struct analysis *analysis, const struct flow_block *block,
                         value_set written)
{
    const struct flow *flow = analysis->flow;

    for (uint32_t index = block->first; index <= block->last; index++) {
        struct instruction *in = &analysis->instructions[index];

        instruction_decode(flow->code, (size_t)index * INSTRUCTION_BYTES, flow->architecture, in);
        if (in->transfer == TRANSFER_SPECIAL &&
            (instruction_field(in, FIELD_SPECIAL) == SPECIAL_TID_Y ||
             instruction_field(in, FIELD_SPECIAL) == SPECIAL_TID_Z))
            analysis->machine.flat = false;
        for (unsigned i = 0; i < in->results; i++)
            for (unsigned n = in->result[i].first;
                 n < in->result[i].first + in->result[i].count && n < REGISTER_COUNT; n++)
                written[n] = true;
        if (in->transfer == TRANSFER_STORE)
            memset(written + REGISTER_COUNT, true, SLOTS);
        analysis->blocks[block - flow->blocks].exchanges |= in->opcode == OPCODE_SHFL;
        analysis->blocks[block - flow->blocks].waits |= in->opcode == OPCODE_WARPSYNC;
        analysis->meets[block->function] |=
            in->opcode == OPCODE_WARPSYNC || in->opcode == OPCODE_BAR;
        if (in->transfer == TRANSFER_UNKNOWN || block->end == FLOW_CALL_OUT)
            memset(written, true, sizeof(value_set));
    }
}

/* Adds what a block writes to its function and to the loops around it. Whether the function has
 * more then. */
static bool add_written(struct analysis *analysis, const struct flow_block *block,
                        const value_set written)
{
    bool *const all = analysis->functions[block->function];
    bool more = false;

    for (unsigned i = 0; i < VALUES; i++) {
        more |= written[i] && !all[i];
        all[i] |= written[i];
        for (uint32_t loop = written[i] ? block->loop : FLOW_NONE; loop != FLOW_NONE;
             loop = analysis->flow->loops[loop].outer)
            analysis->loops[loop].written[i] = true;
    }
    return more;
}

static void find_written(struct analysis *analysis)
{
    const struct flow *flow = analysis->flow;
    bool more = true;

    for (size_t k = 0; k < flow->reached; k++) {
        const struct flow_block *block = &flow->blocks[flow->sequence[k]];
        value_set written = {false};

        block_writes(analysis, block, written);
        add_written(analysis, block, written);
    }
    /* A call writes what the function does, and waits where that does. */
    while (more) {
        more = false;
        for (size_t k = 0; k < flow->reached; k++) {
            const struct flow_block *block = &flow->blocks[flow->sequence[k]];
            uint32_t called;

            if (block->called == FLOW_NONE)
                continue;
            called = function_called(flow, flow->sequence[k]);
            more |= add_written(analysis, block, analysis->functions[called]);
            more |= analysis->meets[called] && !analysis->meets[block->function];
            analysis->meets[block->function] |= analysis->meets[called];
            analysis->blocks[flow->sequence[k]].waits |= analysis->meets[called];
        }
    }
    for (unsigned i = 0; i < VALUES; i++) {
        bool written = i == STACK_POINTER;

        for (size_t f = 0; f < flow->function_count; f++)
            written |= analysis->functions[f][i];
        if (written)
            analysis->used[analysis->used_count++] = (uint16_t)i;
        analysis->in[i] = value_divergent(WHY_UNSET);
    }
}

/* -- the fixed point --------------------------------------------------------------------------- */

/* How threads diverge by the last instruction of a block, which has been executed: by the
 * predicates, or the address, that it goes by. */
static struct divergence branch_divergence(struct analysis *analysis, uint32_t block)
{
    const uint32_t last = analysis->flow->blocks[block].last;
    const struct instruction *in = &analysis->instructions[last];
    const struct value *out = analysis->in;
    struct machine *machine = &analysis->machine;
    struct value values[6], all;
    size_t count = 0;

    values[count++] = machine_predicate(machine, out, in->guard, false);
    values[count++] = machine_inputs(machine, out, in);
    /* Where threads of a warp have diverged, BRA.DIV leads all of them to a copy of what follows.
     */
    if (in->opcode == OPCODE_BRA && in->form == FORM_IMMEDIATE_C)
        values[count++] =
            machine_register(machine, out,
                             UNIFORM_PREDICATE_FIRST + instruction_field(in, FIELD_BRANCH_NUMBER));
    else if (in->opcode == OPCODE_BRA &&
             (instruction_field(in, FIELD_DIVERGED) || instruction_field(in, FIELD_BRANCH_KIND)))
        values[count++] =
            value_of_both(value_uniform(LEVEL_WARP), machine_handle(machine, out, in));
    for (unsigned word = 0; word < 2 && in->source[SOURCE_A].kind != OPERAND_NONE; word++)
        values[count++] = machine_source(machine, out, in, last, SOURCE_A, word);
    all = value_function(values, count);
    if (all.lanes == LANES_UNIFORM)
        return (struct divergence){all.level, WHY_NONE, all.flags & (FLAG_RELIED | FLAG_DATA)};
    return (struct divergence){LEVEL_WARP, all.why == WHY_DATA ? WHY_DATA : WHY_BRANCH,
                               all.flags & (FLAG_RELIED | FLAG_DATA)};
}

/* Keeps the state at the end of a block. *changed: it is another one than before. */
static enum status keep_out(struct analysis *analysis, uint32_t block, bool *changed)
{
    const struct flow_block *row = &analysis->flow->blocks[block];
    /* Behind a call, the values that a function does not write are those of the caller. */
    const bool all = row->end != FLOW_RETURN || row->edges > 0;
    struct block_state *state = &analysis->blocks[block];

    *changed = !state->out;
    if (!state->out)
        state->out = calloc(analysis->used_count, sizeof(*state->out));
    if (!state->out)
        return log_memory("the registers of %zu blocks", analysis->flow->reached);
    for (unsigned u = 0; u < analysis->used_count; u++) {
        const unsigned i = analysis->used[u];

        if (all || analysis->functions[row->function][i])
            *changed |= memcmp(&state->out[u], &analysis->in[i], sizeof(analysis->in[i])) != 0;
        state->out[u] = analysis->in[i];
    }
    if (row->end == FLOW_CALL && row->conditional)
        state->condition =
            machine_condition(&analysis->machine, analysis->in, &analysis->instructions[row->last]);
    return STATUS_OK;
}

/* Values that were found before hold no more. */
static void mark_all_dirty(struct analysis *analysis)
{
    for (size_t k = 0; k < analysis->flow->reached; k++)
        analysis->blocks[analysis->flow->sequence[k]].dirty = true;
}

/* Visits a block. Whether its end has changed. */
static enum status visit_block(struct analysis *analysis, uint32_t block, bool *changed)
{
    const struct flow_block *row = &analysis->flow->blocks[block];
    struct block_state *state = &analysis->blocks[block];
    const bool partial = analysis->machine.partial, apart = analysis->machine.local_apart;
    struct divergence divergence;
    enum status status;

    *changed = false;
    state->dirty = false;
    if (state->visits > VISITS_MAX || !analysis_enter(analysis, block))
        return STATUS_OK;
    analysis->machine.visit++;
    analysis->machine.whole = convergence_is_whole(analysis, block);
    for (uint32_t index = row->first; index <= row->last; index++)
        machine_execute(&analysis->machine, analysis->in, index);
    if (analysis->machine.partial != partial || analysis->machine.local_apart != apart)
        mark_all_dirty(analysis);
    if (row->end == FLOW_CALL_OUT || state->visits == VISITS_MAX)
        for (unsigned k = 0; k < analysis->used_count; k++)
            analysis->in[analysis->used[k]] =
                value_divergent(state->visits == VISITS_MAX ? WHY_ROUNDS : WHY_CALL);
    state->visits++;
    status = keep_out(analysis, block, changed);
    if (status != STATUS_OK || !*changed || (row->edges < 2 && !row->conditional))
        return status;
    divergence = branch_divergence(analysis, block);
    if (divergence.why != WHY_NONE && row->end != FLOW_CALL)
        convergence_split(analysis, block);
    if (divergence.why != WHY_NONE && !analysis->machine.diverged) {
        analysis->machine.diverged = true;
        mark_all_dirty(analysis);
    }
    if (row->edges < 2)
        return STATUS_OK;
    if (divergence_add(&state->branch, divergence) && divergence.level > LEVEL_GRID)
        joins_mark(analysis, block, state->branch);
    return STATUS_OK;
}

static void mark_successors(struct analysis *analysis, const struct flow_block *block)
{
    for (uint32_t e = block->edge; e < block->edge + block->edges; e++)
        analysis->blocks[analysis->flow->edges[e].to].dirty = true;
}

/* Marks what the end of a block reaches: successors, the function that it calls, what stands behind
 * the calls of the function that it returns from. */
static void mark_dirty(struct analysis *analysis, const struct flow_block *block)
{
    const struct flow *flow = analysis->flow;

    mark_successors(analysis, block);
    if (block->end == FLOW_CALL)
        analysis->blocks[block->called].dirty = true;
    for (size_t i = 0; block->end == FLOW_RETURN && i < analysis->call_count; i++)
        if (function_called(flow, analysis->calls[i]) == block->function)
            mark_successors(analysis, &flow->blocks[analysis->calls[i]]);
}

static enum status find_fixed_point(struct analysis *analysis)
{
    const struct flow *flow = analysis->flow;
    bool more = true;

    while (more) {
        more = false;
        for (size_t k = 0; k < flow->reached; k++) {
            const uint32_t block = flow->sequence[k];
            enum status status;
            bool changed;

            if (!analysis->blocks[block].dirty)
                continue;
            more = true;
            status = visit_block(analysis, block, &changed);
            if (status != STATUS_OK)
                return status;
            if (changed)
                mark_dirty(analysis, &flow->blocks[block]);
        }
    }
    return STATUS_OK;
}

/* -- all of it --------------------------------------------------------------------------------- */

static void analysis_close(struct analysis *analysis)
{
    for (size_t i = 0; analysis->blocks && i < analysis->flow->block_count; i++)
        free(analysis->blocks[i].out);
    free(analysis->blocks);
    free(analysis->loops);
    free(analysis->functions);
    free(analysis->meets);
    free(analysis->returns);
    free(analysis->calls);
    free(analysis->waiting);
    free(analysis->instructions);
    free(analysis->deciding);
    lane_tables_close(&analysis->machine.lanes);
    free(analysis);
}

/* NULL, logged, when out of memory. */
static struct analysis *analysis_open(const struct flow *flow, const struct code_facts *facts)
{
    struct analysis *analysis = calloc(1, sizeof(*analysis));

    if (!analysis) {
        log_memory("the values of registers");
        return NULL;
    }
    analysis->flow = flow;
    analysis->machine.architecture = flow->architecture;
    analysis->machine.facts = facts;
    analysis->machine.flat = true;
    analysis->machine.local_apart = flow->calls_out || flow->lost;
    if (lane_tables_open(&analysis->machine.lanes) != STATUS_OK)
        goto out;
    analysis->blocks = calloc(flow->block_count + 1, sizeof(*analysis->blocks));
    analysis->loops = calloc(flow->loop_count + 1, sizeof(*analysis->loops));
    analysis->functions = calloc(flow->function_count + 1, sizeof(*analysis->functions));
    analysis->meets = calloc(flow->function_count + 1, sizeof(*analysis->meets));
    analysis->returns = calloc(flow->block_count + 1, sizeof(*analysis->returns));
    analysis->calls = calloc(flow->block_count + 1, sizeof(*analysis->calls));
    analysis->waiting = calloc(flow->block_count + 1, sizeof(*analysis->waiting));
    analysis->instructions = calloc(flow->instructions + 1, sizeof(*analysis->instructions));
    analysis->deciding = calloc(flow->instructions + 1, sizeof(*analysis->deciding));
    analysis->machine.instructions = analysis->instructions;
    if (analysis->blocks && analysis->loops && analysis->functions && analysis->meets &&
        analysis->returns && analysis->calls && analysis->waiting && analysis->instructions &&
        analysis->deciding)
        return analysis;
    log_memory("%zu blocks", flow->block_count);
out:
    analysis_close(analysis);
    return NULL;
}

/* What does not change: the ends of blocks, and what is written. */
static void prepare(struct analysis *analysis)
{
    const struct flow *flow = analysis->flow;

    for (size_t i = 0; i < flow->loop_count; i++)
        analysis->irreducible |= flow->loops[i].entered_twice;
    for (size_t k = 0; k < flow->reached; k++) {
        const uint32_t block = flow->sequence[k];

        analysis->blocks[block].dirty = true;
        if (flow->blocks[block].end == FLOW_RETURN)
            analysis->returns[analysis->return_count++] = block;
        if (flow->blocks[block].end == FLOW_CALL)
            analysis->calls[analysis->call_count++] = block;
    }
    find_written(analysis);
}

enum status divergence_visit_loads(const struct flow *flow, const struct code_facts *facts,
                                   load_visit *visit, void *context)
{
    struct analysis *analysis = analysis_open(flow, facts);
    enum status status;

    if (!analysis)
        return STATUS_ENVIRONMENT;
    prepare(analysis);
    status = find_fixed_point(analysis);
    for (uint32_t block = 0; status == STATUS_OK && block < flow->block_count; block++)
        if (flow->blocks[block].order != FLOW_NONE)
            loads_visit(analysis, block, visit, context);
    analysis_close(analysis);
    return status;
}
