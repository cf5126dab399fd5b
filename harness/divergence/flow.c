/* SPDX-License-Identifier: MIT
 * From machine code to its control flow graph: leaders make blocks, branches edges, strongly
 * connected components the loops. */
#include "flow.h"

#include <stdlib.h>
#include <string.h>

#include "instruction.h"
#include "log.h"

enum { DEPTH_MAX = 64 };

/* Where an instruction leads: which of these it has. */
struct leads {
    bool target, next, call, out, returns, lost, indirect, conditional;
    int64_t to; /* instruction */
};

static struct leads leads_of(const unsigned char *code, size_t index, uint32_t architecture)
{
    const size_t offset = index * INSTRUCTION_BYTES;
    const unsigned opcode = code_field(code, offset, FIELD_OPCODE),
                   guard = code_field(code, offset, FIELD_GUARD),
                   form = code_field(code, offset, FIELD_FORM);
    /* By its guard, or by the predicate that all of them take beside it. */
    const bool guarded =
        guard != PREDICATE_ALWAYS || code_field(code, offset, FIELD_CONDITION) != PREDICATE_ALWAYS;
    struct leads out = {.next = true};

    if (opcode < OPCODE_CONTROL_FIRST || opcode > OPCODE_CONTROL_LAST || guard == PREDICATE_NEVER)
        return out;
    out.to = branch_target(code, offset, architecture) / INSTRUCTION_BYTES;
    switch (opcode) {
    case OPCODE_BRA:
        /* By a uniform predicate, or where the warp has diverged. */
        out.conditional =
            guarded || (form == FORM_IMMEDIATE_C
                            ? code_field(code, offset, FIELD_BRANCH_INPUT) != PREDICATE_ALWAYS
                            : code_field(code, offset, FIELD_DIVERGED) ||
                                  code_field(code, offset, FIELD_BRANCH_KIND) != BRANCH_PLAIN);
        out.target = true;
        out.next = out.conditional;
        break;
    case OPCODE_CALL_REL:
        out.out = form == FORM_REGISTER;
        out.call = !out.out;
        out.conditional = guarded;
        break;
    case OPCODE_CALL_ABS:
        out.out = true;
        out.conditional = guarded;
        break;
    case OPCODE_EXIT:
        out.next = out.conditional = guarded;
        break;
    case OPCODE_RET:
        out.returns = true;
        out.next = out.conditional = guarded;
        break;
    case OPCODE_BRX:
    case OPCODE_BRXU:
    case OPCODE_JMX:
    case OPCODE_JMXU:
    case OPCODE_JMP:
        out.indirect = out.conditional = true;
        out.next = guarded;
        break;
    default:
        break;
    }
    return out;
}

static uint32_t jump_target(const struct flow_jump *jump, uint32_t i)
{
    uint32_t target = 0;

    if (jump->targets)
        memcpy(&target, jump->targets + sizeof(target) * i, sizeof(target));
    return (jump->base + target) / INSTRUCTION_BYTES;
}

static const struct flow_jump *jump_of(const struct flow_jump *jumps, size_t count, size_t index)
{
    for (size_t i = 0; i < count; i++)
        if (jumps[i].offset == index * INSTRUCTION_BYTES)
            return &jumps[i];
    return NULL;
}

/* The same, where calls of other sections are known. */
static struct leads linked_leads(const struct flow *flow, size_t index,
                                 const struct flow_jump *jumps, size_t jump_count)
{
    struct leads out = leads_of(flow->code, index, flow->architecture);
    const struct flow_jump *call = out.call || out.out ? jump_of(jumps, jump_count, index) : NULL;

    if (call) {
        out.call = true;
        out.out = false;
        out.to = jump_target(call, 0);
    }
    return out;
}

/* Blocks begin at targets and behind what changes the flow. `block_of` has the block of each
 * instruction that begins one. */
