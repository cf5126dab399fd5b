/* SPDX-License-Identifier: MIT */
#include "kernel_loads.h"

#include <stdlib.h>
#include <string.h>

#include "log.h"

/* -- kinds --------------------------------------------------------------------------------------------- */

/* The kind of a load from a constant bank: it depends on the bank and on the index. */
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

/* The kind of a load; LOAD_KIND_COUNT if the instruction is none. */
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

/* -- before Volta -------------------------------------------------------------------------------------- */

/* Instructions of sm_35 to sm_62 are 64 bits, little-endian. Every fourth word, on Kepler every eighth, is not an
 * instruction: it holds the issue times of the ones that follow. */

/* The parts of an instruction: the distance of the lowest bit from bit 0. */
enum { OLD_INSTRUCTION_BYTES = 8, CACHE_BITS = 3, SIZE_BITS = 7, BANK_BITS = 0x1f };

/* The way in which an instruction loads. */
enum old_way {
    WAY_GLOBAL, /* global: a field tells which cache */
    WAY_INDEXED, /* LDC: from a bank, with or without a register */
    WAY_OPERAND, /* operand from a bank */
    WAY_PLAIN, /* the kind is fixed */
};

/* The bits of a word that identify an instruction, in the order in which they are tried. */
struct old_form {
    uint64_t mask, value;
    enum old_way way;
    unsigned kind; /* for WAY_PLAIN */
    unsigned size; /* lowest bit of the size; 0: a word */
    unsigned cache; /* for WAY_GLOBAL: lowest bit of the field of the cache */
};

#define TOP(bits) ((uint64_t)(bits) << 48)
/* Kepler has three types of instructions, in the lowest two bits. */
#define KEPLER(mask, value, type) TOP(mask) | 3, TOP(value) | (type)
#define KEPLER_LDG                ((uint64_t)1 << 44) /* tells it from TEX */

/* clang-format off */
/* Derived from the disassembler of CUDA 11.8, for every value of the highest 13 bits (on Kepler 10). */
static const struct old_form maxwell[] = {
    {TOP(0xfff8), TOP(0xeed0), WAY_GLOBAL, .size = 48, .cache = 46},                 /* LDG */
    {TOP(0xfff8), TOP(0xef90), WAY_INDEXED, .size = 48},                             /* LDC */
    {TOP(0xfff8), TOP(0xef48), WAY_PLAIN, .kind = SASS_LDS, .size = 48},
    {TOP(0xfff8), TOP(0xef40), WAY_PLAIN, .kind = LOAD_LOCAL, .size = 48},
    {TOP(0xe000), TOP(0x8000), WAY_PLAIN, .kind = LOAD_GENERIC, .size = 53},
    {TOP(0xfff8), TOP(0xef10), WAY_PLAIN, .kind = SASS_SHFL},
    {TOP(0xf000), TOP(0xc000), WAY_PLAIN, .kind = SASS_TLD},                                 /* TEX, TLD4 */
    {TOP(0xf800), TOP(0xd000), WAY_PLAIN, .kind = SASS_TLD},                                 /* TEXS, TLDS */
    {TOP(0xfc00), TOP(0xd800), WAY_PLAIN, .kind = SASS_TLD},                                 /* TEXS */
    {TOP(0xfe00), TOP(0xda00), WAY_PLAIN, .kind = SASS_TLD},                                 /* TLDS */
    {TOP(0xfe00), TOP(0xdc00), WAY_PLAIN, .kind = SASS_TLD},                                 /* TLD */
    {TOP(0xff80), TOP(0xde00), WAY_PLAIN, .kind = SASS_TLD},                                 /* TXD */
    {TOP(0xfff8), TOP(0xdeb8), WAY_PLAIN, .kind = SASS_TLD},                                 /* TEX by a handle */
    {TOP(0xfff8), TOP(0xdef8), WAY_PLAIN, .kind = SASS_TLD},                                 /* TLD4 by a handle */
    {TOP(0xf800), TOP(0x4800), WAY_OPERAND, .size = 0},                                         /* the second operand */
    {TOP(0xff00), TOP(0x5100), WAY_OPERAND, .size = 0},                                         /* the third: FFMA, XMAD */
    {TOP(0xfe00), TOP(0x5200), WAY_OPERAND, .size = 0},                                         /* IMAD, DFMA, PRMT, BFI ... */
    {TOP(0xfe00), TOP(0x0200), WAY_OPERAND, .size = 0},                                         /* LOP3 */
    {TOP(0xfc00), TOP(0x1800), WAY_OPERAND, .size = 0},                                         /* LEA */
    {TOP(0xf080), TOP(0x6080), WAY_OPERAND, .size = 0},                                         /* HFMA2 */
    {TOP(0xf880), TOP(0x7880), WAY_OPERAND, .size = 0},                                         /* HMUL2, HADD2, HSET2 ... */
};

