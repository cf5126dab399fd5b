/* SPDX-License-Identifier: MIT */
#include "sass_instruction.h"

#include <string.h>

enum { ENCODING_FIRST = 70, ENCODING_LAST = 121 }; /* architectures */

/* clang-format off */
/* The operations that load, and that select, each with the class of its family. */
static const struct loading {
    unsigned operation;
    enum sass_class family;
} loadings[] = {
    {0x182, SASS_LDC},  /* LDC */
    {OPERATION_ULDC, SASS_ULDC}, {0x0bb, SASS_ULDC}, {0x1ac, SASS_ULDC},                    /* ULDC, ULDC with an index, LDCU */
    {0x181, SASS_LDG},  /* LDG */
    {0x160, SASS_TLD},  {0x161, SASS_TLD},  {0x166, SASS_TLD},  {0x167, SASS_TLD}, /* TEX and TLD, each bindless, too */
    {0x163, SASS_TLD},  {0x164, SASS_TLD},  {0x16c, SASS_TLD},  {0x16d, SASS_TLD}, /* TLD4 and TXD, the same */
    {0x184, SASS_LDS},  /* LDS */
    {0x189, SASS_SHFL}, /* SHFL */
    {0x007, SASS_SEL},  /* SEL */
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

bool instruction_known(uint32_t architecture)
{
    return architecture >= ENCODING_FIRST && architecture <= ENCODING_LAST;
}

struct instruction instruction_at(const unsigned char *code, size_t at)
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
                               .condition = high >> 23 & 0xf,
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

bool instruction_indexed(const struct instruction *instruction)
{
    return instruction->operation != OPERATION_ULDC && instruction->index != INDEX_NONE;
}

bool instruction_takes_constant(const struct instruction *instruction)
{
    const unsigned operation = instruction->operation;

    return (operation <= ARITHMETIC_LAST || (operation >= CONVERSION_FIRST && operation <= CONVERSION_LAST)) &&
           (instruction->operands == OPERANDS_THIRD_CONSTANT || instruction->operands == OPERANDS_SECOND_CONSTANT);
}

/* Without a register index it is one parameter, or a place of the table that the compiler knows. */
static enum sass_class ldc_class(const struct instruction *instruction)
{
    if (!instruction_indexed(instruction))
        return SASS_CLASS_COUNT;
    return instruction->bank == USER_BANK        ? SASS_LDC
           : instruction->bank == PARAMETER_BANK ? SASS_LDC_PARAMETER
                                                 : SASS_CLASS_COUNT;
}

enum sass_class instruction_class(const struct instruction *instruction, uint32_t architecture)
{
    if (instruction->family == SASS_LDC)
        return ldc_class(instruction);
    if (instruction->family == SASS_LDG)
        return ldg_class(instruction, architecture);
    if (instruction->family == SASS_ULDC)
        return instruction->bank == USER_BANK ? SASS_ULDC : SASS_CLASS_COUNT;
    if (instruction_takes_constant(instruction) && instruction->bank == USER_BANK)
        return SASS_OPERAND;
    return instruction->family;
}

unsigned instruction_width(const struct instruction *instruction, enum sass_class class)
{
    static const unsigned widths[] = {0, 0, 1, 1, 2, 3, 4, 4};
    const unsigned registers = (unsigned)__builtin_popcount(instruction->registers);

    if (class == SASS_OPERAND || class >= SASS_SHFL)
        return SASS_WORD;
    if (class == SASS_TLD)
        return SASS_WORD + (registers > 2 ? 2 : registers > 1);
    return widths[instruction->size];
}

int64_t branch_target(const unsigned char *code, size_t at, uint32_t architecture)
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