static enum status make_blocks(struct flow *flow, const struct flow_jump *jumps, size_t jump_count,
                               uint32_t *block_of)
{
    const size_t count = flow->instructions;
    size_t edges = 0;

    memset(block_of, 0, (count + 1) * sizeof(*block_of));
    block_of[0] = 1;
    for (size_t i = 0; i < count; i++) {
        const struct leads leads = linked_leads(flow, i, jumps, jump_count);
        const struct flow_jump *jump = leads.indirect ? jump_of(jumps, jump_count, i) : NULL;

        if ((leads.target || leads.call) && leads.to >= 0 && (uint64_t)leads.to < count)
            block_of[leads.to] = 1;
        for (uint32_t k = 0; jump && k < jump->count; k++)
            if (jump_target(jump, k) < count)
                block_of[jump_target(jump, k)] = 1;
        edges += 2 + (jump ? jump->count : 0);
        if (!leads.next || leads.target || leads.call || leads.out || leads.returns ||
            leads.indirect || leads.conditional)
            block_of[i + 1] = 1;
    }
    for (size_t i = 0; i < count; i++)
        flow->block_count += block_of[i];
    flow->blocks = calloc(flow->block_count + 1, sizeof(*flow->blocks));
    flow->edges = calloc(edges + 1, sizeof(*flow->edges));
    flow->entering = calloc(edges + 1, sizeof(*flow->entering));
    flow->sequence = calloc(3 * (flow->block_count + 1), sizeof(*flow->sequence));
    flow->loops = calloc(flow->block_count + 1, sizeof(*flow->loops));
    if (!flow->blocks || !flow->edges || !flow->entering || !flow->sequence || !flow->loops)
        return log_memory("%zu blocks", flow->block_count);
    flow->functions = flow->sequence + flow->block_count + 1;
    flow->function_depths = flow->functions + flow->block_count + 1;
    for (size_t i = 0, block = 0; i < count; i++) {
        if (!block_of[i]) {
            block_of[i] = FLOW_NONE;
        } else {
            block_of[i] = (uint32_t)block;
            flow->blocks[block++] = (struct flow_block){.first = (uint32_t)i,
                                                        .called = FLOW_NONE,
                                                        .function = FLOW_NONE,
                                                        .loop = FLOW_NONE,
                                                        .order = FLOW_NONE};
        }
        flow->blocks[block - 1].last = (uint32_t)i;
    }
    for (size_t i = 0; i < count; i++) {
        const unsigned opcode = code_field(flow->code, i * INSTRUCTION_BYTES, FIELD_OPCODE);
        const uint32_t number = code_field(flow->code, i * INSTRUCTION_BYTES, FIELD_IMMEDIATE);

        if ((opcode == OPCODE_MOV || opcode == OPCODE_IMAD) && number % INSTRUCTION_BYTES == 0 &&
            number / INSTRUCTION_BYTES < count && block_of[number / INSTRUCTION_BYTES] != FLOW_NONE)
            flow->blocks[block_of[number / INSTRUCTION_BYTES]].named = true;
    }
    return STATUS_OK;
}

static void add_edge(struct flow *flow, uint32_t from, uint32_t to)
{
    struct flow_block *block = &flow->blocks[from];

    for (uint32_t i = 0; i < block->edges; i++)
        if (flow->edges[block->edge + i].to == to)
            return;
    flow->edges[flow->edge_count++] = (struct flow_edge){from, to};
    block->edges++;
    flow->blocks[to].entries++;
}

/* Blocks from which a RET can be reached. Calls lead on behind them. `stack` has room for every
 * block. */
static void find_returning(struct flow *flow, uint32_t *stack)
{
    size_t depth = 0;

    for (size_t i = 0; i < flow->block_count; i++)
        if (flow->blocks[i].end == FLOW_RETURN) {
            flow->blocks[i].returning = true;
            stack[depth++] = (uint32_t)i;
        }
    while (depth > 0) {
        const struct flow_block *block = &flow->blocks[stack[--depth]];

        for (uint32_t e = block->entry; e < block->entry + block->entries; e++) {
            const uint32_t from = flow->edges[flow->entering[e]].from;

            if (!flow->blocks[from].returning)
                stack[depth++] = from;
            flow->blocks[from].returning = true;
        }
    }
}

/* Compilers leave loops by a CALL that is a jump. No RET can be reached there, which is known once
 * there are edges. Or it has a guard, and no number in the code is the address behind it. Returns
 * whether there are calls. */
