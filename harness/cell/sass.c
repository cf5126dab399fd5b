/* SPDX-License-Identifier: MIT */
#include "sass.h"

#include <string.h>

/* Since Volta an instruction is 128 bits, little-endian. The low 9 bits are the operation and the next 3 the kind of
 * its operands. Read off the disassembly of kernels.cu for sm_70 to sm_90 (make check-sass compares); for sm_88 and
 * from sm_100 to sm_121 off kernels of a few instructions that differ by one load, where the same bits change. */
enum {
    ENCODING_FIRST = 70, /* architectures */
    ENCODING_LAST = 121,
    INSTRUCTION_BYTES = 16,
    OPERATION_EXIT = 0x14d,
    OPERATION_BRA = 0x147,
    CONTROL_FIRST = 0x140, /* BRA, BRX, CALL, RET, BSSY, BSYNC, WARPSYNC, EXIT ... */
    CONTROL_LAST = 0x15f,
    ARITHMETIC_LAST = 0x07f, /* of ordinary registers; behind it those of uniform registers, conversions, memory */
    OPERANDS_THIRD_CONSTANT = 3, /* FFMA R, R, R, c[][] */
    OPERANDS_SECOND_CONSTANT = 5,
    PREDICATE_ALWAYS = 0x7,
    INDEX_NONE = 0xff, /* RZ */
    PARAMETER_BANK = 0,
    USER_BANK = 3,
};

/* clang-format off */
/* The operations that load, each with the class of its family. */
static const struct loading {
    unsigned operation;
    enum sass_class family;
} loadings[] = {
    {0x182, SASS_LDC},  /* LDC */
    {0x0b9, SASS_ULDC}, {0x0bb, SASS_ULDC}, {0x1ac, SASS_ULDC},                    /* ULDC, ULDC with an index, LDCU */
    {0x181, SASS_LDG},  /* LDG */
    {0x160, SASS_TLD},  {0x161, SASS_TLD},  {0x166, SASS_TLD},  {0x167, SASS_TLD}, /* TEX and TLD, each bindless, too */
    {0x184, SASS_LDS},  /* LDS */
    {0x189, SASS_SHFL}, /* SHFL */
};
/* clang-format on */

/* Of LDG, in the high 64 bits: which other threads must see what it sees. From sm_80 on one field of 4 bits, where any
 * value but these is STRONG of some scope (5 CTA, 7 GPU, 10 SYS). Before, the same 4 bits are a scope and, above it, 2
 * bits of order. */
enum {
    ORDER_PLAIN = 0x0,
    ORDER_CONSTANT = 0x4,
    ORDER_ONE_FIELD_FIRST = 80, /* architecture */
    OLD_ORDER_CONSTANT = 0x0,
    OLD_ORDER_PLAIN = 0x1,
};

/* Of BRA: how far from the next instruction, in units of 4 bytes: 48 bits from bit 34 on, and from sm_90 on 8 bits below
 * those, from bit 16 on. */
enum { BRA_LOW_FIRST = 90 };

struct instruction {
    unsigned operation, operands, predicate, index, bank, order, old_order, size, registers;
    enum sass_class family; /* SASS_CLASS_COUNT: it is no load */
};

static struct instruction instruction_at(const unsigned char *code, size_t at)
{
    struct instruction out;
    uint64_t low, high;

    memcpy(&low, code + at, sizeof(low));
    memcpy(&high, code + at + sizeof(low), sizeof(high));
    out = (struct instruction){.operation = low & 0x1ff,
                               .operands = low >> 9 & 0x7,
                               .predicate = low >> 12 & 0xf,
                               .index = low >> 24 & 0xff,
                               .bank = low >> 54 & 0x1f,
                               .order = high >> 13 & 0xf,
                               .old_order = high >> 15 & 0x3,
                               .size = high >> 9 & 0x7,
                               .registers = high >> 8 & 0xf,
                               .family = SASS_CLASS_COUNT};
    for (size_t i = 0; i < sizeof(loadings) / sizeof(loadings[0]); i++)
        if (loadings[i].operation == out.operation)
            out.family = loadings[i].family;
    return out;
}

static enum sass_class ldg_class(const struct instruction *instruction, uint32_t architecture)
{
    const bool one_field = architecture >= ORDER_ONE_FIELD_FIRST;
    const unsigned order = one_field ? instruction->order : instruction->old_order;

    if (order == (one_field ? ORDER_PLAIN : OLD_ORDER_PLAIN))
        return SASS_LDG;
    return order == (one_field ? ORDER_CONSTANT : OLD_ORDER_CONSTANT) ? SASS_LDG_CONSTANT : SASS_LDG_STRONG;
}

/* Without a register index it is one parameter, or a place of the table that the compiler knows. */
static enum sass_class ldc_class(const struct instruction *instruction)
{
    if (instruction->index == INDEX_NONE)
        return SASS_CLASS_COUNT;
    return instruction->bank == USER_BANK        ? SASS_LDC
           : instruction->bank == PARAMETER_BANK ? SASS_LDC_PARAMETER
                                                 : SASS_CLASS_COUNT;
}

/* SASS_CLASS_COUNT for an instruction that is of none. */
static enum sass_class instruction_class(const struct instruction *instruction, uint32_t architecture)
{
    const bool takes_constant =
        instruction->operands == OPERANDS_THIRD_CONSTANT || instruction->operands == OPERANDS_SECOND_CONSTANT;

    if (instruction->family == SASS_LDC)
        return ldc_class(instruction);
    if (instruction->family == SASS_LDG)
        return ldg_class(instruction, architecture);
    if (instruction->family == SASS_ULDC)
        return instruction->bank == USER_BANK ? SASS_ULDC : SASS_CLASS_COUNT;
    if (instruction->operation <= ARITHMETIC_LAST && takes_constant && instruction->bank == USER_BANK)
        return SASS_OPERAND;
    return instruction->family;
}

