/* SPDX-License-Identifier: MIT */
#include "sass.h"

#include <inttypes.h>
#include <string.h>

#include "text.h"

/* -- instructions ------------------------------------------------------------------------------ */

enum { ENCODING_FIRST = 70, ENCODING_LAST = 121 }; /* architectures */

/* clang-format off */
/* The operations that load or select, each with the class of its family. */
static const struct loading {
    unsigned operation;
    enum sass_class family;
} loadings[] = {
    {0x182, SASS_LDC},  /* LDC */
    /* ULDC, ULDC with an index, LDCU */
    {OPERATION_ULDC, SASS_ULDC}, {0x0bb, SASS_ULDC}, {0x1ac, SASS_ULDC},
    {0x181, SASS_LDG},  /* LDG */
    /* TEX and TLD, each bindless, too */
    {0x160, SASS_TLD},  {0x161, SASS_TLD},  {OPERATION_TLD, SASS_TLD},  {0x167, SASS_TLD},
    /* TLD4 and TXD, the same */
    {0x163, SASS_TLD},  {0x164, SASS_TLD},  {0x16c, SASS_TLD},  {0x16d, SASS_TLD},
    {0x184, SASS_LDS},  /* LDS */
    {0x189, SASS_SHFL}, /* SHFL */
    {0x007, SASS_SEL},  /* SEL */
    {0x016, SASS_PRMT}, /* PRMT */
};
/* clang-format on */

/* LDG has a field in the high 64 bits for the threads that must agree on the value. From sm_80 on
 * it has 4 bits, and any value except these is STRONG of some scope (5 CTA, 7 GPU, 10 SYS). Before,
 * the same 4 bits are a scope, with 2 bits of order above it. */
enum {
    ORDER_PLAIN = 0x0,
    ORDER_CONSTANT = 0x4,
    ORDER_ONE_FIELD_FIRST = 80, /* architecture */
    OLD_ORDER_CONSTANT = 0x0,
    OLD_ORDER_PLAIN = 0x1,
};

/* The modifiers that loads may have, of each class but OPERAND, by architecture: those of the code
 * of kernels.cu by CUDA 11.8 and 13.0. Any others are an eviction priority, a prefetch size, a
 * stronger order, a predicate, or the like. */
static const struct modifiers {
    enum sass_class class;
    uint32_t first, last; /* architectures */
    uint64_t ignored, bits; /* bits that say the width or how the address is made; all others */
} known_modifiers[] = {
    {SASS_LDC, ENCODING_FIRST, ENCODING_LAST, 0, 0},
    {SASS_LDC_PARAMETER, ENCODING_FIRST, ENCODING_LAST, 0, 0},
    {SASS_ULDC, ENCODING_FIRST, ENCODING_LAST, 0, 0},
    /* E.SYS; of the input beyond its ends */
    {SASS_LDG, ENCODING_FIRST, 79, MODIFIER_OTHER, 0x1ee100},
    {SASS_LDG, 80, ENCODING_LAST, MODIFIER_OTHER, 0x1e1100}, /* E */
    {SASS_LDG_CONSTANT, ENCODING_FIRST, 79, 0, 0x1e6100},
    {SASS_LDG_CONSTANT, 80, ENCODING_LAST, 0, 0x1e9100},
    {SASS_LDG_STRONG, ENCODING_FIRST, 79, 0, 0x1f4100}, /* STRONG.GPU */
    {SASS_LDG_STRONG, 80, ENCODING_LAST, 0, 0x1ef100},
    {SASS_TLD, ENCODING_FIRST, 99, 0xfff, 0x9e0000}, /* LZ; registers written */
    {SASS_TLD, 100, ENCODING_LAST, 0xfff, 0x1e0000},
    {SASS_LDS, ENCODING_FIRST, 79, 0xc000, 0x1000}, /* X4, X8, X16: of the index */
    {SASS_LDS, 80, ENCODING_LAST, 0xc000, 0},
};

/* The distance of BRA from the next instruction, in units of 4 bytes. It has 48 bits from bit 34
 * on; from sm_90 on, 8 lower bits start at bit 16. */
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
                               .size = high >> 9 & 0x7,
                               .registers = high >> 8 & 0xf,
                               .condition = high >> 23 & 0xf,
                               .modifiers = high & MODIFIER_BITS,
                               .family = SASS_CLASS_COUNT};
    for (size_t i = 0; i < sizeof(loadings) / sizeof(loadings[0]); i++)
        if (loadings[i].operation == out.operation)
            out.family = loadings[i].family;
    if (out.predicate != PREDICATE_ALWAYS ||
        (out.family == SASS_TLD &&
         (out.operation != OPERATION_TLD || low >> 61 /* 0: one dimension */)))
        out.modifiers |= MODIFIER_OTHER;
    return out;
}

bool instruction_indexed(const struct instruction *instruction)
{
    return instruction->operation != OPERATION_ULDC && instruction->index != INDEX_NONE;
}

bool instruction_takes_constant(const struct instruction *instruction)
{
    const unsigned operation = instruction->operation;

    return (operation <= ARITHMETIC_LAST ||
            (operation >= CONVERSION_FIRST && operation <= CONVERSION_LAST)) &&
           (instruction->operands == OPERANDS_THIRD_CONSTANT ||
            instruction->operands == OPERANDS_SECOND_CONSTANT);
}

