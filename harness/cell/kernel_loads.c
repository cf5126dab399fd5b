/* SPDX-License-Identifier: MIT */
#include "kernel_loads.h"

#include <stdlib.h>

#include "log.h"
#include "sass_instruction.h"
#include "sass_old.h"

/* -- kinds --------------------------------------------------------------------------------------------- */

/* Of constant banks: by which bank, and by what the index is. */
static unsigned constant_kind(const struct instruction *instruction)
{
    const bool indexed = instruction_indexed(instruction) && instruction->family < SASS_SEL;
    const bool uniform = instruction->family == SASS_ULDC;

    if (instruction->bank == USER_BANK)
        return !indexed ? LOAD_FIXED : uniform ? SASS_ULDC : SASS_LDC;
    if (instruction->bank == PARAMETER_BANK)
        return !indexed ? LOAD_ARGUMENT : uniform ? LOAD_ARGUMENT_UNIFORM : SASS_LDC_PARAMETER;
    return LOAD_COMPILER;
}

/* LOAD_KIND_COUNT: it is none. */
static unsigned load_kind(const struct instruction *instruction, uint32_t architecture)
{
    static const struct {
        unsigned operation, kind;
    } others[] = {{0x180, LOAD_GENERIC}, {0x183, LOAD_LOCAL}, {0x1ae, LOAD_COPY}};
    enum sass_class class;

    if (instruction->predicate == PREDICATE_NEVER)
        return LOAD_KIND_COUNT;
    if (instruction->family == SASS_LDC || instruction->family == SASS_ULDC)
        return constant_kind(instruction);
    class = instruction_class(instruction, architecture);
    if (class < SASS_SEL)
        return class;
    if (instruction_takes_constant(instruction))
        return constant_kind(instruction);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (others[i].operation == instruction->operation)
            return others[i].kind;
    return LOAD_KIND_COUNT;
}

/* Operands and copies count as words. */
static unsigned load_width(const struct instruction *instruction, unsigned kind)
{
    if (kind == LOAD_COPY || instruction_takes_constant(instruction))
        return SASS_WORD;
    return instruction_width(instruction, kind < SASS_CLASS_COUNT ? (enum sass_class)kind : SASS_LDC);
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
        uint32_t path, waiting; /* entry of two stacks, which have nothing else to do with the instruction */
        uint8_t next;           /* successor that is visited next */
        bool open;              /* its component is not known yet */
        bool looped;
    } *nodes;
    uint32_t visits;
    size_t depth, waiting;
};

/* Where instruction `at` may lead, but for calls, which come back: at most two. */
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

/* All that was reached from `at` and can reach it: a loop, unless it is one instruction that does not lead to itself. */
static void close_component(struct flow *flow, size_t at, bool looped)
{
    size_t member;

    looped = looped || flow->nodes[flow->waiting - 1].waiting != at;
    do {
        member = flow->nodes[--flow->waiting].waiting;
        flow->nodes[member].open = false;
        flow->nodes[member].looped = looped;
    } while (member != at);
}

/* The lowest that `at` reaches, all that it leads to being visited; whether it leads to itself. */
static bool settle_low(struct flow *flow, size_t at, const size_t *successors, size_t count)
{
    struct node *node = &flow->nodes[at];
    bool itself = false;

    for (size_t i = 0; i < count; i++) {
        const struct node *to = &flow->nodes[successors[i]];

        itself = itself || to == node;
        if (to->open && to->low < node->low)
            node->low = to->low;
    }
    return itself;
}

static void find_loops_from(struct flow *flow, size_t root)
{
    enter(flow, root);
    while (flow->depth > 0) {
        const size_t at = flow->nodes[flow->depth - 1].path;
        struct node *node = &flow->nodes[at];
        size_t successors[SUCCESSORS_MAX];
        const size_t count = find_successors(flow, at, successors);

        if (node->next < count) {
            const size_t to = successors[node->next++];

            if (flow->nodes[to].number == UNVISITED)
                enter(flow, to);
        } else {
            const bool itself = settle_low(flow, at, successors, count);

            flow->depth--;
            if (node->low == node->number)
                close_component(flow, at, itself);
        }
    }
}