static const struct old_form kepler[] = {
    {KEPLER(0xe000, 0xc000, 0), WAY_GLOBAL, .size = 56, .cache = 59},                /* LD; a separate opcode, LDG,
                                                                                      * elsewhere */
    {TOP(0xfff8) | KEPLER_LDG | 3, TOP(0x6000) | KEPLER_LDG | 1, WAY_PLAIN, .kind = SASS_LDG_CONSTANT, .size = 47},
    {KEPLER(0xf800, 0x6000, 1), WAY_PLAIN, .kind = SASS_TLD},                                /* TEX */
    {KEPLER(0xf800, 0x7000, 1), WAY_PLAIN, .kind = SASS_TLD},                                /* TLD4 */
    {KEPLER(0xfc00, 0x7000, 2), WAY_PLAIN, .kind = SASS_TLD},                                /* TLD */
    {KEPLER(0xf780, 0x7600, 2), WAY_PLAIN, .kind = SASS_TLD},                                /* TXD */
    {KEPLER(0xffc0, 0x7800, 2), WAY_PLAIN, .kind = SASS_TLD},                                /* TLD by a handle */
    {KEPLER(0xff80, 0x7d80, 2), WAY_PLAIN, .kind = SASS_TLD},                                /* TEX, TLD4 by a handle */
    {KEPLER(0xffc0, 0x7880, 2), WAY_PLAIN, .kind = SASS_SHFL},
    {KEPLER(0xffc0, 0x7a00, 2), WAY_PLAIN, .kind = LOAD_LOCAL, .size = 51},
    {KEPLER(0xffc0, 0x7a40, 2), WAY_PLAIN, .kind = SASS_LDS, .size = 51},
    {KEPLER(0xffc0, 0x7c80, 2), WAY_INDEXED, .size = 51},                            /* LDC */
    {KEPLER(0xe000, 0x4000, 2), WAY_OPERAND, .size = 0},                                        /* the second operand */
    {KEPLER(0xf800, 0x6000, 2), WAY_OPERAND, .size = 0},
    {KEPLER(0xfc00, 0x8c00, 2), WAY_OPERAND, .size = 0},                                        /* the third: FFMA */
    {KEPLER(0xf000, 0x9000, 2), WAY_OPERAND, .size = 0},                                        /* IMAD, DFMA, PRMT, BFI ... */
};

static const struct old_family {
    uint32_t first, last; /* architectures */
    size_t bundle;        /* instructions, including the first word, which is none */
    unsigned predicate, index, indexed_bank, operand_bank; /* lowest bits */
    const struct old_form *forms;
    size_t count;
} families[] = {
    {35, 37, 8, 18, 10, 39, 37, kepler, sizeof(kepler) / sizeof(kepler[0])},
    {50, 62, 4, 16, 8, 36, 34, maxwell, sizeof(maxwell) / sizeof(maxwell[0])},
};
/* clang-format on */

