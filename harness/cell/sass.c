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
    OPERATION_MASK = 0x1ff,
    OPERATION_LDC = 0x182,
    OPERATION_ULDC = 0x0b9,
    OPERATION_ULDC_INDEXED = 0x0bb,
    OPERATION_LDCU = 0x1ac,
    OPERATION_LDG = 0x181,
    OPERATION_LDS = 0x184,
    OPERATION_TEX = 0x160,
    OPERATION_TEX_BINDLESS = 0x161,
    OPERATION_TLD = 0x166,
    OPERATION_TLD_BINDLESS = 0x167,
    OPERATION_EXIT = 0x14d,
    CONTROL_FIRST = 0x140, /* BRA, BRX, CALL, RET, BSSY, BSYNC, WARPSYNC, EXIT ... */
    CONTROL_LAST = 0x15f,
    ARITHMETIC_LAST = 0x07f, /* of ordinary registers; behind it those of uniform registers, conversions, memory */
    OPERANDS_SHIFT = 9,
    OPERANDS_MASK = 0x7,
    OPERANDS_THIRD_CONSTANT = 3, /* FFMA R, R, R, c[][] */
    OPERANDS_SECOND_CONSTANT = 5,
    PREDICATE_SHIFT = 12,
    PREDICATE_MASK = 0xf,
    PREDICATE_ALWAYS = 0x7,
    INDEX_SHIFT = 24,
    INDEX_MASK = 0xff,
    INDEX_NONE = 0xff, /* RZ */
    CONSTANT_BANK_SHIFT = 54,
    CONSTANT_BANK_MASK = 0x1f,
    PARAMETER_BANK = 0,
    USER_BANK = 3,
};

/* Of LDG, in the high 64 bits: which other threads must see what it sees. From sm_80 on one field of 4 bits, where any
 * value but these is STRONG of some scope (5 CTA, 7 GPU, 10 SYS). Before, the same 4 bits are a scope and, above it, 2
 * bits of order. */
enum {
    ORDER_SHIFT = 13,
    ORDER_MASK = 0xf,
    ORDER_PLAIN = 0x0,
    ORDER_CONSTANT = 0x4,
    ORDER_ONE_FIELD_FIRST = 80, /* architecture */
    OLD_ORDER_SHIFT = 15,
    OLD_ORDER_MASK = 0x3,
    OLD_ORDER_CONSTANT = 0x0,
    OLD_ORDER_PLAIN = 0x1,
};

struct instruction {
    uint64_t low, high;
};

static struct instruction instruction_at(const unsigned char *code, size_t at)
{
    struct instruction instruction;

    memcpy(&instruction.low, code + at, sizeof(instruction.low));
    memcpy(&instruction.high, code + at + sizeof(instruction.low), sizeof(instruction.high));
    return instruction;
}

static unsigned operation(struct instruction instruction)
{
    return instruction.low & OPERATION_MASK;
}

static bool always(struct instruction instruction)
{
    return (instruction.low >> PREDICATE_SHIFT & PREDICATE_MASK) == PREDICATE_ALWAYS;
}

static unsigned constant_bank(struct instruction instruction)
{
    return instruction.low >> CONSTANT_BANK_SHIFT & CONSTANT_BANK_MASK;
}

static bool takes_constant(struct instruction instruction)
{
    const unsigned operands = instruction.low >> OPERANDS_SHIFT & OPERANDS_MASK;

    return operands == OPERANDS_THIRD_CONSTANT || operands == OPERANDS_SECOND_CONSTANT;
}

static bool constant_to_uniform(struct instruction instruction)
{
    return operation(instruction) == OPERATION_ULDC || operation(instruction) == OPERATION_ULDC_INDEXED ||
           operation(instruction) == OPERATION_LDCU;
}

static enum sass_class ldg_class(struct instruction instruction, uint32_t architecture)
{
    const unsigned order = instruction.high >> ORDER_SHIFT & ORDER_MASK;
    const unsigned old_order = instruction.high >> OLD_ORDER_SHIFT & OLD_ORDER_MASK;

    if (architecture >= ORDER_ONE_FIELD_FIRST)
        return order == ORDER_PLAIN ? SASS_LDG : order == ORDER_CONSTANT ? SASS_LDG_CONSTANT : SASS_LDG_STRONG;
    return old_order == OLD_ORDER_PLAIN      ? SASS_LDG
           : old_order == OLD_ORDER_CONSTANT ? SASS_LDG_CONSTANT
                                             : SASS_LDG_STRONG;
}

