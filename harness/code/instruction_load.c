/* SPDX-License-Identifier: MIT
 * The classes of loads, their widths and modifiers: see instruction.h. */
#include <string.h>

#include "instruction.h"

/* LDG says which threads must agree on the value. From sm_80 on it has a field of 4 bits, and any
 * value except these is STRONG of some scope (5 CTA, 7 GPU, 10 SYS). Before, the same 4 bits are a
 * scope, with 2 bits of order above it. */
enum {
    ORDER_PLAIN = 0x0,
    ORDER_CONSTANT = 0x4,
    ORDER_ONE_FIELD_FIRST = 80, /* architecture */
    OLD_ORDER_CONSTANT = 0x0,
    OLD_ORDER_PLAIN = 0x1,
};

/* The high 64 bits of an instruction without the width of a load, without what says that its
 * address is made with a uniform register, and without scheduling. */
#define MODIFIER_BITS UINT64_C(0x1fff3fff1ff)

/* A modifier, too: a predicate; of a texture load, another instruction than TLD, or more dimensions
 * than one. */
#define MODIFIER_OTHER (UINT64_C(1) << 45)

/* The modifiers that loads may have, of each class but OPERAND, by architecture: those of the code
 * of kernels.cu by CUDA 11.8 and 13.0. Any others are an eviction priority, a prefetch size, a
 * stronger order, a predicate, or the like. */
static const struct modifiers {
    enum sass_class class;
    uint32_t first, last; /* architectures */
    uint64_t ignored, bits; /* bits that say the width or how the address is made; all others */
} known_modifiers[] = {
    {SASS_LDC, 0, UINT32_MAX, 0, 0},
    {SASS_LDC_PARAMETER, 0, UINT32_MAX, 0, 0},
    {SASS_ULDC, 0, UINT32_MAX, 0, 0},
    /* E.SYS; of the input beyond its ends */
    {SASS_LDG, 0, 79, MODIFIER_OTHER, 0x1ee100},
    {SASS_LDG, 80, UINT32_MAX, MODIFIER_OTHER, 0x1e1100}, /* E */
    {SASS_LDG_CONSTANT, 0, 79, 0, 0x1e6100},
    {SASS_LDG_CONSTANT, 80, UINT32_MAX, 0, 0x1e9100},
    {SASS_LDG_STRONG, 0, 79, 0, 0x1f4100}, /* STRONG.GPU */
    {SASS_LDG_STRONG, 80, UINT32_MAX, 0, 0x1ef100},
    {SASS_TLD, 0, 99, 0xfff, 0x9e0000}, /* LZ; registers written */
    {SASS_TLD, 100, UINT32_MAX, 0xfff, 0x1e0000},
    {SASS_LDS, 0, 79, 0xc000, 0x1000}, /* X4, X8, X16: of the index */
    {SASS_LDS, 80, UINT32_MAX, 0xc000, 0},
};

bool instruction_indexed(const struct instruction *instruction)
{
    return instruction->opcode != OPCODE_ULDC &&
           instruction_field(instruction, FIELD_A) != INDEX_NONE;
}

bool instruction_takes_constant(const struct instruction *instruction)
{
    const unsigned opcode = instruction->opcode;

    return (opcode <= OPCODE_ARITHMETIC_LAST ||
            (opcode >= OPCODE_CONVERSION_FIRST && opcode <= OPCODE_CONVERSION_LAST)) &&
           (instruction->form == FORM_CONSTANT_C || instruction->form == FORM_CONSTANT_B);
}

/* The class of an LDG. */
static enum sass_class global_class(const struct instruction *instruction, uint32_t architecture)
{
    const bool one_field = architecture >= ORDER_ONE_FIELD_FIRST;
    const uint32_t order =
        instruction_field(instruction, one_field ? FIELD_ORDER : FIELD_ORDER_BEFORE_80);

    if (order == (one_field ? ORDER_PLAIN : OLD_ORDER_PLAIN))
        return SASS_LDG;
    return order == (one_field ? ORDER_CONSTANT : OLD_ORDER_CONSTANT) ? SASS_LDG_CONSTANT
                                                                      : SASS_LDG_STRONG;
}

enum sass_class instruction_class(const struct instruction *instruction, uint32_t architecture)
{
    const uint32_t bank = instruction_field(instruction, FIELD_BANK);

    switch (instruction->family) {
    case SASS_LDC:
        /* Without a register index it is one parameter, or an offset in the table that the compiler
         * knows. */
        if (!instruction_indexed(instruction))
            return SASS_CLASS_COUNT;
        return bank == USER_BANK        ? SASS_LDC
               : bank == PARAMETER_BANK ? SASS_LDC_PARAMETER
                                        : SASS_CLASS_COUNT;
    case SASS_LDG:
        return global_class(instruction, architecture);
    case SASS_ULDC:
        return bank == USER_BANK ? SASS_ULDC : SASS_CLASS_COUNT;
    default:
        return bank == USER_BANK && instruction_takes_constant(instruction) ? SASS_OPERAND
                                                                            : instruction->family;
    }
}

bool instruction_modified(const struct instruction *instruction, enum sass_class class,
                          uint32_t architecture)
{
    uint64_t modifiers = instruction->high & MODIFIER_BITS;

    if (class == SASS_OPERAND || class >= SASS_SHFL)
        return false;
    if (!instruction_always(instruction) ||
        (instruction->family == SASS_TLD &&
         (instruction->opcode != OPCODE_TLD ||
          instruction_field(instruction, FIELD_TEXTURE_DIMENSIONS))))
        modifiers |= MODIFIER_OTHER;
    for (size_t i = 0; i < sizeof(known_modifiers) / sizeof(known_modifiers[0]); i++) {
        const struct modifiers *row = &known_modifiers[i];

        if (row->class == class && architecture >= row->first && architecture <= row->last &&
            (modifiers & ~row->ignored) == row->bits)
            return false;
    }
    return true;
}

unsigned instruction_width(const struct instruction *instruction, enum sass_class class)
{
    static const unsigned widths[] = {0, 0, 1, 1, SASS_WORD, 3, 4, 4}; /* by FIELD_SIZE */

    if (class == SASS_OPERAND || class >= SASS_SHFL)
        return SASS_WORD;
    if (class == SASS_TLD) {
        const int registers =
            __builtin_popcount(instruction_field(instruction, FIELD_TEXTURE_MASK));

        return SASS_WORD + (registers > 2 ? 2 : registers > 1);
    }
    return widths[instruction_field(instruction, FIELD_SIZE)];
}

/* The distance of BRA from the next instruction, in units of 4 bytes. It has 48 bits from bit 34
 * on; from sm_90 on, 8 lower bits start at bit 16. */
int64_t branch_target(const unsigned char *code, size_t offset, uint32_t architecture)
{
    enum { BRA_LOW_FIRST = 90 /* architecture */, FIRST = 34, BITS = 48, LOW_BITS = 8, UNIT = 4 };
    uint64_t half[2];
    int64_t units;

    memcpy(half, code + offset, sizeof(half));
    units = (int64_t)((half[1] << (64 - FIRST) | half[0] >> FIRST) << (64 - BITS)) >> (64 - BITS);
    if (architecture >= BRA_LOW_FIRST)
        units = (int64_t)((uint64_t)units << LOW_BITS | code_field(code, offset, FIELD_RESULT));
    return (int64_t)(offset + INSTRUCTION_BYTES) + UNIT * units;
}