static bool make_edges(struct flow *flow, const struct flow_jump *jumps, size_t jump_count,
                       const uint32_t *block_of, bool returning_known)
{
    bool jumping = false;
    uint32_t entry = 0;

    flow->edge_count = 0;
    for (size_t i = 0; i < flow->block_count; i++)
        flow->blocks[i].edges = flow->blocks[i].entries = 0;
    for (size_t i = 0; i < flow->block_count; i++) {
        struct flow_block *block = &flow->blocks[i];
        struct leads leads = linked_leads(flow, block->last, jumps, jump_count);
        const struct flow_jump *jump =
            leads.indirect ? jump_of(jumps, jump_count, block->last) : NULL;
        const bool inside = leads.to >= 0 && (uint64_t)leads.to < flow->instructions;

        const bool named = i + 1 < flow->block_count && flow->blocks[i + 1].named;

        jumping |= leads.call && inside;
        if (leads.call && inside &&
            ((leads.conditional && !named) ||
             (returning_known && !flow->blocks[block_of[leads.to]].returning))) {
            leads.call = false;
            leads.target = true;
            leads.next = leads.conditional;
        }
        block->edge = (uint32_t)flow->edge_count;
        block->conditional = leads.conditional;
        block->called = leads.call && inside ? block_of[leads.to] : FLOW_NONE;
        if (block->called != FLOW_NONE)
            flow->blocks[block->called].is_called = returning_known;
        block->end = leads.call && inside      ? FLOW_CALL
                     : leads.call || leads.out ? FLOW_CALL_OUT
                     : leads.returns           ? FLOW_RETURN
                     : leads.indirect && !jump ? FLOW_LOST
                     : leads.target && !inside ? FLOW_LOST
                                               : FLOW_ON;
        if (leads.target && inside)
            add_edge(flow, (uint32_t)i, block_of[leads.to]);
        for (uint32_t k = 0; jump && k < jump->count; k++)
            if (jump_target(jump, k) < flow->instructions)
                add_edge(flow, (uint32_t)i, block_of[jump_target(jump, k)]);
        if (leads.next && block->last + 1 < flow->instructions)
            add_edge(flow, (uint32_t)i, (uint32_t)i + 1);
    }
    for (size_t i = 0; i < flow->block_count; i++) {
        flow->blocks[i].entry = entry;
        entry += flow->blocks[i].entries;
        flow->blocks[i].entries = 0;
    }
    for (size_t i = 0; i < flow->edge_count; i++) {
        struct flow_block *to = &flow->blocks[flow->edges[i].to];

        flow->entering[to->entry + to->entries++] = (uint32_t)i;
    }
    return jumping;
}

/* Depth first from the entry of each function; what it calls is the entry of another one. `stack`
 * and `next` have room for every block. */
static void order_blocks(struct flow *flow, uint32_t *stack, uint32_t *next)
{
    size_t begin = 0;

    flow->functions[flow->function_count++] = 0;
    for (size_t f = 0; f < flow->function_count; f++) {
        size_t depth = 0;
        const uint32_t entry = flow->functions[f];
        uint32_t joined = FLOW_NONE;

        if (flow->blocks[entry].function != FLOW_NONE)
            continue; /* another function runs into it */
        flow->blocks[entry].function = (uint32_t)f;
        stack[depth++] = entry;
        while (depth > 0) {
            const uint32_t current = stack[depth - 1];
            struct flow_block *block = &flow->blocks[current];

            if (next[current] < block->edges) {
                const uint32_t to = flow->edges[block->edge + next[current]++].to;

                if (flow->blocks[to].function == FLOW_NONE) {
                    flow->blocks[to].function = (uint32_t)f;
                    stack[depth++] = to;
                } else if (flow->blocks[to].function != f) {
                    joined = flow->blocks[to].function;
                }
                continue;
            }
            depth--;
            flow->sequence[flow->reached++] = current;
            flow->lost |= block->end == FLOW_LOST;
            flow->calls_out |= block->end == FLOW_CALL_OUT;
            if (block->called == FLOW_NONE || flow->blocks[block->called].order != FLOW_NONE)
                continue;
            flow->blocks[block->called].order = 0; /* listed */
            if (block->called != 0)
                flow->functions[flow->function_count++] = block->called;
        }
        for (size_t low = begin, high = flow->reached; low + 1 < high; low++) {
            const uint32_t swapped = flow->sequence[low];

            flow->sequence[low] = flow->sequence[--high];
            flow->sequence[high] = swapped;
        }
        /* It runs into another one, and returns by it. */
        for (size_t i = 0; joined != FLOW_NONE && i < flow->reached; i++)
            if (flow->blocks[flow->sequence[i]].function == f)
                flow->blocks[flow->sequence[i]].function = joined;
        begin = flow->reached;
    }
    for (size_t i = 0; i < flow->reached; i++)
        flow->blocks[flow->sequence[i]].order = (uint32_t)i;
}

