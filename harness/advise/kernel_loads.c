/* SPDX-License-Identifier: MIT */
#include "kernel_loads.h"

#include <stdlib.h>
#include <string.h>

#include "log.h"

/* -- kinds --------------------------------------------------------------------------------------------- */

/* The kind of a load; LOAD_KIND_COUNT if the instruction is none. */
static unsigned load_kind(const struct instruction *instruction, uint32_t architecture)
{
    static const struct {
        unsigned operation, kind;
    } others[] = {{0x180, LOAD_GENERIC}, {0x183, LOAD_LOCAL}, {0x1ae, LOAD_COPY}};
    const bool uniform = instruction->family == SASS_ULDC, constant = uniform || instruction->family == SASS_LDC;
    const bool indexed = constant && instruction_indexed(instruction);
    const enum sass_class class = instruction_class(instruction, architecture);

    if (instruction->predicate == PREDICATE_NEVER)
        return LOAD_KIND_COUNT;
    if (!constant && class < SASS_SEL)
        return class;
    if (constant || instruction_takes_constant(instruction)) {
        if (instruction->bank == USER_BANK)
            return !indexed ? LOAD_FIXED : uniform ? SASS_ULDC : SASS_LDC;
        if (instruction->bank == PARAMETER_BANK)
            return !indexed ? LOAD_ARGUMENT : uniform ? LOAD_ARGUMENT_UNIFORM : SASS_LDC_PARAMETER;
        return LOAD_COMPILER;
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (others[i].operation == instruction->operation)
            return others[i].kind;
    return LOAD_KIND_COUNT;
}

/* -- loops: what can get back to where it is ----------------------------------------------------------- */

enum { UNVISITED = 0, SUCCESSORS_MAX = 2 };

/* Tarjan's strongly connected components of the instructions. */
struct flow {
    const unsigned char *code;
    size_t count; /* instructions */
    uint32_t architecture;
    struct node {
        uint32_t number, low;   /* from 1, in the order of visits; the lowest that can be reached */
        uint32_t path, waiting; /* entries of two stacks; they are unrelated to this instruction */
        uint8_t next;           /* successor that is visited next */
        bool open;              /* its component is not known yet */
        bool looped;
    } *nodes;
    uint32_t visits;
    size_t depth, waiting;
};

/* The instructions that can follow instruction `at`: at most two. A call counts as coming back. */
static size_t find_successors(const struct flow *flow, size_t at, size_t out[SUCCESSORS_MAX])
{
    const struct instruction instruction = instruction_at(flow->code, at * INSTRUCTION_BYTES);
    const bool always = instruction.predicate == PREDICATE_ALWAYS, branch = instruction.operation == OPERATION_BRA;
    const int64_t target = branch_target(flow->code, at * INSTRUCTION_BYTES, flow->architecture) / INSTRUCTION_BYTES;
    const bool ends = always && (instruction.operation == OPERATION_EXIT || instruction.operation == OPERATION_RET ||
                                 (branch && instruction.condition == PREDICATE_ALWAYS));
    size_t count = 0;

    if (branch && target >= 0 && (uint64_t)target < flow->count)
        out[count++] = (size_t)target;
    if (!ends && at + 1 < flow->count)
        out[count++] = at + 1;
    return count;
}

static void enter(struct flow *flow, size_t at)
{
    struct node *node = &flow->nodes[at];

    node->number = node->low = ++flow->visits;
    node->open = true;
    flow->nodes[flow->depth++].path = (uint32_t)at;
    flow->nodes[flow->waiting++].waiting = (uint32_t)at;
}

static void find_loops_from(struct flow *flow, size_t root)
{
    enter(flow, root);
    while (flow->depth > 0) {
        const size_t at = flow->nodes[flow->depth - 1].path;
        struct node *node = &flow->nodes[at];
        size_t successors[SUCCESSORS_MAX], member;
        const size_t count = find_successors(flow, at, successors);
        bool looped = false;

        if (node->next < count) {
            const size_t to = successors[node->next++];

            if (flow->nodes[to].number == UNVISITED)
                enter(flow, to);
            continue;
        }
        /* Everything that `at` leads to was visited. */
        for (size_t i = 0; i < count; i++) {
            const struct node *to = &flow->nodes[successors[i]];

            looped = looped || to == node;
            if (to->open && to->low < node->low)
                node->low = to->low;
        }
        flow->depth--;
        if (node->low != node->number)
            continue;
        /* Instructions that `at` reaches and that reach `at` form a loop, unless it is a single one that does not lead
         * to itself. */
        looped = looped || flow->nodes[flow->waiting - 1].waiting != at;
        do {
            member = flow->nodes[--flow->waiting].waiting;
            flow->nodes[member].open = false;
            flow->nodes[member].looped = looped;
        } while (member != at);
    }
}

static void mark(struct flow *flow, size_t at)
{
    if (at >= flow->count || flow->nodes[at].looped)
        return;
    flow->nodes[at].looped = true;
    flow->nodes[flow->depth++].path = (uint32_t)at;
}

/* The target of a call is in a loop if the call is. */
static void mark_called(struct flow *flow, size_t at)
{
    const struct instruction instruction = instruction_at(flow->code, at * INSTRUCTION_BYTES);

    if (flow->nodes[at].looped && instruction.operation == OPERATION_CALL && instruction.operands != OPERANDS_REGISTER)
        mark(flow, (size_t)(branch_target(flow->code, at * INSTRUCTION_BYTES, flow->architecture) / INSTRUCTION_BYTES));
}

/* -- reading ------------------------------------------------------------------------------------------- */

enum status kernel_loads_read(const void *code, size_t bytes, uint32_t architecture, struct kernel_loads *out)
{
    enum { CALL_ABSOLUTE = 0x143, BRX = 0x149, JMP = 0x14a, JMX = 0x14c, BRXU = 0x158, JMXU = 0x159 };
    struct flow flow = {.code = code, .count = bytes / INSTRUCTION_BYTES, .architecture = architecture};

    *out = (struct kernel_loads){.loops_known = true};
    flow.nodes = calloc(flow.count + 1, sizeof(*flow.nodes));
    if (!flow.nodes)
        return log_memory("%zu instructions", flow.count);
    for (size_t at = 0; at < flow.count; at++)
        if (flow.nodes[at].number == UNVISITED)
            find_loops_from(&flow, at);
    /* Everything that calls in loops lead to, and what that calls, is in loops. */
    for (size_t i = 0; i < flow.count; i++) {
        mark_called(&flow, i);
        while (flow.depth > 0) {
            const size_t at = flow.nodes[--flow.depth].path;
            size_t successors[SUCCESSORS_MAX];
            const size_t count = find_successors(&flow, at, successors);

            for (size_t k = 0; k < count; k++)
                mark(&flow, successors[k]);
            mark_called(&flow, at);
        }
    }
    for (size_t i = 0; i < flow.count; i++) {
        const struct instruction instruction = instruction_at(flow.code, i * INSTRUCTION_BYTES);
        const unsigned kind = load_kind(&instruction, flow.architecture), operation = instruction.operation;
        const bool word = kind == LOAD_COPY || instruction_takes_constant(&instruction);
        unsigned width;

        /* A jump to an address in a register or a table leads anywhere; a call to one leaves the code. */
        if (operation == BRX || operation == JMP || operation == JMX || operation == BRXU || operation == JMXU)
            out->loops_known = false;
        out->calls_out |=
            operation == CALL_ABSOLUTE || (operation == OPERATION_CALL && instruction.operands == OPERANDS_REGISTER);
        if (kind == LOAD_KIND_COUNT)
            continue;
        width = word ? SASS_WORD
                     : instruction_width(&instruction, kind < SASS_CLASS_COUNT ? (enum sass_class)kind : SASS_LDC);
        out->all[kind][width]++;
        out->in_loops[kind][width] += flow.nodes[i].looped;
    }
    free(flow.nodes);
    return STATUS_OK;
}