/* Without a register index it is one parameter, or a place of the table that the compiler knows. */
static enum sass_class ldc_class(struct instruction instruction)
{
    if ((instruction.low >> INDEX_SHIFT & INDEX_MASK) == INDEX_NONE)
        return SASS_CLASS_COUNT;
    return constant_bank(instruction) == USER_BANK        ? SASS_LDC
           : constant_bank(instruction) == PARAMETER_BANK ? SASS_LDC_PARAMETER
                                                          : SASS_CLASS_COUNT;
}

/* SASS_CLASS_COUNT for an instruction that is of none. */
static enum sass_class instruction_class(struct instruction instruction, uint32_t architecture)
{
    switch (operation(instruction)) {
    case OPERATION_LDC:
        return ldc_class(instruction);
    case OPERATION_ULDC:
    case OPERATION_ULDC_INDEXED:
    case OPERATION_LDCU:
        return constant_bank(instruction) == USER_BANK ? SASS_ULDC : SASS_CLASS_COUNT;
    case OPERATION_LDG:
        return ldg_class(instruction, architecture);
    case OPERATION_LDS:
        return SASS_LDS;
    case OPERATION_TEX:
    case OPERATION_TEX_BINDLESS:
    case OPERATION_TLD:
    case OPERATION_TLD_BINDLESS:
        return SASS_TLD;
    default:
        return operation(instruction) <= ARITHMETIC_LAST && takes_constant(instruction) &&
                       constant_bank(instruction) == USER_BANK
                   ? SASS_OPERAND
                   : SASS_CLASS_COUNT;
    }
}

static void classes_count(const unsigned char *code, size_t bytes, uint32_t architecture,
                          uint32_t classes[SASS_CLASS_COUNT])
{
    memset(classes, 0, SASS_CLASS_COUNT * sizeof(classes[0]));
    for (size_t at = 0; at + INSTRUCTION_BYTES <= bytes; at += INSTRUCTION_BYTES) {
        const enum sass_class class = instruction_class(instruction_at(code, at), architecture);

        if (class != SASS_CLASS_COUNT)
            classes[class]++;
    }
}

static void stretch_add(struct sass_stretch *stretch, struct instruction instruction)
{
    stretch->instructions++;
    if (operation(instruction) == OPERATION_LDC && ldc_class(instruction) == SASS_LDC)
        stretch->ldc_user++;
    else if (operation(instruction) == OPERATION_LDC)
        stretch->ldc_parameter++;
    else if (constant_to_uniform(instruction))
        stretch->uniform_constant++;
}

/* Whether not every warp executes the instruction, or not once: control flow makes a loop possible, and a constant
 * load under a predicate makes no request in a warp that has it false throughout. */
static bool uncountable(struct instruction instruction)
{
    if (operation(instruction) == OPERATION_EXIT)
        return false;
    if (operation(instruction) >= CONTROL_FIRST && operation(instruction) <= CONTROL_LAST)
        return true;
    return !always(instruction) && (operation(instruction) == OPERATION_LDC || constant_to_uniform(instruction));
}

/* Counts up to the unconditional EXIT. Behind it is padding that branches to itself. */
static bool sass_count(const unsigned char *code, size_t bytes, struct sass_counts *counts)
{
    struct sass_stretch *stretch = &counts->prologue;

    for (size_t at = 0; at + INSTRUCTION_BYTES <= bytes; at += INSTRUCTION_BYTES) {
        const struct instruction instruction = instruction_at(code, at);

        stretch_add(stretch, instruction);
        if (uncountable(instruction))
            return false;
        if (operation(instruction) == OPERATION_EXIT) {
            if (always(instruction))
                return true;
            stretch = &counts->body;
        }
    }
    return false;
}

void sass_read(const void *code, size_t bytes, uint32_t architecture, struct kernel_sass *out)
{
    out->known = architecture >= ENCODING_FIRST && architecture <= ENCODING_LAST;
    if (out->known)
        classes_count(code, bytes, architecture, out->classes);
    out->counts = (struct sass_counts){.architecture = architecture};
    out->counted = out->known && sass_count(code, bytes, &out->counts);
}