/* -- loops ------------------------------------------------------------------------------------- */

/* What Tarjan's search for strongly connected components keeps of a block. */
struct visit {
    uint32_t number; /* in the order of the search; 0: not yet visited */
    uint32_t low; /* the lowest number that it leads back to */
    uint32_t next; /* edge to follow */
    bool open; /* its component is not complete */
};

/* The search, without recursion. */
struct component_search {
    struct flow *flow;
    struct visit *visits;
    uint32_t *path, *waiting; /* blocks: from the root; of components that are not complete */
    size_t depth, waits, loops_before;
    uint32_t number;
};

/* Whether an edge stays in the innermost loop of a block, without leading back to its header. */
static bool stays(const struct flow *flow, uint32_t block, uint32_t to)
{
    const uint32_t loop = flow->blocks[block].loop;

    return flow->blocks[to].loop == loop && (loop == FLOW_NONE || to != flow->loops[loop].header);
}

/* Goes on to a successor of a block that was not yet visited. False: there is none. */
static bool descend(struct component_search *search, uint32_t block)
{
    const struct flow *flow = search->flow;
    const struct flow_block *row = &flow->blocks[block];
    struct visit *visit = &search->visits[block];
    const bool complete = row->loop != FLOW_NONE && row->loop >= search->loops_before;

    while (visit->next < row->edges) {
        const uint32_t to = flow->edges[row->edge + visit->next++].to;

        if (complete || !stays(flow, block, to) || search->visits[to].number != 0)
            continue;
        search->path[search->depth++] = to;
        return true;
    }
    return false;
}

/* Lowers `low` of a block to that of its successors. Whether it is one of these itself. */
static bool lower(struct component_search *search, uint32_t block)
{
    const struct flow *flow = search->flow;
    const struct flow_block *row = &flow->blocks[block];
    struct visit *visit = &search->visits[block];
    bool itself = false;

    for (uint32_t i = row->edge; i < row->edge + row->edges; i++) {
        const uint32_t to = flow->edges[i].to;

        if (!stays(flow, block, to))
            continue;
        itself |= to == block;
        if (search->visits[to].open && search->visits[to].low < visit->low)
            visit->low = search->visits[to].low;
    }
    return itself;
}

/* Takes the component of a block, where the search entered it, from those that wait; it is a loop
 * if an edge leads back. */
static void take_component(struct component_search *search, uint32_t root, bool itself)
{
    struct flow *flow = search->flow;
    const uint32_t outer = flow->blocks[root].loop, made = (uint32_t)flow->loop_count;
    const bool looped = itself || search->waiting[search->waits - 1] != root;
    uint32_t member;

    if (looped)
        flow->loops[flow->loop_count++] =
            (struct flow_loop){.header = root,
                               .outer = outer,
                               .depth = outer == FLOW_NONE ? 1 : flow->loops[outer].depth + 1};
    do {
        member = search->waiting[--search->waits];
        search->visits[member].open = false;
        if (!looped)
            continue;
        flow->blocks[member].loop = made;
        if (flow->blocks[member].order < flow->blocks[flow->loops[made].header].order)
            flow->loops[made].header = member;
    } while (member != root);
}

static void search_from(struct component_search *search, uint32_t root)
{
    search->path[search->depth++] = root;
    while (search->depth > 0) {
        const uint32_t block = search->path[search->depth - 1];
        struct visit *visit = &search->visits[block];
        bool itself;

        if (visit->number == 0) {
            visit->number = visit->low = ++search->number;
            visit->open = true;
            search->waiting[search->waits++] = block;
        }
        if (descend(search, block))
            continue;
        itself = lower(search, block);
        search->depth--;
        if (visit->low == visit->number)
            take_component(search, block, itself);
    }
}