static const struct old_family *family_of(uint32_t architecture)
{
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
        if (architecture >= families[i].first && architecture <= families[i].last)
            return &families[i];
    return NULL;
}

static unsigned bank_kind(uint64_t bank, bool indexed)
{
    if (bank == USER_BANK)
        return indexed ? SASS_LDC : LOAD_FIXED;
    return bank == PARAMETER_BANK ? (indexed ? SASS_LDC_PARAMETER : LOAD_ARGUMENT) : LOAD_COMPILER;
}

static void read_old(const unsigned char *code, size_t bytes, const struct old_family *family, struct kernel_loads *out)
{
    static const unsigned widths[SIZE_BITS + 1] = {0, 0, 1, 1, 2, 3, 4, 4};
    static const unsigned of_cache[CACHE_BITS + 1] = {SASS_LDG, SASS_LDG_STRONG, SASS_LDG_CONSTANT, SASS_LDG_STRONG};

    for (size_t at = 0; at + OLD_INSTRUCTION_BYTES <= bytes; at += OLD_INSTRUCTION_BYTES) {
        const struct old_form *form = family->forms, *const end = form + family->count;
        uint64_t word, bank;
        unsigned kind;

        memcpy(&word, code + at, sizeof(word));
        bank = word >> family->operand_bank & BANK_BITS;
        if (at / OLD_INSTRUCTION_BYTES % family->bundle == 0 ||
            (word >> family->predicate & PREDICATE_NEVER) == PREDICATE_NEVER)
            continue;
        while (form < end && (word & form->mask) != form->value)
            form++;
        if (form == end)
            continue;
        kind = form->kind;
        if (form->way == WAY_GLOBAL)
            kind = of_cache[word >> form->cache & CACHE_BITS];
        else if (form->way == WAY_INDEXED)
            kind =
                bank_kind(word >> family->indexed_bank & BANK_BITS, (word >> family->index & INDEX_NONE) != INDEX_NONE);
        else if (form->way == WAY_OPERAND)
            kind = bank == USER_BANK ? SASS_OPERAND : bank_kind(bank, false);
        out->all[kind][form->size ? widths[word >> form->size & SIZE_BITS] : SASS_WORD]++;
    }
}

/* -- reading ------------------------------------------------------------------------------------------- */

bool kernel_loads_known(uint32_t architecture)
{
    return instruction_known(architecture) || family_of(architecture);
}

enum status kernel_loads_read(const void *code, size_t bytes, uint32_t architecture, struct kernel_loads *out)
{
    enum { CALL_ABSOLUTE = 0x143, BRX = 0x149, JMP = 0x14a, JMX = 0x14c, BRXU = 0x158, JMXU = 0x159 };
    struct flow flow = {.code = code, .count = bytes / INSTRUCTION_BYTES, .architecture = architecture};
    const struct old_family *old = family_of(architecture);

    *out = (struct kernel_loads){.loops_known = !old};
    if (old) {
        read_old(code, bytes, old, out);
        return STATUS_OK;
    }
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
        const unsigned kind = load_kind(&instruction, flow.architecture);

        /* A jump to an address in a register or a table leads anywhere; a call to one leaves the code. */
        switch (instruction.operation) {
        case BRX:
        case JMP:
        case JMX:
        case BRXU:
        case JMXU:
            out->loops_known = false;
            break;
        case OPERATION_CALL:
            out->calls_out |= instruction.operands == OPERANDS_REGISTER;
            break;
        case CALL_ABSOLUTE:
            out->calls_out = true;
            break;
        default:
            break;
        }
        if (kind == LOAD_KIND_COUNT)
            continue;
        out->all[kind][load_width(&instruction, kind)]++;
        out->in_loops[kind][load_width(&instruction, kind)] += flow.nodes[i].looped;
    }
    free(flow.nodes);
    return STATUS_OK;
}