enum sass_class instruction_class(const struct instruction *instruction, uint32_t architecture)
{
    const bool user = instruction->bank == USER_BANK,
               one_field = architecture >= ORDER_ONE_FIELD_FIRST;
    const unsigned order =
        instruction->modifiers >> (one_field ? 13 : 15) & (one_field ? 0xf : 0x3);

    switch (instruction->family) {
    case SASS_LDC:
        /* Without a register index it is one parameter, or an offset in the table that the compiler
         * knows. */
        if (!instruction_indexed(instruction))
            return SASS_CLASS_COUNT;
        return user                                  ? SASS_LDC
               : instruction->bank == PARAMETER_BANK ? SASS_LDC_PARAMETER
                                                     : SASS_CLASS_COUNT;
    case SASS_LDG:
        if (order == (one_field ? ORDER_PLAIN : OLD_ORDER_PLAIN))
            return SASS_LDG;
        return order == (one_field ? ORDER_CONSTANT : OLD_ORDER_CONSTANT) ? SASS_LDG_CONSTANT
                                                                          : SASS_LDG_STRONG;
    case SASS_ULDC:
        return user ? SASS_ULDC : SASS_CLASS_COUNT;
    default:
        return user && instruction_takes_constant(instruction) ? SASS_OPERAND : instruction->family;
    }
}

bool instruction_modified(const struct instruction *instruction, enum sass_class class,
                          uint32_t architecture)
{
    if (class == SASS_OPERAND || class >= SASS_SHFL)
        return false;
    for (size_t i = 0; i < sizeof(known_modifiers) / sizeof(known_modifiers[0]); i++) {
        const struct modifiers *row = &known_modifiers[i];

        if (row->class == class && architecture >= row->first && architecture <= row->last &&
            (instruction->modifiers & ~row->ignored) == row->bits)
            return false;
    }
    return true;
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

/* -- kernels ----------------------------------------------------------------------------------- */

/* Counts up to the unconditional EXIT; padding that branches to itself follows that one. Loops lie
 * between the first EXIT and the unconditional one, each from its first instruction to the branch
 * that leads back there. False if there is any other branch, or more than two loops, or two that
 * are not nested. */
static bool sass_count(const unsigned char *code, size_t bytes, struct kernel_sass *out)
{
    enum { LOOPS_MAX = 2 };
    struct sass_counts *counts = &out->counts;
    struct sass_stretch *stretch = &counts->prologue;
    struct {
        size_t first, last;
    } loops[LOOPS_MAX];
    size_t exit = bytes;

    for (size_t at = 0; at + INSTRUCTION_BYTES <= bytes; at += INSTRUCTION_BYTES) {
        const struct instruction instruction = instruction_at(code, at);
        const int64_t target = branch_target(code, at, counts->architecture);

        if (instruction.operation == OPERATION_EXIT && instruction.predicate == PREDICATE_ALWAYS)
            break;
        exit = instruction.operation == OPERATION_EXIT && exit == bytes ? at : exit;
        if (instruction.operation != OPERATION_BRA)
            continue;
        if (out->loops == LOOPS_MAX || target > (int64_t)at || target <= (int64_t)exit)
            return false;
        loops[out->loops].first = (size_t)target;
        loops[out->loops++].last = at;
    }
    /* The inner one ends first. */
    if (out->loops != 0 && (out->loops != LOOPS_MAX || loops[1].first >= loops[0].first))
        return false;
    for (size_t at = 0; at + INSTRUCTION_BYTES <= bytes; at += INSTRUCTION_BYTES) {
        const struct instruction instruction = instruction_at(code, at);

        for (uint32_t i = out->loops; i-- > 0;)
            if (at == loops[i].first)
                stretch = i == 0 ? &counts->group : &counts->round;

        const bool user = instruction.bank == USER_BANK && instruction_indexed(&instruction);
        const bool ldc = instruction.family == SASS_LDC, uldc = instruction.family == SASS_ULDC;

        stretch->instructions++;
        stretch->ldc_user += ldc && user;
        stretch->ldc_parameter += ldc && !user;
        stretch->uniform_constant += uldc;
        /* Control flow that lets some warps go around others. A constant load under a predicate
         * also counts: it makes no request in a warp whose predicate is false in all threads. */
        if (instruction.operation >= CONTROL_FIRST && instruction.operation <= CONTROL_LAST
                ? instruction.operation != OPERATION_EXIT && instruction.operation != OPERATION_BRA
                : instruction.predicate != PREDICATE_ALWAYS && (ldc || uldc))
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
    out->known = instruction_known(architecture);
    out->counts = (struct sass_counts){.architecture = architecture};
    out->loops = 0;
    out->counted = out->known && sass_count(code, bytes, out);
    out->modified = 0;
    memset(out->classes, 0, sizeof(out->classes));
    for (size_t at = 0; out->known && at + INSTRUCTION_BYTES <= bytes; at += INSTRUCTION_BYTES) {
        const struct instruction instruction = instruction_at(code, at);
        const enum sass_class class = instruction_class(&instruction, architecture);

        if (class == SASS_CLASS_COUNT || instruction.predicate == PREDICATE_NEVER)
            continue;
        out->classes[class][instruction_width(&instruction, class)]++;
        out->modified += instruction_modified(&instruction, class, architecture);
    }
}