/* Marks new loops that are entered beside their header. */
static void mark_entries(struct flow *flow, size_t loops_before)
{
    for (size_t i = 0; i < flow->edge_count; i++) {
        const struct flow_block *from = &flow->blocks[flow->edges[i].from],
                                *to = &flow->blocks[flow->edges[i].to];

        if (from->order != FLOW_NONE && to->loop != FLOW_NONE && to->loop >= loops_before &&
            from->loop != to->loop && flow->edges[i].to != flow->loops[to->loop].header)
            flow->loops[to->loop].entered_twice = true;
    }
}

/* One more level of loops: the components of the blocks of each innermost loop, without the edges
 * to its header. Returns whether there was any. `visits`, `path`, `waiting`: room for all blocks.
 */
static bool find_inner_loops(struct flow *flow, struct visit *visits, uint32_t *path,
                             uint32_t *waiting)
{
    struct component_search search = {.flow = flow,
                                      .visits = visits,
                                      .path = path,
                                      .waiting = waiting,
                                      .loops_before = flow->loop_count};

    memset(visits, 0, flow->block_count * sizeof(*visits));
    for (size_t k = 0; k < flow->reached; k++)
        if (visits[flow->sequence[k]].number == 0)
            search_from(&search, flow->sequence[k]);
    mark_entries(flow, search.loops_before);
    return flow->loop_count > search.loops_before;
}

uint32_t flow_depth(const struct flow *flow, uint32_t block)
{
    const uint32_t loop = flow->blocks[block].loop, function = flow->blocks[block].function;

    if (function == FLOW_NONE) /* nothing leads there */
        return 0;
    return (loop == FLOW_NONE ? 0 : flow->loops[loop].depth) + flow->function_depths[function];
}

bool flow_within(const struct flow *flow, uint32_t loop, uint32_t outer)
{
    while (loop != FLOW_NONE && loop != outer)
        loop = flow->loops[loop].outer;
    return loop == outer;
}

enum status flow_open(const void *code, size_t bytes, uint32_t architecture,
                      const struct flow_jump *jumps, size_t jump_count, struct flow *out)
{
    const size_t count = bytes / INSTRUCTION_BYTES;
    uint32_t *work = calloc(2 * (count + 1), sizeof(*work));
    struct visit *visits = calloc(count + 1, sizeof(*visits));
    enum status status = STATUS_OK;
    bool more = true;

    *out = (struct flow){.code = code, .instructions = count, .architecture = architecture};
    if (!work || !visits)
        status = log_memory("%zu instructions", count);
    if (status == STATUS_OK && count > 0)
        status = make_blocks(out, jumps, jump_count, work);
    if (status == STATUS_OK && count > 0) {
        if (make_edges(out, jumps, jump_count, work, false)) {
            find_returning(out, work + count + 1);
            make_edges(out, jumps, jump_count, work, true);
        }
        memset(work, 0, 2 * (count + 1) * sizeof(*work));
        order_blocks(out, work, work + count + 1);
        for (unsigned i = 0; i < DEPTH_MAX && more; i++)
            more = find_inner_loops(out, visits, work, work + count + 1);
        /* A function lies in the loops of its calls. Calls that go round in a circle are a loop,
         * too. */
        more = true;
        for (unsigned i = 0; i < DEPTH_MAX && more; i++) {
            more = false;
            for (size_t k = 0; k < out->reached; k++) {
                const struct flow_block *block = &out->blocks[out->sequence[k]];
                const uint32_t depth = flow_depth(out, out->sequence[k]);
                uint32_t *callee = block->called == FLOW_NONE
                                       ? NULL
                                       : &out->function_depths[out->blocks[block->called].function];

                if (callee &&
                    block->called == out->functions[out->blocks[block->called].function] &&
                    *callee < depth) {
                    *callee = depth;
                    more = true;
                }
            }
        }
    }
    free(work);
    free(visits);
    if (status != STATUS_OK)
        flow_close(out);
    return status;
}

void flow_close(struct flow *flow)
{
    free(flow->blocks);
    free(flow->edges);
    free(flow->entering);
    free(flow->sequence);
    free(flow->loops);
    *flow = (struct flow){0};
}