/* Signed and unsigned bytes, of 16 bits, and 32, 64, 128 bits. A texture load says which registers it writes. */
static unsigned instruction_width(const struct instruction *instruction, enum sass_class class)
{
    static const unsigned widths[] = {0, 0, 1, 1, 2, 3, 4, 4};
    const unsigned registers = (unsigned)__builtin_popcount(instruction->registers);

    if (class == SASS_OPERAND || class == SASS_SHFL)
        return SASS_WORD;
    if (class == SASS_TLD)
        return SASS_WORD + (registers > 2 ? 2 : registers > 1);
    return widths[instruction->size];
}

static void stretch_add(struct sass_stretch *stretch, const struct instruction *instruction)
{
    stretch->instructions++;
    stretch->ldc_user += ldc_class(instruction) == SASS_LDC && instruction->family == SASS_LDC;
    stretch->ldc_parameter += ldc_class(instruction) != SASS_LDC && instruction->family == SASS_LDC;
    stretch->uniform_constant += instruction->family == SASS_ULDC;
}

/* Whether not every warp that gets there executes the instruction, or some go around others: a constant load under a
 * predicate makes no request in a warp that has it false throughout. */
static bool uncountable(const struct instruction *instruction)
{
    if (instruction->operation >= CONTROL_FIRST && instruction->operation <= CONTROL_LAST)
        return instruction->operation != OPERATION_EXIT && instruction->operation != OPERATION_BRA;
    return instruction->predicate != PREDICATE_ALWAYS &&
           (instruction->family == SASS_LDC || instruction->family == SASS_ULDC);
}

/* Where a branch leads. */
static int64_t branch_target(const unsigned char *code, size_t at, uint32_t architecture)
{
    uint64_t low, high;
    int64_t units;

    memcpy(&low, code + at, sizeof(low));
    memcpy(&high, code + at + sizeof(low), sizeof(high));
    units = (int64_t)((high << 30 | low >> 34) << 16) >> 16;
    if (architecture >= BRA_LOW_FIRST)
        units = (int64_t)((uint64_t)units << 8 | (low >> 16 & 0xff));
    return (int64_t)(at + INSTRUCTION_BYTES) + 4 * units;
}

/* A loop: from its first instruction to the branch that leads back there. */
struct loop {
    size_t first, last;
};

enum { LOOPS_MAX = 2 };

/* Finds the loops behind the first EXIT, up to the unconditional one; behind that is padding that branches to itself. False
 * where there is another branch, or anything else but none, or two, one in the other. */
static bool find_loops(const unsigned char *code, size_t bytes, uint32_t architecture, struct loop loops[LOOPS_MAX],
                       uint32_t *count)
{
    size_t exit = bytes;

    *count = 0;
    for (size_t at = 0; at + INSTRUCTION_BYTES <= bytes; at += INSTRUCTION_BYTES) {
        const struct instruction instruction = instruction_at(code, at);

        if (instruction.operation == OPERATION_EXIT && instruction.predicate == PREDICATE_ALWAYS)
            break;
        exit = instruction.operation == OPERATION_EXIT && exit == bytes ? at : exit;
        if (instruction.operation == OPERATION_BRA) {
            const int64_t target = branch_target(code, at, architecture);

            if (*count == LOOPS_MAX || target > (int64_t)at || target <= (int64_t)exit)
                return false;
            loops[(*count)++] = (struct loop){(size_t)target, at};
        }
    }
    /* The inner one ends first. */
    return *count == 0 || (*count == LOOPS_MAX && loops[1].first < loops[0].first);
}

/* Counts up to the unconditional EXIT. */
static bool sass_count(const unsigned char *code, size_t bytes, struct kernel_sass *out)
{
    struct sass_counts *counts = &out->counts;
    struct sass_stretch *stretch = &counts->prologue;
    struct loop loops[LOOPS_MAX];

    if (!find_loops(code, bytes, counts->architecture, loops, &out->loops))
        return false;
    for (size_t at = 0; at + INSTRUCTION_BYTES <= bytes; at += INSTRUCTION_BYTES) {
        const struct instruction instruction = instruction_at(code, at);

        for (uint32_t i = out->loops; i-- > 0;)
            if (at == loops[i].first)
                stretch = i == 0 ? &counts->group : &counts->round;
        stretch_add(stretch, &instruction);
        if (uncountable(&instruction))
            return false;
        for (uint32_t i = 0; i < out->loops; i++)
            if (at == loops[i].last)
                stretch = i == 0 ? &counts->round : &counts->body;
        if (instruction.operation == OPERATION_EXIT) {
            if (instruction.predicate == PREDICATE_ALWAYS)
                return true;
            stretch = &counts->body;
        }
    }
    return false;
}

void sass_read(const void *code, size_t bytes, uint32_t architecture, struct kernel_sass *out)
{
    out->known = architecture >= ENCODING_FIRST && architecture <= ENCODING_LAST;
    out->counts = (struct sass_counts){.architecture = architecture};
    out->loops = 0;
    out->counted = out->known && sass_count(code, bytes, out);
    memset(out->classes, 0, sizeof(out->classes));
    for (size_t at = 0; out->known && at + INSTRUCTION_BYTES <= bytes; at += INSTRUCTION_BYTES) {
        const struct instruction instruction = instruction_at(code, at);
        const enum sass_class class = instruction_class(&instruction, architecture);

        if (class != SASS_CLASS_COUNT)
            out->classes[class][instruction_width(&instruction, class)]++;
    }
}