static void mark(struct flow *flow, size_t at)
{
    if (at >= flow->count || flow->nodes[at].looped)
        return;
    flow->nodes[at].looped = true;
    flow->nodes[flow->depth++].path = (uint32_t)at;
}

/* What a call leads to is in a loop, if the call is. */
static void mark_called(struct flow *flow, size_t at)
{
    const struct instruction instruction = instruction_at(flow->code, at * INSTRUCTION_BYTES);

    if (flow->nodes[at].looped && instruction.operation == OPERATION_CALL && instruction.operands != OPERANDS_REGISTER)
        mark(flow, (size_t)(branch_target(flow->code, at * INSTRUCTION_BYTES, flow->architecture) / INSTRUCTION_BYTES));
}

/* Marks all that calls in loops lead to, and what that calls. */
static void follow_calls(struct flow *flow)
{
    for (size_t i = 0; i < flow->count; i++) {
        mark_called(flow, i);
        while (flow->depth > 0) {
            const size_t at = flow->nodes[--flow->depth].path;
            size_t successors[SUCCESSORS_MAX];
            const size_t count = find_successors(flow, at, successors);

            for (size_t k = 0; k < count; k++)
                mark(flow, successors[k]);
            mark_called(flow, at);
        }
    }
}

static enum status find_loops(struct flow *flow)
{
    flow->nodes = calloc(flow->count + 1, sizeof(*flow->nodes));
    if (!flow->nodes)
        return log_memory("%zu instructions", flow->count);
    for (size_t at = 0; at < flow->count; at++)
        if (flow->nodes[at].number == UNVISITED)
            find_loops_from(flow, at);
    follow_calls(flow);
    return STATUS_OK;
}

/* -- reading ------------------------------------------------------------------------------------------- */

bool kernel_loads_known(uint32_t architecture)
{
    return instruction_known(architecture) || old_known(architecture);
}

static void read_old(const unsigned char *code, size_t bytes, uint32_t architecture, struct kernel_loads *out)
{
    struct old_load load;

    for (size_t at = 0; at + OLD_INSTRUCTION_BYTES <= bytes; at += OLD_INSTRUCTION_BYTES)
        if (old_load_at(code, at, architecture, &load))
            out->all[load.kind][load.width]++;
}

/* Jumps to where a register or a table says. Calls of that kind leave the code. */
static void note_jump(const struct instruction *instruction, struct kernel_loads *out)
{
    enum { CALL_ABSOLUTE = 0x143, BRX = 0x149, JMP = 0x14a, JMX = 0x14c, BRXU = 0x158, JMXU = 0x159 };

    switch (instruction->operation) {
    case BRX:
    case JMP:
    case JMX:
    case BRXU:
    case JMXU:
        out->loops_known = false;
        break;
    case OPERATION_CALL:
    case CALL_ABSOLUTE:
        out->calls_out |= instruction->operation == CALL_ABSOLUTE || instruction->operands == OPERANDS_REGISTER;
        break;
    default:
        break;
    }
}

static void read_new(const struct flow *flow, struct kernel_loads *out)
{
    for (size_t i = 0; i < flow->count; i++) {
        const struct instruction instruction = instruction_at(flow->code, i * INSTRUCTION_BYTES);
        const unsigned kind = load_kind(&instruction, flow->architecture);

        note_jump(&instruction, out);
        if (kind == LOAD_KIND_COUNT)
            continue;
        out->all[kind][load_width(&instruction, kind)]++;
        out->in_loops[kind][load_width(&instruction, kind)] += flow->nodes[i].looped;
    }
}

enum status kernel_loads_read(const void *code, size_t bytes, uint32_t architecture, struct kernel_loads *out)
{
    struct flow flow = {.code = code, .count = bytes / INSTRUCTION_BYTES, .architecture = architecture};
    const bool old = old_known(architecture);
    enum status status = STATUS_OK;

    *out = (struct kernel_loads){.loops_known = !old};
    if (old)
        read_old(code, bytes, architecture, out);
    else
        status = find_loops(&flow);
    if (!old && status == STATUS_OK)
        read_new(&flow, out);
    free(flow.nodes);
    return status;
}
