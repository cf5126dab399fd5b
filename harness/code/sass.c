/* SPDX-License-Identifier: MIT
 * The loads of a kernel, and how often a warp executes each instruction. */
#include "sass.h"

#include <string.h>

#include "instruction.h"

enum { LOOPS_MAX = 2 };

/* From the first instruction to the branch that leads back there, in bytes; the inner one first. */
struct loop {
    size_t first, last;
};

/* Finds the loops up to the unconditional EXIT; padding that branches to itself follows that one.
 * Loops lie between the first EXIT and the unconditional one. False if there is any other branch,
 * or more than two loops, or two that are not nested. */
static bool find_loops(const unsigned char *code, size_t bytes, struct kernel_sass *out,
                       struct loop loops[LOOPS_MAX])
{
    size_t exit = bytes;

    for (size_t offset = 0; offset + INSTRUCTION_BYTES <= bytes; offset += INSTRUCTION_BYTES) {
        const unsigned opcode = code_field(code, offset, FIELD_OPCODE);
        const int64_t target = branch_target(code, offset, out->counts.architecture);

        if (opcode == OPCODE_EXIT && code_field(code, offset, FIELD_GUARD) == PREDICATE_ALWAYS)
            break;
        exit = opcode == OPCODE_EXIT && exit == bytes ? offset : exit;
        if (opcode != OPCODE_BRA)
            continue;
        if (out->loops == LOOPS_MAX || target > (int64_t)offset || target <= (int64_t)exit)
            return false;
        loops[out->loops++] = (struct loop){(size_t)target, offset};
    }
    /* The inner one ends first. */
    return out->loops == 0 || (out->loops == LOOPS_MAX && loops[1].first < loops[0].first);
}

/* Whether an instruction lets some warps go around others. A constant load under a predicate also
 * counts: it makes no request in a warp whose predicate is false in all threads. */
static bool may_be_skipped(const struct instruction *instruction)
{
    const unsigned opcode = instruction->opcode;

    if (opcode >= OPCODE_CONTROL_FIRST && opcode <= OPCODE_CONTROL_LAST)
        return opcode != OPCODE_EXIT && opcode != OPCODE_BRA;
    return !instruction_always(instruction) &&
           (instruction->family == SASS_LDC || instruction->family == SASS_ULDC);
}

static void count_instruction(const struct instruction *instruction, struct sass_stretch *stretch)
{
    const bool user =
        instruction_field(instruction, FIELD_BANK) == USER_BANK && instruction_indexed(instruction);
    const bool ldc = instruction->family == SASS_LDC;

    stretch->instructions++;
    stretch->ldc_user += ldc && user;
    stretch->ldc_parameter += ldc && !user;
    stretch->uniform_constant += instruction->family == SASS_ULDC;
}

/* Counts up to the unconditional EXIT. False where it is not clear how often an instruction is
 * executed. */
static bool sass_count(const unsigned char *code, size_t bytes, struct kernel_sass *out)
{
    struct sass_counts *counts = &out->counts;
    struct sass_stretch *stretch = &counts->prologue;
    struct loop loops[LOOPS_MAX];

    if (!find_loops(code, bytes, out, loops))
        return false;
    for (size_t offset = 0; offset + INSTRUCTION_BYTES <= bytes; offset += INSTRUCTION_BYTES) {
        struct instruction instruction;

        instruction_decode(code, offset, counts->architecture, &instruction);
        for (uint32_t i = out->loops; i-- > 0;)
            if (offset == loops[i].first)
                stretch = i == 0 ? &counts->group : &counts->round;
        count_instruction(&instruction, stretch);
        if (may_be_skipped(&instruction))
            return false;
        for (uint32_t i = 0; i < out->loops; i++)
            if (offset == loops[i].last)
                stretch = i == 0 ? &counts->round : &counts->body;
        if (instruction.opcode != OPCODE_EXIT)
            continue;
        if (instruction_always(&instruction))
            return true;
        stretch = &counts->body;
    }
    return false;
}

void sass_read(const void *code, size_t bytes, uint32_t architecture, struct kernel_sass *out)
{
    out->known = architecture_known(architecture);
    out->counts = (struct sass_counts){.architecture = architecture};
    out->loops = 0;
    out->counted = out->known && sass_count(code, bytes, out);
    out->modified = 0;
    memset(out->classes, 0, sizeof(out->classes));
    memset(out->copies, 0, sizeof(out->copies));
    for (size_t offset = 0; out->known && offset + INSTRUCTION_BYTES <= bytes;
         offset += INSTRUCTION_BYTES) {
        struct instruction instruction;

        instruction_decode(code, offset, architecture, &instruction);
        const enum sass_class class = instruction_class(&instruction, architecture);

        if (instruction_never(&instruction))
            continue;
        out->copies[SASS_LDGSTS] += instruction.opcode == OPCODE_LDGSTS;
        out->copies[SASS_UBLKCP] += instruction.opcode == OPCODE_UBLKCP;
        if (class == SASS_CLASS_COUNT)
            continue;
        out->classes[class][instruction_width(&instruction, class)]++;
        out->modified += instruction_modified(&instruction, class, architecture);
    }
}
